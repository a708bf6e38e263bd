// RUN: attn-opt %s -attn-bound-registers | FileCheck %s
// RUN: attn-opt %s -attn-target="{gpu_shared_bytes = 167936}" -attn-bound-registers \
// RUN:   | FileCheck %s --check-prefix=LARGE

// As many workgroups as have room in the target's workgroup memory, of which each
// takes 1 KB more than it asks for, and for 168 registers of each thread: at most 3 of
// 128 threads. Of kernels that carry more than 40 numbers, nothing is said.

module attributes {gpu.container_module} {
gpu.module @kernels {
  // CHECK: gpu.func @few({{.*}}) kernel attributes {{.*}}nvvm.minctasm = 2 : i32
  // LARGE: gpu.func @few({{.*}}) kernel attributes {{.*}}nvvm.minctasm = 3 : i32
  gpu.func @few(%n: index, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> f32 {
      scf.yield %a : f32
    }
    gpu.return
  }
  // CHECK: gpu.func @large({{.*}}) kernel {
  // LARGE: gpu.func @large({{.*}}) kernel attributes {{.*}}nvvm.minctasm = 2 : i32
  gpu.func @large(%n: index, %x: f32) kernel {
    gpu.return
  }
  // CHECK: gpu.func @many({{.*}}) kernel {
  // LARGE: gpu.func @many({{.*}}) kernel {
  gpu.func @many(%n: index, %x: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %r:41 = scf.for %i = %c0 to %n step %c1 iter_args(
          %a0 = %x, %a1 = %x, %a2 = %x, %a3 = %x, %a4 = %x, %a5 = %x, %a6 = %x,
          %a7 = %x, %a8 = %x, %a9 = %x, %a10 = %x, %a11 = %x, %a12 = %x, %a13 = %x,
          %a14 = %x, %a15 = %x, %a16 = %x, %a17 = %x, %a18 = %x, %a19 = %x, %a20 = %x,
          %a21 = %x, %a22 = %x, %a23 = %x, %a24 = %x, %a25 = %x, %a26 = %x, %a27 = %x,
          %a28 = %x, %a29 = %x, %a30 = %x, %a31 = %x, %a32 = %x, %a33 = %x, %a34 = %x,
          %a35 = %x, %a36 = %x, %a37 = %x, %a38 = %x, %a39 = %x, %a40 = %x)
      -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32,
          f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32,
          f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
      scf.yield
          %a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11, %a12, %a13,
          %a14, %a15, %a16, %a17, %a18, %a19, %a20, %a21, %a22, %a23, %a24, %a25, %a26,
          %a27, %a28, %a29, %a30, %a31, %a32, %a33, %a34, %a35, %a36, %a37, %a38, %a39,
          %a40 :
          f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32,
          f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32,
          f32, f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
    }
    gpu.return
  }
}
func.func @launch(%n: index, %x: f32) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %bytes = arith.constant 36864 : i32
  %more = arith.constant 69632 : i32
  gpu.launch_func @kernels::@few blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
      dynamic_shared_memory_size %bytes args(%n : index, %x : f32)
  gpu.launch_func @kernels::@large blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
      dynamic_shared_memory_size %more args(%n : index, %x : f32)
  gpu.launch_func @kernels::@many blocks in (%n, %c1, %c1) threads in (%c128, %c1, %c1)
      dynamic_shared_memory_size %bytes args(%n : index, %x : f32)
  return
}
}
