// RUN: attn-opt %s --split-input-file \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN: | FileCheck %s
// RUN: attn-opt %s --split-input-file --convert-attn-to-linalg \
// RUN:   --one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" \
// RUN:   --canonicalize --cse | FileCheck %s --check-prefix=LOOPS

// C8: rows are written into the cache's own buffer; only rows are copied.

// CHECK-LABEL: func.func @c8_in_place(
// CHECK-SAME: %[[R:[^:]*]]: memref<2x2x1x4xf32>, %[[K:[^:]*]]: memref<2x2x1024x4xi8>, %[[S:[^:]*]]: memref<2x2x1024xf32>, %[[L:[^:]*]]: memref<2xi32>
// CHECK-NEXT: attn.cache_append ins(%[[R]] : {{.*}}) outs(%[[K]], %[[S]] : {{.*}}) lengths(%[[L]] : memref<2xi32>) ring
// CHECK-NEXT: attn.cache_append ins(%[[R]] : {{.*}}) outs(%[[K]], %[[S]] : {{.*}}) lengths(%[[L]] : memref<2xi32>) ring
// CHECK-NEXT: return %[[K]], %[[S]]
// LOOPS-LABEL: func.func @c8_in_place(
// LOOPS-SAME: %{{[^:]*}}: memref<2x2x1x4xf32>, %[[K:[^:]*]]: memref<2x2x1024x4xi8>, %[[S:[^:]*]]: memref<2x2x1024xf32>,
// LOOPS-NOT: memref.alloc
// LOOPS-NOT: memref.copy %{{.*}} : memref<2x2x1024
// LOOPS: return %[[K]], %[[S]]
func.func @c8_in_place(
    %rows: tensor<2x2x1x4xf32>,
    %cache: tensor<2x2x1024x4xi8> {bufferization.writable = true},
    %scales: tensor<2x2x1024xf32> {bufferization.writable = true},
    %lengths: tensor<2xi32>) -> (tensor<2x2x1024x4xi8>, tensor<2x2x1024xf32>) {
  %0:2 = attn.cache_append ins(%rows : tensor<2x2x1x4xf32>)
      outs(%cache, %scales : tensor<2x2x1024x4xi8>, tensor<2x2x1024xf32>)
      lengths(%lengths : tensor<2xi32>) ring
  %1:2 = attn.cache_append ins(%rows : tensor<2x2x1x4xf32>)
      outs(%0#0, %0#1 : tensor<2x2x1024x4xi8>, tensor<2x2x1024xf32>)
      lengths(%lengths : tensor<2xi32>) ring
  return %1#0, %1#1 : tensor<2x2x1024x4xi8>, tensor<2x2x1024xf32>
}

// -----

// LOOPS-LABEL: func.func @c3_paged(
// LOOPS-SAME: %{{[^:]*}}: memref<2x2x5x4xf32>, %[[K:[^:]*]]: memref<99x2x16x4xbf16>,
// LOOPS-NOT: memref.alloc
// LOOPS-NOT: memref.copy %{{.*}} : memref<99x2x16
// LOOPS: return %[[K]]
// CHECK-LABEL: func.func @c3_paged(
func.func @c3_paged(
    %rows: tensor<2x2x5x4xf32>,
    %cache: tensor<99x2x16x4xbf16> {bufferization.writable = true},
    %lengths: tensor<2xi32>, %table: tensor<2x40xi32>) -> tensor<99x2x16x4xbf16> {
  %0 = attn.cache_append ins(%rows : tensor<2x2x5x4xf32>)
      outs(%cache : tensor<99x2x16x4xbf16>) lengths(%lengths : tensor<2xi32>)
      table(%table : tensor<2x40xi32>)
  return %0 : tensor<99x2x16x4xbf16>
}

// -----

// What the cache held is still asked for: it must be copied first.
// CHECK-LABEL: func.func @c8_old_cache(
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: memref.copy
// CHECK: attn.cache_append {{.*}} outs(%[[NEW]] :
func.func @c8_old_cache(
    %rows: tensor<2x2x1x4xf32>,
    %cache: tensor<2x2x1024x4xf32> {bufferization.writable = true},
    %lengths: tensor<2xi32>) -> (tensor<2x2x1024x4xf32>, tensor<2x2x1024x4xf32>) {
  %0 = attn.cache_append ins(%rows : tensor<2x2x1x4xf32>)
      outs(%cache : tensor<2x2x1024x4xf32>) lengths(%lengths : tensor<2xi32>)
  return %0, %cache : tensor<2x2x1024x4xf32>, tensor<2x2x1024x4xf32>
}

// -----

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:[^:]*]]: memref<1x2x3x4xf32>, %[[T:[^:]*]]: memref<8x2xf32>, %[[L:[^:]*]]: memref<1x2x3xf32>, %[[O:[^:]*]]: memref<1x2x3x4xf32>
// CHECK-NOT: memref.copy
// CHECK: attn.rope half_split ins(%[[X]], %[[T]], %[[T]] : {{.*}}) outs(%[[ROTATED:.*]] :
// CHECK: attn.merge ins(%[[X]], %[[L]], %[[ROTATED]], %[[L]] : {{.*}}) outs(%[[O]] :
func.func @layer(%x: tensor<1x2x3x4xf32>, %t: tensor<8x2xf32>,
                 %l: tensor<1x2x3xf32>,
                 %o: tensor<1x2x3x4xf32> {bufferization.writable = true})
    -> tensor<1x2x3x4xf32> {
  %empty = tensor.empty() : tensor<1x2x3x4xf32>
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x2x3x4xf32>,
      tensor<8x2xf32>, tensor<8x2xf32>) outs(%empty : tensor<1x2x3x4xf32>)
  %1 = attn.merge ins(%x, %l, %0, %l : tensor<1x2x3x4xf32>, tensor<1x2x3xf32>,
      tensor<1x2x3x4xf32>, tensor<1x2x3xf32>) outs(%o : tensor<1x2x3x4xf32>)
  return %1 : tensor<1x2x3x4xf32>
}
