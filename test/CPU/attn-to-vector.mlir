// RUN: attn-opt %s --attn-target="{vector_bits = 512}" --convert-attn-to-vector --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512, scalef = true}" --convert-attn-to-vector --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=SCALEF
// RUN: attn-opt %s --attn-target="{vector_bits = 128}" --convert-attn-to-vector --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=NARROW

// Without regions: the maximum, and the weights.
// CHECK-LABEL: func @plain
//  CHECK-SAME:     %[[S:.*]]: memref<128x32xf32>, %[[M:.*]]: memref<32xf32>, %[[L:.*]]: memref<32xf32>, %[[C:.*]]: memref<32xf32>
//  CHECK-SAME:     %[[NK:[a-z0-9]*]]: index)
//   CHECK-DAG:   %[[MINUS:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
//   CHECK-DAG:   %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<16xf32>
//   CHECK-DAG:   %[[FIVE:.*]] = arith.constant dense<5.000000e+00> : vector<16xf32>
//   CHECK-DAG:   %[[C1:.*]] = arith.constant 1 : index
//   CHECK-DAG:   %[[C2:.*]] = arith.constant 2 : index
//       CHECK:   %[[RAISED:.*]] = arith.addi %[[NK]], %[[C1]]
//       CHECK:   %[[END:.*]] = arith.andi %[[RAISED]], %{{.*}}
// Rows of the last iteration that do not exist get weight 0.
//       CHECK:   scf.for %[[J:.*]] = %[[NK]] to %[[END]]
// CHECK-COUNT-2:   vector.store %[[MINUS]], %[[S]][%[[J]],
//       CHECK:   %[[BEFORE:.*]] = vector.load %[[M]]
//       CHECK:   %[[AFTER:.*]]:2 = scf.for {{.*}} to %[[END]] step %[[C2]] iter_args(%[[CARRIED:.*]] = %[[BEFORE]],
//       CHECK:     %[[S0:.*]] = vector.load %[[S]]
//       CHECK:     %[[LARGER:.*]] = arith.cmpf ogt, %[[S0]], %[[S1:.*]] :
//       CHECK:     %[[LARGEST:.*]] = arith.select %[[LARGER]], %[[S0]], %[[S1]]
//       CHECK:     arith.cmpf ogt, %[[LARGEST]], %[[CARRIED]]
//   CHECK-NOT:     vector.store
//       CHECK:     scf.yield
// A maximum stays unless it grows by much. It gives rescale factor 1 then, also if it
// is infinite.
//       CHECK:   %[[LIMIT:.*]] = arith.addf %[[BEFORE]], %[[FIVE]]
//       CHECK:   %[[FAR:.*]] = arith.cmpf ugt, %[[AFTER]]#0, %[[LIMIT]]
//       CHECK:   %[[NEXT:.*]] = arith.select %[[FAR]], %[[AFTER]]#0, %[[BEFORE]]
//   CHECK-DAG:   %[[DIFFERENCE:.*]] = arith.subf %[[BEFORE]], %[[NEXT]]
//   CHECK-DAG:   %[[SAME:.*]] = arith.cmpf oeq, %[[BEFORE]], %[[NEXT]]
//       CHECK:   arith.select %[[SAME]], %[[ONE]],
//       CHECK:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[NEXT]], %[[MINUS]]
//       CHECK:   %[[ORIGIN:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[NEXT]]
//       CHECK:   vector.store %{{.*}}, %[[C]]
//       CHECK:   scf.for {{.*}} to %[[END]] step %[[C2]]
//       CHECK:     %[[SCORE:.*]] = vector.load %[[S]]
//       CHECK:     arith.subf %[[SCORE]], %[[ORIGIN]]
// CHECK-COUNT-5:   {{math|vector}}.fma
//       CHECK:     vector.store %{{.*}}, %[[S]]
//   CHECK-NOT:   arith.cmpf uno
//       CHECK:   vector.store %{{.*}}, %[[M]]
//       CHECK:   vector.store %{{.*}}, %[[L]]
//   CHECK-NOT: {{attn\.[^t]}}

