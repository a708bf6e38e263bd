// Attention as lowered for GPUs, executed on the emulator, against the float64
// interpreter. Sanitizers see the same code in random specs.
// UNSUPPORTED: sanitizer

// REQUIRES: gpu
// RUN: attn-run %s --entry full --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry causal --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry window --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry one --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry offset --arg - --arg - --arg - --arg 57:index --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry sink --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry last --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry tile --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry single --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: attn-run %s --entry no_keys --random 1 --check \
// RUN:   --pipeline gpu-emulator | FileCheck %s
// RUN: not attn-run %s --entry double --random 1 --pipeline gpu-emulator 2>&1 \
// RUN:   | FileCheck %s --check-prefix=F64
// F64: attn-run-gpu-emulator.mlir:{{[0-9]+}}:{{.*}}error: 'attn.attention' op is lowered for a GPU in f32, f16 and bf16 only, got f64

// RUN: not attn-run %s --entry full --random 1 --pipeline gpu-emulator \
// RUN:   --threads 2 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: --threads: pipeline 'gpu-emulator' has 1 thread of the CPU, got 2

// CHECK: pipeline gpu-emulator
// CHECK-NOT: failed:
// CHECK: passed:
// CHECK-NOT: failed:

func.func @full(%query: tensor<1x2x77x64xf16>, %key: tensor<1x1x130x64xf16>,
    %value: tensor<1x1x130x64xf16>) -> tensor<1x2x77x64xf16> {
  %init = tensor.empty() : tensor<1x2x77x64xf16>
  %output = attn.attention ins(%query, %key, %value : tensor<1x2x77x64xf16>, tensor<1x1x130x64xf16>,
      tensor<1x1x130x64xf16>) outs(%init : tensor<1x2x77x64xf16>)
      
  return %output : tensor<1x2x77x64xf16>
}

func.func @causal(%query: tensor<1x2x130x80xbf16>, %key: tensor<1x2x130x80xbf16>,
    %value: tensor<1x2x130x80xbf16>) -> tensor<1x2x130x80xbf16> {
  %init = tensor.empty() : tensor<1x2x130x80xbf16>
  %output = attn.attention ins(%query, %key, %value : tensor<1x2x130x80xbf16>, tensor<1x2x130x80xbf16>,
      tensor<1x2x130x80xbf16>) outs(%init : tensor<1x2x130x80xbf16>)
      mask causal
  return %output : tensor<1x2x130x80xbf16>
}

func.func @window(%query: tensor<1x2x70x128xf16>, %key: tensor<1x1x77x128xf16>,
    %value: tensor<1x1x77x128xf16>) -> tensor<1x2x70x128xf16> {
  %init = tensor.empty() : tensor<1x2x70x128xf16>
  %output = attn.attention ins(%query, %key, %value : tensor<1x2x70x128xf16>, tensor<1x1x77x128xf16>,
      tensor<1x1x77x128xf16>) outs(%init : tensor<1x2x70x128xf16>)
      score softcap(30.0) mask causal, sliding_window(20, 0)
  return %output : tensor<1x2x70x128xf16>
}

func.func @one(%query: tensor<1x4x1x64xbf16>, %key: tensor<1x2x20x64xbf16>,
    %value: tensor<1x2x20x64xbf16>) -> tensor<1x4x1x64xbf16> {
  %init = tensor.empty() : tensor<1x4x1x64xbf16>
  %output = attn.attention ins(%query, %key, %value : tensor<1x4x1x64xbf16>, tensor<1x2x20x64xbf16>,
      tensor<1x2x20x64xbf16>) outs(%init : tensor<1x4x1x64xbf16>)
  return %output : tensor<1x4x1x64xbf16>
}

func.func @offset(%query: tensor<1x2x20x80xf16>, %key: tensor<1x1x77x80xf16>,
    %value: tensor<1x1x77x80xf16>, %offset: index) -> tensor<1x2x20x80xf16> {
  %init = tensor.empty() : tensor<1x2x20x80xf16>
  %output = attn.attention ins(%query, %key, %value : tensor<1x2x20x80xf16>, tensor<1x1x77x80xf16>,
      tensor<1x1x77x80xf16>) outs(%init : tensor<1x2x20x80xf16>)
      offset(%offset : index) mask causal
  return %output : tensor<1x2x20x80xf16>
}

