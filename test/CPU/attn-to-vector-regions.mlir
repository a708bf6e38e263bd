// RUN: attn-opt %s --attn-target="{vector_bits = 512}" --convert-attn-to-vector --canonicalize --cse --split-input-file | FileCheck %s

// A comparison of positions compares the numbers of lanes with one scalar. Only
// tiles that the mask cuts evaluate it.
// CHECK-LABEL: func @causal
//  CHECK-SAME:     %[[S:.*]]: memref<128x16xf32>,
//  CHECK-SAME:     memref<16xf32>, %{{[a-z0-9]*}}: index, %[[P:[a-z0-9]*]]: index, %[[J0:[a-z0-9]*]]: index, %{{.*}}: index, %{{.*}}: index, %[[PARTIAL:[a-z0-9]*]]: i1
//   CHECK-DAG:   %[[MINUS:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
//   CHECK-DAG:   %[[LANES:.*]] = arith.constant dense<[0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -15]> : vector<16xi32>
//       CHECK:   scf.if %[[PARTIAL]]
//       CHECK:     scf.for %[[ROW:[a-z0-9]*]] =
//       CHECK:       %[[DOT:.*]] = vector.load %[[S]][%[[ROW]],
//       CHECK:       %[[J:.*]] = arith.addi %[[J0]], %[[ROW]]
//       CHECK:       %[[DIFFERENCE:.*]] = arith.subi %[[P]], %[[J]]
//       CHECK:       arith.maxsi %[[DIFFERENCE]],
//       CHECK:       arith.minsi
//       CHECK:       %[[THRESHOLD:.*]] = vector.broadcast %{{.*}} : i32 to vector<16xi32>
//       CHECK:       %[[KEEP:.*]] = arith.cmpi sge, %[[THRESHOLD]], %[[LANES]] : vector<16xi32>
//       CHECK:       %[[SCORE:.*]] = arith.select %[[KEEP]], %[[DOT]], %[[MINUS]]
//       CHECK:       vector.store %[[SCORE]], %[[S]][%[[ROW]],
//       CHECK:   } else {
//   CHECK-NOT:     arith.cmpi
//   CHECK-NOT:     vector.store
//       CHECK:     scf.yield
// Nothing needs a guard: there is no second form.
//   CHECK-NOT:   memref.store
func.func @causal(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %partial: i1) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%partial) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %keep = arith.cmpi sle, %rj, %rp : index
      attn.yield %keep : i1
    }
  return
}

// -----

// An unsigned comparison with a position that may be negative also asks for its
// sign.
// CHECK-LABEL: func @unsigned
// CHECK-COUNT-2: arith.cmpi {{.*}} : vector<16xi32>
//       CHECK:   arith.ori {{.*}} : vector<16xi1>
func.func @unsigned(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %keep = arith.cmpi ule, %rj, %rp : index
      attn.yield %keep : i1
    }
  return
}

// -----

// What depends on the head alone is loaded before the loop. Positions become i32
// where they are small, which is checked.
// CHECK-LABEL: func @alibi
//  CHECK-SAME:     memref<16xf32>, %{{[a-z0-9]*}}: index, %[[H:[a-z0-9]*]]: index, %[[P:[a-z0-9]*]]: index, %[[J0:[a-z0-9]*]]: index,
//  CHECK-SAME:     %[[SLOPES:[a-z0-9]*]]: memref<8xf32>
//       CHECK:   arith.cmpi ult, %[[H]],
//       CHECK:   %[[SHIFTED:.*]] = arith.subi %[[P]], %{{.*}} : index
//       CHECK:   arith.cmpi ult, %[[SHIFTED]],
//       CHECK:   arith.cmpi ult, %[[J0]],
//       CHECK:   scf.if
//       CHECK:     %[[SLOPE:.*]] = memref.load %[[SLOPES]][%[[H]]]
//       CHECK:     scf.for
//       CHECK:       math.absi {{.*}} : vector<16xi32>
//       CHECK:       %[[DISTANCE:.*]] = arith.sitofp {{.*}} : vector<16xi32> to vector<16xf32>
//       CHECK:       arith.mulf %{{.*}}, %[[DISTANCE]] : vector<16xf32>
//       CHECK:   } else {
//       CHECK:     memref.store
func.func @alibi(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %h: index, %p: index, %j: index, %nq: index, %nk: index, %slopes: memref<8xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %h, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score(%slopes : memref<8xf32>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<8xf32>):
      %slope = memref.load %t[%rh] : memref<8xf32>
      %d = arith.subi %rp, %rj : index
      %a = math.absi %d : index
      %i = arith.index_cast %a : index to i64
      %f = arith.sitofp %i : i64 to f32
      %x = arith.mulf %slope, %f : f32
      %r = arith.subf %rs, %x : f32
      attn.yield %r : f32
    }
  return
}

