// RUN: attn-opt %s -convert-math-to-nvvm | FileCheck %s

// Functions without an instruction; what they give is tested where they run.

// Those of few bits are those of f32, rounded.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[X:.*]]: bf16
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK: %[[EXP:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
// CHECK: %[[SUM:.*]] = llvm.call_intrinsic "llvm.fma"(%[[EXP]], %{{.*}}, %[[EXP]])
// CHECK: %[[RESULT:.*]] = arith.select %{{.*}}, %[[SUM]], %[[EXP]] : f32
// CHECK: %[[NARROW:.*]] = arith.truncf %[[RESULT]] : f32 to bf16
// CHECK-NEXT: return %[[NARROW]]
gpu.module @kernels {
  func.func @narrow(%x: bf16) -> bf16 {
    %0 = math.exp %x : bf16
    return %0 : bf16
  }

  // An angle is reduced by integers, of which the factor's words are a constant.
  // CHECK-LABEL: func.func @sine
  // CHECK-DAG: arith.bitcast %{{.*}} : f32 to i32
  // CHECK-DAG: arith.constant 2935890503282001226 : i64
  // CHECK: arith.muli %{{.*}} : i64
  // CHECK: arith.sitofp %{{.*}} : i64 to f32
  // CHECK: llvm.call_intrinsic "llvm.fma"
  // CHECK-NOT: math.
  // CHECK: return
  func.func @sine(%x: f32) -> f32 {
    %0 = math.sin %x : f32
    return %0 : f32
  }

  // A logarithm of f64, and an instruction for the rest of its product.
  // CHECK-LABEL: func.func @power
  // CHECK: arith.divf %{{.*}} : f64
  // CHECK: arith.mulf %{{.*}} : f64
  // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%{{.*}}) : (f32) -> f32
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  // CHECK: return
  func.func @power(%x: f32, %y: f32) -> f32 {
    %0 = math.powf %x, %y : f32
    return %0 : f32
  }

  // CHECK-LABEL: func.func @counts
  // CHECK: llvm.call_intrinsic "llvm.ctlz"(%{{.*}}, %{{.*}}) : (i32, i1) -> i32
  // CHECK: llvm.call_intrinsic "llvm.cttz"(%{{.*}}, %{{.*}}) : (i32, i1) -> i32
  // CHECK: llvm.call_intrinsic "llvm.ctpop"(%{{.*}}) : (i32) -> i32
  func.func @counts(%x: i32) -> i32 {
    %0 = math.ctlz %x : i32
    %1 = math.cttz %0 : i32
    %2 = math.ctpop %1 : i32
    return %2 : i32
  }

  // CHECK-LABEL: func.func @classes
  // CHECK-SAME: %[[X:.*]]: f64
  // CHECK: arith.cmpf uno, %[[X]], %[[X]] : f64
  // CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[X]] : f64
  // CHECK: arith.cmpf oeq, %[[REST]], %{{.*}} : f64
  func.func @classes(%x: f64) -> (i1, i1) {
    %0 = math.isnan %x : f64
    %1 = math.isfinite %x : f64
    return %0, %1 : i1, i1
  }

  // Of vectors, too, element by element where intrinsics are.
  // CHECK-LABEL: func.func @vectors
  // CHECK: arith.shrsi %{{.*}} : vector<2xi32>
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.fma"
  // CHECK: arith.mulf %{{.*}} : vector<2xf32>
  // CHECK: arith.shli %{{.*}} : vector<2xi64>
  // CHECK-NOT: math.
  // CHECK: return
  func.func @vectors(%x: vector<2xf32>) -> vector<2xf32> {
    %0 = math.log10 %x : vector<2xf32>
    %1 = math.cos %0 : vector<2xf32>
    %2 = arith.remf %1, %x : vector<2xf32>
    %3 = math.round %2 : vector<2xf32>
    return %3 : vector<2xf32>
  }
}
