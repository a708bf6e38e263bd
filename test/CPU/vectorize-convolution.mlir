// RUN: attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -canonicalize -cse \
// RUN:   | FileCheck %s

#input = affine_map<(r, j, e, a, k) -> (e, r + a, j + k)>
#kernel = affine_map<(r, j, e, a, k) -> (e, a, k)>
#output = affine_map<(r, j, e, a, k) -> (r, j)>
#same = affine_map<(r, j) -> (r, j)>

// Four rows of one register start at 0, and are hidden before they are stored. A
// vector of the input is loaded once for both rows of a column of the kernel.

// CHECK-LABEL: func.func @masked(
// CHECK-SAME: %[[IN:[^:]*]]: memref<1x5x34xf32>, %[[KERNEL:[^:]*]]: memref<1x2x3xf32>, %[[MARKS:[^:]*]]: memref<4x32xf32>, %[[OUT:[^:]*]]: memref<4x32xf32>)
// CHECK-NOT: linalg
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %c32 step %c16
// CHECK:   %[[SUMS:.*]]:4 = scf.for %[[K:.*]] = %c0 to %c3 step %c1 iter_args(%[[S0:.*]] = %[[ZEROS]], %[[S1:.*]] = %[[ZEROS]], %{{.*}} = %[[ZEROS]], %{{.*}} = %[[ZEROS]])
// CHECK:     memref.load %[[KERNEL]][%c0, %c0, %[[K]]]
// CHECK:     %[[W0:.*]] = vector.broadcast
// CHECK:     memref.load %[[KERNEL]][%c0, %c1, %[[K]]]
// CHECK:     %[[W1:.*]] = vector.broadcast
// CHECK:     %[[COLUMN:.*]] = arith.addi %[[J]], %[[K]]
// CHECK:     %[[X0:.*]] = vector.load %[[IN]][%c0, %c0, %[[COLUMN]]]
// CHECK:     %[[N0:.*]] = vector.fma %[[W0]], %[[X0]], %[[S0]]
// CHECK:     %[[X1:.*]] = vector.load %[[IN]][%c0, %c1, %[[COLUMN]]]
// CHECK-DAG: vector.fma %[[W0]], %[[X1]], %[[S1]]
// CHECK-DAG: vector.fma %[[W1]], %[[X1]], %[[N0]]
// CHECK-COUNT-3: vector.load %[[IN]]
// CHECK-NOT:     vector.load
// CHECK:     scf.yield
// CHECK:   %[[MARK:.*]] = vector.load %[[MARKS]][%c0, %[[J]]]
// CHECK:   %[[HIDDEN:.*]] = arith.cmpf oeq, %[[MARK]]
// CHECK:   %[[SELECTED:.*]] = arith.select %[[HIDDEN]], %{{.*}}, %[[SUMS]]#0
// CHECK:   vector.store %[[SELECTED]], %[[OUT]][%c0, %[[J]]]
// CHECK-COUNT-3: vector.store
// CHECK-NOT: vector.store
func.func @masked(%input: memref<1x5x34xf32>, %kernel: memref<1x2x3xf32>,
                  %marks: memref<4x32xf32>, %output: memref<4x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %hidden = arith.constant 0xFF800000 : f32
  linalg.fill ins(%zero : f32) outs(%output : memref<4x32xf32>)
  linalg.generic {
      indexing_maps = [#input, #kernel, #output],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%input, %kernel : memref<1x5x34xf32>, memref<1x2x3xf32>)
      outs(%output : memref<4x32xf32>) {
  ^bb0(%x: f32, %w: f32, %sum: f32):
    %product = arith.mulf %x, %w : f32
    %new = arith.addf %sum, %product : f32
    linalg.yield %new : f32
  }
  linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}
      ins(%marks : memref<4x32xf32>) outs(%output : memref<4x32xf32>) {
  ^bb0(%mark: f32, %sum: f32):
    %is = arith.cmpf oeq, %mark, %hidden : f32
    %new = arith.select %is, %hidden, %sum : f32
    linalg.yield %new : f32
  }
  return
}

// -----

#input = affine_map<(r, j, e, a, k) -> (e, r + a, j + k)>
#kernel = affine_map<(r, j, e, a, k) -> (e, a, k)>
#output = affine_map<(r, j, e, a, k) -> (r, j)>

// Sums of a buffer that was not filled start at what it holds. Of 19 rows of a
// kernel, eight at a time are in registers, and three are left; so 22 rows of
// the output are at once.

// CHECK-LABEL: func.func @many_taps(
// CHECK-NOT: linalg
// CHECK: scf.for %{{.*}} = %c0 to %c44 step %c22
// CHECK-COUNT-22: vector.load
// CHECK: scf.for %{{.*}} = %c0 to %c16 step %c8
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK-COUNT-176: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// CHECK: scf.for %{{.*}} = %c0 to %c3 step %c1
// CHECK-COUNT-66: vector.fma
// CHECK-NOT: vector.fma
// CHECK: vector.store
func.func @many_taps(%input: memref<2x62x18xf32>, %kernel: memref<2x19x3xf32>,
                     %output: memref<44x16xf32>) {
  linalg.generic {
      indexing_maps = [#input, #kernel, #output],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%input, %kernel : memref<2x62x18xf32>, memref<2x19x3xf32>)
      outs(%output : memref<44x16xf32>) {
  ^bb0(%x: f32, %w: f32, %sum: f32):
    %product = arith.mulf %x, %w : f32
    %new = arith.addf %sum, %product : f32
    linalg.yield %new : f32
  }
  return
}

// -----

#input = affine_map<(r, j, e, a, k) -> (e, r + a, j + k)>
#kernel = affine_map<(r, j, e, a, k) -> (e, a, k)>
#output = affine_map<(r, j, e, a, k) -> (r, j)>

// A number of rows that is not known is left to loops.

// CHECK-LABEL: func.func @dynamic(
// CHECK: linalg.generic
func.func @dynamic(%input: memref<1x?x18xf32>, %kernel: memref<1x2x3xf32>,
                   %output: memref<?x16xf32>) {
  // expected-remark @+1 {{not computed in vector registers: does not contract two matrices to a matrix}}
  linalg.generic {
      indexing_maps = [#input, #kernel, #output],
      iterator_types = ["parallel", "parallel", "reduction", "reduction", "reduction"]}
      ins(%input, %kernel : memref<1x?x18xf32>, memref<1x2x3xf32>)
      outs(%output : memref<?x16xf32>) {
  ^bb0(%x: f32, %w: f32, %sum: f32):
    %product = arith.mulf %x, %w : f32
    %new = arith.addf %sum, %product : f32
    linalg.yield %new : f32
  }
  return
}
