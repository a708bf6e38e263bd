// RUN: attn-opt %s --convert-attn-to-vector="vector-bits=512" --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --convert-attn-to-vector="vector-bits=512 scalef" --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=SCALEF
// RUN: attn-opt %s --convert-attn-to-vector="vector-bits=128" --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=NARROW

// Without regions: the maximum, and the weights.
// CHECK-LABEL: func @plain
//  CHECK-SAME:     %[[S:.*]]: memref<128x32xf32>, %[[M:.*]]: memref<32xf32>, %[[L:.*]]: memref<32xf32>, %[[C:.*]]: memref<32xf32>
//  CHECK-SAME:     %[[NK:[a-z0-9]*]]: index)
//   CHECK-DAG:   %[[MINUS:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<16xf32>
//   CHECK-DAG:   %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<16xf32>
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
// A maximum that stays gives correction 1, also if it is infinite.
//       CHECK:   %[[DIFFERENCE:.*]] = arith.subf %[[BEFORE]], %[[AFTER]]#0
//       CHECK:   %[[SAME:.*]] = arith.cmpf oeq, %[[BEFORE]], %[[AFTER]]#0
//       CHECK:   arith.select %[[SAME]], %[[ONE]],
//       CHECK:   %[[EMPTY:.*]] = arith.cmpf oeq, %[[AFTER]]#0, %[[MINUS]]
//       CHECK:   %[[ORIGIN:.*]] = arith.select %[[EMPTY]], %[[ZERO]], %[[AFTER]]#0
//       CHECK:   vector.store %{{.*}}, %[[C]]
//       CHECK:   vector.store %{{.*}}, %[[M]]
//       CHECK:   scf.for {{.*}} to %[[END]] step %[[C2]]
//       CHECK:     %[[SCORE:.*]] = vector.load %[[S]]
//       CHECK:     arith.subf %[[SCORE]], %[[ORIGIN]]
// CHECK-COUNT-5:   {{math|vector}}.fma
//       CHECK:     vector.store %{{.*}}, %[[S]]
//       CHECK:   vector.store %{{.*}}, %[[L]]
//   CHECK-NOT: attn.

// SCALEF-LABEL: func @plain
//       SCALEF:   scf.for
//       SCALEF:   scf.for
//       SCALEF:   scf.for
//       SCALEF:     %[[X:.*]] = arith.subf
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

// Exact weights mark what contributes nothing.
// CHECK-LABEL: func @exact
//   CHECK-DAG:   %[[MINUS:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
//   CHECK-DAG:   %[[MINUS_ZERO:.*]] = arith.constant dense<-0.000000e+00> : vector<16xf32>
//       CHECK:   scf.if %{{.*}} -> (vector<16xf32>)
//       CHECK:     scf.for
//       CHECK:       %[[SCORE:.*]] = vector.load
//       CHECK:       %[[NOTHING:.*]] = arith.cmpf oeq, %[[SCORE]], %[[MINUS]]
//       CHECK:       %[[WEIGHT:.*]] = arith.select %[[NOTHING]], %[[MINUS_ZERO]],
//       CHECK:       vector.store %[[WEIGHT]]
//       CHECK:   } else {
//   CHECK-NOT:     %[[MINUS_ZERO]],
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

// CHECK-LABEL: func @all_finite_strided
//   CHECK-NOT:   vector.load
//       CHECK:   memref.load
//       CHECK:   vector.reduction
func.func @all_finite_strided(%x: memref<?xbf16, strided<[2]>>) -> i1 {
  %r = attn.all_finite %x : memref<?xbf16, strided<[2]>>
  return %r : i1
}
