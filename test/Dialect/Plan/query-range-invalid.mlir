// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @on_another_op(%a: f32) -> f32 {
  // expected-error @below {{expected 'attn.queries' on attn.attention or attn.multi_token_attention}}
  %0 = arith.negf %a {attn.queries = array<i64: 1, 2>} : f32
  return %0 : f32
}

// -----

func.func @no_range(%q: tensor<1x2x?x64xf32>) -> tensor<1x2x?x64xf32> {
  // expected-error @below {{expected 'array<i64: least, most>', with 0 < least <= most, as 'attn.queries', got 2 : i64}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      outs(%q : tensor<1x2x?x64xf32>) {attn.queries = 2 : i64}
  return %0 : tensor<1x2x?x64xf32>
}

// -----

func.func @none(%q: tensor<1x2x?x64xf32>) -> tensor<1x2x?x64xf32> {
  // expected-error @below {{with 0 < least <= most}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      outs(%q : tensor<1x2x?x64xf32>) {attn.queries = array<i64: 0, 2>}
  return %0 : tensor<1x2x?x64xf32>
}

// -----

func.func @descending(%q: tensor<1x2x?x64xf32>) -> tensor<1x2x?x64xf32> {
  // expected-error @below {{with 0 < least <= most}}
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      outs(%q : tensor<1x2x?x64xf32>) {attn.queries = array<i64: 3, 2>}
  return %0 : tensor<1x2x?x64xf32>
}
