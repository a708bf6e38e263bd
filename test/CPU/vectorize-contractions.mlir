// RUN: attn-opt %s -split-input-file -verify-diagnostics -canonicalize \
// RUN:   --attn-target="{vector_bits = 512, vector_registers = 32}" -attn-vectorize-contractions -canonicalize -cse \
// RUN:   | FileCheck %s
// RUN: attn-opt %s -split-input-file -attn-vectorize-contractions 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=AVX2

// The scores of a block of keys: 8 rows of 2 registers, which start as what the
// buffer is filled with. That the rows of keys are a stride apart is hidden. The
// last 8 rows move back to where there are 8; fewer
// are computed one by one.

// CHECK-LABEL: func.func @scores(
// CHECK-SAME: %[[K:[^:]*]]: memref<?x64xf32, {{.*}}>, %[[Q:[^:]*]]: memref<64x32xf32>, %[[S:[^:]*]]: memref<?x32xf32>)
// CHECK-NOT: linalg
// CHECK-DAG: %[[ZEROS:.*]] = arith.constant dense<0.000000e+00> : vector<8x16xf32>
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C16:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
// CHECK: %[[N:.*]] = memref.dim %[[S]], %[[C0]]
// CHECK: %[[FITS:.*]] = arith.cmpi sge, %[[N]], %[[C8]]
// CHECK: %[[WHOLE:.*]] = arith.select %[[FITS]], %[[N]], %[[C0]]
// CHECK: scf.for %[[I:.*]] = %[[C0]] to %[[WHOLE]] step %[[C8]]
// CHECK:   %[[LAST:.*]] = arith.subi %[[N]], %[[C8]]
// CHECK:   %[[ROW:.*]] = arith.minsi %[[I]], %[[LAST]]
// CHECK:   %[[ROW1:.*]] = arith.addi %[[ROW]], %[[C1]]
// CHECK:   %[[I0:.*]] = arith.index_cast %[[ROW]] : index to i64
// CHECK:   %[[O0:.*]] = llvm.inline_asm "", "=r,0" %[[I0]]
// CHECK:   %[[R0:.*]] = arith.index_cast %[[O0]]
// CHECK:   %[[I1:.*]] = arith.index_cast %[[ROW1]] : index to i64
// CHECK:   %[[O1:.*]] = llvm.inline_asm "", "=r,0" %[[I1]]
// CHECK:   %[[R1:.*]] = arith.index_cast %[[O1]]
// CHECK:   scf.for %[[D:.*]] = %[[C0]] to %[[C64]] step %[[C2]] iter_args(%[[A0:.*]] = %[[ZEROS]], %[[A1:.*]] = %[[ZEROS]]) -> (vector<8x16xf32>, vector<8x16xf32>)
// CHECK:     %[[K0:.*]] = memref.load %[[K]][%[[R0]], %[[D]]]
// CHECK:     %[[K1:.*]] = memref.load %[[K]][%[[R1]], %[[D]]]
// CHECK:     %[[Q0:.*]] = vector.load %[[Q]][%[[D]], %[[C0]]] : memref<64x32xf32>, vector<16xf32>
// CHECK:     %[[Q1:.*]] = vector.load %[[Q]][%[[D]], %[[C16]]] : memref<64x32xf32>, vector<16xf32>
// CHECK:     %[[LHS:.*]] = vector.from_elements %[[K0]], %[[K1]], {{.*}} : vector<1x8xf32>
// CHECK:     %[[ROW0:.*]] = vector.broadcast %[[Q0]] : vector<16xf32> to vector<1x16xf32>
// CHECK:     vector.contract {{.*}} %[[LHS]], %[[ROW0]], %[[A0]] : vector<1x8xf32>, vector<1x16xf32> into vector<8x16xf32>
// CHECK:     %[[ROW1:.*]] = vector.broadcast %[[Q1]] : vector<16xf32> to vector<1x16xf32>
// CHECK:     vector.contract {{.*}} %[[LHS]], %[[ROW1]], %[[A1]]
// CHECK-COUNT-2: vector.contract
// CHECK-NOT: vector.contract
// CHECK:     scf.yield
// CHECK-COUNT-16: vector.store %{{.*}}, %[[S]]
// CHECK-NOT: vector.store
// CHECK: scf.for %[[I:.*]] = %[[WHOLE]] to %[[N]] step %[[C1]]
// CHECK:   vector.contract {{.*}} into vector<1x16xf32>

// Of 16 registers of 256 bits: 4 rows of 2 registers, twice. Each scalar is
// loaded beside its products.