// SCALEF-LABEL: func @plain
//       SCALEF:   %[[LOG2E:.*]] = arith.constant dense<1.44269502> : vector<16xf32>
//       SCALEF:   scf.for
//       SCALEF:   scf.for
//       SCALEF:   scf.for
//       SCALEF:     %[[DIFFERENCE:.*]] = arith.subf
//       SCALEF:     %[[X:.*]] = arith.mulf %[[DIFFERENCE]], %[[LOG2E]]
//       SCALEF:     %[[F:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%[[X]],
// SCALEF-COUNT-5:   {{math|vector}}.fma %{{.*}}, %[[F]], %{{.*}} : vector<16xf32>
//       SCALEF:     llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%{{.*}}, %[[X]],
//   SCALEF-NOT:     arith.shli

// NARROW-LABEL: func @plain
//       NARROW:   vector<4xf32>
//   NARROW-NOT:   vector<16xf32>
func.func @plain(%s: memref<128x32xf32>, %m: memref<32xf32>, %l: memref<32xf32>, %c: memref<32xf32>,
                 %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<128x32xf32>, memref<32xf32>, memref<32xf32>, memref<32xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
  return
}

// -----

// A scale makes scores of the products, which the weights then read.
// CHECK-LABEL: func @scale
//  CHECK-SAME:     %[[S:.*]]: memref<13x16xf32>, {{.*}}, %[[SCALE:[a-z0-9]*]]: f32)
//       CHECK:   %[[SCALES:.*]] = vector.broadcast %[[SCALE]] : f32 to vector<16xf32>
//       CHECK:   scf.for
//       CHECK:     %[[DOT:.*]] = vector.load %[[S]]
//       CHECK:     %[[SCORE:.*]] = arith.mulf %[[DOT]], %[[SCALES]]
//       CHECK:     vector.store %[[SCORE]], %[[S]]
//       CHECK:     arith.cmpf ogt, %[[SCORE]],
//       CHECK:   scf.for
//       CHECK:     vector.load %[[S]]
//   CHECK-NOT:     %[[SCALES]]
//       CHECK:   return
func.func @scale(%s: memref<13x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>, %c: memref<16xf32>,
                 %b: index, %p: index, %j: index, %nq: index, %nk: index, %scale: f32) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<13x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false) scale(%scale : f32)
  return
}

// -----

// Any constant waits for the weights where there is no maximum to find, and weights
// that are lost beside others are 0.
// CHECK-LABEL: func @scale_of_fixed_maximum
//  CHECK-SAME:     %[[S:.*]]: memref<16x16xf32>, %[[M:[a-z0-9]*]]: memref<16xf32>
//       CHECK:   %[[SCALES:.*]] = arith.constant dense<1.000000e-01> : vector<16xf32>
//   CHECK-NOT:   arith.mulf %{{.*}}, %[[SCALES]]
//       CHECK:   %[[NEGATED:.*]] = arith.negf
//       CHECK:   scf.for
//       CHECK:     %[[PRODUCT:.*]] = vector.load %[[S]]
//       CHECK:     %[[LOGARITHM:.*]] = vector.fma %[[PRODUCT]], %[[SCALES]], %[[NEGATED]]
//       CHECK:     %[[POWER:.*]] = arith.mulf %[[LOGARITHM]],
// CHECK-COUNT-5:   {{math|vector}}.fma
//       CHECK:     %[[LOST:.*]] = arith.cmpf olt, %[[POWER]]
//       CHECK:     arith.select %[[LOST]]
//       CHECK:   return
func.func @scale_of_fixed_maximum(%s: memref<16x16xf32>, %m: memref<16xf32>,
                                  %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  %scale = arith.constant 0.1 : f32
  attn.online_softmax outs(%s, %m : memref<16x16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false) scale(%scale : f32)
  return
}

