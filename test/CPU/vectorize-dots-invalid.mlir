// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -verify-diagnostics \
// RUN:   | FileCheck %s

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#dots = {indexing_maps = [#mk, #nk, #mn],
         iterator_types = ["parallel", "parallel", "reduction"]}

// What has no vectors of k: more columns than lanes, any number of them, a k that
// does not fill a vector or is not known, rows that are not contiguous, and types
// that are not converted.
// CHECK-LABEL: func.func @sizes(
// CHECK-COUNT-6: linalg.generic
func.func @sizes(%a: memref<8x32xf32>, %b17: memref<17x32xf32>,
                 %c17: memref<8x17xf32>, %any: memref<?x32xf32>,
                 %c: memref<8x?xf32>, %a12: memref<8x12xf32>,
                 %b12: memref<3x12xf32>, %c3: memref<8x3xf32>,
                 %ak: memref<8x?xf32>, %bk: memref<3x?xf32>,
                 %strided: memref<8x32xf32, strided<[64, 2]>>,
                 %b3: memref<3x32xf32>, %f8: memref<8x32xf8E4M3FNUZ>) {
  // expected-remark @below {{has no row of lanes in an operand and the result}}
  linalg.generic #dots ins(%a, %b17 : memref<8x32xf32>, memref<17x32xf32>)
      outs(%c17 : memref<8x17xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  // expected-remark @below {{has no row of lanes in an operand and the result}}
  linalg.generic #dots ins(%a, %any : memref<8x32xf32>, memref<?x32xf32>)
      outs(%c : memref<8x?xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  // expected-remark @below {{has no row of lanes in an operand and the result}}
  linalg.generic #dots ins(%a12, %b12 : memref<8x12xf32>, memref<3x12xf32>)
      outs(%c3 : memref<8x3xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  // expected-remark @below {{has no row of lanes in an operand and the result}}
  linalg.generic #dots ins(%ak, %bk : memref<8x?xf32>, memref<3x?xf32>)
      outs(%c3 : memref<8x3xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  // expected-remark @below {{has no row of lanes in an operand and the result}}
  linalg.generic #dots
      ins(%strided, %b3 : memref<8x32xf32, strided<[64, 2]>>, memref<3x32xf32>)
      outs(%c3 : memref<8x3xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  // expected-remark @below {{has no row of lanes in an operand and the result}}
  linalg.generic #dots ins(%f8, %b3 : memref<8x32xf8E4M3FNUZ>, memref<3x32xf32>)
      outs(%c3 : memref<8x3xf32>) {
  ^bb0(%x: f8E4M3FNUZ, %y: f32, %sum: f32):
    %wide = arith.extf %x : f8E4M3FNUZ to f32
    %product = arith.mulf %wide, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Sums over another loop than that of the vectors.
// CHECK-LABEL: func.func @loops(
// CHECK: linalg.generic
func.func @loops(%a: memref<8x32xf32>, %b: memref<3x32xf32>,
                 %c: memref<8x3xf32>) {
  // expected-remark @below {{does not contract two matrices to a matrix}}
  linalg.generic {indexing_maps = [#mk, #nk, #mn],
                  iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%a, %b : memref<8x32xf32>, memref<3x32xf32>)
      outs(%c : memref<8x3xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}
