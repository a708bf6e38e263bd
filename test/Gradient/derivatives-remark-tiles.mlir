// RUN: attn-opt %s --verify-diagnostics --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" -attn-plan | FileCheck %s

!q = tensor<2x8x128x80xbf16>
!v = tensor<2x8x128x64xbf16>
!lse = tensor<2x8x128xf32>

// CHECK-LABEL: func.func @size
// CHECK: attn.plan = #attn.plan<layout = pairs,
func.func @size(%q: !q, %v: !v, %lse: !lse) -> (!q, !q, !v) {
  // expected-remark @+1 {{sums over heads by dot products of vectors, because their sizes do not fill matrix tiles}}
  %r:3 = attn.attention_backward ins(%q, %q, %v, %v, %lse, %v : !q, !q, !v, !v, !lse, !v)
      outs(%q, %q, %v : !q, !q, !v)
  return %r#0, %r#1, %r#2 : !q, !q, !v
}
