// RUN: attn-opt %s -split-input-file -verify-diagnostics \
// RUN:   --attn-target="{vector_bits = 512}" -attn-vectorize-rows -canonicalize -cse \
// RUN:   | FileCheck %s

// CHECK-LABEL: func.func @scale(
// CHECK-SAME: %[[C:[^:]*]]: memref<32xf32>, %[[R:[^:]*]]: memref<?xf32>, %[[O:[^:]*]]: memref<?x32xf32>, %[[S:[^:]*]]: f32)
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK: %[[N:.*]] = memref.dim %[[R]], %[[C0]]
// CHECK: scf.for %[[I:.*]] = %[[C0]] to %[[N]] step %[[C1]]
// CHECK:   %[[X:.*]] = vector.load %[[C]][%[[C0]]] : memref<32xf32>, vector<32xf32>
// CHECK:   %[[Y:.*]] = memref.load %[[R]][%[[I]]]
// CHECK:   %[[Z:.*]] = vector.load %[[O]][%[[I]], %[[C0]]] : memref<?x32xf32>, vector<32xf32>
// CHECK:   %[[P:.*]] = arith.mulf %[[X]], %[[Z]] : vector<32xf32>
// CHECK:   %[[YS:.*]] = vector.broadcast %[[Y]] : f32 to vector<32xf32>
// CHECK:   %[[Q:.*]] = arith.addf %[[P]], %[[YS]] : vector<32xf32>
// CHECK:   %[[SS:.*]] = vector.broadcast %[[S]] : f32 to vector<32xf32>
// CHECK:   %[[RESULT:.*]] = arith.mulf %[[Q]], %[[SS]] : vector<32xf32>
// CHECK:   vector.store %[[RESULT]], %[[O]][%[[I]], %[[C0]]]
func.func @scale(%c: memref<32xf32>, %r: memref<?xf32>, %o: memref<?x32xf32>,
                 %s: f32) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%c, %r : memref<32xf32>, memref<?xf32>) outs(%o : memref<?x32xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %z : f32
    %1 = arith.addf %0, %y : f32
    %2 = arith.mulf %1, %s : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// Four registers' width at a time, then what is left in powers of two.

// CHECK-LABEL: func.func @widen(
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64
// CHECK:   %[[X:.*]] = vector.load %{{.*}} : memref<141xf16>, vector<64xf16>
// CHECK:   arith.extf %[[X]] : vector<64xf16> to vector<64xf32>
// CHECK: vector.load %{{.*}}[%c128] : memref<141xf16>, vector<8xf16>
// CHECK: vector.load %{{.*}}[%c136] : memref<141xf16>, vector<4xf16>
// CHECK: vector.load %{{.*}}[%c140] : memref<141xf16>, vector<1xf16>
func.func @widen(%a: memref<141xf16>, %b: memref<141xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%a : memref<141xf16>) outs(%b : memref<141xf32>) {
  ^bb0(%x: f16, %y: f32):
    %0 = arith.extf %x : f16 to f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[X:[^:]*]]: f32, %[[A:[^:]*]]: memref<?xf32>)
// CHECK: %[[N:.*]] = memref.dim %[[A]], %c0
// CHECK: %[[REST:.*]] = arith.remui %[[N]], %c64
// CHECK: %[[WHOLE:.*]] = arith.subi %[[N]], %[[REST]]
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c64
// CHECK:   %[[XS:.*]] = vector.broadcast %[[X]] : f32 to vector<64xf32>
// CHECK:   vector.store %[[XS]], %{{.*}} : memref<?xf32>, vector<64xf32>
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %[[N]] step %c1
// CHECK:   vector.store %{{.*}} : memref<?xf32>, vector<1xf32>
func.func @dynamic(%x: f32, %a: memref<?xf32>) {
  linalg.fill ins(%x : f32) outs(%a : memref<?xf32>)
  return
}

// -----

// A reduction of an outer dimension.

