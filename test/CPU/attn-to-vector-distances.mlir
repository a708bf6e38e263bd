// RUN: attn-opt %s --attn-target="{vector_bits = 512}" --convert-attn-to-vector --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 512, scalef = true}" --convert-attn-to-vector --canonicalize --cse --split-input-file \
// RUN:   | FileCheck %s --check-prefix=MASKS

// What only the distance of query and key decides is computed once for each
// distance, from that of the last key and the first query on. Loads are guarded
// by whether there is a query and a key so far apart.
// CHECK-LABEL: func @relative
//  CHECK-SAME:     %[[S:[a-z0-9]*]]: memref<128x32xf32>,
//  CHECK-SAME:     memref<32xf32>, %{{[a-z0-9]*}}: index, %[[P:[a-z0-9]*]]: index, %[[J0:[a-z0-9]*]]: index, %[[NQ:[a-z0-9]*]]: index, %[[NK:[a-z0-9]*]]: index, %[[TABLE:[a-z0-9]*]]: memref<?xf32>
//   CHECK-DAG:   %[[C1:.*]] = arith.constant 1 : index
//   CHECK-DAG:   %[[C16:.*]] = arith.constant 16 : index
//   CHECK-DAG:   %[[C31:.*]] = arith.constant 31 : index
//   CHECK-DAG:   %[[C32:.*]] = arith.constant 32 : index
//       CHECK:   %[[BUFFER:.*]] = memref.alloc() {{.*}} : memref<192xf32>
//       CHECK:   %[[LAST:.*]] = arith.addi %[[NK]], %[[C31]]
//       CHECK:   scf.for %[[FIRST:[a-z0-9]*]] = %{{.*}} to %[[LAST]] step %[[C32]]
//       CHECK:     vector.gather %[[TABLE]]
//       CHECK:     vector.store %{{.*}}, %[[BUFFER]][%[[FIRST]]]
//       CHECK:     %[[SECOND:.*]] = arith.addi %[[FIRST]], %[[C16]]
//       CHECK:     vector.store %{{.*}}, %[[BUFFER]][%[[SECOND]]]
// Rows 16 apart share the lanes that one has first and the other last. Scores are
// stored when all are built.
//       CHECK:   scf.for %{{[a-z0-9]*}} = %{{.*}} to %{{.*}} step %[[C64:.*]] iter_args
//       CHECK:     scf.for %[[ROW:[a-z0-9]*]] =
//   CHECK-NOT:       vector.gather
//       CHECK:       %[[DOT:.*]] = vector.load %[[S]][%[[ROW]],
//       CHECK:       %[[LAST_ROW:.*]] = arith.subi %[[NK]], %[[C1]]
//       CHECK:       %[[AT:.*]] = arith.subi %[[LAST_ROW]], %[[ROW]]
//       CHECK:       %[[BIAS:.*]] = vector.load %[[BUFFER]][%[[AT]]]
//       CHECK:       %[[AFTER:.*]] = arith.addi %[[AT]], %[[C16]]
//       CHECK:       vector.load %[[BUFFER]][%[[AFTER]]]
//       CHECK:       arith.addf %[[DOT]], %[[BIAS]]
//       CHECK:       %[[NEXT:.*]] = arith.addi %[[ROW]], %[[C16]]
//       CHECK:       vector.load %[[BUFFER]]
//   CHECK-NOT:       vector.load %[[BUFFER]]
//       CHECK:       arith.addf %{{.*}}, %[[BIAS]]
// CHECK-COUNT-2:     vector.load %[[BUFFER]]
//   CHECK-NOT:       vector.load %[[BUFFER]]
// CHECK-COUNT-8:     vector.store
// The other rows, as many as fill no such group.
//       CHECK:   scf.for
//       CHECK:     vector.load %[[BUFFER]]
//   CHECK-NOT:   vector.gather
//       CHECK:   return
func.func @relative(%s: memref<128x32xf32>, %m: memref<32xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %table: memref<?xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x32xf32>, memref<32xf32>, memref<32xf32>, memref<32xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score(%table : memref<?xf32>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<?xf32>):
      %c31 = arith.constant 31 : index
      %distance = arith.subi %rj, %rp : index
      %apart = math.absi %distance : index
      %bucket = arith.minsi %apart, %c31 : index
      %bias = memref.load %t[%bucket] : memref<?xf32>
      %score = arith.addf %rs, %bias : f32
      attn.yield %score : f32
    }
  return
}

