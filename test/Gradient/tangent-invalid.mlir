// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-tangent

!q = tensor<1x2x3x4xf32>

func.func @scale(%q: !q, %s: f32) -> !q {
  %i = tensor.empty() : !q
  // expected-error @+1 {{'attn.attention' has no tangent: the operand 'scale'; a factor that the score captures has one}}
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%i : !q) scale(%s : f32)
  return %r : !q
}

// -----

func.func @tables(%x: tensor<1x2x3x4xf32>, %t: tensor<3x2xf32>) -> tensor<1x2x3x4xf32> {
  // expected-error @+1 {{'attn.rope' has no tangent: its tables}}
  %r = attn.rope half_split ins(%x, %t, %t : tensor<1x2x3x4xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
  return %r : tensor<1x2x3x4xf32>
}

// -----

func.func @concat(%x: tensor<2xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'tensor.concat' has no tangent}}
  %r = tensor.concat dim(0) %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @+1 {{expected a result of floats, of which there is a derivative}}
func.func @integers(%x: f32) -> i32 {
  %r = arith.fptosi %x : f32 to i32
  return %r : i32
}

// -----

// expected-error @+1 {{expected no '@f_tangent' beside it}}
func.func @f(%x: f32) -> f32 {
  return %x : f32
}
func.func private @f_tangent(%x: f32) -> f32
