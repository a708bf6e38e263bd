// RUN: attn-opt %s -attn-target="{gpu_shared_bytes = 233472}" \
// RUN:   -attn-copy-to-workgroup -canonicalize -cse -mlir-print-local-scope | FileCheck %s

!rows = memref<?x128xf16>
!block = memref<?x128xf16, strided<[128, 1], offset: ?>>

// 128 consumers, and 128 producers, who copy blocks of 64 rows. Each of four stages
// has two mbarriers, that it is full, by 256 arrivals: of each producer, and of its
// copies; and that it is empty, by those of four warps.
// CHECK-LABEL: func.func @producers
// CHECK-SAME: %[[ROWS:[^:]*]]: memref<?x128xf16>, %{{.*}}: memref<64x64xf32>, %[[N:[^:]*]]: index
// CHECK: gpu.launch
// CHECK-SAME: threads(%[[TX:[^,]*]],
// CHECK-DAG: %[[TILES:.*]] = memref.alloca() {alignment = 1024 : i64} : memref<4x2x64x64xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: %[[BARRIERS:.*]] = memref.alloca() {attn.kept} : memref<8xi64, #gpu.address_space<workgroup>>
// All threads see them, and nobody uses what shares their memory still.
// CHECK: nvvm.barrier id = %c2_i32 number_of_threads = %c256_i32
// CHECK-NEXT: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[TX]], %c0
// CHECK-NEXT: scf.if %[[IS_FIRST]] {
// CHECK-NEXT: %[[BEGIN:.*]] = memref.extract_aligned_pointer_as_index %[[BARRIERS]]
// CHECK-NEXT: %[[FULL0_BITS:.*]] = arith.index_cast %[[BEGIN]] : index to i64
// CHECK-NEXT: %[[FULL0:.*]] = llvm.inttoptr %[[FULL0_BITS]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: nvvm.mbarrier.init %[[FULL0]], %c256_i32
// CHECK-NEXT: %[[EMPTY0_AT:.*]] = arith.addi %[[BEGIN]], %c32
// CHECK-NEXT: %[[EMPTY0_BITS:.*]] = arith.index_cast %[[EMPTY0_AT]] : index to i64
// CHECK-NEXT: %[[EMPTY0:.*]] = llvm.inttoptr %[[EMPTY0_BITS]] : i64 to !llvm.ptr<3>
// CHECK-NEXT: nvvm.mbarrier.init %[[EMPTY0]], %c4_i32
// CHECK-COUNT-6: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: }
// CHECK-NEXT: nvvm.barrier id = %c2_i32 number_of_threads = %c256_i32
// The producers' numbers begin at 0.
// CHECK: arith.subi %[[TX]], %c128
// They start the copies of three iterations, as far as there are so many, before the
// loop, and without a wait: no stage has been full.
// CHECK: attn.producers {
// CHECK-NEXT: nvvm.barrier id = %c2_i32 number_of_threads = %c256_i32
// CHECK-NEXT: nvvm.barrier id = %c2_i32 number_of_threads = %c256_i32
// CHECK-NOT: mbarrier.try_wait
// CHECK: %[[EXISTS:.*]] = arith.cmpi sgt, %[[N]], %c0
// CHECK-NEXT: scf.if %[[EXISTS]] {
// 128 threads: 16 rows at once, with eight threads of two panels each.
// CHECK-COUNT-8: nvvm.cp.async.shared.global {{.*}}, 16, cache = {{ *}}cg
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvgpu.device_async_copy
// CHECK: nvvm.cp.async.mbarrier.arrive %[[STAGE0:.*]] {noinc = true}
// CHECK-NEXT: nvvm.mbarrier.arrive %[[STAGE0]] :
// CHECK-NEXT: }
// CHECK: arith.cmpi sgt, %[[N]], %c64
// CHECK: arith.cmpi sgt, %[[N]], %c128
// CHECK-NOT: arith.cmpi sgt, %[[N]]
// Carried: the stage, its parity, the stage before it, and where copies begin.
// CHECK: scf.for %[[I:.*]] = %c0 to %[[N]] step %c64
// CHECK-SAME: iter_args(%{{[^ ]*}} = %{{[^ ]*}}, %[[STAGE:[^ ]*]] = %c0_i32, %[[PARITY:[^ ]*]] = %c0_i32, %[[LAST:[^ ]*]] = %c3_i32, %[[ADDRESS:[^ ]*]] = %{{[^ ]*}}) -> (vector<64x64xf32>, i32, i32, i32, index)
// CHECK: %[[AFTER:.*]] = arith.select %{{.*}}, %c0_i32, %{{.*}} : i32
// CHECK-NEXT: attn.producers {
// CHECK-NEXT: %[[AHEAD:.*]] = arith.addi %[[I]], %c192
// CHECK-NEXT: %[[LAST_INDEX:.*]] = arith.index_castui %[[LAST]]
// The stage before the first one has been full as often as that, less once.
// CHECK-NEXT: %[[IS_STAGE0:.*]] = arith.cmpi eq, %[[STAGE]], %c0_i32
// CHECK-NEXT: %[[FLIP:.*]] = arith.extui %[[IS_STAGE0]]
// CHECK-NEXT: %[[PARITY_OF_EMPTY:.*]] = arith.xori %[[PARITY]], %[[FLIP]]
// CHECK-NEXT: %[[EXISTS:.*]] = arith.cmpi slt, %[[AHEAD]], %[[N]]
// CHECK-NEXT: scf.if %[[EXISTS]] {
// CHECK-NEXT: %[[NUMBER:.*]] = arith.addi %[[LAST_INDEX]], %c4
// CHECK: %[[OF_NUMBER:.*]] = arith.muli %[[NUMBER]], %c8
// CHECK-NEXT: %[[EMPTY_AT:.*]] = arith.addi %{{.*}}, %[[OF_NUMBER]]
// CHECK-NEXT: %[[EMPTY_BITS:.*]] = arith.index_cast %[[EMPTY_AT]]
// CHECK-NEXT: %[[EMPTY:.*]] = llvm.inttoptr %[[EMPTY_BITS]]
// CHECK-NEXT: nvvm.mbarrier.try_wait.parity %[[EMPTY]], %[[PARITY_OF_EMPTY]], %c10000000_i32
// CHECK: %[[FROM_BITS:.*]] = arith.index_cast %[[ADDRESS]] : index to i64
// CHECK-NEXT: %[[FROM:.*]] = llvm.inttoptr %[[FROM_BITS]] : i64 to !llvm.ptr<1>
// CHECK-NEXT: nvvm.cp.async.shared.global %{{.*}}, %[[FROM]], 16
// CHECK-COUNT-7: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.mbarrier.arrive %[[FULL:.*]] {noinc = true}
// CHECK-NEXT: nvvm.mbarrier.arrive %[[FULL]] :
// CHECK-NEXT: }
// CHECK-NEXT: }
// Consumers wait until the stage is full, see it as the async proxy does, and, a lane
// of each warp, say that they have read it. There is no other barrier.
// CHECK-NEXT: %[[STAGE_INDEX:.*]] = arith.index_castui %[[STAGE]]
// CHECK: nvvm.mbarrier.try_wait.parity %{{.*}}, %[[PARITY]], %c10000000_i32
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: %[[IS_AROUND:.*]] = arith.cmpi eq, %[[AFTER]], %c0_i32
// CHECK-NEXT: %[[AROUND:.*]] = arith.extui %[[IS_AROUND]]
// CHECK-NEXT: %[[NEXT_PARITY:.*]] = arith.xori %[[PARITY]], %[[AROUND]]
// CHECK: memref.subview %[[TILES]][%[[STAGE_INDEX]], 0, 0, 0]
// CHECK: attn.read_panels
// CHECK: vector.contract
// CHECK-NOT: barrier
// CHECK: %[[LANE:.*]] = arith.remui %[[TX]], %c32
// CHECK-NEXT: %[[IS_LANE0:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK-NEXT: scf.if %[[IS_LANE0]] {
// CHECK-NEXT: arith.addi %[[STAGE_INDEX]], %c4
// CHECK: nvvm.mbarrier.arrive
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %{{.*}}, %[[AFTER]], %[[NEXT_PARITY]], %[[STAGE]], %{{.*}} :
// CHECK-NOT: barrier
// CHECK: gpu.terminator
func.func @producers(%y: !rows, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %a = arith.constant dense<1.0> : vector<64x128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %s = scf.for %i = %c0 to %n step %c64 iter_args(%r = %zero) -> (vector<64x64xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<64x128xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<64x128xf16>, vector<64x128xf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
    gpu.terminator
  } {attn.producers = 128, attn.warpgroups}
  return
}

