// RUN: attn-opt %s -attn-distribute-to-lanes -canonicalize -cse \
// RUN:   -mlir-print-local-scope -split-input-file | FileCheck %s

!tiles = memref<2x32x24xf16, #gpu.address_space<workgroup>>
!tile = memref<32x16xf16, strided<[24, 1], offset: 768>, #gpu.address_space<workgroup>>

// One warp: a product of 16 x 16 by 32 x 16, transposed, is four of m16n8k16. The
// first factor comes from memory in the layout of the accumulator; the second one
// stays in workgroup memory, where a lane's row is found once, at the start.
// CHECK-LABEL: func.func @product
// CHECK: gpu.launch {{.*}} dynamic_shared_memory_size %c3072_i32
// CHECK: %[[BASE:.*]] = gpu.dynamic_shared_memory
// CHECK: %[[VIEW:.*]] = memref.view %[[BASE]]{{.*}} to memref<2x32x24xf16, #gpu.address_space<workgroup>>
// CHECK: %[[ROW:.*]] = arith.muli %{{.*}}, %c24 : index
// CHECK: %[[OWN:.*]] = arith.addi %[[ROW]], %{{.*}} : index
// A lane loads 4 neighbours of each of its two rows at once, of rows that are
// aligned, and exchanges pairs with the other lanes of the row.
// CHECK: vector.load {{.*}} {alignment = 8 : i64} : memref<16x16xf16>, vector<4xf16>
// CHECK: gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : i32
// CHECK: } else {
// CHECK-COUNT-8: memref.load {{.*}} memref<16x16xf16>
// CHECK: %[[TILE:.*]] = memref.subview %[[VIEW]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[OWN]], %c768 : index
// CHECK: %[[LANE:.*]] = memref.reinterpret_cast %[[TILE]] to offset: [%[[FIRST]]], sizes: [32, 16], strides: [24, 1]
// CHECK: nvgpu.ldmatrix %[[LANE]][%c0, %c0] {numTiles = 4 : i32, transpose = false}
// CHECK-COUNT-2: nvvm.mma.sync
// CHECK: nvgpu.ldmatrix %[[LANE]][%c16, %c0] {numTiles = 4 : i32, transpose = false}
// CHECK-COUNT-2: nvvm.mma.sync
// A row is in four lanes.
// CHECK: gpu.shuffle xor %{{.*}}, %c1_i32
// CHECK: gpu.shuffle xor %{{.*}}, %c2_i32
// The lane has 16 elements.
// CHECK-COUNT-16: math.exp2
// CHECK-NOT: math.exp2
// CHECK: vector.store {{.*}} {alignment = 16 : i64} : memref<16x32xf32>, vector<4xf32>
// CHECK: } else {
// CHECK-COUNT-8: vector.store {{.*}} vector<2xf32>
func.func @product(%x: memref<16x16xf16>, %out: memref<16x32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %zero = arith.constant dense<0.0> : vector<16x32xf32>
    %low = arith.constant dense<0xFF800000> : vector<16xf32>
    %a = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<16x16xf16>, vector<16x16xf16>
    %tiles = memref.alloca() : !tiles
    %y = memref.subview %tiles[1, 0, 0] [1, 32, 16] [1, 1, 1] : !tiles to !tile
    %b = vector.transfer_read %y[%c0, %c0], %h0 {in_bounds = [true, true]} : !tile, vector<32x16xf16>
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<16x16xf16>, vector<32x16xf16> into vector<16x32xf32>
    %m = vector.multi_reduction <maximumf>, %s, %low [1] : vector<16x32xf32> to vector<16xf32>
    %column = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %wide = vector.broadcast %column : vector<16x1xf32> to vector<16x32xf32>
    %d = arith.subf %s, %wide : vector<16x32xf32>
    %p = math.exp2 %d : vector<16x32xf32>
    vector.transfer_write %p, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x32xf32>, memref<16x32xf32>
    gpu.terminator
  }
  return
}

// -----

!factor = memref<16x16xbf16, #gpu.address_space<workgroup>>

