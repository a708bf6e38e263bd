// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -canonicalize -cse \
// RUN:   | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 256, vector_registers = 16}" -attn-vectorize-contractions -canonicalize -cse 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=AVX2

#mk = affine_map<(m, n, k) -> (m, k)>
#nk = affine_map<(m, n, k) -> (n, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#dots = {indexing_maps = [#mk, #nk, #mn],
         iterator_types = ["parallel", "parallel", "reduction"]}

// Keys of f16, a stride apart, times three queries, into the first three lanes of
// rows of scores: vectors are of elements of a head. Four sums of a row fit into
// a quarter of a vector, so that four rows are summed at once; the others are one
// by one. A step reads a line of each. What was in C is added to, and nothing beside it is written.
// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x64xf16, {{.*}}>, %[[Q:[^:]*]]: memref<3x64xf32>, %[[S:[^:]*]]: memref<?x3xf32, {{.*}}>)
// CHECK-NOT: linalg
// CHECK: %[[N:.*]] = memref.dim %[[S]], %c0
// CHECK: %[[REST:.*]] = arith.remui %[[N]], %c4
// CHECK: %[[WHOLE:.*]] = arith.subi %[[N]], %[[REST]]
// CHECK: scf.for %[[J:[^ ]*]] = %c0 to %[[WHOLE]] step %c4
// CHECK:   %[[SUMS:.*]]:12 = scf.for %[[D:[^ ]*]] = %c0 to %c64 step %c32
// CHECK:     %[[NARROW:.*]] = vector.load %[[K]][%[[J]], %[[D]]] : {{.*}}, vector<16xf16>
// CHECK:     %[[X:.*]] = arith.extf %[[NARROW]] : vector<16xf16> to vector<16xf32>
// CHECK-COUNT-7: vector.load %[[K]]
// CHECK:     %[[Y:.*]] = vector.load %[[Q]][%c0, %[[D]]] : {{.*}}, vector<16xf32>
// CHECK:     vector.fma %[[X]], %[[Y]], %{{.*}} : vector<16xf32>
// CHECK-COUNT-23: vector.fma
// CHECK-NOT: vector.fma
// CHECK:   vector.shuffle %[[SUMS]]#0, %[[SUMS]]#1
// CHECK:   %[[OLD:.*]] = vector.load %[[S]][%[[J]], %c0] : {{.*}}, vector<3xf32>
// CHECK:   %[[NEW:.*]] = arith.addf %[[OLD]], %{{.*}} : vector<3xf32>
// CHECK:   vector.store %[[NEW]], %[[S]][%[[J]], %c0] : {{.*}}, vector<3xf32>
// CHECK-COUNT-3: vector.store
// CHECK-NOT: vector.store
// CHECK: scf.for %[[J:[^ ]*]] = %[[WHOLE]] to %[[N]] step %c1
// CHECK:   scf.for {{.*}} -> (vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK:   vector.store {{.*}} vector<3xf32>
// CHECK-NOT: vector.store

