// RUN: attn-opt %s --split-input-file --verify-diagnostics -attn-plan -attn-tile-tangent

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

func.func @sinks(%q: !q, %lse: !lse, %s: tensor<8x64xf32>) -> !q {
  // expected-remark @+1 {{is lowered by the reference path, because it has the tangent of a sink for each query}}
  %r = attn.attention_tangent ins(%q, %q, %q, %q, %lse : !q, !q, !q, !q, !lse)
      outs(%q : !q) tangents(sink = %s : tensor<8x64xf32>) sink(%s : tensor<8x64xf32>)
  return %r : !q
}

// -----

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

func.func @heads(%q: !q, %lse: !lse) -> !q {
  // expected-error @+1 {{attn.plan: expected 'rows' and 'keys' alone for tangents, got #attn.plan<heads = 2>}}
  %r = attn.attention_tangent ins(%q, %q, %q, %q, %lse : !q, !q, !q, !q, !lse)
      outs(%q : !q) tangents(value = %q : !q) {attn.plan = #attn.plan<heads = 2>}
  return %r : !q
}
