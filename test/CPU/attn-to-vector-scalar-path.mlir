// RUN: attn-opt %s --attn-target="{vector_bits = 512}" --convert-attn-to-vector --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// Where values may be undefined, the mask decides position by position whether
// the score is evaluated, and both are reported.
// CHECK-LABEL: func @undefined
//  CHECK-SAME:     %[[S:.*]]: memref<8x16xf32>,
//  CHECK-SAME:     %[[NQ:[a-z0-9]*]]: index, %[[NK:[a-z0-9]*]]: index, %[[DEFINED:[a-z0-9]*]]: i1, %[[SCALE:[a-z0-9]*]]: f32
//       CHECK:   scf.if %[[DEFINED]]
//       CHECK:     vector.broadcast
//       CHECK:   } else {
//       CHECK:     scf.for %[[ROW:.*]] = %{{.*}} to %[[NK]]
//       CHECK:       scf.for %[[LANE:.*]] = %{{.*}} to %[[NQ]]
//       CHECK:         %[[DOT:.*]] = memref.load %[[S]][%[[ROW]], %[[LANE]]]
//       CHECK:         %[[KEEP:.*]] = scf.if %{{.*}} -> (i1)
//       CHECK:         attn.report %{{.*}}, "'attn.attention' op 'mask' region"
//       CHECK:         scf.if %[[KEEP]]
//  CHECK-NEXT:           arith.mulf %[[DOT]], %[[SCALE]] : f32
//       CHECK:           attn.report %{{.*}}, "'attn.attention' op 'score' region"
//       CHECK:         memref.store %{{.*}}, %[[S]][%[[ROW]], %[[LANE]]]
//       CHECK:       scf.for %{{.*}} = %[[NQ]] to %{{.*}} {
//       CHECK:         memref.store %{{.*}}, %[[S]]
func.func @undefined(%s: memref<8x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %defined: i1, %scale: f32, %t: memref<?xf32>, %k: memref<?xi1>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<8x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%defined) exact(%false) scale(%scale : f32)
      score(%t : memref<?xf32>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %rt: memref<?xf32>):
      %x = memref.load %rt[%rj] : memref<?xf32>
      %r = arith.addf %rs, %x : f32
      attn.yield %r : f32
    }
      mask(%k : memref<?xi1>) {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index, %rk: memref<?xi1>):
      %x = memref.load %rk[%rj] : memref<?xi1>
      attn.yield %x : i1
    }
  return
}

// -----

// CHECK-LABEL: func @sine
//   CHECK-NOT:   math.sincos {{.*}} vector
//       CHECK:   math.sincos %{{.*}} : f32
func.func @sine(%s: memref<8x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<8x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      score {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index):
      // expected-remark @below {{the 'score' region is evaluated position by position: it has no vector form}}
      %r, %cosine = math.sincos %rs : f32
      attn.yield %r : f32
    }
  return
}

// -----

// CHECK-LABEL: func @power
//   CHECK-NOT:   math.ipowi {{.*}} vector
//       CHECK:   math.ipowi %{{.*}} : index
func.func @power(%s: memref<8x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<8x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      // expected-remark @below {{the 'mask' region is evaluated position by position: it has no vector form}}
      %r = math.ipowi %rj, %rp : index
      %keep = arith.cmpi eq, %r, %rb : index
      attn.yield %keep : i1
    }
  return
}
