// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -one-shot-bufferize="bufferize-function-boundaries" -canonicalize | FileCheck %s --check-prefix=BUFFERS
// RUN: attn-opt %s -attn-add-runtime-checks | FileCheck %s --check-prefix=CHECKS

// CHECK-LABEL: func.func @dynamic
// CHECK: attn.with_block_range %{{.*}}, %{{.*}} blocks [1, 32] : tensor<2x?xi32>, tensor<2x2x?xi32>
// BUFFERS-LABEL: func.func @dynamic
// BUFFERS-SAME: %[[TABLE:[^:,]*]]: memref<2x?xi32
// BUFFERS-NOT: memref.copy
// BUFFERS: %[[BLOCK:.*]] = memref.load %[[TABLE]]
// BUFFERS-NEXT: return %[[BLOCK]]
// CHECKS-LABEL: func.func @dynamic
// CHECKS: %[[SIZE:.*]] = tensor.dim %arg0, %c1
// CHECKS: %[[BLOCKS:.*]] = arith.ceildivui %[[SIZE]], %c32
// CHECKS: %[[COUNT:.*]] = tensor.dim %arg1, %c2
// CHECKS: %[[SAME:.*]] = arith.cmpi eq, %[[COUNT]], %[[BLOCKS]]
// CHECKS: cf.assert %[[SAME]], "'attn.with_block_range' op operand 'ranges': dimension 2 is not the number of blocks of 32 in dimension 1 of the table"
// CHECKS: attn.with_block_range
func.func @dynamic(%table: tensor<2x?xi32>, %ranges: tensor<2x2x?xi32>,
                   %i: index) -> i32 {
  %known = attn.with_block_range %table, %ranges blocks [1, 32]
      : tensor<2x?xi32>, tensor<2x2x?xi32>
  %c0 = arith.constant 0 : index
  %element = tensor.extract %known[%c0, %i] : tensor<2x?xi32>
  return %element : i32
}

// CHECK-LABEL: func.func @static
// CHECK: attn.with_block_range %{{.*}}, %{{.*}} blocks [64] : tensor<100xi1>, tensor<2x2xi1>
// CHECKS-LABEL: func.func @static
// CHECKS: cf.assert %true
func.func @static(%table: tensor<100xi1>, %ranges: tensor<2x2xi1>)
    -> tensor<100xi1> {
  %known = attn.with_block_range %table, %ranges blocks [64]
      : tensor<100xi1>, tensor<2x2xi1>
  return %known : tensor<100xi1>
}
