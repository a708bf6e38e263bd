// RUN: attn-opt %s -attn-distribute-to-lanes -canonicalize -cse \
// RUN:   -mlir-print-local-scope | FileCheck %s

!tile = memref<2x16x64xf16, #gpu.address_space<workgroup>>
!buffer = memref<3x2x16x64xf16, #gpu.address_space<workgroup>>
!view = memref<2x16x64xf16, strided<[1024, 64, 1], offset: ?>, #gpu.address_space<workgroup>>

// A warpgroup: 64 queries of 128 elements by 16 keys, of which there are two panels,
// and weights by 16 rows of 128 values, in the stage %i of a buffer.
// CHECK-LABEL: func.func @products
// CHECK-SAME: %[[STAGE:[^:]*]]: index
// Panels are 128 units of 16 bytes apart, and eight rows of one 64.
// CHECK-DAG: %[[REST:.*]] = arith.constant 4611686293313683456 : i64
// CHECK-DAG: %[[BITS:.*]] = arith.constant 16383 : index
// Tiles begin at multiples of 1024 bytes.
// CHECK-DAG: memref.view %{{.*}}[%c0][] : {{.*}} to memref<f32,
// CHECK-DAG: memref.view %{{.*}}[%c1024][] : {{.*}} to memref<2x16x64xf16,
// Keys are K-major, and the first product has no sums: a step is 32 bytes of a panel.
// CHECK: %[[KEYS:.*]] = memref.extract_aligned_pointer_as_index %{{.*}} : memref<2x16x64xf16,
// CHECK: %[[UNITS:.*]] = arith.divui %[[KEYS]], %c16
// CHECK: %[[LOW:.*]] = arith.andi %[[UNITS]], %[[BITS]]
// CHECK: %[[BEGIN:.*]] = arith.index_cast %[[LOW]] : index to i64
// CHECK: %[[DESCRIPTOR:.*]] = arith.ori %[[BEGIN]], %[[REST]] : i64
// CHECK: %[[BEGUN:.*]]:8 = attn.warpgroup_mma lhs({{.*}} rhs(%[[DESCRIPTOR]]) columns 16
// CHECK-SAME: steps [0, 2, 4, 6, 128, 130, 132, 134] : f32,
// CHECK: %[[SCORES:.*]]:8 = attn.warpgroup_wait %[[BEGUN]]#0, {{.*}}, %[[BEGUN]]#7 pending 0
// Weights are a first factor as they are: the two pairs of rows of columns 8 c.
// CHECK: %[[W0:.*]] = arith.truncf %[[SCORES]]#0
// CHECK: %[[W1:.*]] = arith.truncf %[[SCORES]]#1
// CHECK: %[[PAIR:.*]] = vector.from_elements %[[W0]], %[[W1]] : vector<2xf16>
// CHECK-COUNT-3: vector.from_elements {{.*}} : vector<2xf16>
// CHECK: memref.extract_aligned_pointer_as_index %{{.*}} : memref<2x16x64xf16, strided
// CHECK: attn.warpgroup_mma lhs(%[[PAIR]], %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} :
// CHECK-SAME: rhs(%{{.*}}) transposed sums(
// CHECK-SAME: columns 128 steps [0] : f32,
// CHECK: attn.warpgroup_wait {{.*}} pending 0
// CHECK-NOT: nvvm.mma.sync
func.func @products(%i: index, %x: memref<64x128xf16>, %in: memref<64x128xf32>,
                    %out: memref<64x128xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %f0 = arith.constant 0.0 : f32
  %h0 = arith.constant 0.0 : f16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %zero = arith.constant dense<0.0> : vector<64x16xf32>
    %q = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<64x128xf16>, vector<64x128xf16>
    %sums = vector.transfer_read %in[%c0, %c0], %f0 {in_bounds = [true, true]} : memref<64x128xf32>, vector<64x128xf32>
    %other = memref.alloca() : memref<f32, #gpu.address_space<workgroup>>
    memref.store %f0, %other[] : memref<f32, #gpu.address_space<workgroup>>
    %keys = memref.alloca() {alignment = 1024 : i64} : !tile
    %buffer = memref.alloca() {alignment = 1024 : i64} : !buffer
    %values = memref.subview %buffer[%i, 0, 0, 0] [1, 2, 16, 64] [1, 1, 1, 1] : !buffer to !view
    %k = attn.read_panels %keys : !tile to vector<16x128xf16>
    %v = attn.read_panels %values : !view to vector<16x128xf16>
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %q, %k, %zero : vector<64x128xf16>, vector<16x128xf16> into vector<64x16xf32>
    %w = arith.truncf %s : vector<64x16xf32> to vector<64x16xf16>
    %o = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %w, %v, %sums : vector<64x16xf16>, vector<16x128xf16> into vector<64x128xf32>
    vector.transfer_write %o, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x128xf32>, memref<64x128xf32>
    %last = memref.load %other[] : memref<f32, #gpu.address_space<workgroup>>
    memref.store %last, %out[%c0, %c1] : memref<64x128xf32>
    gpu.terminator
  }
  return
}

