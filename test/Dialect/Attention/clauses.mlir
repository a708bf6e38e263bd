// RUN: attn-opt %s | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s

// Clauses may stand in any order; they are printed in one.

// CHECK-LABEL: func.func @attention(
// CHECK: outs(%{{.*}}) scale(2.000000e+00) offset(%arg1 : index) sink(%arg2 : tensor<2xf32>) sequences(%arg3, %arg3 : tensor<2xi32>, tensor<2xi32>) dropout(1.000000e-01, %arg4, %arg5) score({{.*}}) {
// CHECK: } mask({{.*}}) {
// CHECK: } {note}
func.func @attention(%x: tensor<1x2x3x4xf32>, %o: index, %s: tensor<2xf32>,
                     %c: tensor<2xi32>, %seed: i64, %call: i32) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask causal, sliding_window(2, 0)
      score softcap(2.0)
      dropout(0.1, %seed, %call)
      sequences(%c, %c : tensor<2xi32>, tensor<2xi32>)
      sink(%s : tensor<2xf32>)
      offset(%o : index)
      scale(2.0)
      {note}
  return
}

// CHECK-LABEL: func.func @sink_after_score(
// CHECK: outs(%{{.*}}) offset(bottom_right) sink(%arg1 : tensor<2xf32>) score(%s, %b, %h, %p, %j) {
// CHECK: arith.negf %s
func.func @sink_after_score(%x: tensor<1x2x3x4xf32>, %s: tensor<2xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score(%s0, %b, %h, %p, %j) {
        %y = arith.negf %s0 : f32
        attn.yield %y : f32
      }
      sink(%s : tensor<2xf32>) offset(bottom_right)
  return
}

// CHECK-LABEL: func.func @multi_token(
// CHECK: outs(%{{.*}}) offset(bottom_right) sink(%arg1 : tensor<2xf32>) convolve_before(%arg2 : tensor<2x1x1xf32>) mix_before(%arg3 : tensor<2x1x1xf32>) convolve_after(%arg4 : tensor<2x1x1xf32>) mix_after(%arg5 : tensor<2x1x1xf32>) mask(%b, %h, %p, %j) {
func.func @multi_token(%x: tensor<1x2x3x4xf32>, %s: tensor<2xf32>,
                       %cb: tensor<2x1x1xf32>, %mb: tensor<2x1x1xf32>,
                       %ca: tensor<2x1x1xf32>, %ma: tensor<2x1x1xf32>) {
  %r = attn.multi_token_attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mix_after(%ma : tensor<2x1x1xf32>)
      mask causal
      convolve_after(%ca : tensor<2x1x1xf32>)
      sink(%s : tensor<2xf32>)
      mix_before(%mb : tensor<2x1x1xf32>)
      offset(bottom_right)
      convolve_before(%cb : tensor<2x1x1xf32>)
  return
}

// CHECK-LABEL: func.func @layer(
// CHECK: attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%arg0 : tensor<1x3x6xf32>)
// CHECK-SAME: outs(%arg0, %arg4, %arg4 : tensor<1x3x6xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
// CHECK-SAME: qkv(%arg1 : tensor<6x16xf32>) output(%arg2 : tensor<8x6xf32>)
// CHECK-SAME: gate heads(%arg8 : tensor<6x2xf32>) norms(%arg9, %arg9 : tensor<4xf32>, tensor<4xf32>)
// CHECK-SAME: output_norm(%arg9 : tensor<4xf32>) layer(3) epsilon(5.000000e-01)
// CHECK-SAME: rope half_split(%arg3, %arg3 : tensor<9x2xf32>, tensor<9x2xf32>)
// CHECK-SAME: lengths(%arg5 : tensor<1xi32>) counts(%arg5 : tensor<1xi32>) size(%arg6)
// CHECK-SAME: scale(5.000000e-01) sink(%arg7 : tensor<2xf32>)
// CHECK-SAME: dropout(1.000000e-01, 2.000000e-01, %arg10, %arg11) score({{.*}}) {
// CHECK: } mask({{.*}}) {
func.func @layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>,
                 %wo: tensor<8x6xf32>, %r: tensor<9x2xf32>,
                 %c: tensor<1x1x8x4xf32>, %n: tensor<1xi32>, %size: index,
                 %s: tensor<2xf32>, %g: tensor<6x2xf32>, %norm: tensor<4xf32>,
                 %seed: i64, %call: i32) {
  %y:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>)
      mask causal
      rope half_split(%r, %r : tensor<9x2xf32>, tensor<9x2xf32>)
      output(%wo : tensor<8x6xf32>)
      score softcap(2.0)
      epsilon(0.5) layer(3)
      size(%size) counts(%n : tensor<1xi32>) lengths(%n : tensor<1xi32>)
      dropout(0.1, 0.2, %seed, %call)
      sink(%s : tensor<2xf32>)
      scale(0.5)
      output_norm(%norm : tensor<4xf32>)
      norms(%norm, %norm : tensor<4xf32>, tensor<4xf32>)
      gate heads(%g : tensor<6x2xf32>)
      qkv(%w : tensor<6x16xf32>)
      outs(%x, %c, %c : tensor<1x3x6xf32>, tensor<1x1x8x4xf32>,
           tensor<1x1x8x4xf32>)
  return
}

