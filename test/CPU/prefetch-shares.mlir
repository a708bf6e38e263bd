// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions \
// RUN:   -convert-attn-to-vector -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" -attn-vectorize-contractions \
// RUN:   -canonicalize -cse | FileCheck %s --check-prefix=DOT

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>

// Two blocks of rows by a number of packs: as many steps, each with a share of the
// rows, of which there may be no pack to compute with.
// CHECK-LABEL: func.func @product(
// CHECK-SAME: %[[ROWS:[^:]*]]: memref<100x64xbf16>, %[[FIRST:[^:]*]]: index, %[[LAST:[^:]*]]: index
// CHECK: %[[N:.*]] = memref.dim
// CHECK: %[[STEPS:.*]] = arith.muli %[[N]], %c2
// CHECK: %[[SHARES:.*]] = arith.maxsi %[[STEPS]], %c1
// CHECK: %[[DIFFERENCE:.*]] = arith.subi %[[LAST]], %[[FIRST]]
// CHECK: %[[COUNT:.*]] = arith.maxsi %[[DIFFERENCE]], %c0
// CHECK: %[[SIZE:.*]] = arith.ceildivui %[[COUNT]], %[[SHARES]]
// CHECK-NOT: memref.prefetch
// CHECK: scf.for %[[ROW:[^ ]*]] = %c0 to %c64 step %c32
// CHECK: scf.for %[[T:[^ ]*]] = %c0 to
// CHECK: %[[BLOCK:.*]] = arith.ceildivui %[[ROW]], %c32
// CHECK: %[[BEFORE:.*]] = arith.muli %[[BLOCK]], %{{.*}}
// CHECK: %[[STEP:.*]] = arith.addi %[[BEFORE]], %[[T]]
// CHECK: %[[DONE:.*]] = arith.muli %[[STEP]], %[[SIZE]]
// CHECK: %[[BEGIN:.*]] = arith.addi %[[FIRST]], %[[DONE]]
// CHECK: %[[END:.*]] = arith.subi %[[LAST]], %c1
// CHECK: scf.for %[[I:.*]] = %c0 to %[[SIZE]] step %c1
// CHECK: %[[NEXT:.*]] = arith.addi %[[BEGIN]], %[[I]]
// CHECK: %[[AT:.*]] = arith.minsi %[[NEXT]], %[[END]]
// CHECK: memref.prefetch %[[ROWS]][%[[AT]], %c0]
// CHECK: memref.prefetch %[[ROWS]][%[[AT]], %c32]
// CHECK: amx.tile_load
// CHECK-NOT: memref.prefetch
// CHECK: return

