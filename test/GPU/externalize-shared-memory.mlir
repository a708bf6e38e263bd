// RUN: attn-opt %s -attn-externalize-shared-memory | FileCheck %s

gpu.module @kernels {
  // CHECK: llvm.mlir.global external @dynamic() {addr_space = 3 : i32
  llvm.mlir.global internal @dynamic() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  // CHECK: llvm.mlir.global internal @static() {addr_space = 3 : i32
  llvm.mlir.global internal @static() {addr_space = 3 : i32} : !llvm.array<128 x f32>
  // CHECK: llvm.mlir.global internal @scalar() {addr_space = 3 : i32
  llvm.mlir.global internal @scalar() {addr_space = 3 : i32} : f32
  // CHECK: llvm.mlir.global internal @elsewhere() {addr_space = 1 : i32
  llvm.mlir.global internal @elsewhere() {addr_space = 1 : i32} : !llvm.array<0 x i8>
}
