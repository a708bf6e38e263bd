// REQUIRES: gpu
// RUN: attn-opt %s -attn-gpu-pipeline | FileCheck %s
// RUN: attn-opt %s -attn-gpu-pipeline \
// RUN:   -nvvm-attach-target="chip=sm_80 features=+ptx80" -convert-nvvm-to-llvm \
// RUN:   -gpu-module-to-binary="format=isa" | FileCheck %s --check-prefix=PTX

// Constants are in the kernels' module alone, and no launch passes them.
// CHECK-NOT: memref.global
// CHECK-LABEL: func.func @slopes
// CHECK-NOT: memref.get_global
// CHECK: gpu.launch_func
// CHECK-NOT: memref<2xf32>
// CHECK: gpu.module @slopes_kernels
// CHECK: llvm.mlir.addressof @[[TABLE:__constant_[a-z0-9]*]] : !llvm.ptr
// CHECK: llvm.mlir.global private constant @[[TABLE]](dense<[5.000000e-01, 2.500000e-01]> : tensor<2xf32>)
// PTX: .global .align 64 .b8 __constant_2xf32[8] = {0, 0, 0, 63, 0, 0, 128, 62}
!q = tensor<1x2x20x16xf16>
func.func @slopes(%q: !q, %k: !q) -> !q {
  %slopes = arith.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) outs(%init : !q)
      score alibi(%slopes : tensor<2xf32>)
  return %o : !q
}