// -----

// One that rounds no score waits for the weights: the maximum of the products is
// scaled, and the weights' difference from it is a multiply-add.
// CHECK-LABEL: func @exact_scale
//  CHECK-SAME:     %[[S:.*]]: memref<13x16xf32>, %[[M:[a-z0-9]*]]: memref<16xf32>
//   CHECK-DAG:   %[[SCALES:.*]] = arith.constant dense<1.250000e-01> : vector<16xf32>
//   CHECK-DAG:   %[[NONE:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
//       CHECK:   %[[BEFORE:.*]] = vector.load %[[M]]
//       CHECK:   %[[MAXIMUM:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[NONE]])
//   CHECK-NOT:     vector.store
//       CHECK:   %[[SCALED:.*]] = arith.mulf %[[MAXIMUM]], %[[SCALES]]
//       CHECK:   arith.cmpf ogt, %[[SCALED]], %[[BEFORE]]
//       CHECK:   %[[NEGATED:.*]] = arith.negf
//       CHECK:   scf.for
//       CHECK:     %[[PRODUCT:.*]] = vector.load %[[S]]
//       CHECK:     vector.fma %[[PRODUCT]], %[[SCALES]], %[[NEGATED]]
//       CHECK:   return
func.func @exact_scale(%s: memref<13x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>, %c: memref<16xf32>,
                       %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  %scale = arith.constant 0.125 : f32
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<13x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false) scale(%scale : f32)
  return
}

// -----

// One that rounds scores rounds them before the difference, which is 0 of the maximum.
// CHECK-LABEL: func @small_scale
//  CHECK-SAME:     %[[S:.*]]: memref<13x16xf32>, %[[M:[a-z0-9]*]]: memref<16xf32>
//   CHECK-DAG:   %[[SCALES:.*]] = arith.constant dense<1.000000e-01> : vector<16xf32>
//   CHECK-NOT:     vector.store
//       CHECK:   arith.mulf %{{.*}}, %[[SCALES]]
//       CHECK:   scf.for
//       CHECK:     %[[PRODUCT:.*]] = vector.load %[[S]]
//       CHECK:     %[[SCORE:.*]] = arith.mulf %[[PRODUCT]], %[[SCALES]]
//       CHECK:     arith.subf %[[SCORE]],
//       CHECK:   return
func.func @small_scale(%s: memref<13x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>, %c: memref<16xf32>,
                       %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  %scale = arith.constant 0.1 : f32
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<13x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false) scale(%scale : f32)
  return
}

// -----

// Weights that are rounded to bf16 later are relative to powers of 2 that are rounded, and
// have fewer terms; unless an origin is large.
// CHECK-LABEL: func @rounded
//       CHECK:   %[[MAGNITUDE:.*]] = math.absf
//   CHECK-DAG:   arith.cmpf olt, %[[MAGNITUDE]], %{{.*}}
//   CHECK-DAG:   arith.cmpf ogt, %[[MAGNITUDE]], %{{.*}}
//       CHECK:   %[[LARGE:.*]] = vector.reduction <or>
//       CHECK:   scf.if %[[LARGE]]
//       CHECK:     scf.for
// CHECK-COUNT-6:     vector.fma
//       CHECK:   } else {
//       CHECK:   scf.for
//       CHECK:     %[[POWER:.*]] = vector.fma
// CHECK-COUNT-3:   {{math|vector}}.fma
//   CHECK-NOT:     {{math|vector}}.fma
//       CHECK:     arith.cmpf olt, %[[POWER]]
//       CHECK:   return
func.func @rounded(%s: memref<16x16xf32>, %m: memref<16xf32>,
                   %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  %scale = arith.constant 0.1 : f32
  attn.online_softmax rounded outs(%s, %m : memref<16x16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false) scale(%scale : f32)
  return
}

// -----

