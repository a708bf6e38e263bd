// RUN: attn-opt %s -attn-plan | FileCheck %s
// RUN: attn-opt %s --attn-target="{l2_bytes = 262144}" -attn-plan | FileCheck %s --check-prefix=SMALL

!q = tensor<1x4x?x64xf32>

// Strips of some of the keys are as long as helps, or as stay in the second level.
// CHECK-LABEL: func.func @any
// CHECK: attn.plan = #attn.plan<rows = 60, keys = 512>
// SMALL-LABEL: func.func @any
// SMALL: attn.plan = #attn.plan<rows = 60, keys = 256>
func.func @any(%q: !q) -> !q {
  %r = attn.multi_token_attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
  return %r : !q
}

// A convolution after the softmax reads across them: strips have all keys.
// CHECK-LABEL: func.func @convolved
// CHECK: attn.plan = #attn.plan<rows = 48>
func.func @convolved(%q: !q, %w: tensor<4x3x5xf32>) -> !q {
  %r = attn.multi_token_attention ins(%q, %q, %q : !q, !q, !q) outs(%q : !q)
      convolve_after(%w : tensor<4x3x5xf32>)
  return %r : !q
}

!s = tensor<1x4x100x64xf32>

// Two tiles of 54 rows compute fewer than one of 60 and one of 40.
// CHECK-LABEL: func.func @known
// CHECK: attn.plan = #attn.plan<rows = 54, keys = 128>
func.func @known(%q: !s) -> !s {
  %r = attn.multi_token_attention ins(%q, %q, %q : !s, !s, !s) outs(%q : !s)
  return %r : !s
}

!f = tensor<1x4x5x64xf32>

// There are no more rows than that, whatever is said.
// CHECK-LABEL: func.func @few
// CHECK: attn.plan = #attn.plan<rows = 5, keys = 64>
func.func @few(%q: !f) -> !f {
  %r = attn.multi_token_attention ins(%q, %q, %q : !f, !f, !f) outs(%q : !f)
      {attn.plan = #attn.plan<rows = 30>}
  return %r : !f
}

// CHECK-LABEL: func.func @gradient
// CHECK: attn.multi_token_attention_backward
// CHECK: attn.plan = #attn.plan<rows = 48>
func.func @gradient(%q: !q) -> (!q, !q, !q) {
  %r:3 = attn.multi_token_attention_backward
      ins(%q, %q, %q, %q : !q, !q, !q, !q) outs(%q, %q, %q : !q, !q, !q)
  return %r#0, %r#1, %r#2 : !q, !q, !q
}