// Of 8 lanes, two rows.
// AVX2-LABEL: func.func @scores(
// AVX2: scf.for {{.*}} step %c2
// AVX2: scf.for {{.*}} = %c0 to %c64 step %c16
// AVX2-COUNT-12: vector.fma {{.*}} : vector<8xf32>
func.func @scores(%k: memref<?x64xf16, strided<[?, 1], offset: ?>>,
                  %q: memref<3x64xf32>, %s: memref<?x3xf32, strided<[16, 1]>>) {
  linalg.generic #dots
      ins(%k, %q : memref<?x64xf16, strided<[?, 1], offset: ?>>, memref<3x64xf32>)
      outs(%s : memref<?x3xf32, strided<[16, 1]>>) {
  ^bb0(%x: f16, %y: f32, %sum: f32):
    %wide = arith.extf %x : f16 to f32
    %product = arith.mulf %wide, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// What whole vectors leave of a row is a part of one, beside zeros.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x44xf16>, %[[Q:[^:]*]]: memref<1x44xf32>
// CHECK-NOT: linalg
// CHECK: %[[Y:.*]] = vector.load %[[Q]][%c0, %c32] : {{.*}}, vector<12xf32>
// CHECK: %[[Q0:.*]] = vector.insert_strided_slice %[[Y]], %{{.*}} : vector<12xf32> into vector<16xf32>
// CHECK: %[[NARROW:.*]] = vector.load %[[K]][%{{.*}}, %c32] : {{.*}}, vector<12xf16>
// CHECK: %[[X:.*]] = arith.extf %[[NARROW]] : vector<12xf16> to vector<12xf32>
// CHECK: %[[K0:.*]] = vector.insert_strided_slice %[[X]], %{{.*}} : vector<12xf32> into vector<16xf32>
// CHECK: vector.fma %[[K0]], %[[Q0]],
// AVX2-LABEL: func.func @parts(
// AVX2: vector<4xf32> into vector<8xf32>
func.func @parts(%k: memref<?x44xf16>, %q: memref<1x44xf32>, %s: memref<?x1xf32>) {
  linalg.generic #dots ins(%k, %q : memref<?x44xf16>, memref<1x44xf32>)
      outs(%s : memref<?x1xf32>) {
  ^bb0(%x: f16, %y: f32, %sum: f32):
    %wide = arith.extf %x : f16 to f32
    %product = arith.mulf %wide, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// As many columns as a vector has lanes: one row at a time.
// CHECK-LABEL: func.func @lanes(
// CHECK: scf.for {{.*}} = %c0 to %c7 step %c1
// CHECK-COUNT-16: vector.fma
// CHECK: vector.store {{.*}} vector<16xf32>
// CHECK-NOT: scf.for
// AVX2-LABEL: func.func @lanes(
// AVX2: linalg.generic
func.func @lanes(%a: memref<7x32xf32>, %b: memref<16x32xf32>,
                 %c: memref<7x16xf32>) {
  linalg.generic #dots
      ins(%a, %b : memref<7x32xf32>, memref<16x32xf32>)
      outs(%c : memref<7x16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %product, %sum : f32
    linalg.yield %next : f32
  }
  return
}

// One column: sixteen rows.
// CHECK-LABEL: func.func @column(
// CHECK: scf.for {{.*}} step %c16
// CHECK-COUNT-16: vector.fma
// CHECK-COUNT-16: vector.store {{.*}} vector<1xf32>
// AVX2-LABEL: func.func @column(
// AVX2: scf.for {{.*}} step %c8
func.func @column(%a: memref<?x32xbf16>, %b: memref<1x32xf32>,
                  %c: memref<?x1xf32>) {
  linalg.generic #dots
      ins(%a, %b : memref<?x32xbf16>, memref<1x32xf32>)
      outs(%c : memref<?x1xf32>) {
  ^bb0(%x: bf16, %y: f32, %sum: f32):
    %wide = arith.extf %x : bf16 to f32
    %product = arith.mulf %wide, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Keys of i8: a line of a row is four vectors, of which two are in registers at a
// time.
// CHECK-LABEL: func.func @integers(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x128xi8>
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for %[[D:[^ ]*]] = %c0 to %c128 step %c64
// CHECK: %[[NARROW:.*]] = vector.load %[[K]][%{{.*}}, %[[D]]] : {{.*}}, vector<16xi8>
// CHECK: %[[X:.*]] = arith.sitofp %[[NARROW]] : vector<16xi8> to vector<16xf32>
// CHECK-COUNT-7: vector.load %[[K]]
// CHECK-COUNT-32: vector.fma
// CHECK-COUNT-8: vector.load %[[K]]
// CHECK-COUNT-32: vector.fma
// CHECK-NOT: vector.fma
// CHECK: vector.shuffle
func.func @integers(%k: memref<?x128xi8>, %q: memref<4x128xf32>,
                    %s: memref<?x4xf32, strided<[16, 1]>>) {
  linalg.generic #dots
      ins(%k, %q : memref<?x128xi8>, memref<4x128xf32>)
      outs(%s : memref<?x4xf32, strided<[16, 1]>>) {
  ^bb0(%x: i8, %y: f32, %sum: f32):
    %wide = arith.sitofp %x : i8 to f32
    %product = arith.mulf %wide, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// Of f64, a vector has half as many elements, and a step reads one of each row.
// CHECK-LABEL: func.func @double(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x64xf64>, %[[Q:[^:]*]]: memref<1x64xf64>
// CHECK: scf.for {{.*}} step %c8
// CHECK:   scf.for %[[D:[^ ]*]] = %c0 to %c64 step %c8
// CHECK:     vector.load %[[K]][%{{.*}}, %[[D]]] : {{.*}}, vector<8xf64>
// CHECK-COUNT-8: vector.fma {{.*}} : vector<8xf64>
// AVX2-LABEL: func.func @double(
// AVX2: scf.for {{.*}} step %c4
// AVX2:   scf.for {{.*}} = %c0 to %c64 step %c4
func.func @double(%k: memref<?x64xf64>, %q: memref<1x64xf64>,
                  %s: memref<?x1xf64, strided<[8, 1]>>) {
  linalg.generic #dots
      ins(%k, %q : memref<?x64xf64>, memref<1x64xf64>)
      outs(%s : memref<?x1xf64, strided<[8, 1]>>) {
  ^bb0(%x: f64, %y: f64, %sum: f64):
    %product = arith.mulf %x, %y : f64
    %next = arith.addf %sum, %product : f64
    linalg.yield %next : f64
  }
  return
}

// Floats of 8 bits are loaded two at a time: a register of 16 bits has the even ones
// below the odd ones, and B a copy in this order.
// CHECK-LABEL: func.func @float8(
// CHECK: memref.alloc() {{.*}} : memref<1x64xf32>
// CHECK: vector.shuffle
// CHECK: %[[BYTES:.*]] = vector.load %{{.*}} : memref<?x64xf8E5M2>, vector<32xf8E5M2>
// CHECK: %[[PAIRS:.*]] = vector.bitcast %[[BYTES]] : vector<32xf8E5M2> to vector<16xi16>
// CHECK: arith.trunci %[[PAIRS]] : vector<16xi16> to vector<16xi8>
// CHECK: arith.extf %{{.*}} : vector<16xf8E5M2> to vector<16xf32>
// CHECK: arith.shrui %[[PAIRS]]
// CHECK: arith.extf %{{.*}} : vector<16xf8E5M2> to vector<16xf32>
func.func @float8(%a: memref<?x64xf8E5M2>, %b: memref<1x64xf32>, %c: memref<?x1xf32>) {
  linalg.generic #dots
      ins(%a, %b : memref<?x64xf8E5M2>, memref<1x64xf32>)
      outs(%c : memref<?x1xf32>) {
  ^bb0(%x: f8E5M2, %y: f32, %sum: f32):
    %wide = arith.extf %x : f8E5M2 to f32
    %product = arith.mulf %wide, %y : f32
    %new = arith.addf %sum, %product : f32
    linalg.yield %new : f32
  }
  return
}

// Rows are read four at a time, from end to end, and the sums of as many as fill a
// vector are added up at once, or of as many as there are.
// CHECK-LABEL: func.func @four_rows(
// CHECK: scf.for %{{.*}} step %c16
// CHECK-COUNT-4: :4 = scf.for {{.*}} = %c0 to %c128 step %c16
// CHECK: vector.shuffle %{{.*}} [0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29]
// CHECK: vector.shuffle %{{.*}} [2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31]
// CHECK: vector.shuffle %{{.*}} [0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29]
// CHECK: vector.shuffle %{{.*}} [2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31]
// CHECK: vector.shuffle %{{.*}} [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
// CHECK: vector.shuffle %{{.*}} [4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31]
func.func @four_rows(%k: memref<?x128xf32>, %q: memref<1x128xf32>, %s: memref<?x1xf32>) {
  linalg.generic #dots
      ins(%k, %q : memref<?x128xf32>, memref<1x128xf32>) outs(%s : memref<?x1xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// CHECK-LABEL: func.func @eight_rows(
// CHECK-COUNT-2: :4 = scf.for {{.*}} = %c0 to %c128 step %c16
// CHECK-NOT: scf.for
// CHECK: return
func.func @eight_rows(%k: memref<8x128xf32>, %q: memref<1x128xf32>, %s: memref<8x1xf32>) {
  linalg.generic #dots
      ins(%k, %q : memref<8x128xf32>, memref<1x128xf32>) outs(%s : memref<8x1xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}
