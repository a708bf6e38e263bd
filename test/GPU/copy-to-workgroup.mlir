// RUN: attn-opt %s -attn-copy-to-workgroup -canonicalize -cse \
// RUN:   -mlir-print-local-scope -split-input-file | FileCheck %s
// RUN: attn-opt %s -attn-target="{gpu_shared_bytes = 233472}" \
// RUN:   -attn-copy-to-workgroup -split-input-file | FileCheck %s --check-prefix=LARGE

!rows = memref<?x256xf16>
!block = memref<?x256xf16, strided<[256, 1], offset: ?>>

// Two warps. Blocks of 64 rows of 256 elements: two stages, so that the copies of the
// next block are started behind the barrier of this one, and arrive with the group
// that its wait is for.
// A multiprocessor of 228 KB has room for two workgroups with three.
// LARGE-LABEL: func.func @staged
// LARGE: memref.alloca() : memref<3x64x264xf16,
// CHECK-LABEL: func.func @staged
// CHECK-SAME: %[[Y:[^,]*]]: memref<?x256xf16>
// CHECK: gpu.launch
// CHECK: %[[BUFFER:.*]] = memref.alloca() : memref<2x64x264xf16, #gpu.address_space<workgroup>>
// Alignment is decided before the loop.
// CHECK: memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq
// CHECK: gpu.barrier
// The first block, if there is one.
// CHECK: %[[HAS:.*]] = arith.cmpi sgt, %{{.*}}, %c0
// CHECK: scf.if
// CHECK: nvvm.cp.async
// CHECK: } else {
// CHECK: scf.if %[[HAS]]
// CHECK: scf.for
// CHECK: scf.if %[[ALIGNED]]
// CHECK: nvgpu.device_async_copy
// CHECK: %[[FIRST:.*]] = nvgpu.device_async_create_group
// CHECK: scf.for %[[I:[^ ]*]] = %c0 to %[[N:[^ ]*]] step %c64 iter_args(%{{[^ ]*}} = %{{[^ ]*}}, %[[GROUP:.*]] = %[[FIRST]], %[[STAGE:.*]] = %c0_i32, %[[ADDRESS:[^ ]*]] =
// CHECK: nvgpu.device_async_wait %[[GROUP]] {numGroups = 0 : i32}
// CHECK-NEXT: gpu.barrier
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c64
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %[[N]]
// CHECK: %[[ROWS:.*]] = affine.min {{.*}}(%[[NEXT]])[%[[N]]]
// CHECK: %[[SOURCE:.*]] = memref.subview %[[Y]][%[[NEXT]], 0]
// A whole block of aligned rows, which there is none of behind the last, is copied
// without a question.
// CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %[[ROWS]], %c64
// CHECK: %[[SIMPLE:.*]] = arith.andi %[[ALIGNED]], %[[WHOLE]]
// CHECK: scf.if %[[SIMPLE]]
// CHECK: arith.index_cast %[[ADDRESS]]
// CHECK-COUNT-32: nvvm.cp.async.shared.global {{.*}}, 16, cache = {{ *}}cg
// CHECK-NOT: nvvm.cp.async
// CHECK: } else {
// CHECK: scf.if %[[MORE]]
// 4 neighbours in a row, and 16 rows at once; nothing is read of rows after the last.
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %c64 step %c16
// CHECK: %[[IS:.*]] = arith.cmpi slt, %[[ROW]], %[[ROWS]]
// CHECK: scf.if %{{.*}} {
// CHECK: %[[COUNT:.*]] = arith.select %[[IS]], %c8, %c0
// CHECK: nvgpu.device_async_copy %[[SOURCE]][%[[ROW]], %[[COLUMN:.*]]], %{{.*}}[%[[ROW]], %[[COLUMN]]], 8, %[[COUNT]] {bypassL1}
// CHECK-COUNT-7: nvgpu.device_async_copy
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: } else {
// CHECK: scf.for
// CHECK: memref.load %[[SOURCE]]
// CHECK: memref.store
// CHECK: %[[NEW:.*]] = nvgpu.device_async_create_group
// CHECK: %[[AT:.*]] = arith.index_castui %[[STAGE]]
// CHECK: %[[TILE:.*]] = memref.subview %[[BUFFER]][%[[AT]], 0, 0] [1, 64, 256]
// CHECK-NOT: gpu.barrier
// CHECK: %[[READ:.*]] = vector.transfer_read %[[TILE]]{{.*}} {in_bounds = [true, true]}
// CHECK: vector.contract {{.*}} %[[READ]],
// CHECK: scf.yield %{{.*}}, %[[NEW]], %{{.*}}, %{{.*}} :
func.func @staged(%y: !rows, %out: memref<32x256xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<32x256xf32>
  %a = arith.constant dense<1.0> : vector<32x64xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %s = scf.for %i = %c0 to %n step %c64 iter_args(%r = %zero) -> (vector<32x256xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 256] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<64x256xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<32x64xf16>, vector<64x256xf16> into vector<32x256xf32>
      scf.yield %t : vector<32x256xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<32x256xf32>, memref<32x256xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x256xf16>
!block = memref<?x256xf16, strided<[256, 1], offset: ?>>

// Beside queries in workgroup memory, two.
// LARGE-LABEL: func.func @beside_queries
// LARGE-DAG: memref.alloca() : memref<1x32x264xf16,
// LARGE-DAG: memref.alloca() : memref<2x64x264xf16,
func.func @beside_queries(%x: memref<32x256xf16>, %y: !rows, %out: memref<32x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<32x64xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %a = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<32x256xf16>, vector<32x256xf16>
    %s = scf.for %i = %c0 to %n step %c64 iter_args(%r = %zero) -> (vector<32x64xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 256] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<64x256xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (d, j)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<32x256xf16>, vector<64x256xf16> into vector<32x64xf32>
      scf.yield %t : vector<32x64xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<32x64xf32>, memref<32x64xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x256xf16>
!block = memref<64x256xf16, strided<[256, 1], offset: ?>>

// Of two stages, what is asked for the copies of the next iteration decides its branch,
// too.
// CHECK-LABEL: func.func @branch
// CHECK-SAME: %[[BOUND:[^,]*]]: index,
// CHECK: %[[FIRST:.*]] = arith.cmpi sgt, %[[BOUND]], %c0
// CHECK: scf.for %[[I:[^ ]*]] = %c0 {{.*}}, %[[READ:[^ ]*]] = %[[FIRST]]) ->
// CHECK: %[[AHEAD:.*]] = arith.addi %[[I]], %c64
// CHECK: %[[NEXT:.*]] = arith.cmpi sgt, %[[BOUND]], %[[AHEAD]]
// CHECK: nvvm.cp.async
// CHECK: nvgpu.device_async_create_group
// CHECK: scf.if %[[READ]] -> (vector<32x256xf32>)
// CHECK: scf.yield {{.*}}, %[[NEXT]] :
func.func @branch(%bound: index, %y: !rows, %out: memref<32x256xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<32x256xf32>
  %a = arith.constant dense<1.0> : vector<32x64xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %s = scf.for %i = %c0 to %n step %c64 iter_args(%r = %zero) -> (vector<32x256xf32>) {
      %visible = arith.cmpi sgt, %bound, %i : index
      %u = scf.if %visible -> (vector<32x256xf32>) {
        %block = memref.subview %y[%i, 0] [64, 256] [1, 1] : !rows to !block
        %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [true, true]} : !block, vector<64x256xf16>
        %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
            %a, %b, %r : vector<32x64xf16>, vector<64x256xf16> into vector<32x256xf32>
        scf.yield %t : vector<32x256xf32>
      } else {
        scf.yield %r : vector<32x256xf32>
      }
      scf.yield %u : vector<32x256xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<32x256xf32>, memref<32x256xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x64xf16>
!block = memref<?x64xf16, strided<[64, 1], offset: ?>>

// Three warps copy 24 rows at once, of which neighbours in a row of 64 elements have two
// chunks each. Of 64 rows, 2 rounds leave 16, which the first 16 times 4 threads copy.
// Of 8 rows that one thread after another has, those that write at once are 4 apart.
// CHECK-LABEL: func.func @uneven
// CHECK: gpu.launch
// CHECK: %[[TH:.*]] = arith.divui %{{.*}}, %c4
// CHECK: %[[EIGHTH:.*]] = arith.remui %[[TH]], %c8
// CHECK: %[[HALF:.*]] = arith.divui %[[EIGHTH]], %c2
// CHECK: %[[ODD:.*]] = arith.remui %[[TH]], %c2
// CHECK: %[[FAR:.*]] = arith.muli %[[ODD]], %c4
// CHECK: %[[IN:.*]] = arith.addi %[[HALF]], %[[FAR]]
// CHECK: %[[FIRST:.*]] = arith.subi %[[TH]], %[[EIGHTH]]
// CHECK: %[[OWN:.*]] = arith.addi %[[FIRST]], %[[IN]]
// CHECK: scf.for %{{[^ ]*}} = %c0 to %{{[^ ]*}} step %c64
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-4: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
// CHECK: %[[HAS:.*]] = arith.cmpi slt, %[[OWN]], %c16
// CHECK-NEXT: scf.if %[[HAS]]
// CHECK-COUNT-2: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
// CHECK: } else {
// CHECK: scf.for {{.*}} to %c64 step %c24
func.func @uneven(%y: !rows, %out: memref<48x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c96 = arith.constant 96 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<48x64xf32>
  %a = arith.constant dense<1.0> : vector<48x64xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c96, %sy = %c1, %sz = %c1) {
    %s = scf.for %i = %c0 to %n step %c64 iter_args(%r = %zero) -> (vector<48x64xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 64] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<64x64xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<48x64xf16>, vector<64x64xf16> into vector<48x64xf32>
      scf.yield %t : vector<48x64xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<48x64xf32>, memref<48x64xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x16xbf16>
!block = memref<16x16xbf16, strided<[16, 1], offset: ?>>

// Small blocks have four stages: three groups are under way, and two may stay so. A
// block that is not read is not copied. A loop in a loop begins with a barrier.
// CHECK-LABEL: func.func @condition
// CHECK: memref.alloca() : memref<4x16x24xbf16, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK-COUNT-3: nvgpu.device_async_create_group
// CHECK: scf.for %[[I:[^ ]*]] = %c0
// CHECK: nvgpu.device_async_wait %{{.*}} {numGroups = 2 : i32}
// CHECK-NEXT: gpu.barrier
// Whether there is a block, its rows do not say, of which there are always 16.
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c48
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NEXT]], %{{.*}}
// CHECK: %[[READ:.*]] = arith.cmpi sgt, %{{.*}}, %[[NEXT]]
// CHECK: %[[SIMPLE:.*]] = arith.andi %{{.*}}, %[[READ]]
// CHECK: %[[ALL:.*]] = arith.andi %[[SIMPLE]], %[[MORE]]
// CHECK: scf.if %[[ALL]]
// CHECK: nvvm.cp.async
// CHECK: %[[ANY:.*]] = arith.andi %[[READ]], %[[MORE]]
// CHECK: scf.if %[[ANY]]
// CHECK: nvgpu.device_async_copy
func.func @condition(%y: !rows, %n: index, %bound: index, %times: index, %out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : bf16
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  %a = arith.constant dense<1.0> : vector<16x16xbf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    scf.for %k = %c0 to %times step %c1 {
      %s = scf.for %i = %c0 to %n step %c16 iter_args(%r = %zero) -> (vector<16x16xf32>) {
        %hidden = arith.cmpi sle, %bound, %i : index
        %u = scf.if %hidden -> (vector<16x16xf32>) {
          scf.yield %r : vector<16x16xf32>
        } else {
          %block = memref.subview %y[%i, 0] [16, 16] [1, 1] : !rows to !block
          %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [true, true]} : !block, vector<16x16xbf16>
          %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
              %a, %b, %r : vector<16x16xbf16>, vector<16x16xbf16> into vector<16x16xf32>
          scf.yield %t : vector<16x16xf32>
        }
        scf.yield %u : vector<16x16xf32>
      }
      vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
    }
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x16xf16>
!block = memref<16x16xf16, strided<[16, 1], offset: ?>>

// What an iteration finds only when the one before is done is copied where it is
// read, and waited for.
// CHECK-LABEL: func.func @carried
// CHECK: memref.alloca() : memref<1x16x24xf16, #gpu.address_space<workgroup>>
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: scf.for
// CHECK: gpu.barrier
// CHECK: nvgpu.device_async_copy
// CHECK: %[[GROUP:.*]] = nvgpu.device_async_create_group
// CHECK-NEXT: nvgpu.device_async_wait %[[GROUP]] {numGroups = 0 : i32}
// CHECK-NEXT: gpu.barrier
// CHECK: vector.contract
// CHECK-NOT: nvgpu.device_async_copy
func.func @carried(%y: !rows, %n: index, %next: memref<?xindex>, %out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<16x16xf32>
  %a = arith.constant dense<1.0> : vector<16x16xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %s:2 = scf.for %i = %c0 to %n step %c1 iter_args(%r = %zero, %at = %c0) -> (vector<16x16xf32>, index) {
      %first = arith.addi %at, %i : index
      %block = memref.subview %y[%first, 0] [16, 16] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [true, true]} : !block, vector<16x16xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<16x16xf16>, vector<16x16xf16> into vector<16x16xf32>
      %to = memref.load %next[%at] : memref<?xindex>
      scf.yield %t, %to : vector<16x16xf32>, index
    }
    vector.transfer_write %s#0, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

!long = memref<16x256xf16>

// A first factor of more than 128 elements is read where it is multiplied, from a
// copy. So is a second one without a loop.
// Accumulators and what is not of 16 bits stay.
// CHECK-LABEL: func.func @long
// CHECK: gpu.launch
// CHECK-DAG: %[[X:.*]] = memref.alloca() : memref<1x16x264xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[Y:.*]] = memref.alloca() : memref<1x16x264xf16, #gpu.address_space<workgroup>>
// CHECK-COUNT-8: nvgpu.device_async_copy
// CHECK: vector.transfer_read %{{.*}} : memref<16x16xf32>, vector<16x16xf32>
// CHECK: vector.contract
func.func @long(%x: !long, %y: !long, %out: memref<16x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : f16
  %f0 = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %a = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : !long, vector<16x256xf16>
    %b = vector.transfer_read %y[%c0, %c0], %h0 {in_bounds = [true, true]} : !long, vector<16x256xf16>
    %r = vector.transfer_read %out[%c0, %c0], %f0 {in_bounds = [true, true]} : memref<16x16xf32>, vector<16x16xf32>
    %t = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %r : vector<16x256xf16>, vector<16x256xf16> into vector<16x16xf32>
    vector.transfer_write %t, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x16xf32>, memref<16x16xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<64x36xf16>

// Rows of 36 elements in a tile of 48 columns end with zeros: of a chunk, as many
// elements are read as there are.
// CHECK-LABEL: func.func @columns
// CHECK-SAME: %[[Y:[^:]*]]: memref<64x36xf16>
// CHECK: memref.alloca() : memref<1x64x56xf16, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[LEFT:.*]] = arith.subi %c36, %[[COLUMN:.*]] : index
// CHECK: %[[SOME:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK: %[[MOST:.*]] = arith.minsi %[[SOME]], %c8
// CHECK: %[[COUNT:.*]] = arith.select %{{.*}}, %[[MOST]], %c0
// CHECK: nvgpu.device_async_copy %[[Y]][%{{.*}}, %[[COLUMN]]], %{{.*}}, 8, %[[COUNT]] {bypassL1}
// CHECK: } else {
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c48
// CHECK: %[[IN:.*]] = arith.cmpi slt, %[[I]], %c36
// CHECK: arith.andi %{{.*}}, %[[IN]]
// CHECK: memref.load %[[Y]]
func.func @columns(%y: !rows, %out: memref<32x48xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<32x48xf32>
  %a = arith.constant dense<1.0> : vector<32x64xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %b = vector.transfer_read %y[%c0, %c0], %h0 {in_bounds = [true, false]} : !rows, vector<64x48xf16>
    %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<32x64xf16>, vector<64x48xf16> into vector<32x48xf32>
    vector.transfer_write %t, %out[%c0, %c0] {in_bounds = [true, true]} : vector<32x48xf32>, memref<32x48xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x40xi8>
!block = memref<?x40xi8, strided<[40, 1], offset: ?>>
!scales = memref<?xf32, strided<[1], offset: ?>>

// What is stored is of another type: 8 bytes become 16, which are stored at once, or
// elements do one by one where rows are not aligned to 8. Scales are found ahead, too.
// Nothing is asked of a whole block, of which no address is carried. Four workgroups of
// two warps have room for three stages.
// CHECK-LABEL: func.func @converted
// CHECK-SAME: %[[Y:[^,]*]]: memref<?x40xi8>, %[[SCALES:[^,]*]]: memref<?xf32>
// CHECK: memref.alloca() : memref<3x64x56xf16, #gpu.address_space<workgroup>>
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq
// CHECK: scf.for %[[I:[^ ]*]] = %c0 to %[[N:[^ ]*]] step %c64 iter_args(%{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %{{[^ ]*}}, %{{[^ ]*}} = %c0_i32, %{{[^ ]*}} = %c2_i32) ->
// CHECK: gpu.barrier
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c128
// CHECK: %[[OF_ROWS:.*]] = memref.subview %[[SCALES]][%[[NEXT]]]
// CHECK: %[[SOURCE:.*]] = memref.subview %[[Y]][%[[NEXT]], 0]
// CHECK: %[[WHOLE:.*]] = arith.cmpi sge, %{{.*}}, %c64
// CHECK: %[[SIMPLE:.*]] = arith.andi %[[ALIGNED]], %[[WHOLE]]
// CHECK: scf.if %[[SIMPLE]]
// CHECK: scf.for %[[FAST:.*]] = %{{.*}} to %c64
// CHECK-NEXT: memref.load %[[OF_ROWS]][%[[FAST]]]
// CHECK: vector.load %[[SOURCE]]{{.*}} {alignment = 8 : i64} : {{.*}}, vector<8xi8>
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
// CHECK: } else {
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %c64
// CHECK: %[[SCALE:.*]] = scf.if
// CHECK: memref.load %[[OF_ROWS]][%[[ROW]]]
// CHECK: scf.if %[[ALIGNED]]
// CHECK-COUNT-2: vector.load %[[SOURCE]]{{.*}} {alignment = 8 : i64} : {{.*}}, vector<8xi8>
// CHECK: arith.sitofp %{{.*}} : i8 to f32
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: arith.truncf %{{.*}} : f32 to f16
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : {{.*}}, vector<8xf16>
// CHECK: vector.store %cst
// CHECK: } else {
// CHECK: memref.load %[[SOURCE]]
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: memref.store
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: %[[READ:.*]] = vector.transfer_read %{{.*}} {in_bounds = [true, true]} : {{.*}}, vector<64x48xf16>
// CHECK-NOT: vector.transfer_read
// CHECK: vector.contract {{.*}} %[[READ]],
func.func @converted(%y: !rows, %scales: memref<?xf32>, %out: memref<32x48xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %i0 = arith.constant 0 : i8
  %f0 = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<32x48xf32>
  %a = arith.constant dense<1.0> : vector<32x64xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c64, %sy = %c1, %sz = %c1) {
    %s = scf.for %i = %c0 to %n step %c64 iter_args(%r = %zero) -> (vector<32x48xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 40] [1, 1] : !rows to !block
      %of_rows = memref.subview %scales[%i] [%count] [1] : memref<?xf32> to !scales
      %k = vector.transfer_read %of_rows[%c0], %f0 : !scales, vector<64xf32>
      %b = vector.transfer_read %block[%c0, %c0], %i0 : !block, vector<64x48xi8>
      %numbers = arith.sitofp %b : vector<64x48xi8> to vector<64x48xf32>
      %column = vector.shape_cast %k : vector<64xf32> to vector<64x1xf32>
      %all = vector.broadcast %column : vector<64x1xf32> to vector<64x48xf32>
      %products = arith.mulf %numbers, %all : vector<64x48xf32>
      %v = arith.truncf %products : vector<64x48xf32> to vector<64x48xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %v, %r : vector<32x64xf16>, vector<64x48xf16> into vector<32x48xf32>
      scf.yield %t : vector<32x48xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<32x48xf32>, memref<32x48xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x128xf16>
!block = memref<?x128xf16, strided<[128, 1], offset: ?>>

// One warp, of which a multiprocessor is to have eight: each has room for one block of
// keys and values. Each of them is copied as soon as the one before has been read.
// CHECK-LABEL: func.func @turns
// CHECK-SAME: %[[K:[^,]*]]: memref<?x128xf16>, %[[V:[^,]*]]: memref<?x128xf16>
// CHECK-DAG: %[[OF_K:.*]] = memref.alloca() : memref<1x16x136xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[OF_V:.*]] = memref.alloca() : memref<1x16x136xf16, #gpu.address_space<workgroup>>
// The first keys, and no values.
// CHECK: gpu.barrier
// CHECK-COUNT-8: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
// CHECK: %[[FIRST:.*]] = nvgpu.device_async_create_group
// CHECK: scf.for %[[I:[^ ]*]] = %c0 to %{{.*}} step %c16 iter_args(%{{[^ ]*}} = %{{[^ ]*}}, %[[KEYS:.*]] = %[[FIRST]], %{{.*}}, %{{.*}})
// CHECK: nvgpu.device_async_wait %[[KEYS]] {numGroups = 0 : i32}
// CHECK-NEXT: gpu.barrier
// CHECK: memref.subview %[[V]][%[[I]], 0]
// CHECK-COUNT-8: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
// CHECK: %[[VALUES:.*]] = nvgpu.device_async_create_group
// CHECK-NOT: gpu.barrier
// CHECK: vector.contract
// CHECK-NEXT: gpu.barrier
// CHECK: memref.subview %[[K]][%{{.*}}, 0]
// CHECK-COUNT-8: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
// CHECK: %[[NEXT:.*]] = nvgpu.device_async_create_group
// CHECK: nvgpu.device_async_wait %[[VALUES]] {numGroups = 1 : i32}
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: vector.contract
// CHECK-NOT: gpu.barrier
// CHECK: scf.yield %{{.*}}, %[[NEXT]], %{{.*}}, %{{.*}} :
func.func @turns(%k: !rows, %v: !rows, %out: memref<16x128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : f16
  %none = arith.constant dense<0.0> : vector<16x16xf32>
  %zero = arith.constant dense<0.0> : vector<16x128xf32>
  %q = arith.constant dense<1.0> : vector<16x128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %sum = scf.for %i = %c0 to %n step %c16 iter_args(%r = %zero) -> (vector<16x128xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 16)>(%i)[%n]
      %keys = memref.subview %k[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %values = memref.subview %v[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %a = vector.transfer_read %keys[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<16x128xf16>
      %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %q, %a, %none : vector<16x128xf16>, vector<16x128xf16> into vector<16x16xf32>
      %w = arith.truncf %s : vector<16x16xf32> to vector<16x16xf16>
      %b = vector.transfer_read %values[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<16x128xf16>
      %o = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %w, %b, %r : vector<16x16xf16>, vector<16x128xf16> into vector<16x128xf32>
      scf.yield %o : vector<16x128xf32>
    }
    vector.transfer_write %sum, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x128xf32>, memref<16x128xf32>
    gpu.terminator
  }
  return
}

// -----

!rows = memref<?x128xf16>
!block = memref<?x128xf16, strided<[128, 1], offset: ?>>

// Values that are read before the product with keys take no turns with these: there are
// stages of both instead, and room for fewer workgroups.
// CHECK-LABEL: func.func @no_turns
// CHECK-COUNT-2: memref.alloca() : memref<4x16x136xf16, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK-COUNT-1: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: scf.yield
func.func @no_turns(%k: !rows, %v: !rows, %out: memref<16x128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c32 = arith.constant 32 : index
  %h0 = arith.constant 0.0 : f16
  %none = arith.constant dense<0.0> : vector<16x16xf32>
  %zero = arith.constant dense<0.0> : vector<16x128xf32>
  %q = arith.constant dense<1.0> : vector<16x128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c32, %sy = %c1, %sz = %c1) {
    %sum = scf.for %i = %c0 to %n step %c16 iter_args(%r = %zero) -> (vector<16x128xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 16)>(%i)[%n]
      %keys = memref.subview %k[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %values = memref.subview %v[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %a = vector.transfer_read %keys[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<16x128xf16>
      %b = vector.transfer_read %values[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<16x128xf16>
      %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %q, %a, %none : vector<16x128xf16>, vector<16x128xf16> into vector<16x16xf32>
      %w = arith.truncf %s : vector<16x16xf32> to vector<16x16xf16>
      %o = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %w, %b, %r : vector<16x16xf16>, vector<16x128xf16> into vector<16x128xf32>
      scf.yield %o : vector<16x128xf32>
    }
    vector.transfer_write %sum, %out[%c0, %c0] {in_bounds = [true, true]} : vector<16x128xf32>, memref<16x128xf32>
    gpu.terminator
  }
  return
}
