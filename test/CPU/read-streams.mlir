// Products that only wait for a matrix from memory read it as two streams.
// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -canonicalize -cse \
// RUN:   | FileCheck %s

!panels = memref<8x64x64xf32>
!panel = memref<64x64xf32, strided<[64, 1], offset: ?>>

// One row: 8 rows of 256 bytes ahead in each half, of this panel, then of the next one.
// CHECK-LABEL: func.func @one_row(
// CHECK-SAME: %[[W:[^:]*]]: memref<8x64x64xf32>, {{.*}}, %[[J:[^:]*]]: index
// CHECK: scf.forall (%[[I:.*]]) in (8)
// CHECK:   %[[OWN:.*]] = memref.subview %[[W]][%[[I]], 0, 0]
// CHECK:   %[[NEXT:.*]] = memref.subview %[[W]][%[[J]], 0, 0]
// CHECK:   %[[SUMS:.*]]:8 = scf.for %[[K:[^ ]*]] = %c0 to %c24 step %c1
// CHECK:     %[[AHEAD:.*]] = arith.addi %[[K]], %c8
// CHECK:     memref.prefetch %[[OWN]][%[[AHEAD]], %c0], read, locality<2>, data
// CHECK:     vector.load %[[OWN]][%[[K]], %c0]
// CHECK:     %[[K1:.*]] = arith.addi %[[K]], %c32
// CHECK:     %[[AHEAD1:.*]] = arith.addi %[[K]], %c40
// CHECK:     memref.prefetch %[[OWN]][%[[AHEAD1]], %c0]
// CHECK:     vector.load %[[OWN]][%[[K1]], %c0]
// CHECK:   %[[ALL:.*]]:8 = scf.for %[[K:[^ ]*]] = %c24 to %c32 step %c1 iter_args(%{{.*}} = %[[SUMS]]#0,
// CHECK:     %[[BEGIN:.*]] = arith.addi %[[K]], %c-24
// CHECK:     memref.prefetch %[[NEXT]][%[[BEGIN]], %c0]
// CHECK:     vector.load %[[OWN]][%[[K]], %c0]
// CHECK:     %[[MIDDLE:.*]] = arith.addi %[[K]], %c8
// CHECK:     memref.prefetch %[[NEXT]][%[[MIDDLE]], %c0]
// CHECK:   arith.addf %[[ALL]]#{{[0-7]}}, %[[ALL]]#{{[0-7]}} : vector<1x16xf32>
func.func @one_row(%w: !panels, %x: memref<1x64xf32>, %y: memref<8x1x64xf32>, %j: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (8) {
    %panel = memref.subview %w[%i, 0, 0] [1, 64, 64] [1, 1, 1] : !panels to !panel
    %next = memref.subview %w[%j, 0, 0] [1, 64, 64] [1, 1, 1] : !panels to !panel
    attn.prefetch %next[%c0] to %c64 stream(2048) : !panel
    %sums = memref.subview %y[%i, 0, 0] [1, 1, 64] [1, 1, 1]
        : memref<8x1x64xf32> to memref<1x64xf32, strided<[64, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%sums : memref<1x64xf32, strided<[64, 1], offset: ?>>)
    linalg.matmul ins(%x, %panel : memref<1x64xf32>, !panel)
        outs(%sums : memref<1x64xf32, strided<[64, 1], offset: ?>>)
  }
  return
}

// Any rows: blocks of 4, 2 and 1, so that few read the panel once. Those of several fetch
// the next panel as they go, for other rows find this one in the cache.
// CHECK-LABEL: func.func @any_rows(
// CHECK-SAME: %[[J:[^:]*]]: index) {
// CHECK: %[[NEXT:.*]] = memref.subview %{{.*}}[%[[J]], 0, 0] [1, 64, 64]
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c32 step %c1 {{.*}}vector<4x16xf32>
// CHECK: memref.prefetch %[[NEXT]][%[[K]], %c0]
// CHECK: scf.for %[[K:[^ ]*]] = %c0 to %c32 step %c1 {{.*}}vector<2x16xf32>
// CHECK: memref.prefetch %[[NEXT]][%[[K]], %c0]
// CHECK: scf.for %{{.*}} = %c0 to %c24 step %c1 {{.*}}vector<1x16xf32>
func.func @any_rows(%w: !panels, %x: memref<?x64xf32, strided<[64, 1]>>,
                    %y: memref<8x?x64xf32>, %n: index, %j: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (8) {
    %panel = memref.subview %w[%i, 0, 0] [1, 64, 64] [1, 1, 1] : !panels to !panel
    %next = memref.subview %w[%j, 0, 0] [1, 64, 64] [1, 1, 1] : !panels to !panel
    attn.prefetch %next[%c0] to %c64 stream(2048) : !panel
    %sums = memref.subview %y[%i, 0, 0] [1, %n, 64] [1, 1, 1]
        : memref<8x?x64xf32> to memref<?x64xf32, strided<[64, 1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%sums : memref<?x64xf32, strided<[64, 1], offset: ?>>)
    linalg.matmul ins(%x, %panel : memref<?x64xf32, strided<[64, 1]>>, !panel)
        outs(%sums : memref<?x64xf32, strided<[64, 1], offset: ?>>)
  }
  return
}

// An odd number of rows has no halves. What has no stream is read as any matrix.
// CHECK-LABEL: func.func @odd(
// CHECK: scf.for %{{.*}} = %c0 to %c54 step %c2
// CHECK: scf.for %{{.*}} = %c55 to %c63 step %c2
// CHECK-LABEL: func.func @no_stream(
// CHECK: scf.for %{{.*}} = %c0 to %c64 step %c2
// CHECK-NOT: memref.prefetch
func.func @odd(%w: memref<63x64xf32>, %next: memref<63x64xf32>, %x: memref<1x63xf32>,
               %y: memref<1x64xf32>) {
  %c0 = arith.constant 0 : index
  %c63 = arith.constant 63 : index
  attn.prefetch %next[%c0] to %c63 stream(2048) : memref<63x64xf32>
  linalg.matmul ins(%x, %w : memref<1x63xf32>, memref<63x64xf32>) outs(%y : memref<1x64xf32>)
  return
}
func.func @no_stream(%w: memref<64x64xf32>, %x: memref<1x64xf32>, %y: memref<1x64xf32>) {
  linalg.matmul ins(%x, %w : memref<1x64xf32>, memref<64x64xf32>) outs(%y : memref<1x64xf32>)
  return
}

// Four rows of any number, and those that are left in one block: each reads the
// whole matrix.
// CHECK-LABEL: func.func @rest(
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for {{.*}} step %c3
// CHECK: scf.for {{.*}} step %c2
// CHECK: scf.for {{.*}} step %c1
func.func @rest(%w: memref<64x64xf32>, %next: memref<64x64xf32>, %x: memref<?x64xf32>,
                    %y: memref<?x64xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  attn.prefetch %next[%c0] to %c64 stream(2048) : memref<64x64xf32>
  linalg.matmul ins(%x, %w : memref<?x64xf32>, memref<64x64xf32>) outs(%y : memref<?x64xf32>)
  return
}
