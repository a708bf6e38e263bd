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
// DOT: attn.prefetch %[[ROWS]][%[[FIRST]], %c0] dim 0 to %[[LAST]]
// DOT: scf.for
func.func @product(%rows: memref<100x64xbf16>, %first: index, %last: index,
                   %a: memref<?x64x16x2xbf16>, %b: memref<?x16x32x2xbf16>,
                   %c: memref<64x32xf32>) {
  %c0 = arith.constant 0 : index
  attn.prefetch %rows[%first, %c0] dim 0 to %last : memref<100x64xbf16>
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
  attn.prefetch %rows[%first, %c0] dim 0 to %last : memref<100x16xf32>
  attn.prefetch %others[%first, %c0] dim 0 to %last : memref<50x16xf32>
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
// CHECK: attn.prefetch %[[ROWS]][%[[FIRST]], %c0] dim 0 to %[[LAST]]
// CHECK-NEXT: memref.store
// CHECK-NOT: prefetch
// CHECK: return
func.func @others(%rows: memref<100x16xf32>, %first: index, %last: index,
                  %s: memref<64x16xf32>, %m: memref<16xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %false = arith.constant false
  %true = arith.constant true
  attn.prefetch %rows[%first, %c0] dim 0 to %last : memref<100x16xf32>
  memref.store %x, %m[%first] : memref<16xf32>
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<64x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%c0, %c0, %c0, %c0) queries(%c16) keys(%c16) partial(%false)
      defined(%true) exact(%false)
  return
}