// Without tiles, all at once.
// DOT-LABEL: func.func @product(
// DOT-SAME: %[[ROWS:[^:]*]]: memref<100x64xbf16>, %[[FIRST:[^:]*]]: index, %[[LAST:[^:]*]]: index
// DOT: attn.prefetch %[[ROWS]][%[[FIRST]]] to %[[LAST]] spread
// DOT: scf.for
func.func @product(%rows: memref<100x64xbf16>, %first: index, %last: index,
                   %a: memref<?x64x16x2xbf16>, %b: memref<?x16x32x2xbf16>,
                   %c: memref<64x32xf32>) {
  %c0 = arith.constant 0 : index
  attn.prefetch %rows[%first] to %last spread : memref<100x64xbf16>
  linalg.generic {indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : memref<?x64x16x2xbf16>, memref<?x16x32x2xbf16>)
      outs(%c : memref<64x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// -----

// A share before the weights of each 8 keys, of every prefetch. Exact weights, which are
// rare, fetch nothing.
// CHECK-LABEL: func.func @softmax(
// CHECK-SAME: %[[ROWS:[^:]*]]: memref<100x16xf32>, %[[OTHERS:[^:]*]]: memref<50x16xf32>
// CHECK-NOT: memref.prefetch
// CHECK: scf.if %{{.*}} -> (vector<16xf32>)
// CHECK-NOT: memref.prefetch
// CHECK: } else {
// CHECK: %[[SHARES:.*]] = arith.ceildivui %{{.*}}, %c8
// CHECK: scf.for %[[KEY:[^ ]*]] = %c0 to %[[KEYS:.*]] step %c8
// CHECK: arith.divui %[[KEY]], %c8
// CHECK: memref.prefetch %[[OTHERS]]
// CHECK: memref.prefetch %[[ROWS]]
// CHECK: %[[AFTER:.*]] = arith.addi %[[KEY]], %c8
// CHECK: %[[END:.*]] = arith.minsi %[[AFTER]], %[[KEYS]]
// CHECK: scf.for %{{.*}} = %[[KEY]] to %[[END]]
// CHECK-NOT: memref.prefetch
// CHECK: return
func.func @softmax(%rows: memref<100x16xf32>, %others: memref<50x16xf32>,
                   %first: index, %last: index, %keys: index, %exact: i1,
                   %s: memref<64x16xf32>, %m: memref<16xf32>,
                   %l: memref<16xf32>, %c: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %false = arith.constant false
  %true = arith.constant true
  attn.prefetch %rows[%first] to %last spread : memref<100x16xf32>
  attn.prefetch %others[%first] to %last spread : memref<50x16xf32>
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<64x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c16) keys(%keys) partial(%false)
      defined(%true) exact(%exact)
  return
}

// -----

// What is before something else stays.
// CHECK-LABEL: func.func @others(
// CHECK-SAME: %[[ROWS:[^:]*]]: memref<100x16xf32>, %[[FIRST:[^:]*]]: index, %[[LAST:[^:]*]]: index
// CHECK: attn.prefetch %[[ROWS]][%[[FIRST]]] to %[[LAST]]
// CHECK-NEXT: memref.store
// CHECK-NOT: prefetch
// CHECK: return
func.func @others(%rows: memref<100x16xf32>, %first: index, %last: index,
                  %s: memref<64x16xf32>, %m: memref<16xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %false = arith.constant false
  %true = arith.constant true
  attn.prefetch %rows[%first] to %last spread : memref<100x16xf32>
  memref.store %x, %m[%first] : memref<16xf32>
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<64x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c16) keys(%c16) partial(%false)
      defined(%true) exact(%false)
  return
}

// -----

// Blocks in vectors: 8 rows of four lines while one block of C has 64 steps, a line for
// every two.
// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[VALUES:[^:]*]]: memref<?x64xf32>
// CHECK: scf.for %[[D:[^ ]*]] = %c0 to %c64 step %c2
// CHECK:   %[[SHARE:.*]] = arith.divui %[[D]], %c2
// CHECK:   %[[PART:.*]] = arith.remui %[[SHARE]], %c4
// CHECK:   %[[COLUMN:.*]] = arith.muli %[[PART]], %c16
// CHECK:   %[[DOWN:.*]] = arith.divui %[[SHARE]], %c4
// CHECK:   %[[ROW:.*]] = arith.addi %[[DOWN]], %c23
// CHECK:   memref.prefetch %[[VALUES]][%[[ROW]], %[[COLUMN]]], read, locality<2>, data
// CHECK-NOT: prefetch
// CHECK: return
func.func @scores(%values: memref<?x64xf32>, %keys: memref<8x64xf32>,
                  %q: memref<64x32xf32>, %s: memref<8x32xf32>) {
  %c23 = arith.constant 23 : index
  %c31 = arith.constant 31 : index
  attn.prefetch %values[%c23] to %c31 spread : memref<?x64xf32>
  linalg.matmul ins(%keys, %q : memref<8x64xf32>, memref<64x32xf32>)
      outs(%s : memref<8x32xf32>)
  return
}

// -----

