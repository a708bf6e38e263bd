// RUN: attn-opt %s | attn-opt | FileCheck %s

!x = tensor<?x?x6xf32>
!rows = tensor<?x1x?x4xf32>

// CHECK-LABEL: func.func @plain(
// CHECK: attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%{{.*}} : tensor<?x?x6xf32>) outs(%{{.*}} : tensor<?x?x6xf32>) qkv(%{{.*}} : tensor<6x16xf32>) output(%{{.*}} : tensor<8x6xf32>) mask(%b, %h, %p, %j) {
func.func @plain(%x: !x, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) -> !x {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : !x)
      outs(%x : !x) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      mask causal
  return %0 : !x
}

// CHECK-LABEL: func.func @everything(
// CHECK: %{{.*}}:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%{{.*}} : tensor<?x?x6xf32>) outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x6xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>)
// CHECK-SAME: query(%{{.*}}, %{{.*}}, %{{.*}} : tensor<6x8xi8>, tensor<8xf32>, tensor<8xf32>) key(%{{.*}} : tensor<6x4xf32>) value(%{{.*}}, %{{.*}} : tensor<6x4xf32>, tensor<4xf32>) output(%{{.*}} : tensor<8x6xf32>)
// CHECK-SAME: gate heads(%{{.*}} : tensor<6x2xf32>) norms(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<1x4xf32>) output_norm(%{{.*}} : tensor<2x4xf32>) layer(7) epsilon(1.000000e-03)
// CHECK-SAME: rope interleaved(%{{.*}}, %{{.*}} : tensor<?x2xf32>, tensor<?x2xf32>) positions(%{{.*}} : tensor<?x?xi64>) lengths(%{{.*}} : tensor<?xi32>) counts(%{{.*}} : tensor<?xi64>) ring size(%{{.*}}) scale(5.000000e-01) sink(%{{.*}} : tensor<2xf16>) dropout(1.000000e-01, 2.000000e-01, %{{[a-z0-9]*}}, %{{[a-z0-9]*}})
// CHECK-SAME: score(%s, %b, %h, %p, %j) {
// CHECK: } mask(%b, %h, %p, %j) captures(%[[A:.*]] = %{{.*}} : tensor<?xi32>) {
func.func @everything(%x: !x, %k: !rows, %v: !rows, %wq: tensor<6x8xi8>,
    %sq: tensor<8xf32>, %bq: tensor<8xf32>, %wk: tensor<6x4xf32>,
    %bk: tensor<4xf32>, %wo: tensor<8x6xf32>, %g: tensor<6x2xf32>,
    %nq: tensor<4xf32>, %nk: tensor<1x4xf32>, %no: tensor<2x4xf32>,
    %p: tensor<?x?xi64>, %t: tensor<?x2xf32>,
    %n: tensor<?xi32>, %c: tensor<?xi64>, %size: index, %sink: tensor<2xf16>,
    %seed: i64, %call: i32) -> (!x, !rows, !rows) {
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : !x)
      outs(%x, %k, %v : !x, !rows, !rows)
      query(%wq, %sq, %bq : tensor<6x8xi8>, tensor<8xf32>, tensor<8xf32>)
      key(%wk : tensor<6x4xf32>) value(%wk, %bk : tensor<6x4xf32>, tensor<4xf32>)
      output(%wo : tensor<8x6xf32>) gate heads(%g : tensor<6x2xf32>)
      norms(%nq, %nk : tensor<4xf32>, tensor<1x4xf32>)
      output_norm(%no : tensor<2x4xf32>) layer(7) epsilon(1.0e-3)
      rope interleaved(%t, %t : tensor<?x2xf32>, tensor<?x2xf32>)
      positions(%p : tensor<?x?xi64>)
      lengths(%n : tensor<?xi32>) counts(%c : tensor<?xi64>) ring size(%size)
      scale(0.5) sink(%sink : tensor<2xf16>) dropout(0.1, 0.2, %seed, %call)
      score softcap(2.0) mask causal, key_padding(%n : tensor<?xi32>)
  return %0#0, %0#1, %0#2 : !x, !rows, !rows
}

// CHECK-LABEL: func.func @cross(
// CHECK: attn.multi_head_attention {{.*}} source(%{{.*}} : tensor<?x?x3xf32>) outs
// CHECK: attn.multi_head_attention {{.*}} memory(%{{.*}}, %{{.*}} : tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>) outs
func.func @cross(%x: !x, %e: tensor<?x?x3xf32>, %k: !rows, %v: !rows,
    %wq: tensor<6x8xf32>, %wk: tensor<3x4xf32>, %wo: tensor<8x6xf32>) -> !x {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : !x)
      source(%e : tensor<?x?x3xf32>) outs(%x : !x) query(%wq : tensor<6x8xf32>)
      key(%wk : tensor<3x4xf32>) value(%wk : tensor<3x4xf32>)
      output(%wo : tensor<8x6xf32>)
  %1 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%0 : !x)
      memory(%k, %v : !rows, !rows) outs(%x : !x) query(%wq : tensor<6x8xf32>)
      output(%wo : tensor<8x6xf32>)
  return %1 : !x
}

// CHECK-LABEL: func.func @packed(
// CHECK: attn.multi_head_attention {{.*}} gate elements(%{{.*}} : tensor<6x8xf32>) sequences(%{{.*}}, %{{.*}} : tensor<?xi32>, tensor<?xi32>)
func.func @packed(%x: tensor<1x?x6xf32>, %w: tensor<6x16xf32>,
    %wo: tensor<8x6xf32>, %g: tensor<6x8xf32>, %c: tensor<?xi32>)
    -> tensor<1x?x6xf32> {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x?x6xf32>) outs(%x : tensor<1x?x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      gate elements(%g : tensor<6x8xf32>)
      sequences(%c, %c : tensor<?xi32>, tensor<?xi32>)
  return %0 : tensor<1x?x6xf32>
}
