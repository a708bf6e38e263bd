// RUN: attn-opt %s -allow-unregistered-dialect --attn-separate-results | FileCheck %s

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

// What only a loop writes to is created in it, with what it is a slice of, once for
// all that share it there; what it reads stays.
// CHECK-LABEL: func.func @hoisted
// CHECK-DAG: %[[READ:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4xf32>)
// CHECK: scf.forall
// CHECK-NEXT: %[[EMPTY:.*]] = tensor.empty() : tensor<8xf32>
// CHECK-NEXT: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[EMPTY]] : tensor<8xf32>)
// CHECK-NEXT: %[[SLICE:.*]] = tensor.extract_slice %[[ZERO]][0] [4] [1]
// CHECK-NEXT: %[[SUM:.*]] = linalg.add ins(%[[READ]], %[[READ]] : {{.*}}) outs(%[[SLICE]] : tensor<4xf32>)
// CHECK-NEXT: scf.for {{.*}} iter_args(%[[STATE:.*]] = %[[SLICE]])
// CHECK-NEXT: linalg.add ins(%[[SUM]], %[[STATE]] : {{.*}}) outs(%[[STATE]] :
// CHECK: linalg.copy {{.*}} outs(%{{.*}} : tensor<8xf32>)
func.func @hoisted(%all: tensor<6x4xf32>, %wide: tensor<8xf32>) -> tensor<6x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %cst = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<4xf32>
  %read = linalg.fill ins(%cst : f32) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %zero = linalg.fill ins(%cst : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %slice = tensor.extract_slice %zero[0] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %r = scf.forall (%i) in (6) shared_outs(%o = %all) -> (tensor<6x4xf32>) {
    %sum = linalg.add ins(%read, %read : tensor<4xf32>, tensor<4xf32>)
        outs(%slice : tensor<4xf32>) -> tensor<4xf32>
    %state = scf.for %j = %c0 to %c2 step %c1 iter_args(%s = %slice) -> (tensor<4xf32>) {
      %next = linalg.add ins(%sum, %s : tensor<4xf32>, tensor<4xf32>)
          outs(%s : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %next : tensor<4xf32>
    }
    %long = linalg.copy ins(%wide : tensor<8xf32>) outs(%zero : tensor<8xf32>) -> tensor<8xf32>
    "test.use"(%long) : (tensor<8xf32>) -> ()
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %state into %o[%i, 0] [1, 4] [1, 1]
          : tensor<4xf32> into tensor<6x4xf32>
    }
  }
  return %r : tensor<6x4xf32>
}
