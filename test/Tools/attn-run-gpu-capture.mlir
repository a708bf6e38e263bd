// The attention of a layer of SmolLM2, as lowered for GPUs, on what the layer read
// of a sentence: nine query heads of 68 tokens share three of keys and values. In
// f32 it is also what PyTorch gave. Sanitizers see the same code in random specs.
// UNSUPPORTED: sanitizer

// REQUIRES: gpu
// RUN: attn-run %examples/smollm2/attention.mlir --pipeline gpu-emulator --check \
// RUN:   --arg %examples/smollm2/capture/query.npy \
// RUN:   --arg %examples/smollm2/capture/key.npy \
// RUN:   --arg %examples/smollm2/capture/value.npy | FileCheck %s
// RUN: attn-run %examples/smollm2/attention.mlir --pipeline gpu-emulator \
// RUN:   --expect %examples/smollm2/capture/output.npy \
// RUN:   --arg %examples/smollm2/capture/query.npy \
// RUN:   --arg %examples/smollm2/capture/key.npy \
// RUN:   --arg %examples/smollm2/capture/value.npy | FileCheck %s

// RUN: rm -rf %t && mkdir %t
// RUN: attn-run %s --entry to_f16 --arg %examples/smollm2/capture/query.npy \
// RUN:   --out %t/query.f16.npy
// RUN: attn-run %s --entry to_f16 --arg %examples/smollm2/capture/key.npy \
// RUN:   --out %t/key.f16.npy
// RUN: attn-run %s --entry to_f16 --arg %examples/smollm2/capture/value.npy \
// RUN:   --out %t/value.f16.npy
// RUN: attn-run %s --entry half --pipeline gpu-emulator --check \
// RUN:   --arg %t/query.f16.npy --arg %t/key.f16.npy --arg %t/value.f16.npy \
// RUN:   | FileCheck %s
// RUN: attn-run %s --entry to_bf16 --arg %examples/smollm2/capture/query.npy \
// RUN:   --out %t/query.bf16.npy
// RUN: attn-run %s --entry to_bf16 --arg %examples/smollm2/capture/key.npy \
// RUN:   --out %t/key.bf16.npy
// RUN: attn-run %s --entry to_bf16 --arg %examples/smollm2/capture/value.npy \
// RUN:   --out %t/value.bf16.npy
// RUN: attn-run %s --entry brain --pipeline gpu-emulator --check \
// RUN:   --arg %t/query.bf16.npy --arg %t/key.bf16.npy --arg %t/value.bf16.npy \
// RUN:   | FileCheck %s

// CHECK: pipeline gpu-emulator
// CHECK-NOT: failed:
// CHECK: passed:
// CHECK-NOT: failed:

func.func @to_f16(%x: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf16> {
  %0 = arith.truncf %x : tensor<?x?x?x?xf32> to tensor<?x?x?x?xf16>
  return %0 : tensor<?x?x?x?xf16>
}

func.func @to_bf16(%x: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xbf16> {
  %0 = arith.truncf %x : tensor<?x?x?x?xf32> to tensor<?x?x?x?xbf16>
  return %0 : tensor<?x?x?x?xbf16>
}

func.func @half(%query: tensor<1x9x?x64xf16>, %key: tensor<1x3x?x64xf16>,
                %value: tensor<1x3x?x64xf16>) -> tensor<1x9x?x64xf16> {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x9x?x64xf16>
  %init = tensor.empty(%length) : tensor<1x9x?x64xf16>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x9x?x64xf16>, tensor<1x3x?x64xf16>,
          tensor<1x3x?x64xf16>)
      outs(%init : tensor<1x9x?x64xf16>)
      mask causal
  return %output : tensor<1x9x?x64xf16>
}

func.func @brain(%query: tensor<1x9x?x64xbf16>, %key: tensor<1x3x?x64xbf16>,
                 %value: tensor<1x3x?x64xbf16>) -> tensor<1x9x?x64xbf16> {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x9x?x64xbf16>
  %init = tensor.empty(%length) : tensor<1x9x?x64xbf16>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x9x?x64xbf16>, tensor<1x3x?x64xbf16>,
          tensor<1x3x?x64xbf16>)
      outs(%init : tensor<1x9x?x64xbf16>)
      mask causal
  return %output : tensor<1x9x?x64xbf16>
}
