// RUN: attn-opt %s --attn-separate-results | FileCheck %s

// Two products that start from the same zeros: one of them would be in the buffer
// of the other.
// CHECK-LABEL: func.func @shared
// CHECK: bufferization.alloc_tensor() : tensor<4x4xf32>
// CHECK-NOT: tensor.empty
func.func @shared(%x: tensor<4x4xf32>, %a: memref<4x4xf32>, %b: memref<4x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%zeros : tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = linalg.matmul ins(%x, %0 : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%zeros : tensor<4x4xf32>) -> tensor<4x4xf32>
  bufferization.materialize_in_destination %0 in restrict writable %a
      : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  bufferization.materialize_in_destination %1 in restrict writable %b
      : (tensor<4x4xf32>, memref<4x4xf32>) -> ()
  return
}

// A result, and what a loop makes of it.
// CHECK-LABEL: func.func @loop
// CHECK-SAME: %[[N:.*]]: index
// CHECK: bufferization.alloc_tensor(%[[N]]) : tensor<?xf32>
func.func @loop(%n: index, %a: memref<?xf32>, %b: memref<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %empty = tensor.empty(%n) : tensor<?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %ones = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %zeros) -> tensor<?xf32> {
    %next = linalg.exp ins(%carried : tensor<?xf32>) outs(%carried : tensor<?xf32>)
        -> tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  bufferization.materialize_in_destination %ones in restrict writable %a
      : (tensor<?xf32>, memref<?xf32>) -> ()
  bufferization.materialize_in_destination %zeros in restrict writable %b
      : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}

// Results of one loop, each from a tensor of its own, or from one that nothing else
// has been written into.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-2: tensor.empty
// CHECK-NOT: alloc_tensor
func.func @apart(%x: tensor<4xf32>, %a: memref<4xf32>, %b: memref<4xf32>,
                 %c: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %empty = tensor.empty() : tensor<4xf32>
  %other = tensor.empty() : tensor<4xf32>
  %0:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %empty, %t = %other)
      -> (tensor<4xf32>, tensor<4xf32>) {
    %element = tensor.extract %x[%i] : tensor<4xf32>
    %s1 = tensor.insert %element into %s[%i] : tensor<4xf32>
    %double = arith.addf %element, %element : f32
    %t1 = tensor.insert %double into %t[%i] : tensor<4xf32>
    scf.yield %s1, %t1 : tensor<4xf32>, tensor<4xf32>
  }
  %1 = linalg.exp ins(%x : tensor<4xf32>) outs(%other : tensor<4xf32>) -> tensor<4xf32>
  bufferization.materialize_in_destination %0#0 in restrict writable %a
      : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %0#1 in restrict writable %b
      : (tensor<4xf32>, memref<4xf32>) -> ()
  bufferization.materialize_in_destination %1 in restrict writable %c
      : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
