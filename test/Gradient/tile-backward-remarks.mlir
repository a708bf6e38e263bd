// RUN: attn-opt %s --split-input-file --verify-diagnostics -attn-plan -attn-tile-backward

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

func.func @sinks(%q: !q, %lse: !lse, %s: tensor<8x64xf32>) -> (!q, !q, !q, tensor<8x64xf32>) {
  // expected-remark @+1 {{is lowered by the reference path, because it has the gradient of a sink for each query}}
  %r:4 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q, %s : !q, !q, !q, tensor<8x64xf32>) gradients(sink)
      sink(%s : tensor<8x64xf32>)
  return %r#0, %r#1, %r#2, %r#3 : !q, !q, !q, tensor<8x64xf32>
}

// -----

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

func.func @rows(%q: !q, %lse: !lse) -> (!q, !q, !q) {
  // expected-error @+1 {{attn.plan: rows: expected a multiple of 8, the lanes of a vector, of at most 1024 for gradients, got 12}}
  %r:3 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q : !q, !q, !q) {attn.plan = #attn.plan<rows = 12>}
  return %r#0, %r#1, %r#2 : !q, !q, !q
}

// -----

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

func.func @chunk(%q: !q, %lse: !lse) -> (!q, !q, !q) {
  // expected-error @+1 {{attn.plan: expected 'rows', 'keys' and 'heads' alone for gradients, got #attn.plan<chunk = 256>}}
  %r:3 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q : !q, !q, !q) {attn.plan = #attn.plan<chunk = 256>}
  return %r#0, %r#1, %r#2 : !q, !q, !q
}
