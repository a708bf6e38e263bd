// RUN: attn-opt %s -split-input-file -attn-results-to-destinations -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @results
// CHECK-SAME: %[[A:.*]]: tensor<?x8xf32> {bufferization.writable = false}
// CHECK-SAME: %[[N:[^:]*]]: index,
// CHECK-SAME: %[[OUT0:[^:]*]]: memref<?x8xf32, strided<[?, 1]>>,
// CHECK-SAME: %[[OUT1:[^:]*]]: memref<?xf32>,
// CHECK-SAME: %[[OUT2:[^:]*]]: memref<f32>)
// CHECK-SAME: -> index {
func.func @results(%a: tensor<?x8xf32>, %n: index, %b: tensor<?xf32>,
                   %c: tensor<f32>)
    -> (tensor<?x8xf32>, index, tensor<?xf32>, tensor<f32>) {
  // CHECK-DAG: bufferization.materialize_in_destination %[[A]] in restrict writable %[[OUT0]]
  // CHECK-DAG: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[OUT1]]
  // CHECK-DAG: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[OUT2]]
  // CHECK: return %[[N]] : index
  return %a, %n, %b, %c : tensor<?x8xf32>, index, tensor<?xf32>, tensor<f32>
}

// Every return writes.
// CHECK-LABEL: func.func @two_returns
// CHECK-COUNT-2: bufferization.materialize_in_destination
func.func @two_returns(%a: tensor<4xf32>, %b: tensor<4xf32>, %c: i1)
    -> tensor<4xf32> {
  cf.cond_br %c, ^first, ^second
^first:
  return %a : tensor<4xf32>
^second:
  return %b : tensor<4xf32>
}

// A result whose size is known is written in that size.
// CHECK-LABEL: func.func @known_size
// CHECK-SAME: %[[A:.*]]: tensor<4x?xf32> {{.*}}, %[[OUT:.*]]: memref<?x?xf32, strided<[?, 1]>>
func.func @known_size(%a: tensor<4x?xf32>) -> tensor<?x?xf32> {
  // CHECK: %[[DESTINATION:.*]] = memref.cast %[[OUT]] : memref<?x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
  // CHECK: bufferization.materialize_in_destination %[[A]] in restrict writable %[[DESTINATION]]
  %cast = tensor.cast %a : tensor<4x?xf32> to tensor<?x?xf32>
  return %cast : tensor<?x?xf32>
}

// One whose size has to be checked is not.
// CHECK-LABEL: func.func @unknown_size
// CHECK-SAME: %[[OUT:[^:]*]]: memref<4xf32>
func.func @unknown_size(%a: tensor<?xf32>) -> tensor<4xf32> {
  // CHECK: %[[CAST:.*]] = tensor.cast
  // CHECK: bufferization.materialize_in_destination %[[CAST]] in restrict writable %[[OUT]]
  %cast = tensor.cast %a : tensor<?xf32> to tensor<4xf32>
  return %cast : tensor<4xf32>
}

// CHECK-LABEL: func.func private @private(
// CHECK-SAME: %{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @private(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// expected-error @below {{public function 'called' is used in its module}}
func.func @called(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func @caller(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{first used here}}
  %b = call @called(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %b : tensor<4xf32>
}

// -----

// An argument that may be written is the destination of the result that is
// computed from it; it is written after what other results read.
// CHECK-LABEL: func.func @updated
// CHECK-SAME: (%[[M:[^:]*]]: memref<?x8xf32, strided<[?, 1]>>, %{{[^:]*}}: f32, %[[OUT:[^:]*]]: memref<?x8xf32, strided<[?, 1]>>)
// CHECK-NEXT: %[[T:.*]] = bufferization.to_tensor %[[M]] restrict writable
// CHECK-NEXT: %[[R:.*]] = linalg.fill {{.*}} outs(%[[T]] :
// CHECK-NEXT: bufferization.materialize_in_destination %[[T]] in restrict writable %[[OUT]]
// CHECK-NEXT: bufferization.materialize_in_destination %[[R]] in restrict writable %[[M]]
// CHECK-NEXT: return
func.func @updated(%a: tensor<?x8xf32> {bufferization.writable = true}, %x: f32)
    -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %r = linalg.fill ins(%x : f32) outs(%a : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %r, %a : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// expected-error @below {{argument 0 is bufferization.writable: expected one result that destination-style operations compute from it, got 0}}
func.func @not_updated(%a: tensor<4xf32> {bufferization.writable = true})
    -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// expected-error @below {{argument 0 is bufferization.writable: expected one result that destination-style operations compute from it, got 2}}
func.func @updated_twice(%a: tensor<4xf32> {bufferization.writable = true},
                         %x: f32, %y: f32) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = linalg.fill ins(%x : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.fill ins(%y : f32) outs(%a : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
