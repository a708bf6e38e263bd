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

// -----

// Integers are divided by what all lanes divide by as f64.
// CHECK-LABEL: func @integers
//       CHECK:   %[[X:.*]] = arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf64>
//       CHECK:   %[[Y:.*]] = arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf64>
//       CHECK:   %[[Q:.*]] = arith.divf %[[X]], %[[Y]] : vector<16xf64>
//       CHECK:   %[[F:.*]] = math.floor %[[Q]] : vector<16xf64>
//       CHECK:   arith.fptosi %[[F]] : vector<16xf64> to vector<16xi32>
//   CHECK-NOT:   arith.floordivsi {{.*}} : vector
func.func @integers(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %table: memref<?xi32>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask(%table : memref<?xi32>) {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index, %t: memref<?xi32>):
      %c3 = arith.constant 3 : index
      %word = memref.load %t[%rh] : memref<?xi32>
      %step = arith.index_cast %word : i32 to index
      %distance = arith.subi %rp, %rj : index
      %steps = arith.floordivsi %distance, %step : index
      %keep = arith.cmpi slt, %steps, %c3 : index
      attn.yield %keep : i1
    }
  return
}

// -----

// Of 64 bits, the least number divided by -1 would trap in a lane without a query.
// CHECK-LABEL: func @wide
//       CHECK:   %[[IS:.*]] = arith.cmpi eq, %[[Y:.*]], %{{.*}} : vector<8xi64>
//       CHECK:   %[[SAFE:.*]] = arith.select %[[IS]], %{{.*}}, %[[Y]] : vector<8xi1>, vector<8xi64>
//       CHECK:   %[[Q:.*]] = arith.divsi %{{.*}}, %[[SAFE]] : vector<8xi64>
//       CHECK:   %[[NEGATED:.*]] = arith.subi %{{.*}}, %[[Q]] : vector<8xi64>
//       CHECK:   arith.select %[[IS]], %[[NEGATED]], %[[Q]]
func.func @wide(%s: memref<128x8xf32>, %m: memref<8xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %table: memref<?xi64>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask(%table : memref<?xi64>) {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index, %t: memref<?xi64>):
      %x = memref.load %t[%rp] : memref<?xi64>
      %y = memref.load %t[%rj] : memref<?xi64>
      %quotient = arith.divsi %x, %y : i64
      %keep = arith.cmpi slt, %quotient, %x : i64
      attn.yield %keep : i1
    }
  return
}