// The second factor as it is stored, of bf16: transposed on its way to registers.
// So is the first one, as it is. Rows that are missing are not written. Loops carry
// scalars.
// CHECK-LABEL: func.func @loop
// CHECK: scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = false}
// CHECK-COUNT-4: llvm.bitcast {{.*}} : vector<2xbf16> to i32
// CHECK: nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = true}
// CHECK-COUNT-2: llvm.bitcast {{.*}} : vector<2xbf16> to i32
// CHECK: nvvm.mma.sync
// CHECK: scf.yield {{.*}} : f32, f32, f32, f32, f32, f32, f32, f32
// CHECK: %[[DIM:.*]] = memref.dim
// CHECK: %[[IS:.*]] = arith.cmpi slt, %{{.*}}, %[[DIM]]
// CHECK: scf.if %[[IS]]
// CHECK: vector.store
func.func @loop(%out: memref<?x16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %x = memref.alloca() : !factor
    %y = memref.alloca() : !factor
    %s = scf.for %i = %c0 to %n step %c1 iter_args(%r = %zero) -> (vector<16x16xf32>) {
      %a = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : !factor, vector<16x16xbf16>
      %b = vector.transfer_read %y[%c0, %c0], %h0 {in_bounds = [true, true]} : !factor, vector<16x16xbf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<16x16xbf16>, vector<16x16xbf16> into vector<16x16xf32>
      scf.yield %t : vector<16x16xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [false, true]} : vector<16x16xf32>, memref<?x16xf32>
    gpu.terminator
  }
  return
}

// -----

// Indices are arithmetic on the lane's, and a verdict of all is a barrier's.
// CHECK-LABEL: func.func @indices
// CHECK-NOT: vector.step
// CHECK: arith.cmpi sge, %{{.*}} : index
// CHECK: nvvm.barrier #nvvm.reduction<and>
// CHECK: memref.store
func.func @indices(%out: memref<i1>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %yes = arith.constant true
    %p = vector.step : vector<16xindex>
    %j = vector.step : vector<24xindex>
    %ps = vector.shape_cast %p : vector<16xindex> to vector<16x1xindex>
    %js = vector.shape_cast %j : vector<24xindex> to vector<1x24xindex>
    %pw = vector.broadcast %ps : vector<16x1xindex> to vector<16x24xindex>
    %jw = vector.broadcast %js : vector<1x24xindex> to vector<16x24xindex>
    %k = arith.cmpi sle, %jw, %pw : vector<16x24xindex>
    %all = vector.multi_reduction <and>, %k, %yes [0, 1] : vector<16x24xi1> to i1
    memref.store %all, %out[] : memref<i1>
    gpu.terminator
  }
  return
}

// -----

// Columns of a vector: some of a lane's elements.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<16x32xf32>, %[[OUT:[a-z0-9]*]]: memref<16x16xf32>
// Of rows that are aligned, 16 bytes are one access each: two pairs, of which a lane
// gives one to its neighbour and gets another.
// CHECK: %[[PAIRS:.*]]:4 = scf.if
// CHECK: %[[FOUR:.*]] = vector.load %[[X]][%[[ROW:.*]], %{{.*}}] {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: %[[LOW:.*]] = vector.extract_strided_slice %[[FOUR]] {offsets = [0]
// CHECK: %[[HIGH:.*]] = vector.extract_strided_slice %[[FOUR]] {offsets = [2]
// CHECK: %[[SENT:.*]] = arith.select %[[UPPER:.*]], %[[LOW]], %[[HIGH]]
// CHECK-COUNT-2: gpu.shuffle xor %{{.*}}, %c1_i32, %c32_i32 : f32
// CHECK: arith.select %[[UPPER]], %[[HIGH]], %{{.*}}
// CHECK-COUNT-3: vector.load %[[X]]{{.*}} {alignment = 16 : i64}
// CHECK: } else {
// CHECK-COUNT-8: memref.load %[[X]]
// CHECK: %[[E:.*]] = vector.extract %[[PAIRS]]#0[0]
// CHECK: %[[P:.*]] = math.exp2 %[[E]]
// CHECK-COUNT-7: math.exp2
// CHECK-NOT: math.exp2
// CHECK: scf.if
// CHECK: %[[STORED:.*]] = vector.from_elements %[[P]], %{{.*}}
// CHECK: gpu.shuffle xor
// CHECK: vector.store %{{.*}}, %[[OUT]][%[[ROW]], %{{.*}}] {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK: } else {
// CHECK: vector.store %{{.*}}, %[[OUT]][%[[ROW]], %{{.*}}] : memref
func.func @columns(%x: memref<16x32xf32>, %out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %a = vector.transfer_read %x[%c0, %c0], %f0 {in_bounds = [true, true]} : memref<16x32xf32>, vector<16x32xf32>
    %s = vector.extract_strided_slice %a {offsets = [0, 8], sizes = [16, 16], strides = [1, 1]} : vector<16x32xf32> to vector<16x16xf32>
    %p = math.exp2 %s : vector<16x16xf32>
    vector.transfer_write %p, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

// A step that is broadcast as it is counts columns, whatever its size. What they are
// compared with may be any number.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[N:.*]]: index, %[[OUT:.*]]: memref<i1>
// CHECK: %[[C0:.*]] = arith.muli
// CHECK: %[[LOW:.*]] = arith.minsi %[[N]], %c4611686018427387904
// CHECK: %[[BOUND:.*]] = arith.maxsi %[[LOW]], %c-4611686018427387904
// CHECK: %[[REST:.*]] = arith.subi %[[BOUND]], %[[C0]]
// CHECK: arith.cmpi sgt, %[[REST]], %c9
func.func @step(%n: index, %out: memref<i1>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %yes = arith.constant true
    %j = vector.step : vector<16xindex>
    %jw = vector.broadcast %j : vector<16xindex> to vector<16x16xindex>
    %nw = vector.broadcast %n : index to vector<16x16xindex>
    %k = arith.cmpi slt, %jw, %nw : vector<16x16xindex>
    %all = vector.multi_reduction <and>, %k, %yes [0, 1] : vector<16x16xi1> to i1
    memref.store %all, %out[] : memref<i1>
    gpu.terminator
  }
  return
}

