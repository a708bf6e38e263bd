// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" \
// RUN:   -attn-plan | FileCheck %s
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" \
// RUN:   -attn-plan | FileCheck %s

!q = tensor<2x8x64x64xf16>
!lse = tensor<2x8x64xf32>

// Nothing multiplies pairs of f16.
// CHECK-LABEL: func.func @f16
// CHECK: attn.plan = #attn.plan<layout = lanes,
func.func @f16(%q: !q, %lse: !lse) -> (!q, !q, !q) {
  %r:3 = attn.attention_backward ins(%q, %q, %q, %q, %lse, %q : !q, !q, !q, !q, !lse, !q)
      outs(%q, %q, %q : !q, !q, !q)
  return %r#0, %r#1, %r#2 : !q, !q, !q
}

// -----

!q = tensor<2x8x64x64xbf16>
!lse = tensor<2x8x64xf32>

// Scores that move far move weights by what cancels in the output.
// CHECK-LABEL: func.func @captures
// CHECK: attn.plan = #attn.plan<layout = lanes,
func.func @captures(%q: !q, %lse: !lse, %t: tensor<8xf32>) -> !q {
  // expected-remark @+1 {{multiplies bf16 as f32, because captures may move scores by more than cancels in bf16}}
  %r = attn.attention_tangent ins(%q, %q, %q, %q, %lse : !q, !q, !q, !q, !lse)
      outs(%q : !q) score alibi(%t : tensor<8xf32>) tangents(0 = %t : tensor<8xf32>)
  return %r : !q
}