// Above 1, a product that is finite could become an infinite score.
// CHECK-LABEL: func @large_scale
//       CHECK:   %[[SCALES:.*]] = arith.constant dense<2.000000e+00> : vector<16xf32>
//       CHECK:   scf.for
//       CHECK:     %[[SCORE:.*]] = arith.mulf %{{.*}}, %[[SCALES]]
//       CHECK:     vector.store %[[SCORE]]
//       CHECK:   return
func.func @large_scale(%s: memref<13x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>, %c: memref<16xf32>,
                       %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  %scale = arith.constant 2.0 : f32
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<13x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false) scale(%scale : f32)
  return
}

// -----

// The score region sees scaled scores; a tile that the mask does not cut needs
// them as well.
// CHECK-LABEL: func @scale_before_regions
//  CHECK-SAME:     %[[S:.*]]: memref<13x16xf32>, {{.*}}, %[[PARTIAL:[a-z0-9]*]]: i1, %[[SCALE:[a-z0-9]*]]: f32)
//   CHECK-DAG:   %[[TWO:.*]] = arith.constant dense<2.000000e+00> : vector<16xf32>
//       CHECK:   %[[SCALES:.*]] = vector.broadcast %[[SCALE]] : f32 to vector<16xf32>
//       CHECK:   scf.if %[[PARTIAL]]
//       CHECK:     %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[SCALES]]
//       CHECK:     %[[SCORE:.*]] = arith.addf %[[SCALED]], %[[TWO]]
//       CHECK:     %[[KEPT:.*]] = arith.select %{{.*}}, %[[SCORE]],
//       CHECK:     vector.store %[[KEPT]], %[[S]]
//       CHECK:   } else {
//       CHECK:     %[[SCALED2:.*]] = arith.mulf %{{.*}}, %[[SCALES]]
//       CHECK:     %[[SCORE2:.*]] = arith.addf %[[SCALED2]], %[[TWO]]
//       CHECK:     vector.store %[[SCORE2]], %[[S]]
//       CHECK:   return
func.func @scale_before_regions(%s: memref<13x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index,
                                %nq: index, %nk: index, %partial: i1, %scale: f32) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<13x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%partial) defined(%true) exact(%false) scale(%scale : f32)
      score {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index):
      %two = arith.constant 2.0 : f32
      %r = arith.addf %rs, %two : f32
      attn.yield %r : f32
    }
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %keep = arith.cmpi sle, %rj, %rp : index
      attn.yield %keep : i1
    }
  return
}

// -----

// So does an index that is computed element by element, before the pass.
// CHECK-LABEL: func @scale_in_an_index
//  CHECK-SAME:     %[[S:.*]]: memref<13x16xf32>, {{.*}}, %[[SCALE:[a-z0-9]*]]: f32, %[[TABLE:[a-z0-9]*]]: memref<64xf64>)
//       CHECK:   %[[DOT:.*]] = memref.load %[[S]]
//       CHECK:   %[[SCALED:.*]] = arith.mulf %[[DOT]], %[[SCALE]] : f32
//       CHECK:   arith.fptoui %[[SCALED]] : f32 to i64
//       CHECK:   memref.load %[[TABLE]]
func.func @scale_in_an_index(%s: memref<13x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index,
                             %nq: index, %nk: index, %scale: f32, %table: memref<64xf64>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<13x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false) scale(%scale : f32)
      score(%table : memref<64xf64>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<64xf64>):
      %i = arith.fptoui %rs : f32 to i64
      %index = arith.index_cast %i : i64 to index
      %x = memref.load %t[%index] : memref<64xf64>
      %y = arith.truncf %x : f64 to f32
      attn.yield %y : f32
    }
  return
}

// -----