// -----

// Elements of any memory, each with whether it is there: that of another row or
// column is read otherwise.
// CHECK-LABEL: func.func @elements
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<?x?x?xi1, strided<[?, ?, ?]>>, %[[I:[a-z0-9]*]]: index, %[[J:[a-z0-9]*]]: index
// CHECK: %[[ROWS:.*]] = memref.dim %[[X]], %c2
// CHECK: %[[ROW:.*]] = arith.addi %[[J]], %{{.*}}
// CHECK: %[[HASROW:.*]] = arith.cmpi slt, %[[ROW]], %[[ROWS]]
// CHECK: %[[R:.*]] = arith.select %[[HASROW]], %[[ROW]], %[[J]]
// CHECK: %[[COLUMNS:.*]] = memref.dim %[[X]], %c0
// CHECK: %[[COLUMN:.*]] = arith.addi %[[I]], %{{.*}}
// CHECK: %[[HASCOLUMN:.*]] = arith.cmpi slt, %[[COLUMN]], %[[COLUMNS]]
// CHECK: %[[C:.*]] = arith.select %[[HASCOLUMN]], %[[COLUMN]], %[[I]]
// CHECK: %[[HAS:.*]] = arith.andi %[[HASROW]], %[[HASCOLUMN]]
// CHECK: %[[ELEMENT:.*]] = memref.load %[[X]][%[[C]], %c1{{.*}}, %[[R]]]
// CHECK: arith.select %[[HAS]], %[[ELEMENT]], %false
// CHECK-COUNT-7: memref.load
// CHECK-NOT: memref.load
func.func @elements(%x: memref<?x?x?xi1, strided<[?, ?, ?]>>, %i: index, %j: index, %out: memref<i1>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %no = arith.constant false
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %yes = arith.constant true
    %v = vector.transfer_read %x[%i, %c1, %j], %no
        {in_bounds = [false, false], permutation_map = affine_map<(a, b, c) -> (c, a)>}
        : memref<?x?x?xi1, strided<[?, ?, ?]>>, vector<16x16xi1>
    %all = vector.multi_reduction <and>, %v, %yes [0, 1] : vector<16x16xi1> to i1
    memref.store %all, %out[] : memref<i1>
    gpu.terminator
  }
  return
}

// -----

// One element for each row, which all columns share.
// CHECK-LABEL: func.func @slice
// CHECK-COUNT-2: memref.load
// CHECK-NOT: memref.load
func.func @slice(%x: memref<?xf32>, %i: index, %out: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  %low = arith.constant dense<0.0> : vector<16xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %v = vector.transfer_read %x[%i], %zero
        {in_bounds = [false, true], permutation_map = affine_map<(a) -> (a, 0)>}
        : memref<?xf32>, vector<16x1xf32>
    %w = vector.broadcast %v : vector<16x1xf32> to vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %w, %low [1] : vector<16x16xf32> to vector<16xf32>
    vector.transfer_write %m, %out[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
    gpu.terminator
  }
  return
}