// AVX2-LABEL: func.func @scores(
// AVX2: scf.for {{.*}} step %c16
// AVX2: -> (vector<4x8xf32>, vector<4x8xf32>) {
// AVX2: %[[SCALAR:.*]] = memref.load %arg0
// AVX2-NEXT: %[[REPEATED:.*]] = vector.broadcast %[[SCALAR]]
// AVX2-NEXT: vector.extract
// AVX2-NEXT: vector.fma %[[REPEATED]]
// AVX2: vector.fma %[[REPEATED]]
// AVX2: memref.load %arg0
func.func @scores(%k: memref<?x64xf32, strided<[?, 1], offset: ?>>,
                  %q: memref<64x32xf32>, %s: memref<?x32xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%s : memref<?x32xf32>)
  linalg.matmul
    ins(%k, %q : memref<?x64xf32, strided<[?, 1], offset: ?>>, memref<64x32xf32>)
    outs(%s : memref<?x32xf32>)
  return
}

// -----

// What was summed before is multiplied as the accumulators are loaded.

// CHECK-LABEL: func.func @output(
// CHECK-SAME: %[[V:[^:]*]]: memref<?x80xf32, {{.*}}>, %[[P:[^:]*]]: memref<?x64xf32>, %[[C:[^:]*]]: memref<64xf32>, %[[O:[^:]*]]: memref<80x64xf32>)
// CHECK-NOT: linalg
// CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[C5:.*]] = arith.constant 5 : index
// CHECK-DAG: %[[C80:.*]] = arith.constant 80 : index
// CHECK: scf.for %[[ROW:.*]] = %[[C0]] to %[[C80]] step %[[C5]]
// CHECK:   %[[CORRECTION:.*]] = vector.load %[[C]][%[[C0]]] : memref<64xf32>, vector<16xf32>
// CHECK:   %[[OLD:.*]] = vector.load %[[O]][%[[ROW]], %[[C0]]]
// CHECK:   arith.mulf %[[CORRECTION]], %[[OLD]] : vector<16xf32>
// CHECK:   %[[N:.*]] = memref.dim %[[P]], %[[C0]]
// CHECK:   scf.for %[[J:.*]] = %[[C0]] to %[[N]] step %[[C1]] iter_args({{.*}}) -> (vector<5x16xf32>, vector<5x16xf32>, vector<5x16xf32>, vector<5x16xf32>)
// CHECK:     memref.load %[[V]][%[[J]], %[[ROW]]]
// CHECK-COUNT-4: vector.contract
// CHECK-NOT: vector.contract
// CHECK: return
func.func @output(%v: memref<?x80xf32, strided<[?, 1], offset: ?>>,
                  %p: memref<?x64xf32>, %c: memref<64xf32>,
                  %o: memref<80x64xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(d, q) -> (q)>, affine_map<(d, q) -> (d, q)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%c : memref<64xf32>) outs(%o : memref<80x64xf32>) {
  ^bb0(%correction: f32, %old: f32):
    %new = arith.mulf %correction, %old : f32
    linalg.yield %new : f32
  }
  linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                     affine_map<(m, n, k) -> (k, n)>,
                     affine_map<(m, n, k) -> (m, n)>]
    ins(%v, %p : memref<?x80xf32, strided<[?, 1], offset: ?>>, memref<?x64xf32>)
    outs(%o : memref<80x64xf32>)
  return
}

// -----

// 79 rows in blocks of 9, and 7, of which one step is in an iteration: two have
// scalars that spill.

// CHECK-LABEL: func.func @rest(
// CHECK: scf.for %{{.*}} = %{{.*}} to %c72 step %c9
// CHECK: scf.for %{{.*}} = %{{.*}} to %c128 step %c1 iter_args
// CHECK: vector.contract {{.*}} into vector<9x16xf32>
// CHECK: vector.contract {{.*}} into vector<7x16xf32>
func.func @rest(%v: memref<128x79xf32>, %p: memref<128x32xf32>,
                %o: memref<79x32xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (k, m)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : memref<128x32xf32>, memref<128x79xf32>)
      outs(%o : memref<79x32xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %product = arith.mulf %a, %b : f32
    %next = arith.addf %product, %sum : f32
    linalg.yield %next : f32
  }
  return
}

// -----

// Rows of bf16 are widened as they are loaded, each once for all rows of C: the
// even elements by a shift, the odd ones by a mask. The sums are in that order
// for as long.

