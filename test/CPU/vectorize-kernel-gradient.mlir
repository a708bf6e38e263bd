// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -canonicalize -cse \
// RUN:   | FileCheck %s

#input = affine_map<(e, a, k, r, j) -> (e, r + a, j + k)>
#gradient = affine_map<(e, a, k, r, j) -> (r, j)>
#kernel = affine_map<(e, a, k, r, j) -> (e, a, k)>

// Sums of the three rows of a column of the kernel stay in registers, eight rows
// of the gradient at a time; two are left.
// CHECK-LABEL: func.func @kernel
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[SUMS:.*]]:3 = scf.for %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: scf.for
// CHECK-COUNT-24: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.yield
// CHECK-COUNT-6: vector.fma
// CHECK: vector.reduction <add>, %[[SUMS]]#0
// CHECK: memref.store
// CHECK-COUNT-2: vector.reduction
func.func @kernel(%input: memref<2x20x36xf32>, %gradient: memref<18x32xf32>,
                  %kernel: memref<2x3x5xf32>) {
  linalg.generic {
      indexing_maps = [#input, #gradient, #kernel],
      iterator_types = ["parallel", "parallel", "parallel", "reduction",
                        "reduction"]}
      ins(%input, %gradient : memref<2x20x36xf32>, memref<18x32xf32>)
      outs(%kernel : memref<2x3x5xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// Columns that fill no vector are left to others.
// CHECK-LABEL: func.func @columns
// CHECK: linalg.generic
func.func @columns(%input: memref<1x4x11xf32>, %gradient: memref<3x9xf32>,
                   %kernel: memref<1x2x3xf32>) {
  linalg.generic {
      indexing_maps = [#input, #gradient, #kernel],
      iterator_types = ["parallel", "parallel", "parallel", "reduction",
                        "reduction"]}
      ins(%input, %gradient : memref<1x4x11xf32>, memref<3x9xf32>)
      outs(%kernel : memref<1x2x3xf32>) {
  ^bb0(%x: f32, %y: f32, %s: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %s, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
