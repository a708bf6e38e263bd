// RUN: attn-opt %s -verify-diagnostics --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions \
// RUN:   | FileCheck %s

// Pairs that are not summed are not what is multiplied in pairs.

// CHECK-LABEL: func.func @pairs_of_rows(
// CHECK-NOT: x86vector
// CHECK: linalg.generic
func.func @pairs_of_rows(%a: memref<4x4x2xbf16>, %b: memref<4x16x2xbf16>,
                         %c: memref<2x16xf32>) {
  // expected-remark @below {{has no row of lanes in an operand and the result}}
  linalg.generic {
      indexing_maps = [affine_map<(m, n, k, l) -> (l, k, m)>,
                       affine_map<(m, n, k, l) -> (k, n, m)>,
                       affine_map<(m, n, k, l) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %b : memref<4x4x2xbf16>, memref<4x16x2xbf16>)
      outs(%c : memref<2x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %product = arith.mulf %0, %1 : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Nor is one pair of each row.

// CHECK-LABEL: func.func @one_pair(
// CHECK-NOT: x86vector
// CHECK: linalg.generic
func.func @one_pair(%a: memref<4x2xbf16>, %b: memref<16x2xbf16>, %c: memref<4x16xf32>) {
  // expected-remark @below {{has pairs that do not follow each other}}
  linalg.generic {
      indexing_maps = [affine_map<(m, n, e) -> (m, e)>, affine_map<(m, n, e) -> (n, e)>,
                       affine_map<(m, n, e) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<4x2xbf16>, memref<16x2xbf16>) outs(%c : memref<4x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %product = arith.mulf %0, %1 : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}
