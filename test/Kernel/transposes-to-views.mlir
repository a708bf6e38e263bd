// RUN: attn-opt %s -split-input-file \
// RUN:   --pass-pipeline="builtin.module(attn-results-to-destinations,func.func(attn-transposes-to-views))" | FileCheck %s

// Heads behind lengths, of an argument and of a result of any sizes.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: %[[X:[^:]*]]: tensor<?x?x64xf32>
// CHECK-SAME: %[[OUT:[^:]*]]: memref<?x?x64xf32, strided<[?, ?, 1]>>)
// CHECK-DAG: %[[B:.*]] = memref.dim %[[OUT]], %c0
// CHECK-DAG: %[[S:.*]] = memref.dim %[[OUT]], %c1
// CHECK: %[[SPLIT:.*]] = memref.expand_shape %[[OUT]] {{\[}}[0], [1], [2, 3]] output_shape [%[[B]], %[[S]], 4, 16]
// CHECK: %[[VIEW:.*]] = memref.transpose %[[SPLIT]] (d0, d1, d2, d3) -> (d0, d2, d1, d3) : {{.*}} to memref<?x4x?x16xf32, strided<[?, 16, ?, 1]>>
// CHECK: %[[HEADS:.*]] = tensor.expand_shape %[[X]]
// CHECK: %[[BUFFER:.*]] = bufferization.to_buffer %[[HEADS]] read_only : tensor<?x?x4x16xf32> to memref<?x?x4x16xf32, strided<[?, ?, 16, 1]>>
// CHECK: %[[T:.*]] = memref.transpose %[[BUFFER]] (d0, d1, d2, d3) -> (d0, d2, d1, d3)
// CHECK: %[[Q:.*]] = bufferization.to_tensor %[[T]] restrict :
// CHECK-NOT: linalg.transpose
// CHECK: %[[Y:.*]] = linalg.exp ins(%[[Q]]
// CHECK-NOT: linalg.transpose
// CHECK: bufferization.materialize_in_destination %[[Y]] in restrict writable %[[VIEW]]
func.func @heads(%x: tensor<?x?x64xf32>) -> tensor<?x?x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x64xf32>
  %s = tensor.dim %x, %c1 : tensor<?x?x64xf32>
  %heads = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [%b, %s, 4, 16]
      : tensor<?x?x64xf32> into tensor<?x?x4x16xf32>
  %e = tensor.empty(%b, %s) : tensor<?x4x?x16xf32>
  %q = linalg.transpose ins(%heads : tensor<?x?x4x16xf32>)
      outs(%e : tensor<?x4x?x16xf32>) permutation = [0, 2, 1, 3]
  %y = linalg.exp ins(%q : tensor<?x4x?x16xf32>) outs(%e : tensor<?x4x?x16xf32>)
      -> tensor<?x4x?x16xf32>
  %f = tensor.empty(%b, %s) : tensor<?x?x4x16xf32>
  %t = linalg.transpose ins(%y : tensor<?x4x?x16xf32>)
      outs(%f : tensor<?x?x4x16xf32>) permutation = [0, 2, 1, 3]
  %r = tensor.collapse_shape %t [[0], [1], [2, 3]]
      : tensor<?x?x4x16xf32> into tensor<?x?x64xf32>
  return %r : tensor<?x?x64xf32>
}

// -----

