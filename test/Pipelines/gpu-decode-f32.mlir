// REQUIRES: gpu
// RUN: attn-opt %s -attn-target="{gpu_multiprocessors = 108, gpu_shared_bytes = 167936}" \
// RUN:   -attn-gpu-pipeline -o /dev/null -mlir-print-ir-after=attn-copy-to-workgroup 2>&1 | FileCheck %s

// One warp of f32 in heads of 128 has no room for a block of keys and values, if 8 such warps
// are to have it: they are copied in turns, so that there is one stage of each, and one for
// the exact round. Of queries, there are the four rows of a group.
// CHECK-LABEL: func.func @one_query
// CHECK: memref.alloca() : memref<1x4x132xf32, #gpu.address_space<workgroup>>
// CHECK-COUNT-3: memref.alloca() : memref<1x16x132xf32, #gpu.address_space<workgroup>>
// CHECK-NOT: memref.alloca() {{.*}}x132xf32
func.func @one_query(%query: tensor<1x32x1x128xf32>, %key: tensor<1x8x?x128xf32>, %value: tensor<1x8x?x128xf32>)
    -> tensor<1x32x1x128xf32> {
  %empty = tensor.empty() : tensor<1x32x1x128xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x32x1x128xf32>, tensor<1x8x?x128xf32>, tensor<1x8x?x128xf32>)
      outs(%empty : tensor<1x32x1x128xf32>) offset(bottom_right) mask causal
  return %output : tensor<1x32x1x128xf32>
}
