// RUN: attn-opt %s -split-input-file -attn-lower-prefetches -canonicalize -verify-diagnostics | FileCheck %s

// A row of 40 floats has three cache lines.
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:.*]]: memref<4x100x40xf32>, %[[B:.*]]: index, %[[I:.*]]: index, %[[END:.*]]: index)
// CHECK: scf.for %[[ROW:.*]] = %[[I]] to %[[END]] step %c1 {
// CHECK-NEXT: memref.prefetch %[[X]][%[[B]], %[[ROW]], %c0], read, locality<2>, data
// CHECK-NEXT: memref.prefetch %[[X]][%[[B]], %[[ROW]], %c16], read, locality<2>, data
// CHECK-NEXT: memref.prefetch %[[X]][%[[B]], %[[ROW]], %c32], read, locality<2>, data
// CHECK-NEXT: }
func.func @rows(%x: memref<4x100x40xf32>, %b: index, %i: index, %end: index) {
  %c0 = arith.constant 0 : index
  attn.prefetch %x[%b, %i] to %end : memref<4x100x40xf32>
  return
}

// -----

// To the first level, where the target says so.
// CHECK-LABEL: func.func @to_the_first_level(
// CHECK: memref.prefetch %{{.*}}[%{{.*}}, %c0], read, locality<3>, data
module attributes {attn.target = #attn.target<fetch_level = 1>} {
  func.func @to_the_first_level(%x: memref<100x32xbf16>, %i: index, %end: index) {
    attn.prefetch %x[%i] to %end : memref<100x32xbf16>
    return
  }
}

// -----

// What will be written goes to the first level.
// CHECK-LABEL: func.func @for_write(
// CHECK: scf.for
// CHECK-NEXT: memref.prefetch %{{.*}}[%{{.*}}, %c0], write, locality<3>, data
// CHECK-NEXT: }
func.func @for_write(%x: memref<100x32xbf16>, %i: index, %end: index) {
  %c0 = arith.constant 0 : index
  attn.prefetch %x[%i] to %end for_write : memref<100x32xbf16>
  return
}

// -----

// Elements that are no neighbours have a line each.
// CHECK-LABEL: func.func @gaps(
// CHECK-NOT: prefetch
// CHECK: return
func.func @gaps(%x: memref<100x32xf32, strided<[?, ?]>>, %i: index, %end: index) {
  %c0 = arith.constant 0 : index
  attn.prefetch %x[%i] to %end : memref<100x32xf32, strided<[?, ?]>>
  return
}

// -----

func.func @tensor(%x: tensor<100x32xf32>, %i: index, %end: index) {
  // expected-error @below {{'attn.prefetch' op expected a memref; it must be bufferized first}}
  attn.prefetch %x[%i] to %end : tensor<100x32xf32>
  return
}
