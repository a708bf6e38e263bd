// RUN: attn-opt %s -one-shot-bufferize="bufferize-function-boundaries" | FileCheck %s

// Results are written where they are used, and not read.
// CHECK-LABEL: func.func @heads(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<?x2x?x4xf32, {{[^>]*>}}>, %[[K:[a-z0-9]+]]: memref
// CHECK-NOT: memref.alloc
// CHECK: attn.projection ins({{.*}} : memref<?x?x12xf32, {{.*}}>, memref<12x12xbf16, {{.*}}>) outs(%[[Q]], %[[K]] : memref<?x2x?x4xf32, {{.*}}>, memref<?x1x?x4xf32, {{.*}}>)
// CHECK-NOT: memref.copy
// CHECK: return
func.func @heads(%x: tensor<?x?x12xf32>, %w: tensor<12x12xbf16>,
                 %q: tensor<?x2x?x4xf32> {bufferization.writable = true},
                 %k: tensor<?x1x?x4xf32> {bufferization.writable = true})
    -> (tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>) {
  %0:2 = attn.projection
      ins(%x, %w : tensor<?x?x12xf32>, tensor<12x12xbf16>)
      outs(%q, %k : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>)
  return %0#0, %0#1 : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>
}
