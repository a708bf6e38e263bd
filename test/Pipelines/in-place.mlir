// RUN: attn-opt %s -attn-reference-pipeline | FileCheck %s
// RUN: attn-opt %s -attn-cpu-pipeline | FileCheck %s

// Rows are appended to a caller's caches without a buffer for them: there is no
// destination beside the arguments, and nothing is allocated.
// CHECK-NOT: attn_rt_alloc
// CHECK-NOT: malloc
// CHECK: llvm.func @append(
// CHECK-NOT: call @{{.*}}alloc
// CHECK: llvm.func @_mlir_ciface_append(%{{[^,]*}}: !llvm.ptr, %{{[^,]*}}: !llvm.ptr, %{{[^,]*}}: !llvm.ptr, %{{[^,]*}}: !llvm.ptr)
func.func @append(%rows: tensor<?x2x?x4xf32>,
                  %keys: tensor<?x2x?x4xf32> {bufferization.writable = true},
                  %values: tensor<?x2x?x4xf32> {bufferization.writable = true},
                  %lengths: tensor<?xi32>)
    -> (tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>) {
  %0 = attn.cache_append ins(%rows : tensor<?x2x?x4xf32>)
      outs(%keys : tensor<?x2x?x4xf32>) lengths(%lengths : tensor<?xi32>)
  %1 = attn.cache_append ins(%rows : tensor<?x2x?x4xf32>)
      outs(%values : tensor<?x2x?x4xf32>) lengths(%lengths : tensor<?xi32>) ring
  return %0, %1 : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>
}