// -----

// A bias whose rows are queries is transposed before the loop, block by block;
// the blocks at the edge element by element.
// CHECK-LABEL: func @bias
//  CHECK-SAME:     %[[NQ:[a-z0-9]*]]: index, %[[NK:[a-z0-9]*]]: index, %[[BIAS:[a-z0-9]*]]: memref<2x8x?x?xbf16>
//       CHECK:   %[[TILE:.*]] = memref.alloc() {{.*}} : memref<128x16xf32>
//       CHECK:   %[[LANES:.*]] = arith.subi %[[NQ]],
//       CHECK:   %[[ROWS:.*]] = arith.subi %[[NK]],
//       CHECK:   scf.for {{.*}} to %[[LANES]]
//       CHECK:     scf.for {{.*}} to %[[ROWS]]
// CHECK-COUNT-4:   vector.load %[[BIAS]]{{.*}} : memref<2x8x?x?xbf16>, vector<8xbf16>
//       CHECK:     vector.shuffle
//       CHECK:     vector.store %{{.*}}, %[[TILE]]
//       CHECK:   scf.for {{.*}} to %[[LANES]]
//       CHECK:     scf.for {{.*}} = %[[ROWS]] to %[[NK]]
//       CHECK:       memref.load %[[BIAS]]
//       CHECK:   scf.for {{.*}} = %[[LANES]] to %[[NQ]]
//       CHECK:     memref.load %[[BIAS]]
//       CHECK:   scf.for
//       CHECK:     %[[TERM:.*]] = vector.load %[[TILE]]
//       CHECK:     arith.addf %{{.*}}, %[[TERM]]
func.func @bias(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %h: index, %p: index, %j: index, %nq: index, %nk: index, %bias: memref<2x8x?x?xbf16>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %h, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score(%bias : memref<2x8x?x?xbf16>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<2x8x?x?xbf16>):
      %x = memref.load %t[%rb, %rh, %rp, %rj] : memref<2x8x?x?xbf16>
      %f = arith.extf %x : bf16 to f32
      %r = arith.addf %rs, %f : f32
      attn.yield %r : f32
    }
  return
}

// -----

