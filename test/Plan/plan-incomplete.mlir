// RUN: attn-opt %s -split-input-file -attn-fold-groups -attn-tile-attention -attn-tile-projections -attn-multi-token-to-strips -attn-split-keys -attn-tile-keys -verify-diagnostics

// Plans that a user wrote and attn-plan has not completed.
!q = tensor<1x8x16x64xf32>
!k = tensor<1x2x16x64xf32>
func.func @rows(%q: !q, %k: !k) -> !q {
  // expected-error @below {{expected an attn.plan with 'rows', as attn-plan attaches}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<layout = lanes>}
  return %r : !q
}

// -----

!q = tensor<1x8x2x64xf32>
!k = tensor<1x2x16x64xf32>
func.func @heads(%q: !q, %k: !k) -> !q {
  // expected-error @below {{expected an attn.plan with 1 or 4 'heads', got 2}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<heads = 2>}
  return %r : !q
}

// -----

!q = tensor<1x8x2x64xf32>
!k = tensor<1x2x16x64xf32>
func.func @dropout(%q: !q, %k: !k, %seed: i64, %call: i32) -> !q {
  // expected-error @below {{expected an attn.plan with 1 'heads' with dropout, got 4}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      dropout(0.5, %seed, %call) {attn.plan = #attn.plan<heads = 4>}
  return %r : !q
}

// -----

!x = tensor<1x?x1024xf32>
!w = tensor<64x1024x32xf32>
!y = tensor<1x?x2048xf32>
func.func @project(%x: !x, %w: !w, %y: !y) -> !y {
  // expected-error @below {{expected an attn.plan as attn-plan completes it, got #attn.plan<rows = 64>}}
  %r = attn.projection ins(%x, %w : !x, !w) outs(%y : !y)
      {attn.plan = #attn.plan<rows = 64>}
  return %r : !y
}

// -----

!l = tensor<32xf32>
!v = tensor<24x32xf32>
func.func @pairs(%q: tensor<8x32x2xbf16>, %k: tensor<?x16xbf16>, %w: tensor<?x24xbf16>,
                 %v: !v, %l: !l, %n: index) -> (!v, !l, !l) {
  %c0 = arith.constant 0 : index
  %no = arith.constant false
  // expected-error @below {{expected an attn.plan with a multiple of 32 'keys', got 24}}
  %r:3 = attn.online_attention layout<pairs>
      ins(%q, %k, %w : tensor<8x32x2xbf16>, tensor<?x16xbf16>, tensor<?x24xbf16>)
      outs(%v, %l, %l : !v, !l, !l) at(%c0, %c0, %c0, %c0) queries(%n)
      exact(%no) {attn.plan = #attn.plan<keys = 24>} -> !v, !l, !l
  return %r#0, %r#1, %r#2 : !v, !l, !l
}
