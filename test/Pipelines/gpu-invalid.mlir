// REQUIRES: gpu
// RUN: attn-opt %s -attn-gpu-pipeline -split-input-file -verify-diagnostics

!f64 = tensor<1x2x128x64xf64>
func.func @whole(%q: !f64, %k: !f64, %v: !f64) -> !f64 {
  %init = tensor.empty() : !f64
  // expected-error @+1 {{'attn.attention' op is lowered for a GPU in f32, f16 and bf16 only, got f64}}
  %o = attn.attention ins(%q, %k, %v : !f64, !f64, !f64) outs(%init : !f64)
      mask causal
  return %o : !f64
}

// -----

!f16 = tensor<1x2x128x64xf16>
func.func @instruction(%q: !f16, %k: !f16, %v: !f16) -> !f16 {
  %init = tensor.empty() : !f16
  %o = attn.attention ins(%q, %k, %v : !f16, !f16, !f16) outs(%init : !f16)
      score (%s, %b, %h, %p, %j) {
    %wide = arith.extf %s : f32 to f64
    // expected-error @+1 {{'math.erf' op has no instruction on GPUs for 'f64'}}
    %x = math.erf %wide : f64
    %r = arith.truncf %x : f64 to f32
    attn.yield %r : f32
  }
  return %o : !f16
}

// -----

!f16 = tensor<1x2x128x64xf16>
func.func @host(%q: !f16, %k: !f16, %v: !f16) -> !f16 {
  %init = tensor.empty() : !f16
  %o = attn.attention ins(%q, %k, %v : !f16, !f16, !f16) outs(%init : !f16)
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f16
  // expected-error @+1 {{'tensor.insert' op is not lowered for a GPU: the host cannot write elements of tensors, which are in its memory}}
  %r = tensor.insert %one into %o[%c0, %c0, %c0, %c0] : !f16
  return %r : !f16
}

// -----

!f16 = tensor<1x2x128x64xf16>
func.func @host_loads(%q: !f16, %k: !f16, %v: !f16, %scales: tensor<1xf32>) -> !f16 {
  %init = tensor.empty() : !f16
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{the host cannot read elements of tensors, which are in memory of the GPU}}
  %s = tensor.extract %scales[%c0] : tensor<1xf32>
  %o = attn.attention ins(%q, %k, %v : !f16, !f16, !f16) outs(%init : !f16)
      scale(%s : f32)
  return %o : !f16
}

// -----

!long = tensor<1x1x64x1024xf32>
func.func @long_heads(%q: !long) -> !long {
  %init = tensor.empty() : !long
  // expected-error @+1 {{needs 339200 bytes of workgroup memory, of which GPUs have at most 232448: heads of fewer elements need less}}
  %o = attn.attention ins(%q, %q, %q : !long, !long, !long) outs(%init : !long)
  return %o : !long
}

// -----

// It has become several operations.
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %init = tensor.empty() : tensor<4x8xf32>
  // expected-error @+1 {{'linalg.softmax' op is not lowered for a GPU: beside attention, only operations element by element are}}
  %r = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>)
      outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}

// -----

func.func @range(%table: memref<?xi32>, %low: memref<?xi32>, %high: memref<?xi32>) {
  // expected-error @+1 {{'attn.block_range' op is lowered for a GPU on tensors only, got memrefs}}
  attn.block_range ins(%table : memref<?xi32>)
      outs(%low, %high : memref<?xi32>, memref<?xi32>) blocks [8]
  return
}
