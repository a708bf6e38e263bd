// RUN: attn-opt %s -attn-vectorize-contractions="vector-bits=512 vector-registers=32 bf16-dot bf16-tiles" -canonicalize -cse | FileCheck %s

#keys = affine_map<(j, q, d, e) -> (j, d, e)>
#queries = affine_map<(j, q, d, e) -> (d, q, e)>
#scores = affine_map<(j, q, d, e) -> (j, q)>
#values = affine_map<(d, q, t, p, e) -> (t, d, p, e)>
#weights = affine_map<(d, q, t, p, e) -> (t, p, q, e)>
#output = affine_map<(d, q, t, p, e) -> (d, q)>
!heads = memref<4x?x64xbf16>
!block = memref<64x64xbf16, strided<[64, 1], offset: ?>>
!pairs = memref<64x32x2xbf16, strided<[64, 2, 1], offset: ?>>

// Values that are packed in their block are fetched while keys are multiplied, and
// the next keys while the packs are.
// CHECK-LABEL: func.func @packs(
// CHECK-SAME: %[[K:[^:]*]]: memref<4x?x64xbf16>, %[[V:[^:]*]]: memref<4x?x64xbf16>
// CHECK: scf.forall (%[[H:.*]]) in (4)
// CHECK: scf.for
// CHECK: %[[VALUES:.*]] = memref.subview %[[V]][%[[H]],
// CHECK: %[[KEYS:.*]] = memref.subview %[[K]][%[[H]],
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK: scf.for %[[ROW:[^ ]*]] = %{{.*}} to %{{.*}} step %c1
// CHECK-NEXT: memref.prefetch %[[VALUES]][%[[ROW]], %c0], read, locality<2>, data
// CHECK-NEXT: memref.prefetch %[[VALUES]][%[[ROW]], %c32], read, locality<2>, data
// CHECK: amx.tile_mulf
// CHECK: linalg.transpose
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c32
// CHECK: scf.for %[[NEXT:[^ ]*]] = %{{.*}} to %{{.*}} step %c1
// CHECK-NEXT: memref.prefetch %[[KEYS]][%[[NEXT]], %c0], read, locality<2>, data
// CHECK-NEXT: memref.prefetch %[[KEYS]][%[[NEXT]], %c32], read, locality<2>, data
// CHECK: amx.tile_mulf
func.func @packs(%k: !heads, %v: !heads, %q: memref<32x32x2xbf16>,
                 %s: memref<64x32xf32>, %w: memref<2x16x32x2xbf16>,
                 %packs: memref<2x64x32xbf16>, %o: memref<64x32xf32>,
                 %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.forall (%h) in (4) {
    scf.for %j = %c0 to %n step %c64 {
      %key = memref.subview %k[%h, %j, 0] [1, 64, 64] [1, 1, 1] : !heads to !block
      %value = memref.subview %v[%h, %j, 0] [1, 64, 64] [1, 1, 1] : !heads to !block
      %key_pairs = memref.expand_shape %key [[0], [1, 2]] output_shape [64, 32, 2]
          : !block into !pairs
      linalg.generic {indexing_maps = [#keys, #queries, #scores],
          iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
          ins(%key_pairs, %q : !pairs, memref<32x32x2xbf16>)
          outs(%s : memref<64x32xf32>) {
      ^bb0(%x: bf16, %y: bf16, %sum: f32):
        %a = arith.extf %x : bf16 to f32
        %b = arith.extf %y : bf16 to f32
        %p = arith.mulf %a, %b : f32
        %r = arith.addf %sum, %p : f32
        linalg.yield %r : f32
      }
      scf.for %t = %c0 to %c2 step %c1 {
        %first = arith.muli %t, %c32 : index
        %rows = memref.subview %value[%first, 0] [32, 64] [1, 1]
            : !block to memref<32x64xbf16, strided<[64, 1], offset: ?>>
        %pack = memref.subview %packs[%t, 0, 0] [1, 64, 32] [1, 1, 1]
            : memref<2x64x32xbf16> to memref<64x32xbf16, strided<[32, 1], offset: ?>>
        linalg.transpose ins(%rows : memref<32x64xbf16, strided<[64, 1], offset: ?>>)
            outs(%pack : memref<64x32xbf16, strided<[32, 1], offset: ?>>)
            permutation = [1, 0]
      }
      %value_pairs = memref.expand_shape %packs [[0], [1], [2, 3]]
          output_shape [2, 64, 16, 2] : memref<2x64x32xbf16> into memref<2x64x16x2xbf16>
      linalg.generic {indexing_maps = [#values, #weights, #output],
          iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
          ins(%value_pairs, %w : memref<2x64x16x2xbf16>, memref<2x16x32x2xbf16>)
          outs(%o : memref<64x32xf32>) {
      ^bb0(%x: bf16, %y: bf16, %sum: f32):
        %a = arith.extf %x : bf16 to f32
        %b = arith.extf %y : bf16 to f32
        %p = arith.mulf %a, %b : f32
        %r = arith.addf %sum, %p : f32
        linalg.yield %r : f32
      }
    }
  }
  return
}