!queries = memref<2x128x64xf16, #gpu.address_space<workgroup>>
!keys = memref<2x16x64xf16, #gpu.address_space<workgroup>>

// Of queries in panels, each of two warpgroups has a descriptor, of its 64 rows of 128
// bytes: the others of 384 threads are producers. Panels are 1024 units of 16 bytes apart.
// CHECK-LABEL: func.func @queries
// CHECK-DAG: %[[REST:.*]] = arith.constant 4611686293372403712 : i64
// CHECK-DAG: %[[BYTES:.*]] = arith.constant 8192 : index
// CHECK: gpu.launch
// CHECK-SAME: threads(%[[TX:[^,]*]],
// CHECK: %[[WARPGROUP:.*]] = arith.divui %[[TX]], %c128
// CHECK: %[[BEGIN:.*]] = memref.extract_aligned_pointer_as_index %{{.*}} : memref<2x128x64xf16,
// CHECK: %[[OF_ROWS:.*]] = arith.muli %[[WARPGROUP]], %[[BYTES]]
// CHECK: %[[ADDRESS:.*]] = arith.addi %[[BEGIN]], %[[OF_ROWS]]
// CHECK: %[[UNITS:.*]] = arith.divui %[[ADDRESS]], %c16
// CHECK: %[[LOW:.*]] = arith.andi %[[UNITS]],
// CHECK: %[[BITS:.*]] = arith.index_cast %[[LOW]] : index to i64
// CHECK: %[[LHS:.*]] = arith.ori %[[BITS]], %[[REST]] : i64
// CHECK: memref.extract_aligned_pointer_as_index %{{.*}} : memref<2x16x64xf16,
// CHECK: attn.warpgroup_mma lhs(%[[LHS]] : i64) rhs(%{{[^)]*}}) columns 16
// CHECK-SAME: steps [0, 2, 4, 6, 128, 130, 132, 134]
// CHECK-SAME: lhs_steps [0, 2, 4, 6, 1024, 1026, 1028, 1030] of f16 : f32,
// CHECK: attn.warpgroup_wait {{.*}} pending 0
func.func @queries(%x: f16, %out: memref<128x16xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c384 = arith.constant 384 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    %zero = arith.constant dense<0.0> : vector<128x16xf32>
    %queries = memref.alloca() {alignment = 1024 : i64} : !queries
    %keys = memref.alloca() {alignment = 1024 : i64} : !keys
    memref.store %x, %queries[%c0, %c0, %c0] : !queries
    memref.store %x, %keys[%c0, %c0, %c0] : !keys
    gpu.barrier
    %q = attn.read_panels %queries : !queries to vector<128x128xf16>
    %k = attn.read_panels %keys : !keys to vector<16x128xf16>
    %s = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %q, %k, %zero : vector<128x128xf16>, vector<16x128xf16> into vector<128x16xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<128x16xf32>, memref<128x16xf32>
    gpu.terminator
  } {attn.producers = 128, attn.warpgroups}
  return
}

