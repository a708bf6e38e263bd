// RUN: attn-opt %s --attn-lower-block-ranges | FileCheck %s

// The smallest and the largest of two rows and 64 columns at a time.
// CHECK-LABEL: func @ranges(
// CHECK-SAME: %[[TABLE:.*]]: tensor<4x?xi32>
// CHECK: scf.for %[[I:[^ ]*]] = %{{.*}} to %c2
// CHECK: scf.for %[[J:[^ ]*]] =
// CHECK: arith.muli %[[I]], %c2
// CHECK: arith.muli %[[J]], %c64
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.extract %[[TABLE]]
// CHECK: arith.minsi {{.*}} : i32
// CHECK: tensor.insert %{{.*}} into %{{.*}}[%[[I]], %[[J]]]
// CHECK: arith.maxsi {{.*}} : i32
// CHECK-NOT: attn.block_range
func.func @ranges(%table: tensor<4x?xi32>, %init: tensor<2x?xi32>) -> (tensor<2x?xi32>, tensor<2x?xi32>) {
  %low, %high = attn.block_range ins(%table : tensor<4x?xi32>) outs(%init, %init : tensor<2x?xi32>, tensor<2x?xi32>)
      blocks [2, 64] -> tensor<2x?xi32>, tensor<2x?xi32>
  return %low, %high : tensor<2x?xi32>, tensor<2x?xi32>
}

// CHECK-LABEL: func @floats(
// CHECK: arith.minimumf
// CHECK: arith.maximumf
func.func @floats(%table: tensor<4xf32>, %init: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %low, %high = attn.block_range ins(%table : tensor<4xf32>) outs(%init, %init : tensor<2xf32>, tensor<2xf32>)
      blocks [2] -> tensor<2xf32>, tensor<2xf32>
  return %low, %high : tensor<2xf32>, tensor<2xf32>
}