// CHECK-LABEL: func.func @narrow(
// CHECK-SAME: %[[P:[^:]*]]: memref<?x3xf32, {{.*}}>, %[[V:[^:]*]]: memref<?x32xbf16, {{.*}}>, %[[O:[^:]*]]: memref<3x32xf32>)
// CHECK-NOT: linalg
// CHECK-COUNT-6: vector.load %[[O]]
// CHECK-COUNT-3: vector.shuffle {{.*}} [1, 3, 5,
// CHECK: scf.for %[[J:[^ ]*]] = {{.*}} -> (vector<3x16xf32>, vector<3x16xf32>)
// CHECK-COUNT-3: memref.load %[[P]]
// CHECK: %[[NARROW:.*]] = vector.load %[[V]][%[[J]], %c0] : {{.*}}, vector<32xbf16>
// CHECK: %[[BITS:.*]] = vector.bitcast %[[NARROW]] : vector<32xbf16> to vector<16xi32>
// CHECK: %[[EVEN:.*]] = arith.shli %[[BITS]], %{{.*}} : vector<16xi32>
// CHECK: %[[ODD:.*]] = arith.andi %[[BITS]], %{{.*}} : vector<16xi32>
// CHECK: %[[W0:.*]] = vector.bitcast %[[EVEN]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[W1:.*]] = vector.bitcast %[[ODD]] : vector<16xi32> to vector<16xf32>
// CHECK: %[[R0:.*]] = vector.broadcast %[[W0]]
// CHECK: vector.contract {{.*}} %[[R0]], %{{.*}} into vector<3x16xf32>
// CHECK: %[[R1:.*]] = vector.broadcast %[[W1]]
// CHECK: vector.contract {{.*}} %[[R1]], %{{.*}} into vector<3x16xf32>
// CHECK: vector.shuffle {{.*}} [0, 16, 1, 17,
// CHECK: vector.shuffle {{.*}} [8, 24, 9, 25,
// CHECK-COUNT-6: vector.store %{{.*}}, %[[O]]
func.func @narrow(%p: memref<?x3xf32, strided<[16, 1]>>,
                  %v: memref<?x32xbf16, strided<[?, 1], offset: ?>>,
                  %o: memref<3x32xf32>) {
  linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                       affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%p, %v : memref<?x3xf32, strided<[16, 1]>>,
                   memref<?x32xbf16, strided<[?, 1], offset: ?>>)
      outs(%o : memref<3x32xf32>) {
  ^bb0(%a: f32, %b: bf16, %sum: f32):
    %wide = arith.extf %b : bf16 to f32
    %product = arith.mulf %a, %wide : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// -----

// Rows that were there before must not be computed twice.

// CHECK-LABEL: func.func @accumulate(
// CHECK: %[[REST:.*]] = arith.remui %[[N:.*]], %c8
// CHECK: %[[WHOLE:.*]] = arith.subi %[[N]], %[[REST]]
// CHECK-NOT: arith.minsi
// CHECK: scf.for %{{.*}} = %c0 to %[[WHOLE]] step %c8
// CHECK: scf.for %{{.*}} = %[[WHOLE]] to %[[N]] step %c1
func.func @accumulate(%k: memref<?x4xf64>, %q: memref<4x16xf64>,
                      %s: memref<?x16xf64>, %other: memref<f64>) {
  %zero = arith.constant 0.0 : f64
  linalg.fill ins(%zero : f64) outs(%s : memref<?x16xf64>)
  // Who knows what this writes.
  linalg.fill ins(%zero : f64) outs(%other : memref<f64>)
  linalg.matmul ins(%k, %q : memref<?x4xf64>, memref<4x16xf64>)
                outs(%s : memref<?x16xf64>)
  return
}

// -----

// What whole vectors leave of a row of lanes is computed in parts of one.

// CHECK-LABEL: func.func @parts(
// CHECK-SAME: %[[W:[^:]*]]: memref<?x4xf32>, %[[V:[^:]*]]: memref<?x44xf32>, %[[O:[^:]*]]: memref<4x44xf32>)
// CHECK-NOT: linalg
// CHECK: scf.for {{.*}} -> (vector<4x16xf32>, vector<4x16xf32>)
// CHECK: vector.load %[[V]][%{{.*}}, %c0{{.*}}vector<16xf32>
// CHECK: vector.load %[[V]][%{{.*}}, %c16{{.*}}vector<16xf32>
// CHECK: scf.for {{.*}} -> (vector<4x8xf32>)
// CHECK: vector.load %[[V]][%{{.*}}, %c32{{.*}}vector<8xf32>
// CHECK: scf.for {{.*}} -> (vector<4x4xf32>)
// CHECK: vector.load %[[V]][%{{.*}}, %c40{{.*}}vector<4xf32>
// CHECK-NOT: linalg
// AVX2-LABEL: func.func @parts(
// AVX2-NOT: linalg
// AVX2: vector<4xf32>
// AVX2: return
func.func @parts(%w: memref<?x4xf32>, %v: memref<?x44xf32>, %o: memref<4x44xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>,
                                   affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %v : memref<?x4xf32>, memref<?x44xf32>) outs(%o : memref<4x44xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// -----

// CHECK-LABEL: func.func @lanes(
// CHECK-COUNT-6: linalg.matmul
func.func @lanes(%a: memref<8x8xf32>, %b: memref<8x?xf32>, %c: memref<8x?xf32>,
                 %b18: memref<8x18xf32>, %c18: memref<8x18xf32>,
                 %bs: memref<8x16xf32, strided<[32, 2]>>, %c16: memref<8x16xf32>,
                 %d: memref<8x8xf16>, %e: memref<8x16xf16>,
                 %i: memref<16x16xi32>) {
  // expected-remark @below {{not computed in vector registers: does not have a static number of lanes that fills vectors}}
  linalg.matmul ins(%a, %b : memref<8x8xf32>, memref<8x?xf32>) outs(%c : memref<8x?xf32>)
  // expected-remark @below {{not computed in vector registers: does not have a static number of lanes that fills vectors}}
  linalg.matmul ins(%a, %b18 : memref<8x8xf32>, memref<8x18xf32>) outs(%c18 : memref<8x18xf32>)
  // expected-remark @below {{not computed in vector registers: has lanes that are not contiguous}}
  linalg.matmul ins(%a, %bs : memref<8x8xf32>, memref<8x16xf32, strided<[32, 2]>>) outs(%c16 : memref<8x16xf32>)
  // expected-remark @below {{not computed in vector registers: is not all of f32 or all of f64}}
  linalg.matmul ins(%d, %e : memref<8x8xf16>, memref<8x16xf16>) outs(%e : memref<8x16xf16>)
  // expected-remark @below {{not computed in vector registers: is not all of f32 or all of f64}}
  linalg.matmul ins(%d, %e : memref<8x8xf16>, memref<8x16xf16>) outs(%c16 : memref<8x16xf32>)
  // expected-remark @below {{not computed in vector registers: is not all of f32 or all of f64}}
  linalg.matmul ins(%i, %i : memref<16x16xi32>, memref<16x16xi32>) outs(%i : memref<16x16xi32>)
  return
}

// -----

// CHECK-LABEL: func.func @forms(
// CHECK: linalg.matmul
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @forms(%a: memref<16x16xf32>, %b: memref<17x16xf32>,
                 %c: memref<16x16xf32>, %d: memref<16x17xf32>,
                 %row: memref<16xf32>) {
  // expected-remark @below {{not computed in vector registers: has no row of lanes in an operand and the result}}
  linalg.matmul
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                     affine_map<(m, n, k) -> (n, k)>,
                     affine_map<(m, n, k) -> (m, n)>]
    ins(%a, %b : memref<16x16xf32>, memref<17x16xf32>) outs(%d : memref<16x17xf32>)
  // expected-remark @below {{not computed in vector registers: does not contract two matrices to a matrix}}
  linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                       affine_map<(m, n, k) -> (n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %row : memref<16x16xf32>, memref<16xf32>) outs(%c : memref<16x16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  // No contraction at all, so no remark.
  linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
                       affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%c, %c : memref<16x16xf32>, memref<16x16xf32>) outs(%c : memref<16x16xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %product = arith.subf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  }
  return
}

// -----

// In f64, bf16 is widened in its order.

// CHECK-LABEL: func.func @narrow_in_f64(
// CHECK: vector.load {{.*}} vector<8xbf16>
// CHECK: arith.extf {{.*}} : vector<8xbf16> to vector<8xf64>
func.func @narrow_in_f64(%p: memref<5x64xf64>, %v: memref<64x64xbf16>,
                         %o: memref<5x64xf64>) {
  linalg.matmul ins(%p, %v : memref<5x64xf64>, memref<64x64xbf16>)
      outs(%o : memref<5x64xf64>)
  return
}

// -----

// Which row of f16 a step reads is hidden from LLVM; of f32 it is not.

// CHECK-LABEL: func.func @rows_of_f16(
// CHECK: scf.for %[[K:[^ ]*]] =
// CHECK:   %[[I:.*]] = arith.index_cast %[[K]] : index to i64
// CHECK:   %[[HIDDEN:.*]] = llvm.inline_asm "", "=r,0" %[[I]]
// CHECK:   %[[ROW:.*]] = arith.index_cast %[[HIDDEN]] : i64 to index
// CHECK:   vector.load %{{.*}}[%[[ROW]], %{{.*}}] : {{.*}}, vector<16xf16>
func.func @rows_of_f16(%p: memref<?x4xf32>, %v: memref<?x32xf16, strided<[?, 1]>>,
                       %o: memref<4x32xf32>) {
  linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                 affine_map<(m, n, k) -> (k, n)>,
                                 affine_map<(m, n, k) -> (m, n)>]
      ins(%p, %v : memref<?x4xf32>, memref<?x32xf16, strided<[?, 1]>>)
      outs(%o : memref<4x32xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @rows_of_f32(
// CHECK-NOT: inline_asm
// CHECK: return
func.func @rows_of_f32(%p: memref<?x4xf32>, %v: memref<?x32xf32, strided<[?, 1]>>,
                       %o: memref<4x32xf32>) {
  linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                                 affine_map<(m, n, k) -> (k, n)>,
                                 affine_map<(m, n, k) -> (m, n)>]
      ins(%p, %v : memref<?x4xf32>, memref<?x32xf32, strided<[?, 1]>>)
      outs(%o : memref<4x32xf32>)
  return
}

// -----

// Rows of A that are a constant distance apart share an address: 6 rows of 4
// registers. Scalars are used row by row, since all of them together with a row of
// B and the sums are more than there are registers.

// CHECK-LABEL: func.func @rows_in_steps(
// CHECK-NOT: llvm.inline_asm
// CHECK: scf.for {{.*}} -> (vector<6x16xf32>, vector<6x16xf32>, vector<6x16xf32>, vector<6x16xf32>)
// CHECK:   %[[FIRST:.*]] = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK-COUNT-4: vector.fma %[[FIRST]],
// CHECK:   %[[SECOND:.*]] = vector.broadcast %{{.*}} : f32 to vector<16xf32>
// CHECK:   vector.fma %[[SECOND]],
func.func @rows_in_steps(%a: memref<48x64xf32>, %b: memref<64x64xf32>,
                         %c: memref<48x64xf32>) {
  linalg.matmul ins(%a, %b : memref<48x64xf32>, memref<64x64xf32>)
      outs(%c : memref<48x64xf32>)
  return
}

// -----

// Of a static number of rows: blocks of ten sums if rows lie apart, else of
// twelve, and a smaller rest.

// AVX2-LABEL: func.func @of_64_rows(
// AVX2: scf.for {{.*}} = %c0{{.*}} to %c60{{.*}} step %c5
// AVX2: -> (vector<5x8xf32>, vector<5x8xf32>) {
// AVX2: -> (vector<4x8xf32>, vector<4x8xf32>) {
// AVX2: scf.for {{.*}} = %c0{{.*}} to %c60{{.*}} step %c6
// AVX2: -> (vector<6x8xf32>, vector<6x8xf32>) {
// AVX2: -> (vector<4x8xf32>, vector<4x8xf32>) {
func.func @of_64_rows(%k: memref<64x64xf32, strided<[?, 1], offset: ?>>,
                      %v: memref<64x64xf32, strided<[?, 1], offset: ?>>,
                      %q: memref<64x32xf32>, %s: memref<64x32xf32>,
                      %o: memref<64x32xf32>) {
  linalg.matmul
    ins(%k, %q : memref<64x64xf32, strided<[?, 1], offset: ?>>, memref<64x32xf32>)
    outs(%s : memref<64x32xf32>)
  linalg.generic {
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>,
                       affine_map<(m, n, k) -> (k, n)>,
                       affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%v, %s : memref<64x64xf32, strided<[?, 1], offset: ?>>, memref<64x32xf32>)
      outs(%o : memref<64x32xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %product = arith.mulf %a, %b : f32
      %sum = arith.addf %c, %product : f32
      linalg.yield %sum : f32
  }
  return
}

// -----

// Of one row, all of which fits, the rows of B are read whole.
// CHECK-LABEL: func.func @one_row(
// CHECK: scf.for {{.*}} -> (vector<1x16xf32>, vector<1x16xf32>, vector<1x16xf32>, vector<1x16xf32>, vector<1x16xf32>, vector<1x16xf32>, vector<1x16xf32>, vector<1x16xf32>)
// CHECK-NOT: scf.for
// CHECK: return
func.func @one_row(%p: memref<1x8xf32>, %v: memref<8x128xf32>, %o: memref<1x128xf32>) {
  linalg.matmul ins(%p, %v : memref<1x8xf32>, memref<8x128xf32>) outs(%o : memref<1x128xf32>)
  return
}
