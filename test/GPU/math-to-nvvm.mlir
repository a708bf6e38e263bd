// RUN: attn-opt %s -convert-math-to-nvvm | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @scalars(
  gpu.func @scalars(%x: f32, %y: f64, %z: f16, %out: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"(%{{.*}}) : (f32) -> f32
    %0 = math.exp2 %x : f32
    // CHECK-NOT: lg2
    %1 = math.log2 %0 : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.f"
    %2 = math.rsqrt %1 : f32
    // CHECK: llvm.call_intrinsic "llvm.sqrt"(%{{.*}}) : (f64) -> f64
    %3 = math.sqrt %y : f64
    // CHECK: llvm.call_intrinsic "llvm.fma"(%{{.*}}, %{{.*}}, %{{.*}}) : (f16, f16, f16) -> f16
    %4 = math.fma %z, %z, %z : f16
    // CHECK: llvm.call_intrinsic "llvm.fabs"
    %5 = math.absf %4 : f16
    // CHECK: llvm.call_intrinsic "llvm.ceil"
    %6 = math.ceil %5 : f16
    // CHECK: llvm.call_intrinsic "llvm.floor"
    %7 = math.floor %6 : f16
    // CHECK: llvm.call_intrinsic "llvm.trunc"
    %8 = math.trunc %7 : f16
    // CHECK: llvm.call_intrinsic "llvm.roundeven"
    %9 = math.roundeven %8 : f16
    // CHECK: llvm.call_intrinsic "llvm.copysign"
    %10 = math.copysign %9, %z : f16
    // CHECK: llvm.call_intrinsic "llvm.maxnum"
    %11 = arith.maxnumf %10, %z : f16
    // CHECK: llvm.call_intrinsic "llvm.minnum"
    %12 = arith.minnumf %11, %z : f16
    // An instruction of its own, on which upstream agrees.
    // CHECK: arith.maximumf
    %13 = arith.extf %12 : f16 to f32
    %14 = arith.maximumf %13, %2 : f32
    %15 = arith.truncf %3 : f64 to f32
    %16 = arith.addf %14, %15 : f32
    memref.store %16, %out[%c0] : memref<?xf32>
    gpu.return
  }

  // Element by element.
  // CHECK-LABEL: gpu.func @vectors(
  // CHECK: %[[X:.*]]:4 = vector.to_elements %{{.*}} : vector<2x2xf32>
  // CHECK: %[[Y:.*]]:4 = vector.to_elements %{{.*}} : vector<2x2xf32>
  // CHECK: llvm.call_intrinsic "llvm.copysign"(%[[X]]#0, %[[Y]]#0)
  // CHECK-COUNT-2: llvm.call_intrinsic "llvm.copysign"
  // CHECK: llvm.call_intrinsic "llvm.copysign"(%[[X]]#3, %[[Y]]#3)
  // CHECK: vector.from_elements {{.*}} : vector<2x2xf32>
  gpu.func @vectors(%x: vector<2x2xf32>, %y: vector<2x2xf32>,
                    %out: memref<?xvector<2x2xf32>>) kernel {
    %c0 = arith.constant 0 : index
    %0 = math.copysign %x, %y : vector<2x2xf32>
    memref.store %0, %out[%c0] : memref<?xvector<2x2xf32>>
    gpu.return
  }
}

// Not a kernel's.
// CHECK-LABEL: func.func @host(
// CHECK: math.exp2
func.func @host(%x: f32) -> f32 {
  %0 = math.exp2 %x : f32
  return %0 : f32
}

// What has no instruction that is accurate enough is computed by others.
// CHECK-LABEL: gpu.func @expanded
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
// CHECK: %[[T:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
// CHECK: %[[R:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: %[[Q:.*]] = llvm.call_intrinsic "llvm.fma"(%{{.*}}, %[[R]],
// CHECK: %[[S:.*]] = arith.select %{{.*}}, %{{.*}}, %[[Q]]
// CHECK: llvm.call_intrinsic "llvm.copysign"(%[[S]],
// CHECK: %[[U:.*]] = arith.addf
// CHECK: arith.bitcast
// CHECK: arith.shrsi
// CHECK: %[[N:.*]] = arith.subi %c0{{.*}}, %[[I:.*]] : index
// CHECK: arith.maxsi %[[I]], %[[N]] : index
// CHECK-NOT: math.
gpu.module @more {
  gpu.func @expanded(%x: f32, %y: memref<f32>, %i: index, %j: memref<index>) kernel {
    %0 = math.exp %x : f32
    %1 = math.log %0 : f32
    %2 = math.tanh %1 : f32
    memref.store %2, %y[] : memref<f32>
    %4 = math.log1p %2 : f32
    memref.store %4, %y[] : memref<f32>
    %3 = math.absi %i : index
    memref.store %3, %j[] : memref<index>
    gpu.return
  }
}