// -----

// Truths are numbers in memory.
// CHECK-LABEL: func @dilated
//   CHECK-DAG:   %[[ZERO:.*]] = arith.constant dense<0> : vector<16xi8>
//       CHECK:   %[[BUFFER:.*]] = memref.alloc() {{.*}} : memref<160xi8>
//       CHECK:   arith.remsi {{.*}} : vector<16xi32>
//       CHECK:   %[[KEPT:.*]] = arith.extui {{.*}} : vector<16xi1> to vector<16xi8>
//       CHECK:   vector.store %[[KEPT]], %[[BUFFER]]
//       CHECK:   scf.for
//   CHECK-NOT:     arith.remsi
//       CHECK:     %[[NUMBER:.*]] = vector.load %[[BUFFER]]
//       CHECK:     %[[KEEP:.*]] = arith.cmpi ne, %[[NUMBER]], %[[ZERO]]
//       CHECK:     arith.select %[[KEEP]]
func.func @dilated(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c512 = arith.constant 512 : index
      %distance = arith.subi %rp, %rj : index
      %near = arith.cmpi slt, %distance, %c512 : index
      %rest = arith.remsi %distance, %c3 : index
      %hit = arith.cmpi eq, %rest, %c0 : index
      %keep = arith.andi %near, %hit : i1
      attn.yield %keep : i1
    }
  return
}

// -----

// With masks in registers, they are bits of a number, of which a word has the lanes
// of some rows.
// MASKS-LABEL: func @bits
//   MASKS-NOT:   memref.alloc
//   MASKS-DAG:   %[[LANES:.*]] = arith.constant 32 : i128
//   MASKS-DAG:   %[[NONE:.*]] = arith.constant 0 : i128
//       MASKS:   %[[BITS:.*]] = scf.for %[[FIRST:[a-z0-9]*]] = {{.*}} iter_args(%[[BEFORE:.*]] = %[[NONE]]) -> (i128)
//       MASKS:     arith.remsi {{.*}} : vector<16xi32>
//       MASKS:     %[[PLACE:.*]] = arith.index_castui %[[FIRST]] : index to i128
//       MASKS:     %[[KEPT:.*]] = vector.bitcast %{{.*}} : vector<16xi1> to vector<1xi16>
//       MASKS:     %[[NUMBER:.*]] = vector.extract %[[KEPT]][0]
//       MASKS:     %[[WIDE:.*]] = arith.extui %[[NUMBER]] : i16 to i128
//       MASKS:     %[[AFTER:.*]] = arith.addi %[[PLACE]], %[[LANES]] : i128
//       MASKS:     %[[MOVED:.*]] = arith.shli %[[WIDE]], %[[AFTER]] : i128
//       MASKS:     arith.ori %[[BEFORE]], %[[MOVED]] : i128
//       MASKS:   scf.for
//   MASKS-NOT:     arith.remsi
//       MASKS:     %[[WINDOW:.*]] = arith.shrui %[[BITS]], %{{.*}} : i128
//       MASKS:     %[[WORD:.*]] = arith.trunci %[[WINDOW]] : i128 to i64
//       MASKS:     arith.shrui %[[WORD]], %{{.*}} : i64
//       MASKS:     vector.bitcast {{.*}} to vector<16xi1>
// MASKS-COUNT-7:   arith.shrui %[[WORD]], %{{.*}} : i64
//   MASKS-NOT:     arith.shrui
//       MASKS:     scf.yield
func.func @bits(%s: memref<64x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<64x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %c0 = arith.constant 0 : index
      %c3 = arith.constant 3 : index
      %c512 = arith.constant 512 : index
      %distance = arith.subi %rp, %rj : index
      %near = arith.cmpi slt, %distance, %c512 : index
      %rest = arith.remsi %distance, %c3 : index
      %hit = arith.cmpi eq, %rest, %c0 : index
      %keep = arith.andi %near, %hit : i1
      attn.yield %keep : i1
    }
  return
}

// -----

// A comparison of positions is cheaper than a table, and what a key decides
// besides has none.
// CHECK-LABEL: func @cheap
//   CHECK-NOT:   memref.alloc
//       CHECK:   return
func.func @cheap(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %c0 = arith.constant 0 : index
      %c7 = arith.constant 7 : index
      %c512 = arith.constant 512 : index
      %distance = arith.subi %rp, %rj : index
      %near = arith.cmpi slt, %distance, %c512 : index
      %both = arith.addi %distance, %rj : index
      %mixed = arith.muli %distance, %rj : index
      %rest = arith.remsi %mixed, %c7 : index
      %hit = arith.cmpi eq, %rest, %c0 : index
      %keep = arith.andi %near, %hit : i1
      attn.yield %keep : i1
    }
  return
}

