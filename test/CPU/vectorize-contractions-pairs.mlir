// RUN: attn-opt %s -canonicalize \
// RUN:   --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" -attn-vectorize-contractions \
// RUN:   -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,DOT
// RUN: attn-opt %s -canonicalize \
// RUN:   --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions \
// RUN:   -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,TILE
// RUN: attn-opt %s -canonicalize -o %t \
// RUN:   --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE

// NONE-COUNT-10: remark: not computed in vector registers: is in pairs, which the target does not multiply
// NONE-NOT: remark

#key = affine_map<(j, q, d, e) -> (j, d, e)>
#query = affine_map<(j, q, d, e) -> (d, q, e)>
#score = affine_map<(j, q, d, e) -> (j, q)>
#value = affine_map<(d, q, t, p, e) -> (t, d, p, e)>
#weight = affine_map<(d, q, t, p, e) -> (t, p, q, e)>
#output = affine_map<(d, q, t, p, e) -> (d, q)>
#lane = affine_map<(d, q) -> (q)>
#all = affine_map<(d, q) -> (d, q)>

// Scores of keys of 32 pairs, which start at 0. A pair of a key, as one number
// of 32 bits, is repeated for all lanes.

// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x32x2xbf16, {{.*}}>, %[[Q:[^:]*]]: memref<32x32x2xbf16>, %[[S:[^:]*]]: memref<?x32xf32>)
// CHECK-NOT: linalg
// CHECK: %[[KS:.*]] = memref.collapse_shape %[[K]] {{.*}} into memref<?x64xbf16, strided<[?, 1], offset: ?>>
// CHECK: %[[QS:.*]] = memref.collapse_shape %[[Q]] {{.*}} into memref<32x64xbf16>
// CHECK: %[[N:.*]] = memref.dim %[[S]], %c0

// DOT: scf.for %{{.*}} = %c0 to %{{.*}} step %c8
// DOT: scf.for %[[D:.*]] = %c0 to %c32 step %c2 iter_args(%[[A0:.*]] = %{{.*}}, %[[A1:.*]] = %{{.*}}) -> (vector<8x16xf32>, vector<8x16xf32>)
// DOT: %[[D2:.*]] = arith.muli %[[D]], %c2
// DOT: %[[PAIR:.*]] = vector.load %[[KS]][%{{.*}}, %[[D2]]] : {{.*}}, vector<2xbf16>
// DOT: %[[Q0:.*]] = vector.load %[[QS]][%[[D]], %c0] : memref<32x64xbf16>, vector<32xbf16>
// DOT: %[[Q1:.*]] = vector.load %[[QS]][%[[D]], %c32] : memref<32x64xbf16>, vector<32xbf16>
// DOT: %[[WORD:.*]] = vector.bitcast %[[PAIR]] : vector<2xbf16> to vector<1xi32>
// DOT: %[[NUMBER:.*]] = vector.extract %[[WORD]][0]
// DOT: %[[WORDS:.*]] = vector.broadcast %[[NUMBER]] : i32 to vector<16xi32>
// DOT: %[[PAIRS:.*]] = vector.bitcast %[[WORDS]] : vector<16xi32> to vector<32xbf16>
// DOT: %[[SUM:.*]] = vector.extract %[[A0]][0]
// DOT: x86vector.avx512.dot %[[SUM]], %[[PAIRS]], %[[Q0]] : vector<32xbf16> -> vector<16xf32>
// DOT: x86vector.avx512.dot %{{.*}}, %[[PAIRS]], %[[Q1]]
// DOT: scf.yield
// DOT: scf.for %{{.*}} = %{{.*}} to %[[N]] step %c1

// Two by two tiles of 16 keys and 16 queries, then one by two; the last ones
// move back to where they are whole.

