// RUN: attn-opt %s -split-input-file -convert-launch-to-runtime \
// RUN:   -verify-diagnostics | FileCheck %s

// The names, and after them grid, block and dynamic shared memory, and the
// parameters of the kernel in its order: a memref is two pointers, an offset, a
// size and a stride. The kernel itself was compiled before.

// CHECK-NOT: gpu.
// CHECK-DAG: llvm.mlir.global private constant @[[MODULE:.*]]("kernels\00")
// CHECK-DAG: llvm.mlir.global private constant @[[KERNEL:.*]]("f\00")
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[X:.*]]: memref<?xf16>, %[[GRID:.*]]: index, %[[BYTES:.*]]: i32, %[[REAL:.*]]: f32
// CHECK-DAG: %[[ARGUMENTS:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK-DAG: %[[DESCRIPTOR:.*]] = builtin.unrealized_conversion_cast %[[X]] : memref<?xf16> to !llvm.struct
// CHECK-DAG: %[[ALIGNED:.*]] = llvm.extractvalue %[[DESCRIPTOR]][1]
// CHECK-DAG: %[[X_GRID:.*]] = builtin.unrealized_conversion_cast %[[GRID]] : index to i64
// CHECK-DAG: %[[WIDE:.*]] = llvm.zext %[[BYTES]] : i32 to i64
// CHECK: llvm.mlir.addressof @[[MODULE]]
// CHECK: llvm.mlir.addressof @[[KERNEL]]
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[SIZES:.*]][0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: llvm.store %[[X_GRID]], %[[FIRST]] : i64
// CHECK: %[[LAST:.*]] = llvm.getelementptr %[[SIZES]][6]
// CHECK: llvm.store %[[WIDE]], %[[LAST]] : i64
// CHECK: llvm.store %[[REAL]], %[[REAL_AT:.*]] : f32
// CHECK: llvm.store %[[ALIGNED]], %[[ALIGNED_AT:.*]] : !llvm.ptr
// CHECK: %[[SLOT0:.*]] = llvm.getelementptr %[[ARGUMENTS]][0]
// CHECK: llvm.store %{{.*}}, %[[SLOT0]] : !llvm.ptr
// CHECK: %[[SLOT2:.*]] = llvm.getelementptr %[[ARGUMENTS]][2]
// CHECK: llvm.store %{{.*}}, %[[SLOT2]] : !llvm.ptr
// CHECK: %[[SLOT5:.*]] = llvm.getelementptr %[[ARGUMENTS]][5]
// CHECK: llvm.call @attn_gpu_launch(%{{.*}}, %{{.*}}, %[[SIZES]], %[[ARGUMENTS]])
// CHECK-NOT: gpu.
module attributes {gpu.container_module} {
  func.func @host(%x: memref<?xf16>, %grid: index, %bytes: i32, %real: f32) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@f blocks in (%grid, %c1, %c1)
        threads in (%c32, %c1, %c1) dynamic_shared_memory_size %bytes
        args(%real : f32, %x : memref<?xf16>)
    return
  }
  gpu.module @kernels {
    llvm.func @f(%r: f32, %a: !llvm.ptr, %b: !llvm.ptr, %offset: i64, %size: i64, %stride: i64)
        attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @host(%n: index) {
    // expected-error @+1 {{'gpu.launch_func' op passes other arguments than 'f' takes}}
    gpu.launch_func @kernels::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
        args(%n : index)
    return
  }
  gpu.module @kernels {
    llvm.func @f(%r: f32) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @host(%n: index) {
    %token = gpu.wait async
    // expected-error @+1 {{'gpu.launch_func' op is only lowered if it is synchronous and without clusters}}
    %done = gpu.launch_func async [%token] @kernels::@f blocks in (%n, %n, %n)
        threads in (%n, %n, %n)
    return
  }
  gpu.module @kernels {
    llvm.func @f() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
}

// -----

module attributes {gpu.container_module} {
  func.func @host(%n: index) {
    // expected-error @+1 {{of what is no kernel in the LLVM dialect, @kernels::@f}}
    gpu.launch_func @kernels::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
  gpu.module @kernels {
    gpu.func @f() kernel {
      gpu.return
    }
  }
}