// Of two stages, the one before is the other one, which no loop carries. Two warpgroups
// empty a stage by the arrivals of eight warps.
// CHECK-LABEL: func.func @two_stages
// CHECK-DAG: memref.alloca() {alignment = 1024 : i64} : memref<2x2x128x64xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: memref.alloca() {attn.kept} : memref<4xi64, #gpu.address_space<workgroup>>
// CHECK: nvvm.barrier id = %c2_i32 number_of_threads = %c384_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c256_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c256_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: arith.subi %{{.*}}, %c256
// CHECK: scf.for {{.*}} iter_args(%{{[^ ]*}} = %{{[^ ]*}}, %[[STAGE:[^ ]*]] = %c0_i32, %{{[^ ]*}} = %c0_i32, %{{[^ ]*}} = %{{[^ ]*}}) -> (vector<128x128xf32>, i32, i32, index)
// CHECK: %[[OTHER:.*]] = arith.subi %c1_i32, %[[STAGE]] : i32
// CHECK: attn.producers {
// CHECK: arith.index_castui %[[OTHER]] : i32 to index
// CHECK: nvvm.mbarrier.try_wait.parity
func.func @two_stages(%y: !rows, %out: memref<128x128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c384 = arith.constant 384 : index
  %h0 = arith.constant 0.0 : f16
  %f0 = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %a = arith.constant dense<1.0> : vector<128x128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c384, %sy = %c1, %sz = %c1) {
    %s = scf.for %i = %c0 to %n step %c128 iter_args(%r = %zero) -> (vector<128x128xf32>) {
      %scores = memref.alloca() : memref<2x160x128xf32, #gpu.address_space<workgroup>>
      memref.store %f0, %scores[%c0, %c0, %c0] : memref<2x160x128xf32, #gpu.address_space<workgroup>>
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 128)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<128x128xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<128x128xf16>, vector<128x128xf16> into vector<128x128xf32>
      scf.yield %t : vector<128x128xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<128x128xf32>, memref<128x128xf32>
    gpu.terminator
  } {attn.producers = 128, attn.warpgroups}
  return
}

