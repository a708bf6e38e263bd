// RUN: attn-opt %s --attn-target="{vector_bits = 512}" --convert-attn-to-vector --canonicalize --cse | FileCheck %s

!table = memref<2x?xi32, strided<[?, 1]>>

// Rows of blocks go to threads, some at a time; vectors cover what they can.
// CHECK-LABEL: func.func @documents(
// CHECK-SAME: %[[TABLE:[^:]*]]: memref<2x?xi32, strided<[?, 1]>>, %[[LOW:[^:]*]]: memref<2x?xi32>, %[[HIGH:[^:]*]]: memref<2x?xi32>
// CHECK: %[[ROWS:.*]] = arith.divui %c65536
// CHECK: %[[STEP:.*]] = arith.maxsi %[[ROWS]], %c1
// CHECK: scf.forall (%{{.*}}) = (0) to (2) step (%[[STEP]])
// CHECK: scf.for %{{.*}} to %{{.*}} step %c16 iter_args
// CHECK: vector.load %[[TABLE]]{{.*}}, vector<16xi32>
// CHECK: arith.minsi {{.*}} : vector<16xi32>
// CHECK: arith.maxsi {{.*}} : vector<16xi32>
// CHECK: memref.load %[[TABLE]]
// CHECK: %[[LEAST:.*]] = vector.reduction <minsi>
// CHECK: %[[GREATEST:.*]] = vector.reduction <maxsi>
// CHECK: memref.store %[[LEAST]], %[[LOW]]
// CHECK: memref.store %[[GREATEST]], %[[HIGH]]
func.func @documents(%table: !table, %l: memref<2x?xi32>, %h: memref<2x?xi32>) {
  attn.block_range ins(%table : !table)
      outs(%l, %h : memref<2x?xi32>, memref<2x?xi32>) blocks [1, 64]
  return
}

// Bytes, each 0 or 1 in the end.
// CHECK-LABEL: func.func @flags(
// CHECK: vector.load {{.*}} vector<64xi8>
// CHECK: arith.minui {{.*}} : vector<64xi8>
// CHECK: vector.reduction <minui>
// CHECK: arith.minui %{{.*}}, %c1_i8 : i8
func.func @flags(%table: memref<?x?xi1>, %l: memref<?x?xi1>,
                 %h: memref<?x?xi1>) {
  attn.block_range ins(%table : memref<?x?xi1>)
      outs(%l, %h : memref<?x?xi1>, memref<?x?xi1>) blocks [32, 64]
  return
}

// Floats, of which a NaN stays; narrow ones are compared as f32.
// CHECK-LABEL: func.func @floats(
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK: arith.minimumf {{.*}} : vector<16xf32>
// CHECK: vector.reduction <minimumf>
// CHECK: vector.load {{.*}} vector<16xbf16>
// CHECK: arith.extf {{.*}} : vector<16xbf16> to vector<16xf32>
// CHECK: arith.maximumf {{.*}} : vector<16xf32>
// CHECK: vector.reduction <maximumf>
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @floats(%t: memref<?xf32>, %u: memref<?xbf16>, %l: memref<?xf32>,
                  %m: memref<?xbf16>) {
  attn.block_range ins(%t : memref<?xf32>)
      outs(%l, %l : memref<?xf32>, memref<?xf32>) blocks [64]
  attn.block_range ins(%u : memref<?xbf16>)
      outs(%m, %m : memref<?xbf16>, memref<?xbf16>) blocks [64]
  return
}

// No vectors: gaps between elements, blocks of one column, index.
// CHECK-LABEL: func.func @scalar(
// CHECK-NOT: vector
func.func @scalar(%t: memref<?xi16, strided<[?]>>, %u: memref<?x?xi16>,
                  %v: memref<?xindex>, %o: memref<?xi16>, %p: memref<?x?xi16>,
                  %q: memref<?xindex>) {
  attn.block_range ins(%t : memref<?xi16, strided<[?]>>)
      outs(%o, %o : memref<?xi16>, memref<?xi16>) blocks [64]
  attn.block_range ins(%u : memref<?x?xi16>)
      outs(%p, %p : memref<?x?xi16>, memref<?x?xi16>) blocks [64, 1]
  attn.block_range ins(%v : memref<?xindex>)
      outs(%q, %q : memref<?xindex>, memref<?xindex>) blocks [64]
  return
}

// -----

// Numbers that vectors pack differently are read one by one.
// CHECK-LABEL: func.func @narrow(
// CHECK-NOT: vector.load
// CHECK: memref.load %{{.*}} : memref<300xi4>
func.func @narrow(%t: memref<300xi4>, %low: memref<5xi4>, %high: memref<5xi4>) {
  attn.block_range ins(%t : memref<300xi4>)
      outs(%low, %high : memref<5xi4>, memref<5xi4>) blocks [64]
  return
}
