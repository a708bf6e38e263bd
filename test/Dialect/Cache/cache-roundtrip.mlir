// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s

// CHECK-LABEL: func.func @contiguous(
// CHECK: attn.cache_append ins(%{{.*}} : tensor<?x2x?x4xf32>) outs(%{{.*}} : tensor<?x2x?x4xbf16>) lengths(%{{.*}} : tensor<?xi64>) counts(%{{.*}} : tensor<?xi32>)
// CHECK-NEXT: attn.cache_read ins(%{{.*}} : tensor<?x2x?x4xbf16>) lengths(%{{.*}} : tensor<?xi64>) size(%{{.*}}) -> tensor<?x2x?x4xf32>
func.func @contiguous(%rows: tensor<?x2x?x4xf32>, %cache: tensor<?x2x?x4xbf16>,
                      %lengths: tensor<?xi64>, %counts: tensor<?xi32>,
                      %n: index) -> tensor<?x2x?x4xf32> {
  %0 = attn.cache_append ins(%rows : tensor<?x2x?x4xf32>)
      outs(%cache : tensor<?x2x?x4xbf16>) lengths(%lengths : tensor<?xi64>)
      counts(%counts : tensor<?xi32>)
  %1 = attn.cache_read ins(%0 : tensor<?x2x?x4xbf16>)
      lengths(%lengths : tensor<?xi64>) size(%n) -> tensor<?x2x?x4xf32>
  return %1 : tensor<?x2x?x4xf32>
}

// CHECK-LABEL: func.func @ring(
// CHECK: attn.cache_append ins(%{{.*}} : tensor<3x2x1x4xf32>) outs(%{{.*}} : tensor<3x2x16x4xf32>) lengths(%{{.*}} : tensor<3xi32>) ring {note}
// CHECK-NEXT: attn.cache_read ins(%{{.*}} : tensor<3x2x16x4xf32>) lengths(%{{.*}} : tensor<3xi32>) ring {note} -> tensor<3x2x40x4xf32>
func.func @ring(%rows: tensor<3x2x1x4xf32>, %cache: tensor<3x2x16x4xf32>,
                %lengths: tensor<3xi32>) -> tensor<3x2x40x4xf32> {
  %0 = attn.cache_append ins(%rows : tensor<3x2x1x4xf32>)
      outs(%cache : tensor<3x2x16x4xf32>) lengths(%lengths : tensor<3xi32>)
      ring {note}
  %1 = attn.cache_read ins(%0 : tensor<3x2x16x4xf32>)
      lengths(%lengths : tensor<3xi32>) ring {note} -> tensor<3x2x40x4xf32>
  return %1 : tensor<3x2x40x4xf32>
}

// CHECK-LABEL: func.func @paged(
// CHECK: %[[R:.*]]:2 = attn.cache_append ins(%{{.*}} : tensor<?x2x?x4xf16>) outs(%{{.*}}, %{{.*}} : tensor<?x2x16x4xi8>, tensor<?x2x16xf32>) lengths(%{{.*}} : tensor<?xi32>) table(%{{.*}} : tensor<?x?xi32>)
// CHECK-NEXT: attn.cache_read ins(%[[R]]#0, %[[R]]#1 : tensor<?x2x16x4xi8>, tensor<?x2x16xf32>) lengths(%{{.*}} : tensor<?xi32>) table(%{{.*}} : tensor<?x?xi32>) size(%{{.*}}) -> tensor<?x2x?x4xf32>
func.func @paged(%rows: tensor<?x2x?x4xf16>, %cache: tensor<?x2x16x4xi8>,
                 %scales: tensor<?x2x16xf32>, %lengths: tensor<?xi32>,
                 %table: tensor<?x?xi32>, %n: index) -> tensor<?x2x?x4xf32> {
  %0:2 = attn.cache_append ins(%rows : tensor<?x2x?x4xf16>)
      outs(%cache, %scales : tensor<?x2x16x4xi8>, tensor<?x2x16xf32>)
      lengths(%lengths : tensor<?xi32>) table(%table : tensor<?x?xi32>)
  %1 = attn.cache_read ins(%0#0, %0#1 : tensor<?x2x16x4xi8>, tensor<?x2x16xf32>)
      lengths(%lengths : tensor<?xi32>) table(%table : tensor<?x?xi32>)
      size(%n) -> tensor<?x2x?x4xf32>
  return %1 : tensor<?x2x?x4xf32>
}

// CHECK-LABEL: func.func @buffers(
// CHECK: attn.cache_append ins(%{{.*}} : memref<?x2x?x4xf32>) outs(%{{.*}} : memref<?x2x?x4xf32>) lengths(%{{.*}} : memref<?xi32>)
func.func @buffers(%rows: memref<?x2x?x4xf32>, %cache: memref<?x2x?x4xf32>,
                   %lengths: memref<?xi32>) {
  attn.cache_append ins(%rows : memref<?x2x?x4xf32>)
      outs(%cache : memref<?x2x?x4xf32>) lengths(%lengths : memref<?xi32>)
  return
}

// CHECK-LABEL: func.func @packed_rows(
// CHECK: attn.cache_append ins(%{{.*}} : tensor<1x2x?x4xf32>) outs(%{{.*}} : tensor<?x2x?x4xf32>) lengths(%{{.*}} : tensor<?xi32>) sequences(%{{.*}} : tensor<?xi32>) ring{{$}}
func.func @packed_rows(%rows: tensor<1x2x?x4xf32>, %cache: tensor<?x2x?x4xf32>,
                       %lengths: tensor<?xi32>, %cu: tensor<?xi32>) {
  %0 = attn.cache_append ins(%rows : tensor<1x2x?x4xf32>)
      outs(%cache : tensor<?x2x?x4xf32>) lengths(%lengths : tensor<?xi32>)
      ring sequences(%cu : tensor<?xi32>)
  return
}