// What no loop copies ahead, consumers copy themselves, who are 128 of the 256 threads.
// CHECK-LABEL: func.func @consumers
// CHECK: gpu.launch
// CHECK-SAME: threads(%[[TX:[^,]*]],
// CHECK-NOT: attn.producers {
// CHECK-NOT: mbarrier
// CHECK: gpu.barrier
// CHECK: %[[FIRST_ROW:.*]] = arith.divui %[[TX]], %c8
// CHECK: scf.for %{{.*}} = %[[FIRST_ROW]] to %c64 step %c16
// CHECK: nvgpu.device_async_wait
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: attn.producers {
func.func @consumers(%y: memref<64x128xf16>, %out: memref<64x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %a = arith.constant dense<1.0> : vector<64x128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %b = vector.transfer_read %y[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<64x128xf16>, vector<64x128xf16>
    %t = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
        %a, %b, %zero : vector<64x128xf16>, vector<64x128xf16> into vector<64x64xf32>
    vector.transfer_write %t, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
    gpu.terminator
  } {attn.producers = 128, attn.warpgroups}
  return
}

// Queries that are too many for registers are a first factor in panels, as they are: each
// product reads them there.
// CHECK-LABEL: func.func @queries
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<1x2x64x64xf16, #gpu.address_space<workgroup>>
// CHECK: scf.for
// CHECK-DAG: %[[QUERIES:.*]] = attn.read_panels {{.*}} to vector<64x128xf16>
// CHECK-DAG: %[[KEYS:.*]] = attn.read_panels {{.*}} to vector<64x128xf16>
// CHECK: vector.contract
// CHECK: scf.yield
func.func @queries(%x: memref<64x128xf16>, %y: !rows, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %a = vector.transfer_read %x[%c0, %c0], %h0 {in_bounds = [true, true]} : memref<64x128xf16>, vector<64x128xf16>
    %s = scf.for %i = %c0 to %n step %c64 iter_args(%r = %zero) -> (vector<64x64xf32>) {
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 64)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<64x128xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<64x128xf16>, vector<64x128xf16> into vector<64x64xf32>
      scf.yield %t : vector<64x64xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<64x64xf32>, memref<64x64xf32>
    gpu.terminator
  } {attn.producers = 128, attn.warpgroups}
  return
}