// TILE: %[[FITS:.*]] = arith.cmpi sge, %[[N]], %c32
// TILE: %[[WHOLE:.*]] = arith.select %[[FITS]], %[[N]], %c0
// TILE: scf.for %[[I:.*]] = %c0 to %[[WHOLE]] step %c32
// TILE: %[[LAST:.*]] = arith.subi %[[N]], %c32
// TILE: %[[ROW:.*]] = arith.minsi %[[I]], %[[LAST]]
// TILE: %[[ROW16:.*]] = arith.addi %[[ROW]], %c16
// TILE-COUNT-4: amx.tile_zero
// TILE: amx.tile_load %[[KS]][%[[ROW]], %c0] : {{.*}} into !amx.tile<16x32xbf16>
// TILE: amx.tile_load %[[KS]][%[[ROW16]], %c0]
// TILE: amx.tile_load %[[QS]][%c0, %c0] : {{.*}} into !amx.tile<16x32xbf16>
// TILE: amx.tile_load %[[QS]][%c0, %c32]
// TILE-COUNT-4: amx.tile_mulf
// TILE: amx.tile_load %[[KS]][%[[ROW]], %c32]
// TILE: amx.tile_load %[[KS]][%[[ROW16]], %c32]
// TILE: amx.tile_load %[[QS]][%c16, %c0]
// TILE: amx.tile_load %[[QS]][%c16, %c32]
// TILE-COUNT-4: amx.tile_mulf
// TILE-NOT: amx.tile_mulf
// TILE: amx.tile_store %[[S]][%[[ROW]], %c0]
// TILE-COUNT-3: amx.tile_store %[[S]]
// TILE: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c16
// TILE-COUNT-2: amx.tile_zero
// TILE-COUNT-4: amx.tile_mulf
// TILE-COUNT-2: amx.tile_store
// TILE: scf.for %{{.*}} = %{{.*}} to %[[N]] step %c1
// TILE-NOT: amx.tile_
// TILE: x86vector.avx512.dot
func.func @scores(%k: memref<?x32x2xbf16, strided<[?, 2, 1], offset: ?>>,
                  %q: memref<32x32x2xbf16>, %s: memref<?x32xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<?x32xf32>)
  linalg.generic {
      indexing_maps = [#key, #query, #score],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%k, %q : memref<?x32x2xbf16, strided<[?, 2, 1], offset: ?>>,
                   memref<32x32x2xbf16>) outs(%s : memref<?x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %a = arith.extf %x : bf16 to f32
    %b = arith.extf %y : bf16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Packs of 16 pairs. Tiles stay in registers for all packs, but what they start
// with is computed in memory before.

// CHECK-LABEL: func.func @output(
// CHECK-SAME: %[[V:[^:]*]]: memref<?x70x16x2xbf16>, %[[W:[^:]*]]: memref<?x16x32x2xbf16>, %[[C:[^:]*]]: memref<32xf32>, %[[O:[^:]*]]: memref<70x32xf32>)
// DOT-NOT: linalg
// DOT: %[[VS:.*]] = memref.collapse_shape %[[V]] {{.*}} into memref<?x70x32xbf16>
// DOT: %[[WS:.*]] = memref.collapse_shape %[[W]] {{.*}} into memref<?x16x64xbf16>
// DOT: scf.for
// DOT: arith.mulf %{{.*}} : vector<16xf32>
// DOT: %[[T:.*]] = memref.dim %[[WS]], %c0
// DOT: scf.for %[[PACK:.*]] = %c0 to %[[T]] step %c1
// DOT: scf.for %[[D:.*]] = %c0 to %c16 step %c2
// DOT: vector.load %[[VS]][%[[PACK]], %{{.*}}, %{{.*}}] : memref<?x70x32xbf16>, vector<2xbf16>
// DOT: vector.load %[[WS]][%[[PACK]], %[[D]], %c0] : memref<?x16x64xbf16>, vector<32xbf16>
// DOT: x86vector.avx512.dot

// 64 rows in tiles, and 6.
// TILE: linalg.generic {{.*}} ins(%[[C]] : memref<32xf32>) outs(%[[O]] : memref<70x32xf32>)
// TILE: %[[VS:.*]] = memref.collapse_shape %[[V]] {{.*}} into memref<?x70x32xbf16>
// TILE: %[[WS:.*]] = memref.collapse_shape %[[W]] {{.*}} into memref<?x16x64xbf16>
// TILE: scf.for %[[ROW:.*]] = %c0 to %c64 step %c32
// TILE-COUNT-4: amx.tile_load %[[O]]
// TILE: %[[T:.*]] = memref.dim %[[WS]], %c0
// TILE: scf.for %[[PACK:.*]] = %c0 to %[[T]] step %c1 iter_args({{.*}}) -> (!amx.tile<16x16xf32>, !amx.tile<16x16xf32>, !amx.tile<16x16xf32>, !amx.tile<16x16xf32>)
// TILE: amx.tile_load %[[VS]][%[[PACK]], %[[ROW]], %c0]
// TILE: amx.tile_load %[[WS]][%[[PACK]], %c0, %c32]
// TILE-COUNT-4: amx.tile_mulf
// TILE: scf.yield
// TILE-COUNT-4: amx.tile_store %[[O]]
// TILE-NOT: amx.tile_
// TILE: x86vector.avx512.dot
func.func @output(%v: memref<?x70x16x2xbf16>, %w: memref<?x16x32x2xbf16>,
                  %c: memref<32xf32>, %o: memref<70x32xf32>) {
  linalg.generic {indexing_maps = [#lane, #all],
                  iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<32xf32>) outs(%o : memref<70x32xf32>) {
  ^bb0(%correction: f32, %old: f32):
    %new = arith.mulf %correction, %old : f32
    linalg.yield %new : f32
  }
  linalg.generic {
      indexing_maps = [#value, #weight, #output],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%v, %w : memref<?x70x16x2xbf16>, memref<?x16x32x2xbf16>)
      outs(%o : memref<70x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %a = arith.extf %x : bf16 to f32
    %b = arith.extf %y : bf16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// No tiles: fewer pairs than one has, any number of them, and rows that are not
// next to the pairs.

// CHECK-LABEL: func.func @small(
// CHECK-NOT: amx
// CHECK: x86vector.avx512.dot
func.func @small(%k: memref<16x3x2xbf16>, %q: memref<3x16x2xbf16>,
                 %s: memref<16x16xf32>) {
  linalg.generic {
      indexing_maps = [#key, #query, #score],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%k, %q : memref<16x3x2xbf16>, memref<3x16x2xbf16>)
      outs(%s : memref<16x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %a = arith.extf %x : bf16 to f32
    %b = arith.extf %y : bf16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// CHECK-LABEL: func.func @any_pairs(
// CHECK-NOT: amx
// CHECK: x86vector.avx512.dot
func.func @any_pairs(%k: memref<32x?x2xbf16, strided<[?, 2, 1]>>,
                     %q: memref<?x16x2xbf16>, %s: memref<32x16xf32>) {
  linalg.generic {
      indexing_maps = [#key, #query, #score],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%k, %q : memref<32x?x2xbf16, strided<[?, 2, 1]>>, memref<?x16x2xbf16>)
      outs(%s : memref<32x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %a = arith.extf %x : bf16 to f32
    %b = arith.extf %y : bf16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// CHECK-LABEL: func.func @rows_first(
// CHECK-NOT: amx
// CHECK: x86vector.avx512.dot
func.func @rows_first(%v: memref<32x4x16x2xbf16>, %w: memref<4x16x16x2xbf16>,
                      %o: memref<32x16xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(d, q, t, p, e) -> (d, t, p, e)>, #weight, #output],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%v, %w : memref<32x4x16x2xbf16>, memref<4x16x16x2xbf16>)
      outs(%o : memref<32x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %a = arith.extf %x : bf16 to f32
    %b = arith.extf %y : bf16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Pairs that may lie apart, as in an argument, are looked at first.
// CHECK-LABEL: func.func @unknown_pairs(
// CHECK: %[[SIDE:.*]] = arith.cmpi eq, %{{.*}}, %c2
// CHECK: scf.if %[[SIDE]]
// CHECK: x86vector.avx512.dot
// CHECK: } else {
// CHECK: arith.mulf
func.func @unknown_pairs(%k: memref<32x4x2xbf16>,
                         %q: memref<4x16x2xbf16, strided<[?, ?, 1]>>,
                         %s: memref<32x16xf32>) {
  linalg.generic {
      indexing_maps = [#key, #query, #score],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%k, %q : memref<32x4x2xbf16>, memref<4x16x2xbf16, strided<[?, ?, 1]>>)
      outs(%s : memref<32x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %a = arith.extf %x : bf16 to f32
    %b = arith.extf %y : bf16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Zeros to begin with are in registers, and filled in for other loops only.
// CHECK-LABEL: func.func @unknown_pairs_from_zero(
// CHECK-NOT: linalg.fill
// CHECK: scf.if
// CHECK-NOT: linalg.fill
// TILE-COUNT-2: amx.tile_zero
// CHECK: } else {
// CHECK: linalg.fill
// CHECK: arith.mulf
func.func @unknown_pairs_from_zero(
    %k: memref<1x32x16x2xbf16>,
    %q: memref<1x16x16x2xbf16, strided<[?, ?, ?, 1]>>, %s: memref<32x16xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<32x16xf32>)
  linalg.generic {
      indexing_maps = [affine_map<(m, n, t, p, e) -> (t, m, p, e)>,
                       affine_map<(m, n, t, p, e) -> (t, p, n, e)>,
                       affine_map<(m, n, t, p, e) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%k, %q : memref<1x32x16x2xbf16>,
                   memref<1x16x16x2xbf16, strided<[?, ?, ?, 1]>>)
      outs(%s : memref<32x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %a = arith.extf %x : bf16 to f32
    %b = arith.extf %y : bf16 to f32
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

#terms = affine_map<(m, n, t, q, p, e) -> (t, q, m, p, e)>
#columns = affine_map<(m, n, t, q, p, e) -> (t, p, n, e)>
#sums = affine_map<(m, n, t, q, p, e) -> (m, n)>

// Rows that are sums of two are multiplied by columns that are loaded once, the
// last term first.
// CHECK-LABEL: func.func @terms(
// CHECK-SAME: %[[A:[^:]*]]: memref<4x2x16x16x2xbf16>, %[[B:[^:]*]]: memref<4x16x16x2xbf16>
// CHECK: %[[ROWS:.*]] = memref.collapse_shape %[[A]] {{.*}} into memref<4x2x16x32xbf16>
// CHECK: %[[COLUMNS:.*]] = memref.collapse_shape %[[B]] {{.*}} into memref<4x16x32xbf16>
// CHECK: scf.for %[[T:.*]] = %c0 to %c4
// TILE: %[[A1:.*]] = amx.tile_load %[[ROWS]][%[[T]], %c1, %c0, %c0]
// TILE: %[[W:.*]] = amx.tile_load %[[COLUMNS]][%[[T]], %c0, %c0]
// TILE: %[[SUM:.*]] = amx.tile_mulf %[[A1]], %[[W]], %{{.*}}
// TILE: %[[A0:.*]] = amx.tile_load %[[ROWS]][%[[T]], %c0, %c0, %c0]
// TILE: amx.tile_mulf %[[A0]], %[[W]], %[[SUM]]
// TILE-NOT: amx.tile_mulf
// DOT: %[[FIRST:.*]] = vector.load %[[ROWS]][%[[T]], %c0, %{{.*}}, %{{.*}}] : {{.*}}, vector<2xbf16>
// DOT: %[[LAST:.*]] = vector.load %[[ROWS]][%[[T]], %c1, %{{.*}}, %{{.*}}] : {{.*}}, vector<2xbf16>
// DOT: %[[W:.*]] = vector.load %[[COLUMNS]][%[[T]], %{{.*}}, %c0] : {{.*}}, vector<32xbf16>
// DOT: vector.bitcast %[[LAST]]
// DOT: %[[SUM:.*]] = x86vector.avx512.dot %{{.*}}, %{{.*}}, %[[W]]
// DOT: vector.bitcast %[[FIRST]]
// DOT: x86vector.avx512.dot %{{.*}}, %{{.*}}, %[[W]]
func.func @terms(%a: memref<4x2x16x16x2xbf16>, %b: memref<4x16x16x2xbf16>,
                 %c: memref<16x16xf32>) {
  linalg.generic {
      indexing_maps = [#terms, #columns, #sums],
      iterator_types = ["parallel", "parallel", "reduction", "reduction",
                        "reduction", "reduction"]}
      ins(%a, %b : memref<4x2x16x16x2xbf16>, memref<4x16x16x2xbf16>)
      outs(%c : memref<16x16xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %product = arith.mulf %u, %v : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

#row = affine_map<(q, d, t, e) -> (t, q, e)>
#column = affine_map<(q, d, t, e) -> (t, d, e)>
#product = affine_map<(q, d, t, e) -> (q, d)>

// Pairs of neighbouring rows lie side by side. Tiles have rows of pairs.
// CHECK-LABEL: func.func @pairs_of_rows(
// CHECK-SAME: %[[A:[^:]*]]: memref<?x32x2xbf16>, %[[B:[^:]*]]: memref<?x64x2xbf16>
// CHECK: %[[ROWS:.*]] = memref.collapse_shape %[[A]] {{.*}} into memref<?x64xbf16>
// CHECK: %[[COLUMNS:.*]] = memref.collapse_shape %[[B]] {{.*}} into memref<?x128xbf16>
// CHECK: scf.for %[[I:.*]] = %c0 to %c32 step %c4
// CHECK: %[[I1:.*]] = arith.addi %[[I]], %c1
// CHECK: %[[PAIR:.*]] = arith.muli %[[I]], %c2
// CHECK: %[[PAIR1:.*]] = arith.muli %[[I1]], %c2
// CHECK: scf.for %[[T:.*]] = %c0 to %{{.*}} step %c1
// CHECK: vector.load %[[ROWS]][%[[T]], %[[PAIR]]] : {{.*}}, vector<2xbf16>
// CHECK: vector.load %[[ROWS]][%[[T]], %[[PAIR1]]] : {{.*}}, vector<2xbf16>
// CHECK: vector.load %[[COLUMNS]][%[[T]], %c0] : {{.*}}, vector<32xbf16>
// CHECK-COUNT-16: x86vector.avx512.dot
// CHECK-NOT: x86vector.avx512.dot
// CHECK-NOT: amx.
// CHECK: return
func.func @pairs_of_rows(%p: memref<?x32x2xbf16>, %k: memref<?x64x2xbf16>, %o: memref<32x64xf32>) {
  linalg.generic {
      indexing_maps = [#row, #column, #product],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %k : memref<?x32x2xbf16>, memref<?x64x2xbf16>) outs(%o : memref<32x64xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %product = arith.mulf %u, %v : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// A row of five registers is kept as a whole.
// CHECK-LABEL: func.func @five_vectors(
// DOT: scf.for %{{.*}} = %c0 to %{{.*}} step %c4
// DOT: scf.for %{{.*}} = %c0 to %c16 step %c2 iter_args({{.*}}) -> (vector<4x16xf32>, vector<4x16xf32>, vector<4x16xf32>, vector<4x16xf32>, vector<4x16xf32>)
func.func @five_vectors(%p: memref<?x16x2xbf16>, %q: memref<16x80x2xbf16>, %o: memref<?x80xf32>) {
  linalg.generic {
      indexing_maps = [#key, #query, #score],
      iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%p, %q : memref<?x16x2xbf16>, memref<16x80x2xbf16>) outs(%o : memref<?x80xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %u = arith.extf %x : bf16 to f32
    %v = arith.extf %y : bf16 to f32
    %product = arith.mulf %u, %v : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}