// What depends on the query alone is loaded once, and only for queries that
// exist; what depends on the key alone is a scalar. i1 is read as bytes.
// CHECK-LABEL: func @document
//  CHECK-SAME:     %[[NQ:[a-z0-9]*]]: index, %[[NK:[a-z0-9]*]]: index, %[[QUERIES:[a-z0-9]*]]: memref<?xi32>, %[[KEYS:[a-z0-9]*]]: memref<?xi32>, %[[MASK:[a-z0-9]*]]: memref<?x?xi1>
//       CHECK:   scf.for %[[LANE:[a-z0-9]*]] = %{{.*}} to %[[NQ]]
//       CHECK:     %[[LOADED:.*]] = memref.load %[[QUERIES]]
//       CHECK:     memref.store %[[LOADED]], %[[TABLE:[a-z0-9_]*]][%[[LANE]]]
//       CHECK:   %[[BYTES:.*]] = builtin.unrealized_conversion_cast %[[MASK]] : memref<?x?xi1> to memref<?x?xi8>
//       CHECK:   vector.load %[[BYTES]]{{.*}} : memref<?x?xi8>, vector<16xi8>
//       CHECK:   %[[DOCUMENTS:.*]] = vector.load %[[TABLE]]
//       CHECK:   scf.for
//       CHECK:     %[[KEY:.*]] = memref.load %[[KEYS]]
//       CHECK:     %[[SPLAT:.*]] = vector.broadcast %[[KEY]]
//       CHECK:     %[[SAME:.*]] = arith.cmpi eq, %[[DOCUMENTS]], %[[SPLAT]] : vector<16xi32>
//       CHECK:     arith.andi %[[SAME]], %{{.*}} : vector<16xi1>
func.func @document(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %q: memref<?xi32>, %k: memref<?xi32>, %mask: memref<?x?xi1>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask(%q, %k, %mask : memref<?xi32>, memref<?xi32>, memref<?x?xi1>) {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index, %tq: memref<?xi32>, %tk: memref<?xi32>, %tm: memref<?x?xi1>):
      %x = memref.load %tq[%rp] : memref<?xi32>
      %y = memref.load %tk[%rj] : memref<?xi32>
      %same = arith.cmpi eq, %x, %y : i32
      %z = memref.load %tm[%rp, %rj] : memref<?x?xi1>
      %keep = arith.andi %same, %z : i1
      attn.yield %keep : i1
    }
  return
}

// -----

// Consecutive elements are loaded as a vector, others gathered, both only for
// queries that exist.
// CHECK-LABEL: func @relative
//  CHECK-SAME:     %[[NQ:[a-z0-9]*]]: index, %{{[a-z0-9]*}}: index, %[[TABLE:[a-z0-9]*]]: memref<?xf32>
//       CHECK:   %[[COUNT:.*]] = arith.index_cast %[[NQ]]
//       CHECK:   %[[COUNTS:.*]] = vector.broadcast %[[COUNT]]
//       CHECK:   %[[EXISTS:.*]] = arith.cmpi sgt, %[[COUNTS]],
//       CHECK:   scf.for
//       CHECK:     vector.maskedload %[[TABLE]][%{{.*}}], %[[EXISTS]],
//       CHECK:     vector.gather %[[TABLE]][%{{.*}}] [%{{.*}}], %[[EXISTS]], {{.*}} vector<16xi32>
func.func @relative(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %table: memref<?xf32>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score(%table : memref<?xf32>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<?xf32>):
      %d = arith.subi %rp, %rj : index
      %i = arith.addi %rp, %rj : index
      %x = memref.load %t[%i] : memref<?xf32>
      %a = math.absi %d : index
      %n = arith.minsi %a, %rj : index
      %y = memref.load %t[%n] : memref<?xf32>
      %xy = arith.addf %x, %y : f32
      %r = arith.addf %rs, %xy : f32
      attn.yield %r : f32
    }
  return
}

// -----

// Of elements in any rows, lanes count offsets: with 32 bits in a small buffer
// without gaps, with 64 in another.
// CHECK-LABEL: func @lookups
//  CHECK-SAME:     %[[DENSE:[a-z0-9]*]]: memref<32x8xf32>, %[[GAPS:[a-z0-9]*]]: memref<32x8xf32,
//       CHECK:   memref.extract_strided_metadata %[[GAPS]]
//       CHECK:   scf.for
//       CHECK:     %[[PLACES:.*]] = arith.muli %{{.*}}, %{{.*}} : vector<16xi32>
//       CHECK:     vector.gather %[[DENSE]][%{{.*}}, %{{.*}}] [%[[PLACES]]], {{.*}} vector<16xi32>
//       CHECK:     %[[WIDE:.*]] = arith.muli %{{.*}}, %{{.*}} : vector<16xi64>
//       CHECK:     vector.gather %[[GAPS]][%{{.*}}, %{{.*}}] [%[[WIDE]]], {{.*}} vector<16xi64>
func.func @lookups(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index, %dense: memref<32x8xf32>, %gaps: memref<32x8xf32, strided<[?, 1]>>) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score(%dense, %gaps : memref<32x8xf32>, memref<32x8xf32, strided<[?, 1]>>) {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index, %t: memref<32x8xf32>, %u: memref<32x8xf32, strided<[?, 1]>>):
      %c31 = arith.constant 31 : index
      %d = arith.muli %rp, %rj : index
      %bucket = arith.andi %d, %c31 : index
      %x = memref.load %t[%bucket, %rh] : memref<32x8xf32>
      %y = memref.load %u[%bucket, %rh] : memref<32x8xf32, strided<[?, 1]>>
      %xy = arith.addf %x, %y : f32
      %r = arith.addf %rs, %xy : f32
      attn.yield %r : f32
    }
  return
}