#kn = affine_map<(m, n, k) -> (k, n)>
#km = affine_map<(m, n, k) -> (k, m)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Each of two blocks of columns has at most 32 steps, and half of the 32 rows.
// CHECK-LABEL: func.func @output(
// CHECK-SAME: %[[KEYS:[^:]*]]: memref<32x128xf32>
// CHECK: scf.for %[[COLUMN:[^ ]*]] = %c0 to %c128 step %c64
// CHECK:   %[[BLOCK:.*]] = arith.divui %[[COLUMN]], %c64
// CHECK:   %[[FIRST:.*]] = arith.muli %[[BLOCK]], %c32
// CHECK:   scf.for %[[K:[^ ]*]] = %c0 to %{{.*}} step %c1
// CHECK:     %[[SHARE:.*]] = arith.addi %[[FIRST]], %[[K]]
// CHECK:     %[[ROW:.*]] = arith.divui %[[SHARE]], %c2
// CHECK-COUNT-4: memref.prefetch %[[KEYS]][%[[ROW]], %{{.*}}], read, locality<2>, data
// CHECK-NOT: prefetch
// CHECK: return
func.func @output(%keys: memref<32x128xf32>, %w: memref<32x4xf32>,
                  %values: memref<?x128xf32>, %n: index, %o: memref<4x128xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %m = affine.min affine_map<()[s0] -> (s0, 32)>()[%n]
  %v = memref.subview %values[0, 0] [%m, 128] [1, 1]
      : memref<?x128xf32> to memref<?x128xf32, strided<[128, 1]>>
  %p = memref.subview %w[0, 0] [%m, 4] [1, 1]
      : memref<32x4xf32> to memref<?x4xf32, strided<[4, 1]>>
  attn.prefetch %keys[%c0] to %c32 spread : memref<32x128xf32>
  linalg.generic {indexing_maps = [#km, #kn, #mn],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : memref<?x4xf32, strided<[4, 1]>>, memref<?x128xf32, strided<[128, 1]>>)
      outs(%o : memref<4x128xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Dots of four keys read as many lines in a step as it fetches: two rows of 32 of two.
// CHECK-LABEL: func.func @dots(
// CHECK-SAME: %[[VALUES:[^:]*]]: memref<?x64xf16>
// CHECK: scf.for %[[J:[^ ]*]] = %c0 to %{{.*}} step %c4
// CHECK:   scf.for %[[D:[^ ]*]] = %c0 to %c64 step %c32
// CHECK:     %[[ROWS:.*]] = arith.divui %[[J]], %c4
// CHECK:     %[[STEP:.*]] = arith.divui %[[D]], %c32
// CHECK:     %[[BEFORE:.*]] = arith.muli %[[ROWS]], %c2
// CHECK:     %[[SHARE:.*]] = arith.addi %[[BEFORE]], %[[STEP]]
// CHECK:     %[[FIRST:.*]] = arith.muli %[[SHARE]], %c2
// CHECK:     %[[ROW:.*]] = arith.addi %[[FIRST]], %c93
// CHECK:     memref.prefetch %[[VALUES]][%[[ROW]], %c0], read, locality<2>, data
// CHECK:     memref.prefetch %[[VALUES]][%[[ROW]], %c32]
// CHECK:     %[[NEXT:.*]] = arith.addi %[[FIRST]], %c94
// CHECK:     memref.prefetch %[[VALUES]][%[[NEXT]], %c0]
// CHECK:     memref.prefetch %[[VALUES]][%[[NEXT]], %c32]
// CHECK: scf.for %{{[^ ]*}} = %{{.*}} to %{{.*}} step %c1
// CHECK:   memref.prefetch %[[VALUES]]
// CHECK-NOT: prefetch
// CHECK: return
func.func @dots(%values: memref<?x64xf16>, %all: memref<?x64xf16>, %n: index,
                %q: memref<3x64xf32>, %scores: memref<32x3xf32>) {
  %c93 = arith.constant 93 : index
  %c125 = arith.constant 125 : index
  %m = affine.min affine_map<()[s0] -> (s0, 32)>()[%n]
  %keys = memref.subview %all[0, 0] [%m, 64] [1, 1]
      : memref<?x64xf16> to memref<?x64xf16, strided<[64, 1]>>
  %s = memref.subview %scores[0, 0] [%m, 3] [1, 1]
      : memref<32x3xf32> to memref<?x3xf32, strided<[3, 1]>>
  attn.prefetch %values[%c93] to %c125 spread : memref<?x64xf16>
  linalg.generic {indexing_maps = [#mk, #nk, #mn],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%keys, %q : memref<?x64xf16, strided<[64, 1]>>, memref<3x64xf32>)
      outs(%s : memref<?x3xf32, strided<[3, 1]>>) {
  ^bb0(%x: f16, %y: f32, %sum: f32):
    %w = arith.extf %x : f16 to f32
    %0 = arith.mulf %w, %y : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>

// With one query, keys are read one after the other, two lines in a step.
// CHECK-LABEL: func.func @in_turn(
// CHECK-SAME: %[[VALUES:[^:]*]]: memref<?x64xf16>, %[[KEYS:[^:]*]]: memref<8x64xf16>
// CHECK-COUNT-4: vector.load %[[KEYS]][%c0,
// CHECK-COUNT-4: vector.load %[[KEYS]][%c1,
// CHECK-COUNT-4: vector.load %[[KEYS]][%c2,
// CHECK: return
func.func @in_turn(%values: memref<?x64xf16>, %keys: memref<8x64xf16>,
                   %q: memref<1x64xf32>, %scores: memref<8x1xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  attn.prefetch %values[%c0] to %c8 spread : memref<?x64xf16>
  linalg.generic {indexing_maps = [#mk, #nk, #mn],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%keys, %q : memref<8x64xf16>, memref<1x64xf32>) outs(%scores : memref<8x1xf32>) {
  ^bb0(%x: f16, %y: f32, %sum: f32):
    %w = arith.extf %x : f16 to f32
    %0 = arith.mulf %w, %y : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// Shares of shares, of which there are few lines: two of each for 16 steps, outside of the
// loop that multiplies. Rows of 24 bytes follow each other, and have as many lines as all
// of their bytes. Those of four lines are two shares. The last shares would go beyond the end.
// CHECK-LABEL: func.func @panels(
// CHECK-SAME: %[[NEXT:[^:]*]]: memref<342x64xf32>, %[[LATER:[^:]*]]: memref<342x6xf32>
// CHECK-SAME: %[[PACK:[^:]*]]: index, %[[BLOCK:[^:]*]]: index
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[PACK]], %c21
// CHECK-DAG: arith.muli %[[BLOCK]], %c21
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c336 step %c16
// CHECK-COUNT-2: memref.prefetch %[[LATER]]
// CHECK:   %[[SHARE:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK:   %[[HALF:.*]] = arith.minui %[[SHARE]], %c683
// CHECK:   %[[ROW:.*]] = arith.divui %[[HALF]], %c2
// CHECK-COUNT-2: memref.prefetch %[[NEXT]][%[[ROW]], %{{.*}}]
// CHECK:   scf.for %{{[^ ]*}} = %[[K]] to %{{.*}} step %c1
// CHECK-NOT: prefetch
// CHECK: return
func.func @panels(%next: memref<342x64xf32>, %later: memref<342x6xf32>,
                  %panel: memref<342x64xf32>, %pack: memref<342x6xf32>,
                  %c: memref<6x64xf32>, %number: index, %block: index) {
  %c0 = arith.constant 0 : index
  %c342 = arith.constant 342 : index
  attn.prefetch %next[%c0] to %c342 spread share(%number of 57) : memref<342x64xf32>
  attn.prefetch %later[%c0] to %c342 spread share(%block of 4) : memref<342x6xf32>
  linalg.generic {indexing_maps = [#km, #kn, #mn],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%pack, %panel : memref<342x6xf32>, memref<342x64xf32>)
      outs(%c : memref<6x64xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#km = affine_map<(m, n, k) -> (k, m)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>

// The same where the number of steps is not known, but the most of it: steps that are
// left over fetch nothing.
// CHECK-LABEL: func.func @trimmed(
// CHECK-SAME: %[[NEXT:[^:]*]]: memref<64x16xf32>,
// CHECK: %[[STEPS:.*]] = affine.min
// CHECK: %[[LEFT:.*]] = arith.remui %[[STEPS]], %c16
// CHECK: %[[WHOLE:.*]] = arith.subi %[[STEPS]], %[[LEFT]]
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %[[WHOLE]] step %c16
// CHECK:   memref.prefetch %[[NEXT]]
// CHECK:   scf.for %{{[^ ]*}} = %[[K]] to %{{.*}} step %c1
// CHECK-NOT: prefetch
// CHECK: scf.for %{{[^ ]*}} = %[[WHOLE]] to %[[STEPS]] step %c1
// CHECK-NOT: prefetch
// CHECK: return
func.func @trimmed(%next: memref<64x16xf32>, %values: memref<64x64xf32>,
                   %weights: memref<64x24xf32>, %c: memref<24x64xf32>,
                   %keys: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %steps = affine.min affine_map<()[s] -> (s, 64)>()[%keys]
  %a = memref.subview %weights[0, 0] [%steps, 24] [1, 1]
      : memref<64x24xf32> to memref<?x24xf32, strided<[24, 1]>>
  %b = memref.subview %values[0, 0] [%steps, 64] [1, 1]
      : memref<64x64xf32> to memref<?x64xf32, strided<[64, 1]>>
  attn.prefetch %next[%c0] to %c64 spread : memref<64x16xf32>
  linalg.generic {indexing_maps = [#km, #kn, #mn],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<?x24xf32, strided<[24, 1]>>, memref<?x64xf32, strided<[64, 1]>>)
      outs(%c : memref<24x64xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %sum, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>

// A share of as many rows as a product has steps, one of eight in each, is a part of the
// step's row. What is written comes into the first level.
// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %[[NEXT:[^:]*]]: memref<16x16x32x2xbf16>, %[[SUMS:[^:]*]]: memref<32x32xf32>, %[[PACK:[^:]*]]: index
// CHECK: scf.for %[[T:[^ ]*]] = %c0 to %c16 step %c1
// CHECK:   %[[ROW:.*]] = arith.muli %[[T]], %c2
// CHECK:   memref.prefetch %[[SUMS]][%[[ROW]], %c0], write, locality<3>, data
// CHECK:   memref.prefetch %[[SUMS]][%[[ROW]], %c16], write
// CHECK-COUNT-2: memref.prefetch %[[SUMS]]
// CHECK:   %[[PART:.*]] = arith.muli %[[PACK]], %c128
// CHECK-COUNT-4: memref.prefetch %[[NEXT]][%[[T]], %{{.*}}, %{{.*}}, %{{.*}}], read, locality<2>, data
// CHECK:   amx.tile_load
// CHECK-NOT: prefetch
// CHECK: return
func.func @tiles(%next: memref<16x16x32x2xbf16>, %sums: memref<32x32xf32>,
                 %pack: index, %a: memref<16x32x16x2xbf16>,
                 %b: memref<16x16x32x2xbf16>, %c: memref<32x32xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  attn.prefetch %next[%c0] to %c16 spread share(%pack of 8) : memref<16x16x32x2xbf16>
  attn.prefetch %sums[%c0] to %c32 for_write spread : memref<32x32xf32>
  linalg.generic {indexing_maps = [#a, #b, #c],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%a, %b : memref<16x32x16x2xbf16>, memref<16x16x32x2xbf16>)
      outs(%c : memref<32x32xf32>) {
  ^bb0(%x: bf16, %y: bf16, %sum: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %sum, %2 : f32
    linalg.yield %3 : f32
  }
  return
}
