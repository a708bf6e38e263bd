// RUN: attn-opt %s -split-input-file -attn-attention-to-online -attn-tile-keys -verify-diagnostics

// A plan that passes before were to carry out, and one that is not there.
func.func @heads(%q: tensor<1x1x4x15xbf16>) -> tensor<1x1x4x15xbf16> {
  // expected-error @below {{expected rows of 16 elements, as its attn.plan says, got 15: attn-pad-heads makes them}}
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x4x15xbf16>, tensor<1x1x4x15xbf16>,
          tensor<1x1x4x15xbf16>) outs(%q : tensor<1x1x4x15xbf16>)
      {attn.plan = #attn.plan<layout = pairs, rows = 32, lanes = 16, head_size = 16>}
  return %r : tensor<1x1x4x15xbf16>
}

// -----

func.func @packs(%q: tensor<1x1x4x16xbf16>) -> tensor<1x1x4x16xbf16> {
  // expected-error @below {{expected an attn.plan with 'packs' for 'pairs', as attn-plan attaches}}
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x4x16xbf16>, tensor<1x1x4x16xbf16>,
          tensor<1x1x4x16xbf16>) outs(%q : tensor<1x1x4x16xbf16>)
      {attn.plan = #attn.plan<layout = pairs, rows = 32, lanes = 16, head_size = 16>}
  return %r : tensor<1x1x4x16xbf16>
}

// -----

!m = tensor<16x32xf32>
!l = tensor<32xf32>
func.func @keys(%m: !m, %k: tensor<?x16xf32>, %l: !l, %n: index) -> (!m, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  // expected-error @below {{expected an attn.plan with 'keys', as attn-plan attaches}}
  %r:3 = attn.online_attention
      ins(%m, %k, %k : !m, tensor<?x16xf32>, tensor<?x16xf32>)
      outs(%m, %l, %l : !m, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) -> !m, !l, !l
  return %r#0, %r#1, %r#2 : !m, !l, !l
}
