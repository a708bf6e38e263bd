// RUN: attn-opt %s -split-input-file -attn-lower-dense-rows -canonicalize | FileCheck %s

// Both are copied by one loop where rows of one are apart, and only then have room.
// CHECK-LABEL: func.func @both
// CHECK-SAME: %[[K:[^:]*]]: memref<{{[^%]*}}, %[[V:[^:]*]]: memref<{{[^%]*}}, %[[WHEN:.*]]: i1)
// CHECK: %[[KAPART:.*]] = arith.cmpi sgt, %{{.*}}#1, %c64 : index
// CHECK: %[[VAPART:.*]] = arith.cmpi sgt, %{{.*}}#1, %c32 : index
// CHECK: %[[ANY:.*]] = arith.ori %[[KAPART]], %[[VAPART]]
// CHECK: %[[APART:.*]] = arith.andi %[[WHEN]], %[[ANY]]
// CHECK: %[[KEYS:.*]] = arith.select %[[APART]], %{{.*}}, %c0 : index
// CHECK: %[[KROOM:.*]] = memref.alloc(%[[KEYS]]) : memref<4x?x64xf32>
// CHECK: %[[VALUES:.*]] = arith.select %[[APART]], %{{.*}}, %c0 : index
// CHECK: %[[VROOM:.*]] = memref.alloc(%[[VALUES]]) : memref<4x?x32xf32>
// CHECK: scf.if %[[APART]]
// CHECK: scf.forall (%[[H:.*]], %[[FIRST:.*]]) = (0, 0) to (4, %{{.*}}) step (1, 256)
// CHECK: %[[N:.*]] = affine.min
// CHECK: linalg.copy
// CHECK: linalg.copy
// CHECK-NOT: scf.forall
// CHECK: %[[KCOPY:.*]] = memref.cast %[[KROOM]]
// CHECK: arith.select %[[APART]], %[[KCOPY]], %[[K]] :
func.func @both(%k: memref<4x?x64xf32, strided<[?, ?, 1], offset: ?>>, %v: memref<4x?x32xf32, strided<[?, ?, 1], offset: ?>>, %when: i1)
    -> (memref<4x?x64xf32, strided<[?, ?, 1], offset: ?>>, memref<4x?x32xf32, strided<[?, ?, 1], offset: ?>>) {
  %0:2 = attn.dense_rows %k, %v when(%when) : memref<4x?x64xf32, strided<[?, ?, 1], offset: ?>>, memref<4x?x32xf32, strided<[?, ?, 1], offset: ?>>
      to memref<4x?x64xf32, strided<[?, ?, 1], offset: ?>>, memref<4x?x32xf32, strided<[?, ?, 1], offset: ?>>
  return %0#0, %0#1 : memref<4x?x64xf32, strided<[?, ?, 1], offset: ?>>, memref<4x?x32xf32, strided<[?, ?, 1], offset: ?>>
}
