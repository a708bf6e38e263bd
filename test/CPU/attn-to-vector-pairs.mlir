// RUN: attn-opt %s -attn-target="{vector_bits = 512, vector_registers = 32, scalef = true, bf16_dot = true}" -convert-attn-to-vector | FileCheck %s

// Weights of two rows are rounded as they are computed, and take the place of nothing.
// CHECK-LABEL: func.func @pairs
// CHECK-SAME: %[[S:[^:]*]]: memref<64x32xf32>, {{.*}} %[[P:[^:]*]]: memref<32x32x2xbf16>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : vector<32xbf16>
// CHECK-DAG: %[[W:.*]] = memref.collapse_shape %[[P]] {{.*}} into memref<32x64xbf16>

// To the end of a pack, there are zeros.
// CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT: vector.store %[[ZERO]], %[[W]][%[[ROW]], %{{.*}}]
// CHECK-NEXT: vector.store %[[ZERO]], %[[W]][%[[ROW]], %{{.*}}]

// Where rounding an origin would show, weights are stored, and rounded after that.
// CHECK: scf.if
// CHECK: scf.for
// CHECK: vector.store %{{.*}}, %[[S]]
// CHECK: scf.for
// CHECK: %[[LOW:.*]] = vector.load %[[S]]
// CHECK: vector.load %[[S]]
// CHECK: %[[HIGH:.*]] = vector.load %[[S]]
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%[[HIGH]], %[[LOW]])
// CHECK: } else {
// CHECK: scf.for
// CHECK-NOT: vector.store %{{.*}}, %[[S]]
// CHECK: %[[FIRST:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: %[[SECOND:.*]] = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// CHECK: %[[BOTH:.*]] = llvm.call_intrinsic "llvm.x86.avx512bf16.cvtne2ps2bf16.512"(%[[SECOND]], %[[FIRST]])
// CHECK: %[[WORDS:.*]] = vector.shuffle %[[BOTH]], %[[BOTH]] [0, 16, 1, 17,
// CHECK: vector.store %[[WORDS]], %[[W]]
// CHECK-NOT: vector.store %{{.*}}, %[[S]]
// CHECK: scf.yield
func.func @pairs(%s: memref<64x32xf32>, %m: memref<32xf32>, %l: memref<32xf32>,
                 %c: memref<32xf32>, %p: memref<32x32x2xbf16>, %n: index) {
  %true = arith.constant true
  %false = arith.constant false
  attn.online_softmax rounded
      outs(%s, %m, %l, %c, %p : memref<64x32xf32>, memref<32xf32>, memref<32xf32>, memref<32xf32>, memref<32x32x2xbf16>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%false) defined(%true) exact(%false)
  return
}

// In order, two rows are still added one after the other.
// CHECK-LABEL: func.func @in_order
// CHECK: scf.for {{.*}} iter_args(%[[SUM:[^ ]*]] =
// CHECK: %[[ONE:.*]] = arith.addf %{{.*}}, %[[SUM]] : vector<16xf32>
// CHECK: %[[TWO:.*]] = arith.addf %{{.*}}, %[[ONE]] : vector<16xf32>
// CHECK: scf.yield %[[TWO]]
func.func @in_order(%s: memref<64x16xf32>, %m: memref<16xf32>, %l: memref<16xf32>,
                    %c: memref<16xf32>, %p: memref<32x16x2xbf16>) {
  %true = arith.constant true
  %false = arith.constant false
  %n = arith.constant 64 : index
  attn.online_softmax in_order rounded
      outs(%s, %m, %l, %c, %p : memref<64x16xf32>, memref<16xf32>, memref<16xf32>, memref<16xf32>, memref<32x16x2xbf16>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%false) defined(%true) exact(%false)
  return
}
