// RUN: attn-opt %s --attn-target="{vector_bits = 256}" -attn-vectorize-rows -split-input-file | FileCheck %s

#swapped = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#same = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Two rows of f32 from one of pairs: the even ones by a shift, the odd ones by a mask.
// CHECK-LABEL: func.func @pairs(
// CHECK-SAME: %[[FROM:[^:]*]]: memref<?x32x2xbf16>, %[[TO:[^:]*]]: memref<?x2x32xf32>
// CHECK: %[[WORDS:.*]] = memref.collapse_shape %[[FROM]] {{\[\[}}0], [1, 2]]
// CHECK: scf.for %[[PAIR:.*]] = %c0
// CHECK: scf.for %[[COLUMN:.*]] = %c0{{.*}} to %c32{{.*}} step %c8
// CHECK: vector.load %[[WORDS]][%[[PAIR]], %{{.*}}] : memref<?x64xbf16>, vector<16xbf16>
// CHECK: %[[EVEN:.*]] = arith.shli
// CHECK: %[[ODD:.*]] = arith.andi
// CHECK: vector.store %{{.*}}, %[[TO]][%[[PAIR]], %c0{{.*}}, %[[COLUMN]]]
// CHECK: vector.store %{{.*}}, %[[TO]][%[[PAIR]], %c1{{.*}}, %[[COLUMN]]]
func.func @pairs(%from: memref<?x32x2xbf16>, %to: memref<?x2x32xf32>) {
  linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%from : memref<?x32x2xbf16>) outs(%to : memref<?x2x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#swapped = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#same = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Whether pairs of an argument follow one another, its caller knows.
// CHECK-LABEL: func.func @argument(
// CHECK: %[[HOLDS:.*]] = arith.cmpi eq, %{{.*}}#{{.*}}, %c2
// CHECK: scf.if %[[HOLDS]]
// CHECK: vector.load {{.*}} vector<16xbf16>
// CHECK: } else {
// CHECK-NOT: vector
// CHECK: arith.extf {{.*}} : bf16 to f32
func.func @argument(%from: memref<4x32x2xbf16, strided<[?, ?, 1]>>, %to: memref<4x2x32xf32>) {
  linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%from : memref<4x32x2xbf16, strided<[?, ?, 1]>>) outs(%to : memref<4x2x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#swapped = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
#same = affine_map<(d0, d1, d2) -> (d0, d1, d2)>

// Not: columns that do not fill vectors, another width, and threes.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: arith.shli
// CHECK: return
func.func @others(%a: memref<4x12x2xbf16>, %b: memref<4x2x12xf32>,
                  %c: memref<4x32x2xf16>, %d: memref<4x2x32xf32>,
                  %e: memref<4x32x3xbf16>, %f: memref<4x3x32xf32>) {
  linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<4x12x2xbf16>) outs(%b : memref<4x2x12xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%c : memref<4x32x2xf16>) outs(%d : memref<4x2x32xf32>) {
  ^bb0(%in: f16, %out: f32):
    %0 = arith.extf %in : f16 to f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#swapped, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%e : memref<4x32x3xbf16>) outs(%f : memref<4x3x32xf32>) {
  ^bb0(%in: bf16, %out: f32):
    %0 = arith.extf %in : bf16 to f32
    linalg.yield %0 : f32
  }
  return
}