// -----

// CHECK-LABEL: func.func @gather
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<?x?xf32>, %[[I:[a-z0-9]*]]: index
// CHECK: %[[HAS:.*]] = arith.cmpi
// CHECK: scf.if %{{.*}} -> (f32)
// CHECK: memref.load %[[X]][%[[I]], %{{.*}}]
// CHECK: else
// CHECK: scf.yield %{{.*}} : f32
func.func @gather(%x: memref<?x?xf32>, %i: index, %n: index, %out: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %none = arith.constant dense<1.0> : vector<16x16xf32>
  %low = arith.constant dense<0.0> : vector<16xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %j = vector.step : vector<16xindex>
    %jw = vector.broadcast %j : vector<16xindex> to vector<16x16xindex>
    %nw = vector.broadcast %n : index to vector<16x16xindex>
    %has = arith.cmpi slt, %jw, %nw : vector<16x16xindex>
    %v = vector.gather %x[%i, %c0] [%jw], %has, %none
        : memref<?x?xf32>, vector<16x16xindex>, vector<16x16xi1>, vector<16x16xf32> into vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %v, %low [1] : vector<16x16xf32> to vector<16xf32>
    vector.transfer_write %m, %out[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
    gpu.terminator
  }
  return
}

// -----

// Threads share iterations, one after another, and wait for each other.
// CHECK-LABEL: func.func @iterations
// CHECK: gpu.barrier
// CHECK: scf.for %[[N:.*]] = %{{.*}} to %c1024{{.*}} step %c64
// CHECK-DAG: %[[J:.*]] = arith.remui %[[N]], %c32
// CHECK-DAG: %[[I:.*]] = arith.divui %[[N]], %c32
// CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}, %[[J]]]
// CHECK: gpu.barrier
func.func @iterations(%x: f32, %out: memref<32x32xf32>) {
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    scf.forall (%i, %j) in (32, 32) {
      memref.store %x, %out[%i, %j] : memref<32x32xf32>
    }
    gpu.terminator
  }
  return
}

// -----

// Columns are compared as constants with what is left of the other side, one
// difference for each of the lane's two rows; a sum that may overflow is compared
// as it is.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[FIRST:[^:]*]]: index
// CHECK: %[[ORIGIN:.*]] = arith.addi %{{.*}}, %[[FIRST]] : index
// CHECK: %[[D0:.*]] = arith.subi %{{.*}}, %[[ORIGIN]] : index
// CHECK: arith.cmpi sge, %[[D0]], %c0 : index
// CHECK: arith.cmpi sge, %[[D0]], %c1 : index
// CHECK: %[[D1:.*]] = arith.subi %{{.*}}, %[[ORIGIN]] : index
// CHECK: arith.cmpi sge, %[[D1]], %c0 : index
// CHECK-NOT: arith.subi
// CHECK: arith.cmpi sge, %[[D1]], %c9 : index
// CHECK-COUNT-8: arith.cmpi slt, %{{.*}}, %{{.*}} : index
func.func @columns(%first: index, %out: memref<i1>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %yes = arith.constant true
    %p = vector.step : vector<16xindex>
    %ps = vector.shape_cast %p : vector<16xindex> to vector<16x1xindex>
    %js = vector.shape_cast %p : vector<16xindex> to vector<1x16xindex>
    %f = vector.broadcast %first : index to vector<1x16xindex>
    %jf = arith.addi %js, %f overflow<nsw> : vector<1x16xindex>
    %jo = arith.addi %js, %f : vector<1x16xindex>
    %pw = vector.broadcast %ps : vector<16x1xindex> to vector<16x16xindex>
    %jfw = vector.broadcast %jf : vector<1x16xindex> to vector<16x16xindex>
    %jow = vector.broadcast %jo : vector<1x16xindex> to vector<16x16xindex>
    %k = arith.cmpi sle, %jfw, %pw : vector<16x16xindex>
    %l = arith.cmpi slt, %jow, %pw : vector<16x16xindex>
    %kl = arith.andi %k, %l : vector<16x16xi1>
    %all = vector.multi_reduction <and>, %kl, %yes [0, 1] : vector<16x16xi1> to i1
    memref.store %all, %out[] : memref<i1>
    gpu.terminator
  }
  return
}

