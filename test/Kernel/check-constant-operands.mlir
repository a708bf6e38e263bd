// RUN: attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   -attn-check-constant-operands
// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-cpu-pipeline
// RUN: attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   -attn-reference-pipeline
// RUN: %if gpu %{ attn-opt %s -split-input-file -verify-diagnostics -attn-gpu-pipeline %}
// RUN: %if gpu %{ attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   -attn-gpu-emulator-pipeline %}

func.func @dimension_of_rank(%a: tensor<?x8xf32>) -> index {
  %c2 = arith.constant 2 : index
  // expected-error @+1 {{'tensor.dim' op index 2 is outside of rank 2}}
  %n = tensor.dim %a, %c2 : tensor<?x8xf32>
  return %n : index
}

// -----

func.func @negative_dimension(%a: tensor<?xf32>) -> index {
  %minus_one = index.constant -1
  // expected-error @+1 {{'tensor.dim' op index -1 is outside of rank 1}}
  %n = tensor.dim %a, %minus_one : tensor<?xf32>
  return %n : index
}

// -----

func.func @huge_dimension(%a: tensor<?xf32>) -> tensor<4xindex> {
  %0 = tensor.generate {
  ^bb0(%i: index):
    %huge = arith.constant 0x7fffffffffffffff : index
    // expected-error @+1 {{index 9223372036854775807 is outside of rank 1}}
    %n = tensor.dim %a, %huge : tensor<?xf32>
    tensor.yield %n : index
  } : tensor<4xindex>
  return %0 : tensor<4xindex>
}

// -----

func.func @negative_size(%n: index) -> tensor<?x?xf32> {
  %least = arith.constant -9223372036854775808 : index
  // expected-error @+1 {{'tensor.empty' op expected sizes of 0 or more, got -9223372036854775808}}
  %0 = tensor.empty(%n, %least) : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}

// -----

func.func @no_step(%n: index, %a: i32) -> i32 {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'scf.for' op expected a positive step, got 0}}
  %0 = scf.for %i = %c0 to %n step %c0 iter_args(%x = %a) -> i32 {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  }
  return %0 : i32
}

// -----

func.func @negative_step(%n: i8, %a: i32) -> i32 {
  %c0 = arith.constant 0 : i8
  %step = arith.constant 200 : i8
  // expected-error @+1 {{'scf.for' op expected a positive step, got -56}}
  %0 = scf.for %i = %c0 to %n step %step iter_args(%x = %a) -> i32 : i8 {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  }
  return %0 : i32
}

// -----

// Below 256, this is no negative number.
func.func @large_unsigned_step(%n: i8, %a: i32) -> i32 {
  %c0 = arith.constant 0 : i8
  %step = arith.constant 200 : i8
  %0 = scf.for unsigned %i = %c0 to %n step %step iter_args(%x = %a) -> i32 : i8 {
    %y = arith.addi %x, %x : i32
    scf.yield %y : i32
  }
  return %0 : i32
}

// -----

func.func @negative_padding(%a: tensor<4xf32>, %x: f32) -> tensor<8xf32> {
  %minus_five = arith.constant -5 : index
  // expected-error @+1 {{'tensor.pad' op expected padding of at least 0, got -5}}
  %0 = tensor.pad %a low[%minus_five] high[9] {
  ^bb0(%i: index):
    tensor.yield %x : f32
  } : tensor<4xf32> to tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @expansion_to_zero(%a: tensor<?x8xf32>) -> tensor<?x0x8xf32> {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'tensor.expand_shape' op expected dimension 0 to become sizes above 0, got 0}}
  %0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [%c0, 0, 8]
      : tensor<?x8xf32> into tensor<?x0x8xf32>
  return %0 : tensor<?x0x8xf32>
}

// -----

func.func @expansion_to_two_sizes(%a: tensor<?x8xf32>, %n: index) -> tensor<?x?x8xf32> {
  // expected-error @+1 {{'tensor.expand_shape' op expected dimension 0 to become at most one dynamic size, got 2}}
  %0 = tensor.expand_shape %a [[0, 1], [2]] output_shape [%n, %n, 8]
      : tensor<?x8xf32> into tensor<?x?x8xf32>
  return %0 : tensor<?x?x8xf32>
}
