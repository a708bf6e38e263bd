// RUN: attn-opt %s --attn-target=znver4 -attn-plan -split-input-file -verify-diagnostics

!q = tensor<1x8x5x64xbf16>
!k = tensor<1x2x?x64xbf16>
func.func @shared(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: packs: expected values whose rows are known outside of the parallel loop, and no 'chunk', for 'shared'}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<packs = shared>}
  return %r : !q
}

// -----

!q = tensor<1x8x5x64xbf16>
!k = tensor<1x2x?x64xbf16>
func.func @kept(%q: !q, %k: !k) -> !q {
  // expected-error @below {{attn.plan: packs: expected values of a tensor from outside of the only parallel loop, and no 'chunk', for 'kept'}}
  %r = attn.attention ins(%q, %k, %k : !q, !k, !k) outs(%q : !q)
      {attn.plan = #attn.plan<packs = kept>}
  return %r : !q
}