// -----

// Of 13 columns, the first 8 are stored in pairs, the others one by one, and of the
// vector's last 3, nothing.
// CHECK-LABEL: func.func @missing_columns
// CHECK-SAME: %{{.*}}: f32, %[[OUT:.*]]: memref<?x13xf32>
// Whether rows are aligned is asked once, of both.
// CHECK: memref.extract_aligned_pointer_as_index %[[OUT]]
// CHECK: scf.if %{{.*}} {
// CHECK-NEXT: scf.if
// CHECK: vector.store %{{.*}}, %[[OUT]]{{.*}} vector<2xf32>
// CHECK-NOT: vector.store
// CHECK-COUNT-2: arith.cmpi slt, %{{.*}}, %c13 : index
// CHECK: vector.store %{{.*}}, %[[OUT]]{{.*}} vector<2xf32>
// CHECK-NOT: vector.store
// CHECK-COUNT-2: arith.cmpi slt, %{{.*}}, %c13 : index
// CHECK-NOT: vector.store
// CHECK: else
// CHECK: vector.store %{{.*}}, %[[OUT]]{{.*}} vector<2xf32>
// CHECK-NOT: memref.extract_aligned_pointer_as_index
// CHECK: return
func.func @missing_columns(%x: f32, %out: memref<?x13xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %v = vector.broadcast %x : f32 to vector<16x16xf32>
    vector.transfer_write %v, %out[%c0, %c0] {in_bounds = [false, false]} : vector<16x16xf32>, memref<?x13xf32>
    gpu.terminator
  }
  return
}

// -----

!keys = memref<16x16xf16, #gpu.address_space<workgroup>>

// A warp of 32 rows multiplies each part of the second factor that it has read with
// two of the first. A lane has four rows, of which a maximum takes two shuffles each.
// CHECK-LABEL: func.func @tall
// CHECK: gpu.launch
// CHECK: nvgpu.ldmatrix
// CHECK-NOT: nvgpu.ldmatrix
// CHECK-COUNT-4: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-8: gpu.shuffle xor %{{.*}} : f32
// CHECK-NOT: gpu.shuffle xor
// CHECK-COUNT-4: memref.store
// CHECK-NOT: memref.store
func.func @tall(%x: memref<32x16xf16>, %out: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %zero = arith.constant dense<0.0> : vector<32x16xf32>
    %low = arith.constant dense<0xFF800000> : vector<32xf32>
    %a = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<32x16xf16>, vector<32x16xf16>
    %keys = memref.alloca() : !keys
    %b = vector.transfer_read %keys[%c0, %c0], %h0 {in_bounds = [true, true]} : !keys, vector<16x16xf16>
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<32x16xf16>, vector<16x16xf16> into vector<32x16xf32>
    %m = vector.multi_reduction <maximumf>, %s, %low [1] : vector<32x16xf32> to vector<32xf32>
    vector.transfer_write %m, %out[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
    gpu.terminator
  } {attn.warp_rows = 32 : index}
  return
}

// -----

// Whether something is true of a row of a warp, its lanes vote about, each for the
// rows that it has.
// CHECK-LABEL: func.func @vote
// CHECK-SAME: %[[OUT:[a-z0-9]*]]: memref<32xf32>
// CHECK-DAG: %[[ALL:.*]] = arith.constant -1 : i32
// CHECK-COUNT-4: arith.cmpf
// CHECK-COUNT-3: arith.ori
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any %[[ALL]], %{{.*}} -> i1
// CHECK: scf.if %[[ANY]] -> (f32, f32, f32, f32)
// CHECK-COUNT-4: arith.mulf
func.func @vote(%x: memref<32xf32>, %out: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %zero = arith.constant dense<0.0> : vector<32xf32>
    %rows = vector.transfer_read %x[%c0], %f0 {in_bounds = [true]} : memref<32xf32>, vector<32xf32>
    %less = arith.cmpf olt, %rows, %zero : vector<32xf32>
    %any = attn.any_in_warp %less : vector<32xi1>
    %squares = scf.if %any -> (vector<32xf32>) {
      %own = arith.mulf %rows, %rows : vector<32xf32>
      scf.yield %own : vector<32xf32>
    } else {
      scf.yield %rows : vector<32xf32>
    }
    vector.transfer_write %squares, %out[%c0] {in_bounds = [true]} : vector<32xf32>, memref<32xf32>
    gpu.terminator
  } {attn.warp_rows = 32 : index}
  return
}

