// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, memory_ns = 64}" -attn-vectorize-contractions -canonicalize -cse \
// RUN:   | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, memory_ns = 250}" -attn-vectorize-contractions -canonicalize -cse \
// RUN:   | FileCheck %s --check-prefix=AHEAD

!heads = memref<4x?x64xf32>
!block = memref<8x64xf32, strided<[64, 1], offset: ?>>
!queries = memref<64x32xf32>
!scores = memref<8x32xf32>

// A head has one tile, so that its keys and values come from memory. While a step of
// two elements of eight keys is multiplied, one line of the block's values is
// fetched, the next in each step; while a value is, the row of it from the keys of
// the next block, or of the last one again.
// CHECK-LABEL: func.func @one_tile(
// CHECK-SAME: %[[K:[^:]*]]: memref<4x?x64xf32>, %[[V:[^:]*]]: memref<4x?x64xf32>
// CHECK: scf.forall (%[[H:.*]]) in (4)
// CHECK:   scf.for %[[J:[^ ]*]] = %c0 to %[[N:[^ ]*]] step %c8
// CHECK:     %[[VALUES:.*]] = memref.subview %[[V]][%[[H]], %[[J]], 0]
// CHECK:     %[[LATER:.*]] = arith.addi %[[J]], %c8
// CHECK:     %[[EXISTS:.*]] = arith.cmpi slt, %[[LATER]], %[[N]]
// CHECK:     %[[NEXT:.*]] = arith.select %[[EXISTS]], %[[LATER]], %[[J]]
// CHECK:     %[[KEYS:.*]] = memref.subview %[[K]][%[[H]], %[[NEXT]], 0]
// CHECK:     scf.for %[[D:[^ ]*]] = %c0 to %c64 step %c2
// CHECK:       %[[FIRST:.*]] = arith.muli %[[D]], %c8
// CHECK:       %[[DOWN:.*]] = arith.divui %[[FIRST]], %c64
// CHECK:       %[[ROW:.*]] = arith.addi %{{.*}}, %[[DOWN]]
// CHECK:       %[[COLUMN:.*]] = arith.remui %[[FIRST]], %c64
// CHECK:       memref.prefetch %[[VALUES]][%[[ROW]], %[[COLUMN]]], read, locality<2>, data
// CHECK-NOT:   memref.prefetch
// CHECK:     scf.for %[[E:[^ ]*]] = %c0 to %c64 step %c8
// CHECK:       scf.for %[[R:[^ ]*]] = %c0 to %c8 step %c2
// CHECK:         memref.prefetch %[[KEYS]][%[[R]], %[[E]]], read, locality<2>, data
// CHECK:         memref.prefetch %[[KEYS]][%{{.*}}, %[[E]]], read, locality<2>, data
// CHECK-NOT:   memref.prefetch
//
// Where a block is less than what the memory has to have under way, 250 * 32 bytes,
// the 23 rows after it are as well.
// AHEAD-LABEL: func.func @one_tile(
// AHEAD:       %[[ROW:.*]] = arith.addi %{{.*}}, %c23 : index
// AHEAD:       memref.prefetch %{{.*}}[%[[ROW]], %{{.*}}], read, locality<2>, data
// AHEAD:         %[[NEXT:.*]] = arith.addi %{{.*}}, %c23 : index
// AHEAD:         memref.prefetch %{{.*}}[%[[NEXT]], %{{.*}}], read, locality<2>, data
func.func @one_tile(%k: !heads, %v: !heads, %q: !queries, %s: !scores,
                    %o: !queries, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.forall (%h) in (4) {
    scf.for %j = %c0 to %n step %c8 {
      %keys = memref.subview %k[%h, %j, 0] [1, 8, 64] [1, 1, 1] : !heads to !block
      %values = memref.subview %v[%h, %j, 0] [1, 8, 64] [1, 1, 1] : !heads to !block
      linalg.matmul ins(%keys, %q : !block, !queries) outs(%s : !scores)
      linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                     affine_map<(m, n, k) -> (k, n)>,
                                     affine_map<(m, n, k) -> (m, n)>]
          ins(%values, %s : !block, !scores) outs(%o : !queries)
    }
  }
  return
}

// Every tile of a head reads the same keys and values, which stay in a cache.
// CHECK-LABEL: func.func @two_tiles(
// CHECK-NOT: memref.prefetch
func.func @two_tiles(%k: !heads, %v: !heads, %q: !queries, %s: !scores,
                     %o: !queries, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.forall (%h, %i) in (4, 2) {
    scf.for %j = %c0 to %n step %c8 {
      %keys = memref.subview %k[%h, %j, 0] [1, 8, 64] [1, 1, 1] : !heads to !block
      %values = memref.subview %v[%h, %j, 0] [1, 8, 64] [1, 1, 1] : !heads to !block
      linalg.matmul ins(%keys, %q : !block, !queries) outs(%s : !scores)
      linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                     affine_map<(m, n, k) -> (k, n)>,
                                     affine_map<(m, n, k) -> (m, n)>]
          ins(%values, %s : !block, !scores) outs(%o : !queries)
    }
  }
  return
}

