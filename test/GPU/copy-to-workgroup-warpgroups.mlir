// RUN: attn-opt %s -attn-target="{gpu_shared_bytes = 233472}" \
// RUN:   -attn-copy-to-workgroup -canonicalize -cse -mlir-print-local-scope | FileCheck %s

!rows = memref<?x128xf16>
!block = memref<?x128xf16, strided<[128, 1], offset: ?>>

// Where warpgroups multiply, blocks of 64 rows of 128 elements are in panels of 64,
// and their stages take what memory there is.
// CHECK-LABEL: func.func @panels
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<4x2x64x64xf16, #gpu.address_space<workgroup>>
// CHECK: scf.for
// Behind a barrier, threads have written what the async proxy of all of them sees.
// CHECK: nvgpu.device_async_wait
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: gpu.barrier
// The 16 bytes of a thread are where its row has them, in a panel: 16 rows at once,
// which are eight apart.
// CHECK: arith.xori
// CHECK-COUNT-8: nvvm.cp.async.shared.global {{.*}}, 16, cache = {{ *}}cg
// Of a block that is not whole, too.
// CHECK: %[[ROW_IN_EIGHT:.*]] = arith.remui %{{.*}}, %c8 : index
// CHECK: %[[CHUNK:.*]] = arith.xori %{{.*}}, %[[ROW_IN_EIGHT]] : index
// CHECK: %[[ELEMENT:.*]] = arith.muli %[[CHUNK]], %c8 : index
// CHECK: nvgpu.device_async_copy {{.*}} 8, %
// Element by element, where rows are not aligned.
// CHECK: } else {
// CHECK: memref.load
// CHECK: arith.xori
// CHECK: memref.store {{.*}} : memref<2x64x64xf16, strided<[4096, 64, 1], offset: ?>, #gpu.address_space<workgroup>>
// CHECK: attn.read_panels {{.*}} to vector<64x128xf16>
func.func @panels(%y: !rows, %out: memref<64x64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %h0 = arith.constant 0.0 : f16
  %zero = arith.constant dense<0.0> : vector<64x64xf32>
  %a = arith.constant dense<1.0> : vector<64x128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c128, %sy = %c1, %sz = %c1) {
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
  } {attn.warpgroups}
  return
}

// Memory that iterations use on their own leaves room for fewer stages.
// CHECK-LABEL: func.func @beside
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<2x2x128x64xf16, #gpu.address_space<workgroup>>
func.func @beside(%y: !rows, %out: memref<128x128xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %h0 = arith.constant 0.0 : f16
  %f0 = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<128x128xf32>
  %a = arith.constant dense<1.0> : vector<128x128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c256, %sy = %c1, %sz = %c1) {
    %s = scf.for %i = %c0 to %n step %c128 iter_args(%r = %zero) -> (vector<128x128xf32>) {
      %scores = memref.alloca() : memref<2x160x128xf32, #gpu.address_space<workgroup>>
      memref.store %f0, %scores[%c0, %tx, %c0] : memref<2x160x128xf32, #gpu.address_space<workgroup>>
      %count = affine.min affine_map<(d0)[s0] -> (s0 - d0, 128)>(%i)[%n]
      %block = memref.subview %y[%i, 0] [%count, 128] [1, 1] : !rows to !block
      %b = vector.transfer_read %block[%c0, %c0], %h0 {in_bounds = [false, true]} : !block, vector<128x128xf16>
      %t = vector.contract {indexing_maps = [affine_map<(q, j, d) -> (q, d)>, affine_map<(q, j, d) -> (j, d)>, affine_map<(q, j, d) -> (q, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
          %a, %b, %r : vector<128x128xf16>, vector<128x128xf16> into vector<128x128xf32>
      scf.yield %t : vector<128x128xf32>
    }
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true]} : vector<128x128xf32>, memref<128x128xf32>
    gpu.terminator
  } {attn.warpgroups}
  return
}
