// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s -attn-add-runtime-checks | FileCheck %s --check-prefix=RUNTIME

// Into heads, of a fused weight; and out of heads.
// CHECK-LABEL: func.func @heads(
// CHECK: %[[QKV:.*]]:3 = attn.projection ins(%{{.*}}, %{{.*}} : tensor<?x?x12xf32>, tensor<12x16xbf16>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>)
// CHECK-NEXT: attn.projection ins(%[[QKV]]#0, %{{.*}} : tensor<?x2x?x4xf32>, tensor<8x12xf32>) outs(%{{.*}} : tensor<?x?x12xf32>) bias(%{{.*}} : tensor<12xf32>)
// RUNTIME-LABEL: func.func @heads(
// RUNTIME-DAG: "'attn.projection' op operand 'outs': dimension 0 (batch size) is not that of operand 'input'"
// RUNTIME-DAG: "'attn.projection' op operand 'outs': dimension 2 (sequence length) is not that of operand 'input'"
func.func @heads(%x: tensor<?x?x12xf32>, %w: tensor<12x16xbf16>,
                 %wo: tensor<8x12xf32>, %bias: tensor<12xf32>,
                 %q: tensor<?x2x?x4xf32>, %k: tensor<?x1x?x4xf32>,
                 %v: tensor<?x1x?x4xf32>, %y: tensor<?x?x12xf32>)
    -> (tensor<?x?x12xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) {
  %0:3 = attn.projection
      ins(%x, %w : tensor<?x?x12xf32>, tensor<12x16xbf16>)
      outs(%q, %k, %v : tensor<?x2x?x4xf32>, tensor<?x1x?x4xf32>,
           tensor<?x1x?x4xf32>)
  %1 = attn.projection
      ins(%0#0, %wo : tensor<?x2x?x4xf32>, tensor<8x12xf32>)
      outs(%y : tensor<?x?x12xf32>) bias(%bias : tensor<12xf32>)
  return %1, %0#1, %0#2 : tensor<?x?x12xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>
}

// Panels are what linalg.pack makes; the last one has columns to spare.
// CHECK-LABEL: func.func @p3_panels(
// CHECK: attn.projection {{.*}} tensor<2x6x16xi8>) outs({{.*}}) scales(%{{.*}} : tensor<20xf32>) bias(%{{.*}} : tensor<20xbf16>)
// CHECK: attn.projection {{.*}} tensor<2x3x16x2xbf16>)
func.func @p3_panels(%x: tensor<1x?x6xbf16>, %w8: tensor<6x20xi8>,
                     %w: tensor<6x20xbf16>, %scales: tensor<20xf32>,
                     %bias: tensor<20xbf16>, %y: tensor<1x?x20xf32>)
    -> tensor<1x?x20xf32> {
  %zero8 = arith.constant 0 : i8
  %zero = arith.constant 0.0 : bf16
  %to8 = tensor.empty() : tensor<2x6x16xi8>
  %to = tensor.empty() : tensor<2x3x16x2xbf16>
  %p8 = linalg.pack %w8 padding_value(%zero8 : i8) outer_dims_perm = [1, 0]
      inner_dims_pos = [1] inner_tiles = [16] into %to8
      : tensor<6x20xi8> -> tensor<2x6x16xi8>
  %p = linalg.pack %w padding_value(%zero : bf16) outer_dims_perm = [1, 0]
      inner_dims_pos = [1, 0] inner_tiles = [16, 2] into %to
      : tensor<6x20xbf16> -> tensor<2x3x16x2xbf16>
  %0 = attn.projection ins(%x, %p8 : tensor<1x?x6xbf16>, tensor<2x6x16xi8>)
      outs(%y : tensor<1x?x20xf32>) scales(%scales : tensor<20xf32>)
      bias(%bias : tensor<20xbf16>)
  %1 = attn.projection ins(%x, %p : tensor<1x?x6xbf16>, tensor<2x3x16x2xbf16>)
      outs(%0 : tensor<1x?x20xf32>)
  return %1 : tensor<1x?x20xf32>
}
