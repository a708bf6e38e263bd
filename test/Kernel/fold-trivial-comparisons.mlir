// RUN: attn-opt %s --attn-fold-trivial-comparisons --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @scalars(
// CHECK-DAG: %[[TRUE:.*]] = arith.constant true
// CHECK-DAG: %[[FALSE:.*]] = arith.constant false
// CHECK: return %[[TRUE]], %[[FALSE]]
func.func @scalars(%i: i32) -> (i1, i1) {
  %x = arith.sitofp %i : i32 to f32
  %c = arith.constant 1.5 : f32
  %t = arith.cmpf true, %x, %c : f32
  %f = arith.cmpf false, %x, %c : f32
  return %t, %f : i1, i1
}

// CHECK-LABEL: func.func @vector(
// CHECK: arith.constant dense<true> : vector<4xi1>
func.func @vector(%x: vector<4xf32>) -> vector<4xi1> {
  %t = arith.cmpf true, %x, %x : vector<4xf32>
  return %t : vector<4xi1>
}

// Other comparisons stay.
// CHECK-LABEL: func.func @others(
// CHECK: arith.cmpf olt
func.func @others(%x: f32, %y: f32) -> i1 {
  %t = arith.cmpf olt, %x, %y : f32
  return %t : i1
}
