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

// Functions of vectors of f32 become arithmetic.
// CHECK-LABEL: func.func @vectors(
// CHECK-NOT: math.{{log|sin|pow|tanh|exp|erf}}
// CHECK-NOT: arith.remf
// CHECK: return
func.func @vectors(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xi1>) {
  %0 = math.log %x : vector<8xf32>
  %1 = math.sin %0 : vector<8xf32>
  %2 = math.powf %1, %x : vector<8xf32>
  %3 = math.tanh %2 : vector<8xf32>
  %4 = math.expm1 %3 : vector<8xf32>
  %5 = math.exp2 %4 : vector<8xf32>
  %6 = math.erf %5 : vector<8xf32>
  %7 = arith.remf %6, %x : vector<8xf32>
  %8 = math.isnormal %x : vector<8xf32>
  return %7, %8 : vector<8xf32>, vector<8xi1>
}

// Others are calls.
// CHECK-LABEL: func.func @others(
// CHECK-NEXT: math.exp %{{.*}} : f32
// CHECK-NEXT: math.sin %{{.*}} : f32
// CHECK-NEXT: math.log %{{.*}} : vector<2xf64>
// CHECK-NEXT: return
func.func @others(%x: f32, %y: vector<2xf64>) -> (f32, f32, vector<2xf64>) {
  %0 = math.exp %x : f32
  %1 = math.sin %x : f32
  %2 = math.log %y : vector<2xf64>
  return %0, %1, %2 : f32, f32, vector<2xf64>
}
