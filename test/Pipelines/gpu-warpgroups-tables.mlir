// REQUIRES: gpu
// RUN: attn-opt %s --attn-target="{gpu_multiprocessors = 1, gpu_shared_bytes = 233472, gpu_warpgroups = true}" -attn-gpu-pipeline \
// RUN:   | FileCheck %s
// RUN: attn-run %s --random 1 --check --pipeline gpu-emulator-sm_90a

!q = tensor<1x1x300x64xf16>
!documents = tensor<1x300xi32>

// A loop over what is known of blocks of a table tells where keys begin and end. Both
// producers and consumers execute it.
// CHECK: llvm.func @attend_kernel
// CHECK: nvvm.setmaxregister decrease 40
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.setmaxregister increase 232
// CHECK: attn.warpgroup_mma
func.func @attend(%x: !q, %o: !q, %d: !documents) -> !q {
  %r = attn.attention ins(%x, %x, %x : !q, !q, !q) outs(%o : !q)
      mask causal, document(%d, %d : !documents, !documents)
  return %r : !q
}
