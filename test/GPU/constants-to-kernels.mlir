// RUN: attn-opt %s -convert-constants-to-kernels | FileCheck %s
// RUN: attn-opt %s -convert-constants-to-kernels -gpu-kernel-outlining -symbol-dce \
// RUN:   | FileCheck %s --check-prefix=MODULE

// A constant and a view of it are in the launch; what else the launch takes, and
// what the host reads, stays.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: %[[OUT:[^:]*]]: memref<4xf32>, %[[I:[^:]*]]: index
// CHECK: %[[OTHER:.*]] = memref.get_global @other
// CHECK-NOT: memref.get_global
// CHECK: gpu.launch
// CHECK-DAG: %[[TABLE:.*]] = memref.get_global @table
// CHECK-DAG: %[[VIEW:.*]] = memref.subview %[[TABLE]][%[[I]]]
// CHECK: memref.load %[[VIEW]]
// CHECK: memref.store %{{.*}}, %[[OUT]]
// CHECK: gpu.terminator
// CHECK: memref.load %[[OTHER]]

// MODULE-NOT: memref.global {{.*}} @table
// MODULE: memref.global {{.*}} @other
// MODULE: gpu.launch_func {{.*}} args(%{{[^,]*}} : index, %{{[^,]*}} : memref<4xf32>)
// MODULE: gpu.module
// MODULE: memref.get_global @table
// MODULE: memref.global "private" constant @table
module attributes {gpu.container_module} {
  memref.global "private" constant @table : memref<8xf32> = dense<1.0>
  memref.global "private" constant @other : memref<2xf32> = dense<[1.0, 2.0]>
  func.func @kernel(%out: memref<4xf32>, %i: index) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %table = memref.get_global @table : memref<8xf32>
    %other = memref.get_global @other : memref<2xf32>
    %view = memref.subview %table[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
               threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %x = memref.load %view[%tx] : memref<4xf32, strided<[1], offset: ?>>
      %y = memref.load %table[%tx] : memref<8xf32>
      %z = memref.load %other[%tx] : memref<2xf32>
      %s = arith.addf %x, %y : f32
      %t = arith.addf %s, %z : f32
      memref.store %t, %out[%tx] : memref<4xf32>
      gpu.terminator
    }
    %r = memref.load %other[%c0] : memref<2xf32>
    return %r : f32
  }
}
