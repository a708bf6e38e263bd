// RUN: attn-opt %s -convert-memref-copy-to-linalg | FileCheck %s

// CHECK-LABEL: func.func @copy(
// CHECK-SAME: %[[A:[^:]*]]: memref<?x4xf32>, %[[B:[^:]*]]: memref<?x4xf32, strided<[?, 1]>>)
// CHECK: linalg.copy ins(%[[A]] : memref<?x4xf32>) outs(%[[B]] : memref<?x4xf32, strided<[?, 1]>>)
// CHECK-NOT: memref.copy
func.func @copy(%a: memref<?x4xf32>, %b: memref<?x4xf32, strided<[?, 1]>>) {
  memref.copy %a, %b : memref<?x4xf32> to memref<?x4xf32, strided<[?, 1]>>
  return
}
