// An uninstrumented mlir-opt cannot load an instrumented plugin.
// UNSUPPORTED: sanitizer

// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN: | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(attn-results-to-destinations)" \
// RUN: | FileCheck %s --check-prefix=PASS
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline="builtin.module(attn-reference-pipeline)" \
// RUN: | FileCheck %s --check-prefix=LOWER

// A stock mlir-opt with the plugin knows the dialect, its passes and pipelines.

// CHECK-LABEL: func.func @attend
// CHECK: attn.attention
// CHECK: attn.yield

// PASS-LABEL: func.func @attend
// PASS-SAME: memref<1x2x4x8xf32
// PASS: bufferization.materialize_in_destination

// LOWER-NOT: attn.
// LOWER: llvm.func @attend
// LOWER-NOT: attn.attention

func.func @attend(%query: tensor<1x2x4x8xf32>, %key: tensor<1x1x4x8xf32>,
                  %value: tensor<1x1x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %init = tensor.empty() : tensor<1x2x4x8xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x2x4x8xf32>, tensor<1x1x4x8xf32>,
          tensor<1x1x4x8xf32>)
      outs(%init : tensor<1x2x4x8xf32>)
      mask causal
  return %output : tensor<1x2x4x8xf32>
}
