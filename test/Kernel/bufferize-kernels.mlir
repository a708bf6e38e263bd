// RUN: attn-opt %s -attn-results-to-destinations -eliminate-empty-tensors -attn-bufferize-kernels -canonicalize | FileCheck %s

// The last operation writes into the caller's buffer; nothing is copied.
// CHECK-LABEL: func.func @matmul(
// CHECK-SAME: %[[LHS:[^:]*]]: memref<?x4xf32, strided<[?, 1]>>,
// CHECK-SAME: %[[RHS:[^:]*]]: memref<4x8xf32, strided<[?, 1]>>,
// CHECK-SAME: %[[OUT:[^:]*]]: memref<?x8xf32, strided<[?, 1]>>) {
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: linalg.fill {{.*}} outs(%[[OUT]] :
// CHECK: linalg.matmul ins(%[[LHS]], %[[RHS]] : {{.*}}) outs(%[[OUT]] :
// CHECK-NEXT: return
func.func @matmul(%lhs: tensor<?x4xf32>, %rhs: tensor<4x8xf32>)
    -> tensor<?x8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %m = tensor.dim %lhs, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%m) : tensor<?x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x8xf32>)
      -> tensor<?x8xf32>
  %result = linalg.matmul ins(%lhs, %rhs : tensor<?x4xf32>, tensor<4x8xf32>)
      outs(%init : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %result : tensor<?x8xf32>
}

// An argument is never written.
// CHECK-LABEL: func.func @into_argument(
// CHECK-SAME: %[[LHS:[^:]*]]: memref<4x4xf32, strided<[?, 1]>>,
// CHECK-SAME: %[[ACC:[^:]*]]: memref<4x4xf32, strided<[?, 1]>>,
// CHECK: linalg.matmul {{.*}} outs(%[[NOT_ACC:.*]] :
// CHECK-NOT: outs(%[[ACC]]
func.func @into_argument(%lhs: tensor<4x4xf32>, %acc: tensor<4x4xf32>)
    -> tensor<4x4xf32> {
  %result = linalg.matmul ins(%lhs, %lhs : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%acc : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %result : tensor<4x4xf32>
}

// There is nothing to choose about the layout of ranks 0 and 1.
// CHECK-LABEL: func.func @small_ranks(
// CHECK-SAME: memref<f32>, %{{[^:]*}}: memref<?xf32>, %{{[^:]*}}: memref<f32>, %{{[^:]*}}: memref<?xf32>)
func.func @small_ranks(%a: tensor<f32>, %b: tensor<?xf32>)
    -> (tensor<f32>, tensor<?xf32>) {
  return %a, %b : tensor<f32>, tensor<?xf32>
}
