// RUN: attn-opt %s -one-shot-bufferize="bufferize-function-boundaries" | FileCheck %s

// Results are written where they belong, and not read.
// CHECK-LABEL: func.func @rows(
// CHECK-NOT: memref.alloc
// CHECK: attn.head_norm ins({{.*}} : memref<?x2x?x4xf32, {{.*}}>, memref<4xf32, {{.*}}>) outs({{.*}})
// CHECK: attn.dropout ins({{.*}} : memref<?x?x6xf32, {{.*}}>) outs({{.*}}) rate(5.000000e-01
// CHECK-NOT: memref.copy
// CHECK: return
func.func @rows(%x: tensor<?x2x?x4xf32>, %w: tensor<4xf32>,
                %y: tensor<?x?x6xf32>, %seed: i64, %call: i32,
                %a: tensor<?x2x?x4xf32> {bufferization.writable = true},
                %b: tensor<?x?x6xf32> {bufferization.writable = true})
    -> (tensor<?x2x?x4xf32>, tensor<?x?x6xf32>) {
  %0 = attn.head_norm ins(%x, %w : tensor<?x2x?x4xf32>, tensor<4xf32>)
      outs(%a : tensor<?x2x?x4xf32>)
  %1 = attn.dropout ins(%y : tensor<?x?x6xf32>) outs(%b : tensor<?x?x6xf32>)
      rate(0.5, %seed, %call)
  return %0, %1 : tensor<?x2x?x4xf32>, tensor<?x?x6xf32>
}
