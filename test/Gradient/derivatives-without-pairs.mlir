// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" \
// RUN:   -attn-plan | FileCheck %s
// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" \
// RUN:   -attn-plan | FileCheck %s

!q = tensor<2x8x64x72xbf16>
!v = tensor<2x8x64x64xbf16>
!lse = tensor<2x8x64xf32>

// CHECK-LABEL: func.func @gradients
// CHECK: attn.plan = #attn.plan<layout = lanes,
func.func @gradients(%q: !q, %v: !v, %lse: !lse) -> (!q, !q, !v) {
  // expected-remark @+1 {{multiplies bf16 as f32, because the sizes of heads do not fill vectors}}
  %r:3 = attn.attention_backward ins(%q, %q, %v, %v, %lse, %v : !q, !q, !v, !v, !lse, !v)
      outs(%q, %q, %v : !q, !q, !v)
  return %r#0, %r#1, %r#2 : !q, !q, !v
}

// -----

!q = tensor<2x8x64x64xbf16>
!v = tensor<2x8x64x3xbf16>
!lse = tensor<2x8x64xf32>

// CHECK-LABEL: func.func @tangents
// CHECK: attn.plan = #attn.plan<layout = lanes,
func.func @tangents(%q: !q, %v: !v, %lse: !lse) -> !v {
  // expected-remark @+1 {{multiplies bf16 as f32, because the sizes of heads do not fill vectors}}
  %r = attn.attention_tangent ins(%q, %q, %v, %v, %lse : !q, !q, !v, !v, !lse)
      outs(%v : !v) tangents(value = %v : !v)
  return %r : !v
}

// -----

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
