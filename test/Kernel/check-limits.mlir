// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-check-limits
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-cpu-pipeline
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-reference-pipeline
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-gpu-pipeline

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
