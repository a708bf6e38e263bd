// RUN: attn-opt %s --attn-target="{vector_bits = 512, bf16_dot = true}" -attn-vectorize-rows -canonicalize -cse \
// RUN:   | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-vectorize-rows -canonicalize -cse -o - 2>/dev/null \
// RUN:   | FileCheck %s --check-prefix=NONE

// NONE-NOT: cvtne2ps2bf16

// Strips of four rows of 16 pairs, which are numbers of 32 bits; the last ones
// overlap.

// CHECK-LABEL: func.func @queries(
// CHECK-SAME: %[[A:[^:]*]]: memref<32x22x2xbf16>, %[[B:[^:]*]]: memref<22x32x2xbf16>)
// CHECK: %[[FROM:.*]] = memref.collapse_shape %[[A]] {{.*}} into memref<32x44xbf16>
// CHECK: %[[TO:.*]] = memref.collapse_shape %[[B]] {{.*}} into memref<22x64xbf16>
// CHECK: scf.for %[[J:.*]] = %c0 to %c32 step %c16
// CHECK: scf.for %[[I:.*]] = %c0 to %c22 step %c4
// CHECK: %[[ROW:.*]] = arith.minsi %[[I]], %c18
// CHECK: %[[X:.*]] = vector.load %[[FROM]][%[[J]], %{{.*}}] : memref<32x44xbf16>, vector<8xbf16>
// CHECK: vector.bitcast %[[X]] : vector<8xbf16> to vector<4xi32>
// CHECK-COUNT-12: vector.shuffle
// CHECK-COUNT-8: vector.shuffle {{.*}} : vector<16xi32>, vector<16xi32>
// CHECK-NOT: vector.shuffle
// CHECK: vector.store %{{.*}}, %[[TO]][%[[ROW]], %{{.*}}] : memref<22x64xbf16>, vector<32xbf16>
// CHECK-COUNT-3: vector.store %{{.*}}, %[[TO]]
func.func @queries(%a: memref<32x22x2xbf16>, %b: memref<22x32x2xbf16>) {
  linalg.transpose ins(%a : memref<32x22x2xbf16>)
      outs(%b : memref<22x32x2xbf16>) permutation = [1, 0, 2]
  return
}

// Strips of eight rows of 32 numbers of 16 bits.

// CHECK-LABEL: func.func @pack(
// CHECK-SAME: %[[A:[^:]*]]: memref<32x64xbf16>, %[[B:[^:]*]]: memref<64x32xbf16>)
// CHECK: scf.for %[[I:.*]] = %c0 to %c64 step %c8
// CHECK: vector.load %[[A]][%{{.*}}, %[[I]]] : memref<32x64xbf16>, vector<8xbf16>
// CHECK-COUNT-24: vector.shuffle {{.*}} : vector<32xbf16>, vector<32xbf16>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-8: vector.store %{{.*}}, %[[B]]
func.func @pack(%a: memref<32x64xbf16>, %b: memref<64x32xbf16>) {
  linalg.transpose ins(%a : memref<32x64xbf16>) outs(%b : memref<64x32xbf16>)
      permutation = [1, 0]
  return
}

// Two rows of weights are rounded to one of pairs, two registers at a time.