// Exact weights mark what contributes nothing, and NaN is the maximum, also beside
// +inf.
// CHECK-LABEL: func @exact
//   CHECK-DAG:   %[[MINUS:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
//   CHECK-DAG:   %[[MINUS_ZERO:.*]] = arith.constant dense<-0.000000e+00> : vector<16xf32>
//       CHECK:   scf.if %{{.*}} -> (vector<16xf32>)
//       CHECK:     scf.for
//       CHECK:       %[[SEEN:.*]] = vector.load
//       CHECK:       arith.cmpf uno, %[[SEEN]], %[[SEEN]]
//       CHECK:   scf.if %{{.*}} -> (vector<16xf32>, vector<16xf32>)
//       CHECK:     scf.for
//       CHECK:       %[[SCORE:.*]] = vector.load
//       CHECK:       %[[NOTHING:.*]] = arith.cmpf oeq, %[[SCORE]], %[[MINUS]]
//       CHECK:       %[[WEIGHT:.*]] = arith.select %[[NOTHING]], %[[MINUS_ZERO]],
//       CHECK:       vector.store %[[WEIGHT]]
//       CHECK:     arith.cmpf uno
//       CHECK:   } else {
//   CHECK-NOT:     %[[MINUS_ZERO]],
//   CHECK-NOT:     arith.cmpf uno
func.func @exact(%s: memref<13x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>, %c: memref<16xf32>,
                 %b: index, %p: index, %j: index, %nq: index, %nk: index, %exact: i1) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<13x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%exact)
  return
}

// -----

// CHECK-LABEL: func @all_finite
//  CHECK-SAME:     %[[X:.*]]: memref<?x77xf32
//   CHECK-DAG:   %[[MASK:.*]] = arith.constant dense<2147483647> : vector<16xi32>
//   CHECK-DAG:   %[[INFINITY:.*]] = arith.constant 2139095040 : i32
//       CHECK:   scf.for
//       CHECK:     scf.for
//       CHECK:       %[[LOADED:.*]] = vector.load %[[X]]
//       CHECK:       %[[BITS:.*]] = arith.bitcast %[[LOADED]] : vector<16xf32> to vector<16xi32>
//       CHECK:       %[[MAGNITUDE:.*]] = arith.andi %[[BITS]], %[[MASK]]
//       CHECK:       arith.maxui %[[MAGNITUDE]],
//       CHECK:     scf.for
//       CHECK:       memref.load %[[X]]
//       CHECK:   %[[ALL:.*]] = vector.reduction <maxui>,
//       CHECK:   %[[RESULT:.*]] = arith.cmpi ult, %[[ALL]], %[[INFINITY]]
//       CHECK:   return %[[RESULT]]
func.func @all_finite(%x: memref<?x77xf32, strided<[?, 1], offset: ?>>) -> i1 {
  %r = attn.all_finite %x : memref<?x77xf32, strided<[?, 1], offset: ?>>
  return %r : i1
}

// -----

// The few registers of a row are one vector, for chains of maxima of their own.
// CHECK-LABEL: func @all_finite_tile
//  CHECK-SAME:     %[[X:.*]]: memref<64x32xf32
//       CHECK:   scf.for %[[ROW:[a-z0-9]*]] =
//   CHECK-NOT:     scf.for
//       CHECK:     vector.load %[[X]][%[[ROW]], %{{.*}}] : memref<64x32xf32>, vector<32xf32>
//       CHECK:     arith.maxui {{.*}} : vector<32xi32>
//       CHECK:   vector.reduction <maxui>,
func.func @all_finite_tile(%x: memref<64x32xf32>) -> i1 {
  %r = attn.all_finite %x : memref<64x32xf32>
  return %r : i1
}

// -----

// CHECK-LABEL: func @all_finite_strided
//   CHECK-NOT:   vector.load
//       CHECK:   memref.load
//       CHECK:   vector.reduction
func.func @all_finite_strided(%x: memref<?xbf16, strided<[2]>>) -> i1 {
  %r = attn.all_finite %x : memref<?xbf16, strided<[2]>>
  return %r : i1
}