// -----

// Two comparisons, of what differs by distances, are not.
// CHECK-LABEL: func @window
//       CHECK:   %[[BUFFER:.*]] = memref.alloc() {{.*}} : memref<160xi8>
//       CHECK:   vector.store %{{.*}}, %[[BUFFER]]
//       CHECK:   scf.for
//       CHECK:     vector.load %[[BUFFER]]
//   CHECK-NOT:     arith.cmpi sle
//       CHECK:   return
func.func @window(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %c511 = arith.constant 511 : index
      %before = arith.cmpi sle, %rj, %rp : index
      %last = arith.addi %rj, %c511 : index
      %near = arith.cmpi sle, %rp, %last : index
      %keep = arith.andi %before, %near : i1
      attn.yield %keep : i1
    }
  return
}

// -----

// Unless sums may wrap, for then a diagonal need not have one result.
// CHECK-LABEL: func @wrapping
//   CHECK-NOT:   memref.alloc
//       CHECK:   return
func.func @wrapping(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %first: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask(%first : index) {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index, %f: index):
      %c511 = arith.constant 511 : index
      %key = arith.addi %rj, %f : index
      %before = arith.cmpi sle, %key, %rp : index
      %last = arith.addi %key, %c511 : index
      %near = arith.cmpi sle, %rp, %last : index
      %keep = arith.andi %before, %near : i1
      attn.yield %keep : i1
    }
  return
}

// -----

// A bound of a magnitude takes one comparison, and is added to what is the same
// for all queries, or taken from what is the same for all keys. A quotient of the
// key is the same for all keys of most blocks, and so is the mask then.
// CHECK-LABEL: func @near
//  CHECK-SAME:     memref<16xf32>, %{{[a-z0-9]*}}: index, %{{[a-z0-9]*}}: index, %[[J0:[a-z0-9]*]]: index, %{{[a-z0-9]*}}: index, %[[NK:[a-z0-9]*]]: index
//   CHECK-DAG:   %[[THREE:.*]] = arith.constant dense<3> : vector<16xi32>
//   CHECK-DAG:   %[[SIX:.*]] = arith.constant dense<6> : vector<16xi32>
//       CHECK:   %[[END:.*]] = arith.addi %[[J0]], %{{.*}}
//       CHECK:   %[[FIRST:.*]] = arith.divui %[[J0]], %[[C64:.*]] :
//       CHECK:   %[[LAST:.*]] = arith.divui %[[END]], %[[C64]]
//       CHECK:   %[[SAME:.*]] = arith.cmpi eq, %[[FIRST]], %[[LAST]]
//       CHECK:   scf.if %[[SAME]]
//   CHECK-NOT:     math.absi
//       CHECK:     %[[NARROW:.*]] = arith.index_cast %[[FIRST]] : index to i32
//       CHECK:     %[[ROWS:.*]] = vector.broadcast %[[NARROW]] : i32 to vector<16xi32>
//       CHECK:     %[[LOWERED:.*]] = arith.subi %{{.*}}, %[[THREE]]
//       CHECK:     %[[SHIFTED:.*]] = arith.subi %[[ROWS]], %[[LOWERED]]
//       CHECK:     %[[KEEP:.*]] = arith.cmpi ule, %[[SHIFTED]], %[[SIX]]
//       CHECK:     scf.for
//   CHECK-NOT:       arith.cmpi
//       CHECK:       arith.select %[[KEEP]]
//       CHECK:   } else {
//       CHECK:     scf.for
//       CHECK:       %[[ROW:.*]] = arith.divui
//       CHECK:       %[[KEEP:.*]] = arith.cmpi ule
//       CHECK:       arith.select %[[KEEP]]
func.func @near(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %c3 = arith.constant 3 : index
      %c64 = arith.constant 64 : index
      %row = arith.floordivsi %rp, %c64 : index
      %key_row = arith.floordivsi %rj, %c64 : index
      %difference = arith.subi %key_row, %row : index
      %apart = math.absi %difference : index
      %keep = arith.cmpi sle, %apart, %c3 : index
      attn.yield %keep : i1
    }
  return
}