// CHECK-LABEL: func.func @round(
// CHECK-SAME: %[[A:[^:]*]]: memref<?x16x2x32xf32>, %[[B:[^:]*]]: memref<?x16x32x2xbf16>)
// CHECK: %[[TO:.*]] = memref.collapse_shape %[[B]] {{.*}} into memref<?x16x64xbf16>
// CHECK: scf.for %[[T:.*]] = %c0 to %{{.*}} step %c1
// CHECK: scf.for %[[P:.*]] = %c0 to %c16 step %c1
// CHECK: %[[X:.*]] = vector.load %[[A]][%[[T]], %[[P]], %c0, %c0]
// CHECK: %[[Y:.*]] = vector.load %[[A]][%[[T]], %[[P]], %c1, %c0]
// CHECK: %[[BOTH:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%[[Y]], %[[X]])
// CHECK: %[[PAIRS:.*]] = vector.shuffle %[[BOTH]], %[[BOTH]] [0, 16, 1, 17, {{.*}} 15, 31]
// CHECK: vector.store %[[PAIRS]], %[[TO]][%[[T]], %[[P]], %c0]
// CHECK: vector.load %[[A]][%[[T]], %[[P]], %c0, %c16]
// CHECK: vector.store %{{.*}}, %[[TO]][%[[T]], %[[P]], %c32]
func.func @round(%a: memref<?x16x2x32xf32>, %b: memref<?x16x32x2xbf16>) {
  linalg.generic {
      indexing_maps = [affine_map<(t, p, q, e) -> (t, p, e, q)>,
                       affine_map<(t, p, q, e) -> (t, p, q, e)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%a : memref<?x16x2x32xf32>) outs(%b : memref<?x16x32x2xbf16>) {
  ^bb0(%x: f32, %y: bf16):
    %0 = arith.truncf %x : f32 to bf16
    linalg.yield %0 : bf16
  }
  return
}

// Columns of f32 that are rounded to rows become pairs first, then squares of 16
// pairs are transposed: 4x4 words in each quarter of registers, then quarters.

// CHECK-LABEL: func.func @round_columns(
// CHECK-SAME: %[[A:[^:]*]]: memref<64x32xf32>, %[[S:[^:]*]]: memref<32xf32>, %[[B:[^:]*]]: memref<32x64xbf16, strided<[?, 1]>>)
// CHECK: scf.for %[[I:.*]] = %c0 to %c32 step %c16
// CHECK: scf.for %[[J:.*]] = %c0 to %c64 step %c32
// CHECK: %[[X:.*]] = vector.load %[[A]][%[[J]], %[[I]]] : memref<64x32xf32>, vector<16xf32>
// CHECK: %[[FACTORS:.*]] = vector.load %[[S]][%[[I]]] : memref<32xf32>, vector<16xf32>
// CHECK: %[[EVEN:.*]] = arith.mulf %[[X]], %[[FACTORS]] : vector<16xf32>
// CHECK: %[[ODD:.*]] = arith.mulf %{{.*}}, %[[FACTORS]] : vector<16xf32>
// CHECK-NOT: arith.truncf
// CHECK: %[[BOTH:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%[[ODD]], %[[EVEN]])
// CHECK: %[[PAIRS:.*]] = vector.shuffle %[[BOTH]], %[[BOTH]]
// CHECK: vector.bitcast %[[PAIRS]] : vector<32xbf16> to vector<16xi32>
// CHECK-COUNT-64: vector.shuffle {{.*}} : vector<16xi32>, vector<16xi32>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.store {{.*}}, %[[B]]{{.*}}, vector<32xbf16>
func.func @round_columns(%a: memref<64x32xf32>, %s: memref<32xf32>, %b: memref<32x64xbf16, strided<[?, 1]>>) {
  linalg.generic {
      indexing_maps = [affine_map<(q, d) -> (d, q)>, affine_map<(q, d) -> (q)>,
                       affine_map<(q, d) -> (q, d)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a, %s : memref<64x32xf32>, memref<32xf32>)
      outs(%b : memref<32x64xbf16, strided<[?, 1]>>) {
  ^bb0(%x: f32, %f: f32, %y: bf16):
    %0 = arith.mulf %x, %f : f32
    %1 = arith.truncf %0 : f32 to bf16
    linalg.yield %1 : bf16
  }
  return
}

// Squares that are not whole are transposed before they are rounded.

// CHECK-LABEL: func.func @round_few_columns(
// CHECK-COUNT-4: arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK-NOT: cvtne2ps2bf16
func.func @round_few_columns(%a: memref<80x32xf32>, %b: memref<32x80xbf16>) {
  linalg.generic {
      indexing_maps = [affine_map<(q, d) -> (d, q)>, affine_map<(q, d) -> (q, d)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<80x32xf32>) outs(%b : memref<32x80xbf16>) {
  ^bb0(%x: f32, %y: bf16):
    %0 = arith.truncf %x : f32 to bf16
    linalg.yield %0 : bf16
  }
  return
}

// Nor are numbers that were rounded before, or of which the result is not all.

// CHECK-LABEL: func.func @rounded_before(
// CHECK-NOT: cvtne2ps2bf16
func.func @rounded_before(%a: memref<64x32xf32>, %x: f32, %b: memref<32x64xbf16>) {
  %0 = arith.truncf %x : f32 to bf16
  linalg.generic {
      indexing_maps = [affine_map<(q, d) -> (d, q)>, affine_map<(q, d) -> (q, d)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64x32xf32>) outs(%b : memref<32x64xbf16>) {
  ^bb0(%y: f32, %z: bf16):
    linalg.yield %0 : bf16
  }
  return
}

// CHECK-LABEL: func.func @no_matrix(
// CHECK-NOT: cvtne2ps2bf16
func.func @no_matrix(%s: memref<32xf32>, %b: memref<32x64xbf16>) {
  linalg.generic {
      indexing_maps = [affine_map<(q, d) -> (q)>, affine_map<(q, d) -> (q, d)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%s : memref<32xf32>) outs(%b : memref<32x64xbf16>) {
  ^bb0(%x: f32, %y: bf16):
    %0 = arith.truncf %x : f32 to bf16
    linalg.yield %0 : bf16
  }
  return
}

// Integers are exact in the upper halves of numbers of f32.

// CHECK-LABEL: func.func @integers(
// CHECK-SAME: %[[A:[^:]*]]: memref<16x2x32xi8>, %[[B:[^:]*]]: memref<16x32x2xbf16>)
// CHECK: %[[TO:.*]] = memref.collapse_shape %[[B]] {{.*}} into memref<16x64xbf16>
// CHECK: %[[EVEN:.*]] = vector.load %[[A]][%[[P:.*]], %c0, %c0] : memref<16x2x32xi8>, vector<16xi8>
// CHECK: %[[ODD:.*]] = vector.load %[[A]][%[[P]], %c1, %c0]
// CHECK: %[[X:.*]] = arith.sitofp %[[EVEN]] : vector<16xi8> to vector<16xf32>
// CHECK: %[[XBITS:.*]] = arith.bitcast %[[X]]
// CHECK: %[[LOW:.*]] = arith.shrui %[[XBITS]], %{{.*}} : vector<16xi32>
// CHECK: %[[Y:.*]] = arith.sitofp %[[ODD]]
// CHECK: %[[HIGH:.*]] = arith.bitcast %[[Y]]
// CHECK: %[[WORDS:.*]] = arith.ori %[[LOW]], %[[HIGH]]
// CHECK: %[[PAIRS:.*]] = vector.bitcast %[[WORDS]] : vector<16xi32> to vector<32xbf16>
// CHECK: vector.store %[[PAIRS]], %[[TO]][%[[P]], %c0]
func.func @integers(%a: memref<16x2x32xi8>, %b: memref<16x32x2xbf16>) {
  linalg.generic {
      indexing_maps = [affine_map<(p, q, e) -> (p, e, q)>,
                       affine_map<(p, q, e) -> (p, q, e)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<16x2x32xi8>) outs(%b : memref<16x32x2xbf16>) {
  ^bb0(%x: i8, %y: bf16):
    %0 = arith.sitofp %x : i8 to bf16
    linalg.yield %0 : bf16
  }
  return
}

// Numbers of bf16 are interleaved as they are.

// CHECK-LABEL: func.func @interleave(
// CHECK: %[[EVEN:.*]] = vector.load %{{.*}}[%[[P:.*]], %c0, %c0] : memref<16x2x16xbf16>
// CHECK: %[[ODD:.*]] = vector.load %{{.*}}[%[[P]], %c1, %c0]
// CHECK: vector.interleave %[[EVEN]], %[[ODD]]
func.func @interleave(%a: memref<16x2x16xbf16>, %b: memref<16x16x2xbf16>) {
  linalg.generic {
      indexing_maps = [affine_map<(p, q, e) -> (p, e, q)>,
                       affine_map<(p, q, e) -> (p, q, e)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<16x2x16xbf16>) outs(%b : memref<16x16x2xbf16>) {
  ^bb0(%x: bf16, %y: bf16):
    linalg.yield %x : bf16
  }
  return
}

// Larger integers have more bits than bf16.

// CHECK-LABEL: func.func @large_integers(
// CHECK-NOT: arith.ori
// CHECK: return
func.func @large_integers(%a: memref<16x2x16xi16>, %b: memref<16x16x2xbf16>) {
  linalg.generic {
      indexing_maps = [affine_map<(p, q, e) -> (p, e, q)>,
                       affine_map<(p, q, e) -> (p, q, e)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%a : memref<16x2x16xi16>) outs(%b : memref<16x16x2xbf16>) {
  ^bb0(%x: i16, %y: bf16):
    %0 = arith.sitofp %x : i16 to bf16
    linalg.yield %0 : bf16
  }
  return
}

// Too few columns for a square, and pairs that are not contiguous.

// CHECK-LABEL: func.func @others(
// CHECK-NOT: vector<16xi32>
// CHECK: return
func.func @others(%a: memref<8x16x2xbf16>, %b: memref<16x8x2xbf16>,
                  %c: memref<32x16x2xbf16, strided<[64, 4, 1]>>,
                  %d: memref<16x32x2xbf16>) {
  linalg.transpose ins(%a : memref<8x16x2xbf16>)
      outs(%b : memref<16x8x2xbf16>) permutation = [1, 0, 2]
  linalg.transpose ins(%c : memref<32x16x2xbf16, strided<[64, 4, 1]>>)
      outs(%d : memref<16x32x2xbf16>) permutation = [1, 0, 2]
  return
}



// A number is no row to transpose.

// CHECK-LABEL: func.func @numbers(
// CHECK-NOT: linalg.fill
// CHECK-NOT: vector<16xi32>
// CHECK: return
func.func @numbers(%x: bf16, %a: memref<32x64xbf16>, %b: memref<32x32x2xbf16>) {
  linalg.fill ins(%x : bf16) outs(%a : memref<32x64xbf16>)
  linalg.fill ins(%x : bf16) outs(%b : memref<32x32x2xbf16>)
  return
}
