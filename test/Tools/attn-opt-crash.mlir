// UNSUPPORTED: sanitizer
// RUN: rm -rf %t && split-file %s %t
// RUN: not attn-opt %t/pack.mlir 2>&1 | FileCheck %s --check-prefix=PACK
// RUN: not attn-opt %t/quiet.mlir --verify-diagnostics 2>&1 | FileCheck %s --check-prefix=QUIET
// RUN: not attn-opt %t/second.mlir --split-input-file 2>&1 | FileCheck %s --check-prefix=SECOND

// What upstream's verifiers crash on is an error with a place: here operands
// that are said to be those of another group, which linalg.pack does not check.
// Sanitizers report crashes themselves.

//--- pack.mlir
// PACK: pack.mlir:4:8: error: the compiler crashed verifying this (SIGSEGV)
// PACK-NOT: {{.}}
func.func @pack(%source: tensor<8x8xf32>, %init: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
  %0 = "linalg.pack"(%source, %init) <{
      inner_dims_pos = array<i64: 0, 1>, outer_dims_perm = array<i64>,
      static_inner_tiles = array<i64: 4, 4>,
      operandSegmentSizes = array<i32: 2, 0, 0, 0>}>
      : (tensor<8x8xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  return %0 : tensor<2x2x4x4xf32>
}

//--- quiet.mlir
// QUIET: quiet.mlir:4:8: error: the compiler crashed verifying this (SIGSEGV)
func.func @pack(%source: tensor<8x8xf32>, %init: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
  // expected-error @below {{anything}}
  %0 = "linalg.pack"(%source, %init) <{
      inner_dims_pos = array<i64: 0, 1>, outer_dims_perm = array<i64>,
      static_inner_tiles = array<i64: 4, 4>,
      operandSegmentSizes = array<i32: 2, 0, 0, 0>}>
      : (tensor<8x8xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  return %0 : tensor<2x2x4x4xf32>
}

//--- second.mlir
// SECOND: second.mlir:7:8: error: the compiler crashed verifying this (SIGSEGV)
func.func @first() {
  return
}
// -----
func.func @pack(%source: tensor<8x8xf32>, %init: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
  %0 = "linalg.pack"(%source, %init) <{
      inner_dims_pos = array<i64: 0, 1>, outer_dims_perm = array<i64>,
      static_inner_tiles = array<i64: 4, 4>,
      operandSegmentSizes = array<i32: 2, 0, 0, 0>}>
      : (tensor<8x8xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  return %0 : tensor<2x2x4x4xf32>
}
