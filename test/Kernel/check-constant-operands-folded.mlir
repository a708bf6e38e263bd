// RUN: attn-opt %s -verify-diagnostics -attn-cpu-pipeline
// RUN: attn-opt %s -verify-diagnostics -attn-reference-pipeline

// A step that simplifying makes a constant.
func.func @folded_step(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.subi %c1, %c1 : index
  // expected-error @+1 {{'scf.for' op expected a positive step, got 0}}
  %0 = scf.for %i = %c0 to %n step %step iter_args(%y = %x) -> tensor<4xf32> {
    %z = arith.addf %y, %y : tensor<4xf32>
    scf.yield %z : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}
