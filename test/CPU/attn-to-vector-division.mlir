// RUN: attn-opt %s --attn-target="{vector_bits = 512}" --convert-attn-to-vector --canonicalize --cse --split-input-file | FileCheck %s

// Scores are multiplied by the reciprocal of what is the same everywhere, and by
// a power of two that keeps it a normal number.
// CHECK-LABEL: func @temperature
//   CHECK-DAG:   %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
//       CHECK:   %[[T:.*]] = memref.load
//       CHECK:   %[[PRODUCT:.*]] = arith.mulf %[[T]], %[[POWER:.*]] : f32
//       CHECK:   %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[PRODUCT]] : f32
//       CHECK:   %[[INVERSES:.*]] = vector.broadcast %[[INVERSE]]
//       CHECK:   %[[POWERS:.*]] = vector.broadcast %[[POWER]]
//       CHECK:   scf.for
//   CHECK-NOT:     arith.divf
//       CHECK:     %[[FIRST:.*]] = arith.mulf %{{.*}}, %[[INVERSES]]
//       CHECK:     arith.mulf %[[FIRST]], %[[POWERS]]
//   CHECK-NOT:   arith.divf {{.*}} : vector
//       CHECK:   return
func.func @temperature(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %table: memref<?xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score(%table : memref<?xf32>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<?xf32>):
      %temperature = memref.load %t[%rh] : memref<?xf32>
      %score = arith.divf %rs, %temperature : f32
      attn.yield %score : f32
    }
  return
}

// -----

// The floor of a quotient may be another number if it is rounded differently.
// CHECK-LABEL: func @floor
//       CHECK:   arith.divf {{.*}} : vector<16xf32>
//       CHECK:   math.floor
func.func @floor(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %table: memref<?xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score(%table : memref<?xf32>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<?xf32>):
      %temperature = memref.load %t[%rh] : memref<?xf32>
      %quotient = arith.divf %rs, %temperature : f32
      %steps = math.floor %quotient : f32
      attn.yield %steps : f32
    }
  return
}
