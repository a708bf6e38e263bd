// RUN: attn-opt %s -split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-vectorize-contractions -canonicalize -cse | FileCheck %s

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#traits = {indexing_maps = [#a, #b, #c],
           iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}

// The sums of a pack are stored during the first step of the next one, each before
// its own are loaded and multiplied; the first pack stores what it begins with. The
// results of a pack follow the next product, and those of the last one the loop.
// CHECK-LABEL: func.func @results(
// CHECK-SAME: %[[OUT:[^:]*]]: memref<?x32xbf16>, %[[PACKS:[^ ]*]]: index) {
// CHECK: %[[SUMS:.*]] = memref.alloc() : memref<8x32x32xf32>
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[PACKS]], %c0
// CHECK: scf.if %[[ANY]]
// CHECK-COUNT-4: amx.tile_load
// CHECK: %[[LAST:.*]]:4 = scf.for %[[PACK:[^ ]*]] = %c0 to %[[PACKS]] {{.*}} iter_args(%[[T0:[^ ]*]] = {{.*}}, %[[T1:[^ ]*]] = {{.*}}, %[[T2:[^ ]*]] = {{.*}}, %[[T3:[^ ]*]] = {{.*}})
// CHECK-DAG: %[[EXISTS:.*]] = arith.cmpi ne, %[[PACK]], %c0
// CHECK-DAG: %[[SUB:.*]] = arith.subi %[[PACK]], %c1
// CHECK-DAG: %[[BEFORE:.*]] = arith.select %[[EXISTS]], %[[SUB]], %[[PACK]]
// CHECK-COUNT-2: tileload
// CHECK-COUNT-2: amx.tile_load
// CHECK: %[[C_BEFORE:.*]] = memref.subview %[[SUMS]][%[[BEFORE]], 0, 0]
// CHECK: amx.tile_store %[[C_BEFORE]][%c0, %c0], %[[T0]]
// CHECK: %[[C:.*]] = memref.subview %[[SUMS]][%[[PACK]], 0, 0]
// CHECK: %[[S0:.*]] = amx.tile_load %[[C]][%c0, %c0]
// CHECK: amx.tile_mulf {{.*}}, %[[S0]]
// CHECK: amx.tile_store %[[C_BEFORE]][%c0, %c16], %[[T1]]
// CHECK: %[[S1:.*]] = amx.tile_load %[[C]][%c0, %c16]
// CHECK: amx.tile_mulf {{.*}}, %[[S1]]
// CHECK: amx.tile_store %[[C_BEFORE]][%c16, %c0], %[[T2]]
// CHECK: amx.tile_store %[[C_BEFORE]][%c16, %c16], %[[T3]]
// CHECK: scf.for %{{.*}} = %c1 to %c16
// CHECK-COUNT-4: amx.tile_mulf
// CHECK-NOT: amx.tile_store
// CHECK: scf.if %[[EXISTS]]
// CHECK: memref.subview %[[OUT]]
// CHECK: linalg.generic
// CHECK: arith.subi %[[PACKS]], %c1
// CHECK: amx.tile_store %{{.*}}, %[[LAST]]#0
// CHECK: amx.tile_store %{{.*}}, %[[LAST]]#3
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func @results(%rows: memref<8x16x32x16x2xbf16>, %w: memref<16x16x32x2xbf16>,
                   %out: memref<?x32xbf16>, %packs: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %sums = memref.alloc() : memref<8x32x32xf32>
  scf.for %i = %c0 to %packs step %c1 {
    %a = memref.subview %rows[%i, 0, 0, 0, 0] [1, 16, 32, 16, 2] [1, 1, 1, 1, 1]
        : memref<8x16x32x16x2xbf16> to memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
    %c = memref.subview %sums[%i, 0, 0] [1, 32, 32] [1, 1, 1]
        : memref<8x32x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
    linalg.generic #traits
        ins(%a, %w : memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>, memref<16x16x32x2xbf16>)
        outs(%c : memref<32x32xf32, strided<[32, 1], offset: ?>>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %y : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    %row = arith.muli %i, %c32 : index
    %o = memref.subview %out[%row, 0] [32, 32] [1, 1]
        : memref<?x32xbf16> to memref<32x32xbf16, strided<[32, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%c : memref<32x32xf32, strided<[32, 1], offset: ?>>)
        outs(%o : memref<32x32xbf16, strided<[32, 1], offset: ?>>) {
    ^bb0(%x: f32, %y: bf16):
      %0 = arith.truncf %x : f32 to bf16
      linalg.yield %0 : bf16
    }
  }
  return
}

// -----

#a = affine_map<(m, n, t, p, e) -> (t, m, p, e)>
#b = affine_map<(m, n, t, p, e) -> (t, p, n, e)>
#c = affine_map<(m, n, t, p, e) -> (m, n)>
#traits = {indexing_maps = [#a, #b, #c],
           iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}

// Sums of which something else in the loop reads a number are stored at once.
// CHECK-LABEL: func.func @not_alone(
// CHECK: amx.tile_load
// CHECK: scf.for %{{.*}} = %c0 to %c16
// CHECK-COUNT-4: amx.tile_mulf
// CHECK: scf.yield
// CHECK-COUNT-4: amx.tile_store
// CHECK: memref.load
// CHECK-NOT: amx.tile_store
func.func @not_alone(%rows: memref<8x16x32x16x2xbf16>, %w: memref<16x16x32x2xbf16>,
                     %seen: memref<8xf32>, %packs: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sums = memref.alloc() : memref<8x32x32xf32>
  scf.for %i = %c0 to %packs step %c1 {
    %a = memref.subview %rows[%i, 0, 0, 0, 0] [1, 16, 32, 16, 2] [1, 1, 1, 1, 1]
        : memref<8x16x32x16x2xbf16> to memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>
    %c = memref.subview %sums[%i, 0, 0] [1, 32, 32] [1, 1, 1]
        : memref<8x32x32xf32> to memref<32x32xf32, strided<[32, 1], offset: ?>>
    linalg.generic #traits
        ins(%a, %w : memref<16x32x16x2xbf16, strided<[1024, 32, 2, 1], offset: ?>>, memref<16x16x32x2xbf16>)
        outs(%c : memref<32x32xf32, strided<[32, 1], offset: ?>>) {
    ^bb0(%x: bf16, %y: bf16, %sum: f32):
      %0 = arith.extf %x : bf16 to f32
      %1 = arith.extf %y : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    %number = memref.load %sums[%i, %c0, %c0] : memref<8x32x32xf32>
    memref.store %number, %seen[%i] : memref<8xf32>
  }
  return
}