// CHECK-LABEL: func.func @visible_sum(
// CHECK-SAME: %[[V:[^:]*]]: memref<?x80xf32>, %[[P:[^:]*]]: memref<?x16xf32>, %[[O:[^:]*]]: memref<80x16xf32>)
// CHECK: scf.for %[[D:.*]] = %c0 to %c80 step %c1
// CHECK:   scf.for %[[J:.*]] = %c0 to %{{.*}} step %c1
// CHECK:     memref.load %[[V]][%[[J]], %[[D]]]
// CHECK:     vector.load %[[P]][%[[J]], %c0]
// CHECK:     %[[OLD:.*]] = vector.load %[[O]][%[[D]], %c0]
// CHECK:     arith.cmpi eq, {{.*}} : vector<16xi32>
// CHECK:     %[[NEW:.*]] = arith.select %{{.*}}, %[[OLD]], %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK:     vector.store %[[NEW]], %[[O]][%[[D]], %c0]
func.func @visible_sum(%v: memref<?x80xf32>, %p: memref<?x16xf32>,
                       %o: memref<80x16xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(d, j, q) -> (j, d)>,
                       affine_map<(d, j, q) -> (j, q)>,
                       affine_map<(d, j, q) -> (d, q)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%v, %p : memref<?x80xf32>, memref<?x16xf32>)
      outs(%o : memref<80x16xf32>) {
  ^bb0(%x: f32, %weight: f32, %sum: f32):
    %bits = arith.bitcast %weight : f32 to i32
    %sign = arith.constant 0x80000000 : i32
    %hidden = arith.cmpi eq, %bits, %sign : i32
    %0 = arith.mulf %x, %weight : f32
    %1 = arith.addf %sum, %0 : f32
    %2 = arith.select %hidden, %sum, %1 : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// CHECK-LABEL: func.func @index(
// CHECK: scf.for %[[I:.*]] =
// CHECK:   %[[STEP:.*]] = vector.step : vector<8xindex>
// CHECK:   %[[IS:.*]] = vector.broadcast %[[I]] : index to vector<8xindex>
// CHECK:   arith.addi %[[IS]], %[[STEP]] : vector<8xindex>
func.func @index(%a: memref<4x8xindex>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      outs(%a : memref<4x8xindex>) {
  ^bb0(%x: index):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %0 = arith.addi %i, %j : index
    linalg.yield %0 : index
  }
  return
}

// -----

// Strips of four rows of 16; those at the end overlap the ones before.

// CHECK-LABEL: func.func @transpose(
// CHECK-SAME: %[[A:[^:]*]]: memref<32x77xf32, {{.*}}>, %[[B:[^:]*]]: memref<77x32xf32>, %[[S:[^:]*]]: f32)
// CHECK: scf.for %[[COLUMN:.*]] = %c0 to %c32 step %c16
// CHECK:   scf.for %[[I:.*]] = %c0 to %c77 step %c4
// CHECK:     %[[ROW:.*]] = arith.minsi %[[I]], %c73
// CHECK:     vector.load %[[A]][%[[COLUMN]], %[[ROW]]] : {{.*}}, vector<4xf32>
// CHECK-COUNT-3: vector.load %[[A]]
// CHECK-COUNT-3: vector.shuffle
// CHECK-COUNT-12: vector.load %[[A]]
// CHECK: vector.shuffle {{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
// CHECK: vector.shuffle {{.*}} [2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31]
// CHECK-COUNT-6: vector.shuffle {{.*}} vector<16xf32>, vector<16xf32>
// CHECK-NOT: vector.shuffle
// CHECK:     %[[SS:.*]] = vector.broadcast %[[S]]
// CHECK:     %[[X:.*]] = arith.mulf %{{.*}}, %[[SS]] : vector<16xf32>
// CHECK:     vector.store %[[X]], %[[B]][%[[ROW]], %[[COLUMN]]]
// CHECK-COUNT-3: vector.store
func.func @transpose(%a: memref<32x77xf32, strided<[?, 1], offset: ?>>,
                     %b: memref<77x32xf32>, %s: f32) {
  linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<32x77xf32, strided<[?, 1], offset: ?>>)
      outs(%b : memref<77x32xf32>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.mulf %x, %s : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// CHECK-LABEL: func.func @transpose_small(
// CHECK-COUNT-16: vector.load {{.*}}, vector<2xf32>
// CHECK: vector.shuffle {{.*}} [0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30]
// CHECK: vector.shuffle {{.*}} [1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31]
// CHECK-NOT: vector.shuffle
func.func @transpose_small(%a: memref<16x2xf32>, %b: memref<2x16xf32>) {
  linalg.transpose ins(%a : memref<16x2xf32>) outs(%b : memref<2x16xf32>)
      permutation = [1, 0]
  return
}

// -----

// CHECK-LABEL: func.func @others(
// CHECK-COUNT-6: linalg.
func.func @others(%bools: memref<16xi1>, %x: memref<16xf32>,
                  %strided: memref<16xf32, strided<[2]>>, %scalar: memref<f32>,
                  %one: memref<1xf32, strided<[2]>>) {
  %true = arith.constant true
  %zero = arith.constant 0.0 : f32
  // expected-remark @below {{not computed by vectors: has elements that vectors lay out differently}}
  linalg.fill ins(%true : i1) outs(%bools : memref<16xi1>)
  // expected-remark @below {{not computed by vectors: has an operand that is not contiguous in the last loop}}
  linalg.fill ins(%zero : f32) outs(%strided : memref<16xf32, strided<[2]>>)
  // Of one element: without a remark.
  linalg.fill ins(%zero : f32) outs(%scalar : memref<f32>)
  linalg.fill ins(%zero : f32) outs(%one : memref<1xf32, strided<[2]>>)
  // expected-remark @below {{not computed by vectors: has a reduction in the last loop}}
  linalg.reduce ins(%strided : memref<16xf32, strided<[2]>>) outs(%scalar : memref<f32>)
      dimensions = [0] (%a: f32, %sum: f32) {
        %0 = arith.addf %a, %sum : f32
        linalg.yield %0 : f32
      }
  // expected-remark @below {{not computed by vectors: has an operation without a form for vectors}}
  linalg.map outs(%x : memref<16xf32>) (%y: f32) {
    %0 = math.clampf %y to [%y, %y] : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Products that are added lane by lane are not rounded, as in registers.
// CHECK-LABEL: func.func @products(
// CHECK-NOT: arith.mulf
// CHECK: %[[SUM:.*]] = vector.fma %{{.*}}, %{{.*}}, %[[OUT:.*]] : vector<8xf32>
// CHECK: arith.select %{{.*}}, %[[OUT]], %[[SUM]] : vector<8xi1>, vector<8xf32>
func.func @products(%weights: memref<12x?xf32>, %values: memref<?x8xf32>,
                    %sums: memref<12x8xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, k, j) -> (i, k)>,
                       affine_map<(i, k, j) -> (k, j)>,
                       affine_map<(i, k, j) -> (i, j)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%weights, %values : memref<12x?xf32>, memref<?x8xf32>)
      outs(%sums : memref<12x8xf32>) {
    ^bb0(%weight: f32, %value: f32, %sum: f32):
      %zero = arith.constant 0.0 : f32
      %0 = arith.mulf %weight, %value : f32
      %1 = arith.addf %sum, %0 : f32
      %2 = arith.cmpf oeq, %weight, %zero : f32
      %3 = arith.select %2, %sum, %1 : f32
      linalg.yield %3 : f32
  }
  return
}

// -----

// A product whose columns fill no register, or whose elements no register has, goes by its
// columns, not by its sums.
// CHECK-LABEL: func.func @columns_last(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[WEIGHT:.*]] = memref.load %{{.*}} : memref<12x?xf32>
// CHECK: vector.fma %{{.*}} : vector<8xf32>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: arith.extf %{{.*}} : vector<64xbf16> to vector<64xf32>
// CHECK: vector.fma %{{.*}} : vector<64xf32>
func.func @columns_last(%weights: memref<12x?xf32>, %values: memref<?x8xf32>,
                        %sums: memref<12x8xf32>, %x: memref<?x?xbf16>,
                        %w: memref<?x64xbf16>, %y: memref<?x64xf32>) {
  linalg.matmul ins(%weights, %values : memref<12x?xf32>, memref<?x8xf32>)
      outs(%sums : memref<12x8xf32>)
  linalg.matmul ins(%x, %w : memref<?x?xbf16>, memref<?x64xbf16>)
      outs(%y : memref<?x64xf32>)
  return
}

// -----

// A sum of squares of each row: a vector of sums, and what is left of the row.
// CHECK-LABEL: func.func @reduction(
// CHECK-SAME: %[[X:.*]]: memref<?x40xbf16>, %[[SUMS:.*]]: memref<?xf32>)
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[BEFORE:.*]] = memref.load %[[SUMS]][%[[I]]]
// CHECK: %[[PARTIAL:.*]] = scf.for {{.*}} -> (vector<16xf32>)
// CHECK: vector.load %[[X]][%[[I]], %{{.*}}] : memref<?x40xbf16>, vector<16xbf16>
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: %[[MOST:.*]] = vector.reduction <add>, %[[PARTIAL]], %[[BEFORE]]
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: %[[ALL:.*]] = vector.reduction <add>, %{{.*}}, %[[MOST]]
// CHECK: memref.store %[[ALL]], %[[SUMS]][%[[I]]]
func.func @reduction(%x: memref<?x40xbf16>, %sums: memref<?xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x40xbf16>) outs(%sums : memref<?xf32>) {
    ^bb0(%a: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.mulf %0, %0 : f32
      %2 = arith.addf %sum, %1 : f32
      linalg.yield %2 : f32
  }
  return
}

// -----

// CHECK-LABEL: func.func @dynamic_reduction(
// CHECK: scf.for {{.*}} -> (vector<16xf32>)
// CHECK: arith.maximumf
// LLVM would compute the largest of a vector by scalars.
// CHECK-NOT: vector.reduction
// CHECK: arith.maximumf %{{.*}} : vector<8xf32>
// CHECK: arith.maximumf %{{.*}} : vector<4xf32>
// CHECK: arith.maximumf %{{.*}} : vector<2xf32>
// CHECK: arith.maximumf %{{.*}} : vector<1xf32>
// CHECK: scf.for {{.*}} -> (vector<1xf32>)
// CHECK: memref.store
func.func @dynamic_reduction(%x: memref<2x?xf32>, %m: memref<2xf32>) {
  linalg.reduce ins(%x : memref<2x?xf32>) outs(%m : memref<2xf32>)
      dimensions = [1] (%a: f32, %most: f32) {
        %0 = arith.maximumf %a, %most : f32
        linalg.yield %0 : f32
      }
  return
}

// -----

// Columns take no sums along rows, whatever the loop is called.
// CHECK-LABEL: func.func @columns_called_reduction(
// CHECK: linalg.generic
func.func @columns_called_reduction(%x: memref<?x40xf32>, %sums: memref<40xf32>) {
  // expected-remark @below {{not computed by vectors: has a reduction in the last loop}}
  linalg.generic {
      indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x40xf32>) outs(%sums : memref<40xf32>) {
    ^bb0(%a: f32, %sum: f32):
      %0 = arith.addf %sum, %a : f32
      linalg.yield %0 : f32
  }
  return
}