// Fragments of 16 bits are carried in pairs, as registers hold them, and as they are a
// first factor. Other layouts are carried element by element.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[W0:[^ ]*]] = %{{[^ ]*}}, %[[W1:[^ ]*]] = %{{[^ ]*}}, %[[W2:[^ ]*]] = %{{[^ ]*}}, %[[W3:[^ ]*]] = %{{[^ ]*}}, %{{.*}}) -> (vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, bf16, bf16, f32,
// CHECK-NOT: vector.from_elements
// CHECK: attn.warpgroup_mma lhs(%[[W0]], %[[W1]], %[[W2]], %[[W3]] : vector<2xbf16>,
// CHECK: %[[SUMS:.*]]:32 = attn.warpgroup_wait
// CHECK: %[[N0:.*]] = arith.truncf %[[SUMS]]#0 : f32 to bf16
// CHECK: %[[N1:.*]] = arith.truncf %[[SUMS]]#1 : f32 to bf16
// CHECK: %[[NEXT:.*]] = vector.from_elements %[[N0]], %[[N1]] : vector<2xbf16>
// CHECK-COUNT-3: vector.from_elements {{.*}} : vector<2xbf16>
// CHECK: scf.yield %[[NEXT]], {{.*}} : vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, bf16, bf16, f32,
// Behind the loop, too, and by branches.
// CHECK: scf.if %{{.*}} -> (vector<2xbf16>, vector<2xbf16>, vector<2xbf16>, vector<2xbf16>) {
// CHECK: %[[LAST:.*]] = vector.from_elements {{.*}} : vector<2xbf16>
// CHECK: vector.extract %{{.*}}[0] : bf16 from vector<2xbf16>
func.func @carried(%n: index, %c: i1, %x: memref<64x16xbf16>, %out: memref<64x16xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %h0 = arith.constant 0.0 : bf16
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
    %values = memref.alloca() {alignment = 1024 : i64} : memref<1x16x64xbf16, #gpu.address_space<workgroup>>
    %ones = arith.constant dense<1.0> : vector<64x1xbf16>
    %zero = arith.constant dense<0.0> : vector<64x64xf32>
    %w = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<64x16xbf16>, vector<64x16xbf16>
    %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %w, %b = %ones, %s = %zero) -> (vector<64x16xbf16>, vector<64x1xbf16>, vector<64x64xf32>) {
      %v = attn.read_panels %values : memref<1x16x64xbf16, #gpu.address_space<workgroup>> to vector<16x64xbf16>
      %o = vector.contract {indexing_maps = [affine_map<(q, d, j) -> (q, j)>, affine_map<(q, d, j) -> (j, d)>, affine_map<(q, d, j) -> (q, d)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %v, %s : vector<64x16xbf16>, vector<16x64xbf16> into vector<64x64xf32>
      %part = vector.extract_strided_slice %o {offsets = [0, 0], sizes = [64, 16], strides = [1, 1]} : vector<64x64xf32> to vector<64x16xf32>
      %next = arith.truncf %part : vector<64x16xf32> to vector<64x16xbf16>
      %twice = arith.addf %b, %b : vector<64x1xbf16>
      scf.yield %next, %twice, %o : vector<64x16xbf16>, vector<64x1xbf16>, vector<64x64xf32>
    }
    %u = vector.broadcast %r#1 : vector<64x1xbf16> to vector<64x16xbf16>
    %chosen = scf.if %c -> vector<64x16xbf16> {
      %sum = arith.addf %u, %r#0 : vector<64x16xbf16>
      scf.yield %sum : vector<64x16xbf16>
    } else {
      scf.yield %r#0 : vector<64x16xbf16>
    }
    %d = arith.mulf %chosen, %u : vector<64x16xbf16>
    vector.transfer_write %d, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x16xbf16>, memref<64x16xbf16>
    gpu.terminator
  }
  return
}