// But a product of many rows takes so long that other tiles' blocks have come between,
// and a line of the next block costs it little. Each of the blocks of 6 rows in registers
// fetches a quarter of it.
// CHECK-LABEL: func.func @many_rows(
// CHECK-SAME: %[[K:[^:]*]]: memref<4x?x64xf32>
// CHECK: scf.forall (%[[H:.*]], %{{.*}}) in (4, 2)
// CHECK:   scf.for %[[J:[^ ]*]] = %c0 to %[[N:[^ ]*]] step %c8
// CHECK:     %[[EXISTS:.*]] = arith.cmpi slt, %[[LATER:.*]], %[[N]]
// CHECK:     %[[FIRST:.*]] = arith.select %[[EXISTS]], %[[LATER]], %[[J]]
// CHECK:     %[[NEXT:.*]] = memref.subview %[[K]][%[[H]], %[[FIRST]], 0]
// CHECK:     scf.if
// CHECK:       scf.for %[[ROW:[^ ]*]] = %c0 to %c24 step %c6
// CHECK:         %[[BLOCK:.*]] = arith.divui %[[ROW]], %c6
// CHECK:         %[[FETCHED:.*]] = arith.muli %[[BLOCK]], %c128
// CHECK:         %[[BEGIN:.*]] = arith.divui %[[FETCHED]], %c64
// CHECK:         scf.for %[[STEP:[^ ]*]] = %c0 to %c8 step %c2
// CHECK:           %[[SHARE:.*]] = arith.muli %[[STEP]], %c16
// CHECK:           %[[LINE:.*]] = arith.divui %[[SHARE]], %c64
// CHECK:           %[[AT:.*]] = arith.addi %[[BEGIN]], %[[LINE]]
// CHECK:           memref.prefetch %[[NEXT]][%[[AT]], %{{.*}}], read, locality<2>, data
// CHECK:           memref.prefetch %[[NEXT]]
// CHECK-NOT:       memref.prefetch
func.func @many_rows(%k: !heads, %p: memref<24x8xf32>, %o: memref<24x64xf32>,
                     %n: index, %condition: i1) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.forall (%h, %i) in (4, 2) {
    scf.for %j = %c0 to %n step %c8 {
      %keys = memref.subview %k[%h, %j, 0] [1, 8, 64] [1, 1, 1] : !heads to !block
      scf.if %condition {
        linalg.matmul ins(%p, %keys : memref<24x8xf32>, !block)
            outs(%o : memref<24x64xf32>)
      }
    }
  }
  return
}

// Where each block is looked up, the processor does not see the next one coming: the
// beginnings of the keys and values three blocks later, or of these, are fetched too,
// every 4096 bytes.
// CHECK-LABEL: func.func @looked_up(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x4x16x128xf32>, %[[V:[^:]*]]: memref<?x4x16x128xf32>
// CHECK-SAME: %[[TABLE:[^:]*]]: memref<?xindex>
// CHECK: scf.for %[[J:[^ ]*]] = %c0 to %[[N:[^ ]*]] step %c16
// CHECK:   %[[LATER:.*]] = arith.addi %[[J]], %c48
// CHECK:   %[[EXISTS:.*]] = arith.cmpi slt, %[[LATER]], %[[N]]
// CHECK:   %[[THIRD:.*]] = arith.select %[[EXISTS]], %[[LATER]], %[[J]]
// CHECK:   %[[NUMBER:.*]] = arith.divui %[[THIRD]], %c16
// CHECK:   %[[PAGE:.*]] = memref.load %[[TABLE]][%[[NUMBER]]]
// CHECK:   %[[KEYS:.*]] = memref.subview %[[K]][%[[PAGE]],
// CHECK:   memref.prefetch %[[KEYS]][%c0, %c0], read, locality<2>, data
// CHECK:   memref.prefetch %[[KEYS]][%c8, %c0], read, locality<2>, data
// CHECK:   %[[VALUES:.*]] = memref.subview %[[V]][%[[PAGE]],
// CHECK:   memref.prefetch %[[VALUES]][%c0, %c0], read, locality<2>, data
// CHECK:   memref.prefetch %[[VALUES]][%c8, %c0], read, locality<2>, data
// CHECK-NOT: %c48
// CHECK:   memref.prefetch
func.func @looked_up(%k: memref<?x4x16x128xf32>, %v: memref<?x4x16x128xf32>,
                     %table: memref<?xindex>, %q: memref<4x128xf32>,
                     %s: memref<16x4xf32>, %o: memref<4x128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  scf.forall (%h) in (4) {
    scf.for %j = %c0 to %n step %c16 {
      %number = arith.divui %j, %c16 : index
      %page = memref.load %table[%number] : memref<?xindex>
      %keys = memref.subview %k[%page, %h, 0, 0] [1, 1, 16, 128] [1, 1, 1, 1]
          : memref<?x4x16x128xf32> to memref<16x128xf32, strided<[128, 1], offset: ?>>
      %values = memref.subview %v[%page, %h, 0, 0] [1, 1, 16, 128] [1, 1, 1, 1]
          : memref<?x4x16x128xf32> to memref<16x128xf32, strided<[128, 1], offset: ?>>
      linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                                     affine_map<(m, n, k) -> (n, k)>,
                                     affine_map<(m, n, k) -> (m, n)>]
          ins(%keys, %q : memref<16x128xf32, strided<[128, 1], offset: ?>>, memref<4x128xf32>)
          outs(%s : memref<16x4xf32>)
      linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                     affine_map<(m, n, k) -> (k, n)>,
                                     affine_map<(m, n, k) -> (m, n)>]
          ins(%s, %values : memref<16x4xf32>, memref<16x128xf32, strided<[128, 1], offset: ?>>)
          outs(%o : memref<4x128xf32>)
    }
  }
  return
}