// -----

!few = memref<16x16xf16, #gpu.address_space<workgroup>>

// Of a tile of at most 8 rows, products compute the transpose, of 8 columns: one, where
// there would be two. A row is in eight lanes, which have two of them. Weights of two
// rows become those of two keys, which the second factor of a product has in a register.
// CHECK-LABEL: func.func @few
// CHECK: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-6: gpu.shuffle xor %{{.*}} : f32
// CHECK-NOT: gpu.shuffle xor %{{.*}} : f32
// CHECK: %[[E0:.*]] = math.exp2
// CHECK: %[[E1:.*]] = math.exp2
// CHECK-COUNT-2: math.exp2
// CHECK-NOT: math.exp2
// CHECK-DAG: %[[W0:.*]] = arith.truncf %[[E0]]
// CHECK-DAG: %[[W1:.*]] = arith.truncf %[[E1]]
// CHECK-DAG: %[[PAIR:.*]] = vector.from_elements %[[W0]], %[[W1]] : vector<2xf16>
// CHECK-DAG: attn.transpose_in_warp %[[PAIR]] : vector<2xf16>
// CHECK: attn.transpose_in_warp
// CHECK-NOT: attn.transpose_in_warp
// CHECK: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-4: memref.store
func.func @few(%x: memref<8x16xf16>, %out: memref<8x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %zero = arith.constant dense<0.0> : vector<16x16xf32>
    %low = arith.constant dense<0xFF800000> : vector<16xf32>
    %a = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [false, true]} : memref<8x16xf16>, vector<16x16xf16>
    %keys = memref.alloca() : !few
    %b = vector.transfer_read %keys[%c0, %c0], %h0 {in_bounds = [true, true]} : !few, vector<16x16xf16>
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
    %m = vector.multi_reduction <maximumf>, %s, %low [1] : vector<16x16xf32> to vector<16xf32>
    %column = vector.shape_cast %m : vector<16xf32> to vector<16x1xf32>
    %wide = vector.broadcast %column : vector<16x1xf32> to vector<16x16xf32>
    %d = arith.subf %s, %wide : vector<16x16xf32>
    %p = math.exp2 %d : vector<16x16xf32>
    %w = arith.truncf %p : vector<16x16xf32> to vector<16x16xf16>
    %o = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %w, %b, %zero : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
    vector.transfer_write %o, %out[%c0, %c0] {in_bounds = [false, true]} : vector<16x16xf32>, memref<8x16xf32>
    gpu.terminator
  } {attn.most_rows = 8 : index}
  return
}

// -----

!factor = memref<16x16xf32, strided<[20, 1]>, #gpu.address_space<workgroup>>
!odd = memref<16x16xf32, strided<[17, 1]>, #gpu.address_space<workgroup>>

