// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -one-shot-bufferize="bufferize-function-boundaries" | FileCheck %s --check-prefix=BUFFERS
// RUN: attn-opt %s -attn-add-runtime-checks | FileCheck %s --check-prefix=CHECKS

// CHECK-LABEL: func.func @tensors
// CHECK: attn.block_range ins(%{{.*}} : tensor<2x?xi32>) outs(%{{.*}}, %{{.*}} : tensor<2x?xi32>, tensor<2x?xi32>) blocks [1, 64] -> tensor<2x?xi32>, tensor<2x?xi32>
// BUFFERS-LABEL: func.func @tensors
// BUFFERS-SAME: %[[TABLE:[^:,]*]]: memref<2x?xi32, {{.*}}, %[[LOW:[^:,]*]]: memref<2x?xi32, {{.*}}, %[[HIGH:[^:,]*]]: memref
// BUFFERS-NOT: memref.copy
// BUFFERS: attn.block_range ins(%[[TABLE]] : {{.*}}) outs(%[[LOW]], %[[HIGH]] : {{.*}}) blocks [1, 64]{{$}}
// BUFFERS: return %[[LOW]], %[[HIGH]]
// CHECKS-LABEL: func.func @tensors
// CHECKS-COUNT-2: cf.assert {{.*}}operand 'outs': dimension 1 is not the number of blocks of 64 in dimension 1 of the table"
// CHECKS: attn.block_range
func.func @tensors(%table: tensor<2x?xi32>, %l: tensor<2x?xi32>,
                   %h: tensor<2x?xi32>) -> (tensor<2x?xi32>, tensor<2x?xi32>) {
  %low, %high = attn.block_range ins(%table : tensor<2x?xi32>)
      outs(%l, %h : tensor<2x?xi32>, tensor<2x?xi32>) blocks [1, 64]
      -> tensor<2x?xi32>, tensor<2x?xi32>
  return %low, %high : tensor<2x?xi32>, tensor<2x?xi32>
}

// CHECK-LABEL: func.func @memrefs
// CHECK: attn.block_range ins(%{{.*}} : memref<100xindex>) outs(%{{.*}}, %{{.*}} : memref<4xindex>, memref<4xindex>) blocks [32]{{$}}
func.func @memrefs(%table: memref<100xindex>, %l: memref<4xindex>,
                   %h: memref<4xindex>) {
  attn.block_range ins(%table : memref<100xindex>)
      outs(%l, %h : memref<4xindex>, memref<4xindex>) blocks [32]
  return
}