// -----

// The constants of a softcap are part of its polynomials, which small scores need
// alone, a short one if they are very small; for others, they are one
// multiplication before the exponential and one FMA after it. If all scores of a
// block are very small, as the least and the greatest tell, the exponentials
// compute the cap too, and nothing else does.
// CHECK-LABEL: func @softcap
//   CHECK-DAG:   %[[OUTER:.*]] = arith.constant dense<3.000000e+01> : vector<16xf32>
//   CHECK-DAG:   %[[INNER:.*]] = arith.constant dense<0.0961796715> : vector<16xf32>
//   CHECK-DAG:   %[[LOG2E:.*]] = arith.constant dense<-1.44269502> : vector<16xf32>
//       CHECK:   %[[ENDS:.*]]:2 = scf.for
//   CHECK-DAG:     arith.cmpf olt,
//   CHECK-DAG:     arith.cmpf ogt,
//       CHECK:   arith.cmpf ult, %[[ENDS]]#0,
//       CHECK:   arith.cmpf ugt, %[[ENDS]]#1,
//       CHECK:   %[[LARGE:.*]] = vector.reduction <or>,
//       CHECK:   scf.if %[[LARGE]]
//       CHECK:   scf.for
//       CHECK:     %[[SQUARE:.*]] = arith.mulf %[[X:.*]], %[[X]]
//       CHECK:     %[[LARGE:.*]] = arith.cmpf ugt, %[[SQUARE]],
//       CHECK:     %[[ANY:.*]] = vector.reduction <or>, %[[LARGE]]
//       CHECK:     scf.if %[[ANY]]
//       CHECK:       %[[LARGER:.*]] = arith.cmpf ugt, %[[SQUARE]],
//       CHECK:       %[[BEYOND:.*]] = vector.reduction <or>, %[[LARGER]]
//       CHECK:       scf.if %[[BEYOND]]
//       CHECK:         arith.mulf %{{.*}}, %[[INNER]] :
//       CHECK:         {{math|vector}}.fma %{{.*}}, %{{.*}}, %[[OUTER]]
//       CHECK:       } else {
// CHECK-COUNT-5:     {{math|vector}}.fma %{{.*}}, %[[SQUARE]],
//       CHECK:       scf.yield
//       CHECK:     } else {
// CHECK-COUNT-2:   {{math|vector}}.fma %{{.*}}, %[[SQUARE]],
//   CHECK-NOT:     {{math|vector}}.fma
//       CHECK:     scf.yield
//       CHECK:   %[[SHIFT:.*]] = arith.mulf %{{.*}}, %[[LOG2E]] :
//       CHECK:   scf.for
//       CHECK:     %[[SMALL:.*]] = vector.load
//       CHECK:     %[[SMALL2:.*]] = arith.mulf %[[SMALL]], %[[SMALL]]
// CHECK-COUNT-2:   vector.fma %{{.*}}, %[[SMALL2]],
//       CHECK:     vector.fma %[[SMALL]], %{{.*}}, %[[SHIFT]]
//       CHECK:     vector.store
//   CHECK-NOT:   math.tanh
func.func @softcap(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index):
      %cap = arith.constant 30.0 : f32
      %d = arith.divf %rs, %cap : f32
      %t = math.tanh %d : f32
      %r = arith.mulf %t, %cap : f32
      attn.yield %r : f32
    }
  return
}

