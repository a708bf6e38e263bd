// RUN: attn-opt %s -allow-unregistered-dialect -attn-prefetch-tiles -canonicalize | FileCheck %s

// A row of 32 floats has two cache lines. The last tile has nothing after it.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: %[[X:[^:]*]]: memref<4x100x32xf32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C10:.*]] = arith.constant 10 : index
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C100:.*]] = arith.constant 100 : index
// CHECK: scf.forall (%[[B:.*]], %[[I:.*]]) = (0, 0) to (4, 100) step (1, 10)
// CHECK: memref.subview %[[X]]
// CHECK: %[[FIRST:.*]] = arith.addi %[[I]], %[[C10]]
// CHECK: %[[NEXT:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK: %[[LAST:.*]] = arith.minsi %[[NEXT]], %[[C100]]
// CHECK: scf.for %[[ROW:.*]] = %[[FIRST]] to %[[LAST]] step %[[C1]]
// CHECK: memref.prefetch %[[X]][%[[B]], %[[ROW]], %[[C0]]], read, locality<2>, data
// CHECK: memref.prefetch %[[X]][%[[B]], %[[ROW]], %[[C16]]], read, locality<2>, data
// CHECK-NOT: memref.prefetch
func.func @rows(%x: memref<4x100x32xf32>) {
  scf.forall (%b, %i) = (0, 0) to (4, 100) step (1, 10) {
    %t = memref.subview %x[%b, %i, 0] [1, 10, 32] [1, 1, 1]
        : memref<4x100x32xf32> to memref<10x32xf32, strided<[32, 1], offset: ?>>
    "test.use"(%t) : (memref<10x32xf32, strided<[32, 1], offset: ?>>) -> ()
  }
  return
}

// Not what stays where it is, nor columns, nor rows with gaps between elements.
// CHECK-LABEL: func.func @others
// CHECK-NOT: memref.prefetch
func.func @others(%x: memref<4x100x32xf32>,
                  %gaps: memref<100x32xf32, strided<[?, ?]>>) {
  scf.forall (%b, %i) = (0, 0) to (4, 10) step (1, 1) {
    %t = memref.subview %x[%b, 0, 0] [1, 10, 32] [1, 1, 1]
        : memref<4x100x32xf32> to memref<10x32xf32, strided<[32, 1], offset: ?>>
    %u = memref.subview %x[0, 0, %i] [1, 10, 1] [1, 1, 1]
        : memref<4x100x32xf32> to memref<10x1xf32, strided<[32, 1], offset: ?>>
    %v = memref.subview %gaps[%i, 0] [1, 32] [1, 1]
        : memref<100x32xf32, strided<[?, ?]>> to memref<1x32xf32, strided<[?, ?], offset: ?>>
    "test.use"(%t, %u, %v)
        : (memref<10x32xf32, strided<[32, 1], offset: ?>>,
           memref<10x1xf32, strided<[32, 1], offset: ?>>,
           memref<1x32xf32, strided<[?, ?], offset: ?>>) -> ()
  }
  return
}