func.func @sink(%query: tensor<1x2x20x128xbf16>, %key: tensor<1x1x130x128xbf16>,
    %value: tensor<1x1x130x128xbf16>, %sink: tensor<2xf32>) -> (tensor<1x2x20x128xbf16>, tensor<1x2x20xf32>) {
  %init = tensor.empty() : tensor<1x2x20x128xbf16>
  %sums = tensor.empty() : tensor<1x2x20xf32>
  %output:2 = attn.attention ins(%query, %key, %value : tensor<1x2x20x128xbf16>, tensor<1x1x130x128xbf16>,
      tensor<1x1x130x128xbf16>) outs(%init, %sums : tensor<1x2x20x128xbf16>, tensor<1x2x20xf32>)
      sink(%sink : tensor<2xf32>)
  return %output#0, %output#1 : tensor<1x2x20x128xbf16>, tensor<1x2x20xf32>
}

// The last query of a causal mask.
func.func @last(%query: tensor<1x4x1x64xbf16>, %key: tensor<1x2x20x64xbf16>,
    %value: tensor<1x2x20x64xbf16>) -> tensor<1x4x1x64xbf16> {
  %init = tensor.empty() : tensor<1x4x1x64xbf16>
  %output = attn.attention ins(%query, %key, %value : tensor<1x4x1x64xbf16>, tensor<1x2x20x64xbf16>,
      tensor<1x2x20x64xbf16>) outs(%init : tensor<1x4x1x64xbf16>)
      offset(bottom_right) mask causal
  return %output : tensor<1x4x1x64xbf16>
}

// One tile of queries in all.
func.func @tile(%query: tensor<1x1x17x64xf16>, %key: tensor<1x1x20x64xf16>,
    %value: tensor<1x1x20x64xf16>) -> tensor<1x1x17x64xf16> {
  %init = tensor.empty() : tensor<1x1x17x64xf16>
  %output = attn.attention ins(%query, %key, %value : tensor<1x1x17x64xf16>, tensor<1x1x20x64xf16>,
      tensor<1x1x20x64xf16>) outs(%init : tensor<1x1x17x64xf16>) mask causal
  return %output : tensor<1x1x17x64xf16>
}

func.func @single(%query: tensor<1x2x70x48xf32>, %key: tensor<1x1x75x48xf32>,
    %value: tensor<1x1x75x80xf32>) -> (tensor<1x2x70x80xf32>, tensor<1x2x70xf32>) {
  %init = tensor.empty() : tensor<1x2x70x80xf32>
  %init_lse = tensor.empty() : tensor<1x2x70xf32>
  %output:2 = attn.attention ins(%query, %key, %value : tensor<1x2x70x48xf32>,
      tensor<1x1x75x48xf32>, tensor<1x1x75x80xf32>)
      outs(%init, %init_lse : tensor<1x2x70x80xf32>, tensor<1x2x70xf32>)
      score softcap(30.0) mask causal
  return %output#0, %output#1 : tensor<1x2x70x80xf32>, tensor<1x2x70xf32>
}

// Rows 0, 1 and 5 are of no sequence.
func.func @no_keys(%query: tensor<1x2x6x32xf16>, %key: tensor<2x2x0x32xf16>, %sink: tensor<2xf32>)
    -> (tensor<1x2x6x32xf16>, tensor<1x2x6xf32>) {
  %ends = arith.constant dense<[2, 4, 5]> : tensor<3xi32>
  %empty = tensor.empty() : tensor<1x2x6x32xf16>
  %empty_lse = tensor.empty() : tensor<1x2x6xf32>
  %r:2 = attn.attention
      ins(%query, %key, %key : tensor<1x2x6x32xf16>, tensor<2x2x0x32xf16>, tensor<2x2x0x32xf16>)
      outs(%empty, %empty_lse : tensor<1x2x6x32xf16>, tensor<1x2x6xf32>)
      sink(%sink : tensor<2xf32>)
      sequences(%ends : tensor<3xi32>)
  return %r#0, %r#1 : tensor<1x2x6x32xf16>, tensor<1x2x6xf32>
}

func.func @double(%query: tensor<1x1x4x64xf64>) -> tensor<1x1x4x64xf64> {
  %init = tensor.empty() : tensor<1x1x4x64xf64>
  %output = attn.attention ins(%query, %query, %query : tensor<1x1x4x64xf64>,
      tensor<1x1x4x64xf64>, tensor<1x1x4x64xf64>) outs(%init : tensor<1x1x4x64xf64>)
  return %output : tensor<1x1x4x64xf64>
}