// A permutation that is no inverse of itself, and a part of an argument.
// CHECK-LABEL: func.func @rotated
// CHECK-SAME: %[[OUT:[^:]*]]: memref<5x6x7x8xf32, strided<[?, ?, ?, 1]>>)
// CHECK: %[[VIEW:.*]] = memref.transpose %[[OUT]] (d0, d1, d2, d3) -> (d2, d0, d1, d3) : {{.*}} to memref<7x5x6x8xf32
// CHECK: %[[PART:.*]] = tensor.extract_slice
// CHECK: %[[BUFFER:.*]] = bufferization.to_buffer %[[PART]] read_only : tensor<5x6x7x8xf32> to memref<5x6x7x8xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK: memref.transpose %[[BUFFER]] (d0, d1, d2, d3) -> (d2, d0, d1, d3)
// CHECK: %[[Y:.*]] = linalg.exp
// CHECK: materialize_in_destination %[[Y]] in restrict writable %[[VIEW]]
func.func @rotated(%x: tensor<9x6x7x16xf32>) -> tensor<5x6x7x8xf32> {
  %part = tensor.extract_slice %x[4, 0, 0, 8] [5, 6, 7, 8] [1, 1, 1, 1]
      : tensor<9x6x7x16xf32> to tensor<5x6x7x8xf32>
  %e = tensor.empty() : tensor<7x5x6x8xf32>
  %t = linalg.transpose ins(%part : tensor<5x6x7x8xf32>)
      outs(%e : tensor<7x5x6x8xf32>) permutation = [2, 0, 1, 3]
  %y = linalg.exp ins(%t : tensor<7x5x6x8xf32>) outs(%e : tensor<7x5x6x8xf32>)
      -> tensor<7x5x6x8xf32>
  %f = tensor.empty() : tensor<5x6x7x8xf32>
  %r = linalg.transpose ins(%y : tensor<7x5x6x8xf32>)
      outs(%f : tensor<5x6x7x8xf32>) permutation = [1, 2, 0, 3]
  return %r : tensor<5x6x7x8xf32>
}

// -----

// Rows would be no rows any more.
// CHECK-LABEL: func.func @columns
// CHECK: linalg.transpose
// CHECK: linalg.exp
// CHECK: linalg.transpose
// CHECK-NOT: memref.transpose
func.func @columns(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %y = linalg.exp ins(%t : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %r = linalg.transpose ins(%y : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) permutation = [1, 0]
  return %r : tensor<4x8xf32>
}

// -----

// What is written in place is not read where it lies, nor is what was computed; and
// a result that is needed otherwise too is transposed after it.
// CHECK-LABEL: func.func @written
// CHECK: linalg.transpose
// CHECK: linalg.exp
// CHECK: linalg.transpose
// CHECK-NOT: memref.transpose
func.func @written(%x: tensor<4x6x8xf32> {bufferization.writable = true})
    -> (tensor<6x4x8xf32>, tensor<4x6x8xf32>, tensor<6x4x8xf32>) {
  %e = tensor.empty() : tensor<6x4x8xf32>
  %before = linalg.transpose ins(%x : tensor<4x6x8xf32>)
      outs(%e : tensor<6x4x8xf32>) permutation = [1, 0, 2]
  %y = linalg.exp ins(%x : tensor<4x6x8xf32>) outs(%x : tensor<4x6x8xf32>)
      -> tensor<4x6x8xf32>
  %after = linalg.transpose ins(%y : tensor<4x6x8xf32>)
      outs(%e : tensor<6x4x8xf32>) permutation = [1, 0, 2]
  %twice = linalg.exp ins(%after : tensor<6x4x8xf32>) outs(%e : tensor<6x4x8xf32>)
      -> tensor<6x4x8xf32>
  %again = linalg.add ins(%twice, %before : tensor<6x4x8xf32>, tensor<6x4x8xf32>)
      outs(%e : tensor<6x4x8xf32>) -> tensor<6x4x8xf32>
  return %again, %y, %after : tensor<6x4x8xf32>, tensor<4x6x8xf32>, tensor<6x4x8xf32>
}

// -----

// A result that is only reshaped.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: %[[OUT:[^:]*]]: memref<4x8xf32, strided<[?, 1]>>)
// CHECK: %[[VIEW:.*]] = memref.expand_shape %[[OUT]] {{\[}}[0, 1], [2]] output_shape [1, 4, 8]
// CHECK: %[[Y:.*]] = linalg.exp
// CHECK-NOT: tensor.collapse_shape
// CHECK: bufferization.materialize_in_destination %[[Y]] in restrict writable %[[VIEW]]
func.func @reshaped(%x: tensor<1x4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<1x4x8xf32>
  %y = linalg.exp ins(%x : tensor<1x4x8xf32>) outs(%e : tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %r = tensor.collapse_shape %y [[0, 1], [2]] : tensor<1x4x8xf32> into tensor<4x8xf32>
  return %r : tensor<4x8xf32>
}
