// RUN: attn-opt %s -convert-nvvm-to-emulator -split-input-file | FileCheck %s

// A launch in code of the host becomes a call, with the memref's index, rank and
// bytes of an element besides the arguments.
// CHECK-NOT: gpu.
// CHECK-LABEL: func.func @host
// CHECK-SAME: %[[X:.*]]: memref<?xf16>
// CHECK: %[[BUFFER:.*]] = memref.alloc(%{{.*}}) : memref<?xf16>
// CHECK: %[[DESCRIPTOR:.*]] = builtin.unrealized_conversion_cast %[[X]] : memref<?xf16> to !llvm.struct
// CHECK: llvm.extractvalue %[[DESCRIPTOR]][0]
// CHECK: %[[ENTRY:.*]] = llvm.mlir.addressof @attn_emu_entry_f : !llvm.ptr
// CHECK: llvm.call @attn_emu_launch(%[[ENTRY]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK: llvm.call @attn_emu_launch(
// CHECK: memref.dealloc %[[BUFFER]]
// CHECK-NOT: gpu.
module attributes {gpu.container_module} {
  func.func @host(%x: memref<?xf16>, %grid: index, %bytes: i32) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %buffer = gpu.alloc (%grid) : memref<?xf16>
    gpu.launch_func @kernels::@f blocks in (%grid, %c1, %c1)
        threads in (%c32, %c1, %c1) dynamic_shared_memory_size %bytes
        args(%x : memref<?xf16>)
    gpu.launch_func @others::@f blocks in (%grid, %c1, %c1)
        threads in (%c32, %c1, %c1) args(%grid : index)
    gpu.dealloc %buffer : memref<?xf16>
    return
  }
  // CHECK: llvm.func @f(
  gpu.module @kernels {
    llvm.func @f(%a: !llvm.ptr, %b: !llvm.ptr, %offset: i64, %size: i64, %stride: i64)
        attributes {gpu.kernel, nvvm.kernel} {
      nvvm.barrier0
      llvm.return
    }
  }
  // The other one of this name gets a new one.
  // CHECK: llvm.func @attn_emu_entry_f_0(
  gpu.module @others {
    llvm.func @f(%n: i64) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
}

// -----

// A constant in a kernel's module is one of the host, and passed as a buffer of its
// bytes, so that the emulator knows what may be read.
// CHECK-LABEL: func.func @constants
// CHECK: %[[ADDRESS:.*]] = llvm.mlir.addressof @table : !llvm.ptr
// CHECK: %[[BYTES:.*]] = llvm.mlir.constant(16 : i64)
// CHECK: llvm.store %[[ADDRESS]]
// CHECK: llvm.store %[[ADDRESS]]
// CHECK: llvm.store %[[BYTES]]
// CHECK: llvm.call @attn_emu_launch(
// CHECK: llvm.mlir.global private constant @table(dense<1.000000e+00> : tensor<4xf32>)
// CHECK-SAME: {addr_space = 0 : i32} : !llvm.array<4 x f32>
// CHECK: llvm.func @f(
// CHECK: llvm.mlir.addressof @table : !llvm.ptr
// CHECK: llvm.call @attn_emu_access(
module attributes {gpu.container_module} {
  func.func @constants(%x: memref<f32>) {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@f blocks in (%c1, %c1, %c1)
        threads in (%c1, %c1, %c1) args(%x : memref<f32>)
    return
  }
  gpu.module @kernels {
    llvm.mlir.global private constant @table(dense<1.0> : tensor<4xf32>)
        {addr_space = 1 : i32} : !llvm.array<4 x f32>
    llvm.func @f(%a: !llvm.ptr, %b: !llvm.ptr, %offset: i64)
        attributes {gpu.kernel, nvvm.kernel} {
      %table = llvm.mlir.addressof @table : !llvm.ptr<1>
      %y = llvm.load %table : !llvm.ptr<1> -> f32
      llvm.store %y, %b : f32, !llvm.ptr
      llvm.return
    }
  }
}