// Of f32, a lane loads four neighbours of its rows at once, and of the columns where
// these are rows of the second factor, if all rows are multiples of 16 bytes.
// CHECK-LABEL: func.func @scalar_product
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %c4
// CHECK-COUNT-6: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK-NOT: {{vector|memref}}.load
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %c4
// CHECK-COUNT-2: vector.load %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK-COUNT-16: memref.load %{{.*}} : memref<16x16xf32, strided<[17, 1]>
// CHECK: scf.yield
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c16{{.*}} step %c1
// CHECK-NOT: vector.load
// CHECK: scf.yield
func.func @scalar_product(%out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %f0 = arith.constant 0.0 : f32
  %none = arith.constant dense<0.0> : vector<16x16xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %x = memref.alloca() : memref<16x20xf32, #gpu.address_space<workgroup>>
    %y = memref.alloca() : memref<16x17xf32, #gpu.address_space<workgroup>>
    %even = memref.subview %x[0, 0] [16, 16] [1, 1] : memref<16x20xf32, #gpu.address_space<workgroup>> to !factor
    %odd = memref.subview %y[0, 0] [16, 16] [1, 1] : memref<16x17xf32, #gpu.address_space<workgroup>> to !odd
    %a = vector.transfer_read %even[%c0, %c0], %f0 {in_bounds = [true, true]} : !factor, vector<16x16xf32>
    %b = vector.transfer_read %odd[%c0, %c0], %f0 {in_bounds = [true, true]} : !odd, vector<16x16xf32>
    %r = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %a, %none : vector<16x16xf32>, vector<16x16xf32> into vector<16x16xf32>
    %s = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %r : vector<16x16xf32>, vector<16x16xf32> into vector<16x16xf32>
    %t = vector.contract {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %s : vector<16x16xf32>, vector<16x16xf32> into vector<16x16xf32>
    vector.transfer_write %t, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

// Warps that share a workgroup have memory of their own, which they wait for alone. What
// others read of theirs is the workgroup's, in place of that, behind a barrier of all.
// CHECK-LABEL: func.func @shares
// CHECK: gpu.launch blocks({{.*}}) threads(%[[X:.*]], %[[Y:.*]], %{{.*}}) in (%{{.*}} = %c32{{.*}}, %{{.*}} = %c4{{.*}}, %{{.*}}) dynamic_shared_memory_size %c4352_i32
// CHECK: %[[MEMORY:.*]] = gpu.dynamic_shared_memory
// CHECK: %[[OF_LANE:.*]] = arith.index_cast %[[Y]]
// CHECK: %[[OF_FIRST:[^,]*]], %{{.*}} = gpu.shuffle idx %[[OF_LANE]], %c0
// CHECK: %[[NUMBER:.*]] = arith.index_cast %[[OF_FIRST]]
// CHECK: %[[W:.*]] = arith.minui %[[NUMBER]], %c3
// CHECK: %[[FIRST:.*]] = arith.muli %[[W]], %c1088
// CHECK: %[[OWN:.*]] = memref.view %[[MEMORY]][%[[FIRST]]][] : {{.*}} to memref<1088xi8
// CHECK: memref.view %[[OWN]][%c0][] : {{.*}} to memref<16x17xf32
// CHECK: memref.view %[[MEMORY]][%c0][] : {{.*}} to memref<4x16xf32
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: vector.store
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.vote.sync all
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}} : memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// CHECK: %[[SLICE:.*]] = arith.muli %[[W]], %c32
// CHECK: %[[THREAD:.*]] = arith.addi %[[SLICE]], %[[X]]
// CHECK: scf.for %{{.*}} = %[[THREAD]] to %c16 step %c128
// CHECK: gpu.barrier
func.func @shares(%out: memref<16xf32>, %flag: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c4, %sz = %c1) {
    %own = memref.alloc() : memref<4x16xf32, #gpu.address_space<workgroup>>
    scf.forall (%w) in (4) {
      %memory = memref.alloca() : memref<16x17xf32, #gpu.address_space<workgroup>>
      %zero = arith.constant dense<0.0> : vector<16x16xf32>
      %scores = memref.subview %memory[0, 0] [16, 16] [1, 1] : memref<16x17xf32, #gpu.address_space<workgroup>> to memref<16x16xf32, strided<[17, 1]>, #gpu.address_space<workgroup>>
      vector.transfer_write %zero, %scores[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32, strided<[17, 1]>, #gpu.address_space<workgroup>>
      gpu.barrier
      %yes = arith.constant true
      %vector = arith.cmpf oeq, %zero, %zero : vector<16x16xf32>
      %all = vector.multi_reduction <and>, %vector, %yes [0, 1] : vector<16x16xi1> to i1
      memref.store %all, %flag[%w] : memref<4xi1>
      %rows = arith.constant dense<1.0> : vector<16xf32>
      %slice = memref.subview %own[%w, 0] [1, 16] [1, 1] : memref<4x16xf32, #gpu.address_space<workgroup>> to memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
      vector.transfer_write %rows, %slice[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32, strided<[1], offset: ?>, #gpu.address_space<workgroup>>
    } {mapping = [#gpu.warp<linear_dim_0>]}
    scf.forall (%r) in (16) {
      %x = memref.load %own[%c1, %r] : memref<4x16xf32, #gpu.address_space<workgroup>>
      memref.store %x, %out[%r] : memref<16xf32>
    }
    gpu.terminator
  }
  return
}
