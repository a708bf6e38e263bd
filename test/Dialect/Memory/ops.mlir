// RUN: attn-opt %s | attn-opt | FileCheck %s

// CHECK-LABEL: func.func @kept_packs
func.func @kept_packs(%first: index, %count: index, %b: index, %h: index, %n: index) {
  // CHECK: attn.kept_packs[%{{.*}}, %{{.*}}] : tensor<8x64x32xbf16>
  %0:4 = attn.kept_packs [%first, %count] : tensor<8x64x32xbf16>
  // CHECK: attn.kept_packs[%{{.*}}, %{{.*}}] of(%{{.*}}, %{{.*}}) most(%{{.*}}) overlap 1 : memref<?x64x32xbf16>
  %1:4 = attn.kept_packs [%first, %count] of(%b, %h) most(%n) overlap 1 : memref<?x64x32xbf16>
  return
}

// CHECK-LABEL: func.func @prefetch
func.func @prefetch(%x: tensor<1x8x?x64xf32>, %y: memref<?x64xbf16>, %i: index, %end: index) {
  // CHECK: attn.prefetch %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}] to %{{.*}} : tensor<1x8x?x64xf32>
  attn.prefetch %x[%i, %i, %i] to %end : tensor<1x8x?x64xf32>
  // CHECK: attn.prefetch %{{.*}}[%{{.*}}] to %{{.*}} for_write : memref<?x64xbf16>
  attn.prefetch %y[%i] to %end for_write : memref<?x64xbf16>
  // CHECK: attn.prefetch %{{.*}}[%{{.*}}] to %{{.*}} spread share(%{{.*}} of 4) : memref<?x64xbf16>
  attn.prefetch %y[%i] to %end spread share(%i of 4) : memref<?x64xbf16>
  // CHECK: attn.prefetch %{{.*}}[%{{.*}}] to %{{.*}} stream(256) : memref<?x64xbf16>
  attn.prefetch %y[%i] to %end stream(256) : memref<?x64xbf16>
  return
}

// CHECK-LABEL: func.func @dense_rows
func.func @dense_rows(%k: tensor<1x8x?x64xf32>, %v: tensor<1x8x?x32xf32>, %m: memref<8x64xbf16, strided<[?, 1], offset: ?>>, %when: i1) {
  // CHECK: attn.dense_rows %{{.*}}, %{{.*}} when(%{{.*}}) : tensor<1x8x?x64xf32>, tensor<1x8x?x32xf32> to tensor<1x8x?x64xf32>, tensor<1x8x?x32xf32>
  %0:2 = attn.dense_rows %k, %v when(%when) : tensor<1x8x?x64xf32>, tensor<1x8x?x32xf32> to tensor<1x8x?x64xf32>, tensor<1x8x?x32xf32>
  // CHECK: attn.dense_rows %{{.*}} : memref<8x64xbf16, strided<[?, 1], offset: ?>> to memref<8x64xbf16, strided<[?, 1], offset: ?>>
  %1 = attn.dense_rows %m : memref<8x64xbf16, strided<[?, 1], offset: ?>> to memref<8x64xbf16, strided<[?, 1], offset: ?>>
  return
}
