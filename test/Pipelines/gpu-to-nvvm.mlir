// REQUIRES: gpu
// RUN: attn-opt %s -attn-gpu-to-nvvm-pipeline | FileCheck %s
// RUN: attn-opt %s -attn-gpu-to-nvvm-pipeline -mlir-print-op-generic \
// RUN:   | FileCheck %s --check-prefix=OPS
// RUN: attn-opt %s -attn-gpu-to-nvvm-pipeline \
// RUN:   | attn-opt -nvvm-attach-target="chip=sm_80 features=+ptx80" \
// RUN:       -convert-nvvm-to-llvm -gpu-module-to-binary="format=isa" \
// RUN:   | FileCheck %s --check-prefix=PTX

// Only the LLVM and NVVM dialects are left in the kernels.
// OPS: "gpu.module"
// OPS-NOT: {{^ *(%.* = )?"([^ln]|l[^l]|n[^v]|nv[^v])}}
// OPS: "func.func"

!workgroup = memref<128xf32, #gpu.address_space<workgroup>>
!tile16 = memref<16x16xf16, #gpu.address_space<workgroup>>
!tile8 = memref<8x16xf16, #gpu.address_space<workgroup>>

// CHECK: gpu.module @kernels
// CHECK: llvm.mlir.global external @__dynamic_shmem__0() {addr_space = 3 : i32

// PTX-LABEL: gpu.binary @kernels
// PTX-SAME: .version 8.0
// PTX-SAME: .target sm_80
// PTX-SAME: .extern .shared .align 1024 .b8 __dynamic_shmem__0[];
gpu.module @kernels {
  // A strided view, of any size.
  // CHECK-LABEL: llvm.func @saxpy(
  // CHECK-SAME: nvvm.kernel
  // CHECK: nvvm.read.ptx.sreg.tid.x
  // CHECK: llvm.call_intrinsic "llvm.fma"
  // PTX-SAME: .visible .entry saxpy(
  // PTX-SAME: fma.rn.f32
  gpu.func @saxpy(%a: f32, %x: memref<?xf32>,
                  %y: memref<?xf32, strided<[?], offset: ?>>) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.global_id x
    %n = memref.dim %x, %c0 : memref<?xf32>
    %inside = arith.cmpi ult, %i, %n : index
    scf.if %inside {
      %xi = memref.load %x[%i] : memref<?xf32>
      %yi = memref.load %y[%i] : memref<?xf32, strided<[?], offset: ?>>
      %sum = math.fma %a, %xi, %yi : f32
      memref.store %sum, %y[%i] : memref<?xf32, strided<[?], offset: ?>>
    }
    gpu.return
  }

  // Static shared memory, a barrier and a shuffle.
  // CHECK: llvm.mlir.global internal @__wg_reverse_0() {addr_space = 3 : i32
  // CHECK-LABEL: llvm.func @reverse(
  // CHECK: llvm.store {{.*}}, !llvm.ptr<3>
  // CHECK: nvvm.barrier
  // CHECK: llvm.load {{.*}} : !llvm.ptr<3>
  // CHECK: nvvm.shfl.sync bfly
  // PTX-SAME: .visible .entry reverse(
  // PTX-SAME: .maxntid 128, 1, 1
  // PTX-SAME: st.shared
  // PTX-SAME: bar{{(rier)?}}{{(.cta)?}}.sync
  // PTX-SAME: ld.shared
  // PTX-SAME: shfl.sync.bfly
  gpu.func @reverse(%x: memref<?xf32>) workgroup(%tile : !workgroup) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c127 = arith.constant 127 : index
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %thread = gpu.thread_id x
    %i = gpu.global_id x
    %value = memref.load %x[%i] : memref<?xf32>
    memref.store %value, %tile[%thread] : !workgroup
    gpu.barrier
    %other = arith.subi %c127, %thread : index
    %reversed = memref.load %tile[%other] : !workgroup
    %swapped, %valid = gpu.shuffle xor %reversed, %c1, %c32 : f32
    memref.store %swapped, %x[%i] : memref<?xf32>
    gpu.return
  }

  // Asynchronous copies to dynamic shared memory, ldmatrix and mma.sync.
  // CHECK-LABEL: llvm.func @products(
  // CHECK: nvvm.cp.async.shared.global
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK: nvvm.ldmatrix
  // CHECK: nvvm.mma.sync
  // PTX-SAME: .visible .entry products(
  // PTX-SAME: cp.async.cg.shared.global
  // PTX-SAME: cp.async.wait_group
  // PTX-SAME: ldmatrix.sync.aligned.m8n8.x4
  // PTX-SAME: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  gpu.func @products(%a: memref<16x16xf16>, %b: memref<8x16xf16>,
                     %c: memref<32x2xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c512 = arith.constant 512 : index
    %zeros = arith.constant dense<0.0> : vector<2x2xf32>
    %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %as = memref.view %memory[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to !tile16
    %bs = memref.view %memory[%c512][] : memref<?xi8, #gpu.address_space<workgroup>> to !tile8
    %lane = gpu.thread_id x
    %row = arith.remui %lane, %c16 : index
    %half = arith.divui %lane, %c16 : index
    %column = arith.muli %half, %c8 : index
    %row8 = arith.remui %lane, %c8 : index
    %copyA = nvgpu.device_async_copy %a[%row, %column], %as[%row, %column], 8 {bypassL1}
        : memref<16x16xf16> to !tile16
    %copyB = nvgpu.device_async_copy %b[%row8, %column], %bs[%row8, %column], 8 {bypassL1}
        : memref<8x16xf16> to !tile8
    %group = nvgpu.device_async_create_group %copyA, %copyB
    nvgpu.device_async_wait %group {numGroups = 0 : i32}
    gpu.barrier
    %af = nvgpu.ldmatrix %as[%row, %column] {numTiles = 4 : i32, transpose = false}
        : !tile16 -> vector<4x2xf16>
    %bf = nvgpu.ldmatrix %bs[%row8, %column] {numTiles = 2 : i32, transpose = false}
        : !tile8 -> vector<2x2xf16>
    %cf = nvgpu.mma.sync(%af, %bf, %zeros) {mmaShape = [16, 8, 16]}
        : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
    %first = vector.extract %cf[0] : vector<2xf32> from vector<2x2xf32>
    vector.store %first, %c[%lane, %c0] : memref<32x2xf32>, vector<2xf32>
    gpu.return
  }

  // bf16, which nvgpu.mma.sync does not take.
  // CHECK-LABEL: llvm.func @bf16_products(
  // CHECK: nvvm.mma.sync
  // PTX-SAME: .visible .entry bf16_products(
  // PTX-SAME: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
  gpu.func @bf16_products(%a: i32, %b: i32, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %sums = nvvm.mma.sync A[%a, %a, %a, %a] B[%b, %b] C[%zero, %zero, %zero, %zero]
        {layoutA = #nvvm.mma_layout<row>, layoutB = #nvvm.mma_layout<col>,
         multiplicandAPtxType = #nvvm.mma_type<bf16>,
         multiplicandBPtxType = #nvvm.mma_type<bf16>,
         shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (i32, i32, f32) -> !llvm.struct<(f32, f32, f32, f32)>
    %sum = llvm.extractvalue %sums[0] : !llvm.struct<(f32, f32, f32, f32)>
    memref.store %sum, %out[%c0] : memref<?xf32>
    gpu.return
  }
}

// The host's code stays as it is.
// CHECK-LABEL: func.func @host(
// CHECK-NEXT: arith.addi
func.func @host(%x: index) -> index {
  %sum = arith.addi %x, %x : index
  return %sum : index
}
