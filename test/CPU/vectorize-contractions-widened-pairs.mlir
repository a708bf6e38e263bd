// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions \
// RUN:   -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,WIDE -DN=16 -DB=32
// RUN: attn-opt %s --attn-target="{vector_bits = 256, vector_registers = 16}" -attn-vectorize-contractions \
// RUN:   -canonicalize -cse | FileCheck %s -DN=8 -DB=16

#row = affine_map<(m, n, t, p, e) -> (m, t, p, e)>
#columns = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#sums = affine_map<(m, n, t, p, e) -> (m, n)>

// Rows of f32 times pairs of bf16: a vector of pairs is widened to the first
// numbers of each and the second ones, without shuffles.
// CHECK-LABEL: func.func @widened(
// CHECK-SAME: %[[A:[^:]*]]: memref<1x2x16x2xf32>, %[[W:[^:]*]]: memref<2x16x16x2xbf16>, %[[C:[^:]*]]: memref<1x16xf32>)
// CHECK-NOT: linalg
// CHECK-DAG: %[[AS:.*]] = memref.collapse_shape %[[A]] {{.*}} into memref<1x2x32xf32>
// CHECK-DAG: %[[WS:.*]] = memref.collapse_shape %[[W]] {{.*}} into memref<2x16x32xbf16>
// CHECK: scf.for %[[T:.*]] = %c0 to %c2 step %c1
// CHECK: scf.for %[[P:.*]] = %c0 to %c16 step %c2
// CHECK: %[[K:.*]] = arith.muli %[[P]], %c2
// CHECK: %[[EVEN:.*]] = memref.load %[[AS]][%c0, %[[T]], %[[K]]]
// CHECK: %[[K1:.*]] = arith.addi %[[K]], %c1
// CHECK: %[[ODD:.*]] = memref.load %[[AS]][%c0, %[[T]], %[[K1]]]
// CHECK: %[[BF16:.*]] = vector.load %[[WS]][%[[T]], %[[P]], %c0] : memref<2x16x32xbf16>, vector<[[B]]xbf16>
// CHECK: %[[BITS:.*]] = vector.bitcast %[[BF16]] : vector<[[B]]xbf16> to vector<[[N]]xi32>
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[BITS]], %{{.*}} : vector<[[N]]xi32>
// CHECK: %[[MASKED:.*]] = arith.andi %[[BITS]], %{{.*}} : vector<[[N]]xi32>
// CHECK: %[[FIRST:.*]] = vector.bitcast %[[SHIFTED]] : vector<[[N]]xi32> to vector<[[N]]xf32>
// CHECK: %[[SECOND:.*]] = vector.bitcast %[[MASKED]] : vector<[[N]]xi32> to vector<[[N]]xf32>
// CHECK-NOT: vector.shuffle
// CHECK: scf.yield
// CHECK-NOT: vector.shuffle
// WIDE-NOT: amx.tile_
// CHECK: return
func.func @widened(%a: memref<1x2x16x2xf32>, %w: memref<2x16x16x2xbf16>,
                   %c: memref<1x16xf32>) {
  linalg.generic {
      indexing_maps = [#row, #columns, #sums],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %w : memref<1x2x16x2xf32>, memref<2x16x16x2xbf16>)
      outs(%c : memref<1x16xf32>) {
  ^bb0(%x: f32, %y: bf16, %sum: f32):
    %wide = arith.extf %y : bf16 to f32
    %product = arith.mulf %x, %wide : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Pairs that may lie apart are looked at first.
// CHECK-LABEL: func.func @unknown_pairs(
// CHECK: %[[SIDE:.*]] = arith.cmpi eq, %{{.*}}, %c2
// CHECK: scf.if %[[SIDE]]
// CHECK: arith.shli
// CHECK: } else {
// CHECK: arith.extf %{{.*}} : bf16 to f32
func.func @unknown_pairs(%a: memref<?x2x16x2xf32>,
                         %w: memref<2x16x16x2xbf16, strided<[?, ?, ?, 1]>>,
                         %c: memref<?x16xf32>) {
  linalg.generic {
      indexing_maps = [#row, #columns, #sums],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %w : memref<?x2x16x2xf32>, memref<2x16x16x2xbf16, strided<[?, ?, ?, 1]>>)
      outs(%c : memref<?x16xf32>) {
  ^bb0(%x: f32, %y: bf16, %sum: f32):
    %wide = arith.extf %y : bf16 to f32
    %product = arith.mulf %x, %wide : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}
