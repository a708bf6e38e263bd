// RUN: attn-opt %s --attn-expand-math | FileCheck %s

// What these compute is tested by executing them.

// CHECK-LABEL: func.func @float(
// CHECK-NOT: math.{{is|clamp|expm1}}
// CHECK: return
func.func @float(%x: f16, %low: f16, %high: f16) -> (i1, i1, f16, f16) {
  %0 = math.isinf %x : f16
  %1 = math.isnormal %x : f16
  %2 = math.clampf %x to [%low, %high] : f16
  %3 = math.expm1 %x : f16
  return %0, %1, %2, %3 : i1, i1, f16, f16
}

// The smallest normal number is that of the type.
// CHECK-LABEL: func.func @smallest(
// CHECK: arith.constant 6.103520e-05 : f16
func.func @smallest(%x: f16) -> i1 {
  %0 = math.isnormal %x : f16
  return %0 : i1
}

// CHECK-LABEL: func.func @integer(
// CHECK-NOT: math.ipowi
// CHECK: scf.for
// CHECK: return
func.func @integer(%x: i1, %y: i64) -> (i1, i64) {
  %0 = math.ipowi %x, %x : i1
  %1 = math.ipowi %y, %y : i64
  return %0, %1 : i1, i64
}

// CHECK-LABEL: func.func @others(
// CHECK-NEXT: math.exp
// CHECK-NEXT: math.isinf %{{.*}} : vector<2xf32>
func.func @others(%x: f32, %y: vector<2xf32>) -> (f32, vector<2xi1>) {
  %0 = math.exp %x : f32
  %1 = math.isinf %y : vector<2xf32>
  return %0, %1 : f32, vector<2xi1>
}
