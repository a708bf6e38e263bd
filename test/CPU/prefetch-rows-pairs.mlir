// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true, memory_ns = 64}" -attn-vectorize-contractions -canonicalize -cse | FileCheck %s

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

#row = affine_map<(m, n, t, p, e) -> (m, t, p, e)>
#columns = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#sums = affine_map<(m, n, t, p, e) -> (m, n)>

// Few rows times a panel of pairs, whose halves are read at once, and which fetch the
// panel's next rows of pairs.
// CHECK-LABEL: func.func @panel(
// CHECK-SAME: %[[W:[^:]*]]: memref<4x?x64x2xbf16>
// CHECK: scf.forall (%[[H:.*]]) in (4)
// CHECK: scf.for
// CHECK: memref.subview
// CHECK: %[[NEXT:.*]] = memref.subview %[[W]][%[[H]], %{{.*}}, 0, 0] [1, 128, 64, 2]
// CHECK: scf.for %[[T:[^ ]*]] = %c0 to %c4 step %c1
// CHECK: scf.for %[[P:[^ ]*]] = %c0 to %c16 step %c1
// CHECK: %[[FIRST:.*]] = arith.muli %[[T]], %c16
// CHECK: %[[R:.*]] = arith.addi %[[FIRST]], %[[P]]
// CHECK: memref.prefetch %[[NEXT]][%[[R]], %c0, %c0], read, locality<2>, data
// CHECK: memref.prefetch %[[NEXT]][%[[R]], %c16, %c0], read, locality<2>, data
// CHECK: memref.prefetch %[[NEXT]][%[[R]], %c32, %c0], read, locality<2>, data
// CHECK: memref.prefetch %[[NEXT]][%[[R]], %c48, %c0], read, locality<2>, data
// CHECK: %[[HALF:.*]] = arith.addi %[[T]], %c4
// CHECK: %[[OTHER:.*]] = arith.muli %[[HALF]], %c16
// CHECK: %[[R1:.*]] = arith.addi %[[OTHER]], %[[P]]
// CHECK-COUNT-4: memref.prefetch %[[NEXT]][%[[R1]],
// CHECK-NOT: memref.prefetch
func.func @panel(%w: memref<4x?x64x2xbf16>, %a: memref<3x8x16x2xbf16>,
                 %c: memref<4x3x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  scf.forall (%h) in (4) {
    %sums = memref.subview %c[%h, 0, 0] [1, 3, 64] [1, 1, 1]
        : memref<4x3x64xf32> to memref<3x64xf32, strided<[64, 1], offset: ?>>
    scf.for %j = %c0 to %n step %c128 {
      %rows = memref.subview %w[%h, %j, 0, 0] [1, 128, 64, 2] [1, 1, 1, 1]
          : memref<4x?x64x2xbf16> to memref<128x64x2xbf16, strided<[128, 2, 1], offset: ?>>
      %pairs = memref.expand_shape %rows [[0, 1], [2], [3]] output_shape [8, 16, 64, 2]
          : memref<128x64x2xbf16, strided<[128, 2, 1], offset: ?>>
          into memref<8x16x64x2xbf16, strided<[2048, 128, 2, 1], offset: ?>>
      linalg.generic {indexing_maps = [#row, #columns, #sums],
          iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
          ins(%a, %pairs : memref<3x8x16x2xbf16>,
                           memref<8x16x64x2xbf16, strided<[2048, 128, 2, 1], offset: ?>>)
          outs(%sums : memref<3x64xf32, strided<[64, 1], offset: ?>>) {
      ^bb0(%x: bf16, %y: bf16, %sum: f32):
        %0 = arith.extf %x : bf16 to f32
        %1 = arith.extf %y : bf16 to f32
        %2 = arith.mulf %0, %1 : f32
        %3 = arith.addf %sum, %2 : f32
        linalg.yield %3 : f32
      }
    }
  }
  return
}
