// RUN: attn-opt %s -attn-widen-attention=keep-bf16 | FileCheck %s

!x = tensor<2x4x?x16xbf16>

// CHECK-LABEL: func.func @kept
// CHECK-NOT: scf.forall
// CHECK: attn.attention ins({{.*}}tensor<2x4x?x16xbf16>)
func.func @kept(%x: !x) -> !x {
  %r = attn.attention ins(%x, %x, %x : !x, !x, !x) outs(%x : !x) mask causal
  return %r : !x
}

// An odd head has no pairs.
// CHECK-LABEL: func.func @odd
// CHECK: attn.attention ins({{.*}}tensor<2x4x?x15xf32>)
func.func @odd(%x: tensor<2x4x?x15xbf16>) -> tensor<2x4x?x15xbf16> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<2x4x?x15xbf16>, tensor<2x4x?x15xbf16>,
          tensor<2x4x?x15xbf16>) outs(%x : tensor<2x4x?x15xbf16>)
  return %r : tensor<2x4x?x15xbf16>
}

// The values' size may be.
// CHECK-LABEL: func.func @odd_values
// CHECK: attn.attention ins({{.*}}tensor<2x4x?x15xbf16>)
func.func @odd_values(%x: !x, %v: tensor<2x4x?x15xbf16>)
    -> tensor<2x4x?x15xbf16> {
  %r = attn.attention ins(%x, %x, %v : !x, !x, tensor<2x4x?x15xbf16>)
      outs(%v : tensor<2x4x?x15xbf16>)
  return %r : tensor<2x4x?x15xbf16>
}

// CHECK-LABEL: func.func @dropout
// CHECK: attn.attention ins({{.*}}tensor<2x4x?x16xf32>)
func.func @dropout(%x: !x, %seed: i64, %call: i32) -> !x {
  %r = attn.attention ins(%x, %x, %x : !x, !x, !x) outs(%x : !x)
      dropout(0.1, %seed, %call)
  return %r : !x
}

// CHECK-LABEL: func.func @half
// CHECK: attn.attention ins({{.*}}tensor<2x4x?x16xf32>)
func.func @half(%x: tensor<2x4x?x16xf16>) -> tensor<2x4x?x16xf16> {
  %r = attn.attention
      ins(%x, %x, %x : tensor<2x4x?x16xf16>, tensor<2x4x?x16xf16>,
          tensor<2x4x?x16xf16>) outs(%x : tensor<2x4x?x16xf16>)
  return %r : tensor<2x4x?x16xf16>
}
