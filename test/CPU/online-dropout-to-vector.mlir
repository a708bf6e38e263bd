// RUN: attn-opt %s -split-input-file -convert-attn-to-vector | FileCheck %s

// Even and odd lanes have vectors of words of their own, which come together
// where they are compared; four rows have those of one counter. Groups of four
// keys begin before the tile if its first key is within one.
// CHECK-LABEL: func.func @single
// CHECK-DAG: %[[KEPT:.*]] = arith.constant dense<1.333{{.*}}> : vector<8xf32>
// CHECK-DAG: %[[NONE:.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK-DAG: %[[BOUND:.*]] = arith.constant dense<1073741823> : vector<8xi32>
// CHECK-DAG: arith.constant dense<[0, 2, 4, 6]> : vector<4xi64>
// CHECK-DAG: arith.constant dense<[1, 3, 5, 7]> : vector<4xi64>
// CHECK: scf.for %{{.*}} = %c0 to %c32 step %c8 {
// CHECK: %[[LEAD:.*]] = arith.remui %[[FIRST:.*]], %c4
// CHECK: %[[BEGIN:.*]] = arith.subi %c0, %[[LEAD]]
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %{{.*}} step %c4
// CHECK: arith.muli %{{.*}} : vector<4xi64>
// CHECK: %[[WORDS:.*]] = vector.shuffle %{{.*}} [0, 8, 2, 10, 4, 12, 6, 14] : vector<8xi32>, vector<8xi32>
// CHECK: %[[KEEP:.*]] = arith.cmpi ugt, %[[WORDS]], %[[BOUND]] : vector<8xi32>
// CHECK: %[[FACTOR:.*]] = arith.select %[[KEEP]], %[[KEPT]], %[[NONE]]
// CHECK-COUNT-3: vector.shuffle
// CHECK: %[[WHOLE:.*]] = arith.cmpi ult, %[[ROW]], %c61
// CHECK: scf.if %[[WHOLE]] {
// CHECK: %[[WEIGHT:.*]] = vector.load
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[WEIGHT]], %[[FACTOR]]
// CHECK: vector.store %[[PRODUCT]]
// CHECK-COUNT-3: vector.store
// CHECK: } else {
// CHECK-COUNT-4: scf.if
func.func @single(%w: memref<64x32xf32>, %seed: i64, %call: i32, %n: index) {
  attn.online_dropout outs(%w : memref<64x32xf32>)
      dropout(0.25, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}

// -----

// As many words as lanes.
// CHECK-LABEL: func.func @double
// CHECK-DAG: arith.constant dense<[0, 1, 2, 3]> : vector<4xi64>
// CHECK-DAG: %[[BOUND:.*]] = arith.constant dense<2147483647> : vector<4xi64>
// CHECK: scf.for %{{.*}} = %c0 to %c8 step %c4 {
// CHECK-NOT: vector.shuffle
// CHECK: arith.cmpi sgt, %{{.*}}, %[[BOUND]] : vector<4xi64>
func.func @double(%w: memref<64x8xf64>, %seed: i64, %call: i32, %n: index) {
  attn.online_dropout outs(%w : memref<64x8xf64>)
      dropout(0.5, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}

// -----

// What is never dropped is left alone.
// CHECK-LABEL: func.func @none
// CHECK-NEXT: return
func.func @none(%w: memref<64x8xf32>, %seed: i64, %call: i32, %n: index) {
  attn.online_dropout outs(%w : memref<64x8xf32>)
      dropout(0.0, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}