// -----

// Blocks of positions, and where a position is in one, are as small as positions.
// CHECK-LABEL: func @pixels
//   CHECK-NOT:   vector<16xi64>
//       CHECK:   arith.floordivsi {{.*}} : vector<16xi32>
//   CHECK-NOT:   vector<16xi64>
//       CHECK:   arith.andi {{.*}} : vector<16xi32>
//   CHECK-NOT:   vector<16xi64>
//       CHECK:   arith.remsi {{.*}} : vector<16xi32>
//   CHECK-NOT:   vector<16xi64>
//       CHECK:   } else {
func.func @pixels(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %c3 = arith.constant 3 : index
      %c60 = arith.constant 60 : index
      %c63 = arith.constant 63 : index
      %c64 = arith.constant 64 : index
      %row = arith.floordivsi %rp, %c64 : index
      %moved = arith.maxsi %row, %c3 : index
      %row_of_key = arith.floordivsi %rj, %c64 : index
      %rows = arith.subi %row_of_key, %moved : index
      %rows_apart = arith.cmpi sle, %rows, %c3 : index
      %column = arith.andi %rp, %c63 : index
      %columns = arith.subi %rj, %column : index
      %columns_apart = arith.cmpi sle, %columns, %c3 : index
      %rest = arith.remsi %rp, %c60 : index
      %rests = arith.subi %rj, %rest : index
      %rests_apart = arith.cmpi sle, %rests, %c3 : index
      %some = arith.andi %rows_apart, %columns_apart : i1
      %keep = arith.andi %some, %rests_apart : i1
      attn.yield %keep : i1
    }
  return
}

// -----

// A constant that the argument of an exponential is divided by goes into the
// factors of log2(e).
// CHECK-LABEL: func @decay
//   CHECK-DAG:   arith.constant dense<-0.0144269504> : vector<16xf32>
//       CHECK:   arith.sitofp
//   CHECK-NOT:   arith.divf
//       CHECK:   } else {
func.func @decay(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %p: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%false) defined(%true) exact(%false)
      score {
    ^bb0(%rs: f32, %rb: index, %rh: index, %rp: index, %rj: index):
      %length = arith.constant -1.000000e+02 : f32
      %distance = arith.subi %rp, %rj : index
      %apart = math.absi %distance : index
      %cast = arith.index_cast %apart : index to i64
      %real = arith.sitofp %cast : i64 to f32
      %quotient = arith.divf %real, %length : f32
      %weight = math.exp %quotient : f32
      %score = arith.mulf %rs, %weight : f32
      attn.yield %score : f32
    }
  return
}

// -----

// Where the first position is a constant, the positions of other lanes are not: twice
// lane `i` is `2 * i - 14`.
// CHECK-LABEL: func @constant_position
//   CHECK-DAG:   %[[LANES:.*]] = arith.constant dense<[0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]> : vector<16xi32>
//       CHECK:   arith.cmpi {{.*}}%[[LANES]]
func.func @constant_position(%s: memref<128x16xf32>, %m: memref<16xf32>, %b: index, %j: index, %nq: index, %nk: index) {
  %true = arith.constant true
  %false = arith.constant false
  %p = arith.constant -7 : index
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<128x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>)
      at(%b, %b, %p, %j) queries(%nq) keys(%nk)
      partial(%true) defined(%true) exact(%false)
      mask {
    ^bb0(%rb: index, %rh: index, %rp: index, %rj: index):
      %c2 = arith.constant 2 : index
      %twice = arith.muli %rp, %c2 : index
      %keep = arith.cmpi sge, %twice, %rj : index
      attn.yield %keep : i1
    }
  return
}
