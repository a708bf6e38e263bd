// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-check-limits
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-cpu-pipeline
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-reference-pipeline
// RUN: %if gpu %{ attn-opt %s --split-input-file --verify-diagnostics --attn-gpu-pipeline %}

// Dividing constants of this type alone takes minutes.
func.func @wide() -> tensor<1xi1> {
  // expected-error @below {{'arith.constant' op expected integers of at most 128 bits, got 'i16777215'}}
  %w = arith.constant 3 : i16777215
  %m = arith.constant -1 : i16777215
  %x = arith.divui %m, %w : i16777215
  %y = arith.muli %x, %x : i16777215
  %e = arith.cmpi ult, %x, %y : i16777215
  %t = tensor.from_elements %e : tensor<1xi1>
  return %t : tensor<1xi1>
}

// -----

func.func @vector(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{'arith.constant' op expected vectors of at most 1024 elements, got 'vector<64x17xf32>'}}
  %v = arith.constant dense<0.0> : vector<64x17xf32>
  return %x : tensor<8xf32>
}

// -----

func.func private @one(%x: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %e = tensor.empty() : tensor<1x1x2x4xf32>
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%e : tensor<1x1x2x4xf32>)
  return %r : tensor<1x1x2x4xf32>
}

func.func private @eight(%x: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = call @one(%x) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %1 = call @one(%0) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %2 = call @one(%1) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %3 = call @one(%2) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %4 = call @one(%3) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %5 = call @one(%4) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %6 = call @one(%5) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %7 = call @one(%6) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return %7 : tensor<1x1x2x4xf32>
}

func.func private @square(%x: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = call @eight(%x) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %1 = call @eight(%0) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %2 = call @eight(%1) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %3 = call @eight(%2) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %4 = call @eight(%3) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %5 = call @eight(%4) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %6 = call @eight(%5) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %7 = call @eight(%6) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return %7 : tensor<1x1x2x4xf32>
}

// expected-error @below {{function with all that it calls has 576 operations of the attn dialect, and may have up to 512}}
func.func @many(%x: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = call @square(%x) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %1 = call @square(%0) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %2 = call @square(%1) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %3 = call @square(%2) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %4 = call @square(%3) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %5 = call @square(%4) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %6 = call @square(%5) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %7 = call @square(%6) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %8 = call @square(%7) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return %8 : tensor<1x1x2x4xf32>
}
