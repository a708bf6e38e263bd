// RUN: attn-opt %s | attn-opt | FileCheck %s

// CHECK-LABEL: func.func @kept_packs
func.func @kept_packs(%first: index, %count: index, %b: index, %h: index, %n: index) {
  // CHECK: attn.kept_packs[%{{.*}}, %{{.*}}] : tensor<8x64x32xbf16>
  %0:4 = attn.kept_packs [%first, %count] : tensor<8x64x32xbf16>
  // CHECK: attn.kept_packs[%{{.*}}, %{{.*}}] of(%{{.*}}, %{{.*}}) most(%{{.*}}) overlap 1 : memref<?x64x32xbf16>
  %1:4 = attn.kept_packs [%first, %count] of(%b, %h) most(%n) overlap 1 : memref<?x64x32xbf16>
  return
}