// CHECK-LABEL: func.func @cross_layer(
// CHECK: ins(%arg0 : tensor<1x3x6xf32>) source(%arg0 : tensor<1x3x6xf32>) outs(%arg0 : tensor<1x3x6xf32>) query(%arg1 : tensor<6x8xf32>) key(%arg2 : tensor<6x4xf32>) value(%arg2 : tensor<6x4xf32>) output(%arg3 : tensor<8x6xf32>)
// CHECK-NEXT: return
func.func @cross_layer(%x: tensor<1x3x6xf32>, %wq: tensor<6x8xf32>,
                       %wk: tensor<6x4xf32>, %wo: tensor<8x6xf32>) {
  %y = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      output(%wo : tensor<8x6xf32>) value(%wk : tensor<6x4xf32>)
      key(%wk : tensor<6x4xf32>) query(%wq : tensor<6x8xf32>)
      source(%x : tensor<1x3x6xf32>)
  return
}

// CHECK-LABEL: func.func @caches(
// CHECK: attn.cache_append {{.*}} counts(%arg3 : tensor<1xi32>) ring {note}
// CHECK: attn.cache_append {{.*}} counts(%arg3 : tensor<1xi32>) table(%arg4 : tensor<1x2xi32>){{$}}
// CHECK: attn.cache_read {{.*}} table(%arg4 : tensor<1x2xi32>) size(%arg5) ->
func.func @caches(%rows: tensor<1x1x3x2xf32>, %c: tensor<1x1x4x2xf32>,
                  %pages: tensor<5x1x4x2xf32>, %n: tensor<1xi32>,
                  %t: tensor<1x2xi32>, %size: index) {
  %0 = attn.cache_append ins(%rows : tensor<1x1x3x2xf32>)
      outs(%c : tensor<1x1x4x2xf32>) lengths(%n : tensor<1xi32>)
      ring counts(%n : tensor<1xi32>) {note}
  %1 = attn.cache_append ins(%rows : tensor<1x1x3x2xf32>)
      outs(%pages : tensor<5x1x4x2xf32>) lengths(%n : tensor<1xi32>)
      table(%t : tensor<1x2xi32>) counts(%n : tensor<1xi32>)
  %2 = attn.cache_read ins(%pages : tensor<5x1x4x2xf32>)
      lengths(%n : tensor<1xi32>) size(%size) table(%t : tensor<1x2xi32>)
      -> tensor<1x1x?x2xf32>
  return
}

// CHECK-LABEL: func.func @rows(
// CHECK: attn.projection {{.*}} scales(%arg2 : tensor<6xf32>) bias(%arg3 : tensor<6xf32>){{$}}
// CHECK: attn.head_norm {{.*}} epsilon(5.000000e-01) layer(3){{$}}
// CHECK: attn.rope half_split {{.*}} positions(%arg6 : tensor<1x3xi32>){{$}}
func.func @rows(%x: tensor<1x3x4xf32>, %w: tensor<4x6xi8>, %s: tensor<6xf32>,
                %bias: tensor<6xf32>, %o: tensor<1x3x6xf32>,
                %heads: tensor<1x2x3x4xf32>, %p: tensor<1x3xi32>,
                %t: tensor<9x2xf32>) {
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x6xi8>)
      outs(%o : tensor<1x3x6xf32>) bias(%bias : tensor<6xf32>)
      scales(%s : tensor<6xf32>)
  %1 = attn.head_norm ins(%heads : tensor<1x2x3x4xf32>)
      outs(%heads : tensor<1x2x3x4xf32>) layer(3) epsilon(0.5)
  %2 = attn.rope half_split
      ins(%heads, %t, %t : tensor<1x2x3x4xf32>, tensor<9x2xf32>,
          tensor<9x2xf32>)
      outs(%heads : tensor<1x2x3x4xf32>) positions(%p : tensor<1x3xi32>)
  return
}
