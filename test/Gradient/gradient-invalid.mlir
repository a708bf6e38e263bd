// RUN: attn-opt %s --split-input-file --verify-diagnostics --attn-gradient

!q = tensor<1x2x5x4xf32>

func.func @scale(%q: !q, %s: f32) -> !q {
  %0 = tensor.empty() : !q
  // expected-error @+1 {{'attn.attention' has no gradient: the operand 'scale'; a factor that the score captures has one}}
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%0 : !q) scale(%s : f32)
  return %o : !q
}

// -----

!q = tensor<1x2x5x4xf32>

func.func @stages(%q: !q, %w: tensor<1x2x2xf32>, %s: f32) -> !q {
  %0 = tensor.empty() : !q
  // expected-error @+1 {{'attn.multi_token_attention' has no gradient: the operand 'scale'; a factor that the score captures has one}}
  %o = attn.multi_token_attention ins(%q, %q, %q : !q, !q, !q) outs(%0 : !q)
      scale(%s : f32) mix_before(%w : tensor<1x2x2xf32>)
  return %o : !q
}

// -----

!t = tensor<4x4xf32>

func.func @reduction(%x: !t, %k: tensor<2x2xf32>) -> tensor<3x3xf32> {
  %0 = tensor.empty() : tensor<3x3xf32>
  // expected-error @+1 {{'linalg.conv_2d' has no gradient}}
  %y = linalg.conv_2d ins(%x, %k : !t, tensor<2x2xf32>)
      outs(%0 : tensor<3x3xf32>) -> tensor<3x3xf32>
  return %y : tensor<3x3xf32>
}

// -----

// expected-error @+1 {{expected a result of floats, of which there is a derivative}}
func.func @integers(%x: tensor<4xf32>, %i: tensor<4xi32>) -> tensor<4xi32> {
  return %i : tensor<4xi32>
}

// -----

// expected-error @+1 {{expected a function that is public to differentiate}}
module {
  func.func private @hidden(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

// expected-error @+1 {{expected no '@f_gradient' beside it}}
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func private @f_gradient(%x: tensor<4xf32>) -> tensor<4xf32>

// -----

// A body that reads from outside would have a gradient of its own.
#map = affine_map<(i) -> (i)>
func.func @captured(%x: tensor<4xf32>, %table: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{'linalg.generic' has no gradient: its body reads what a gradient is asked for, or depends on it, from outside}}
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %t = tensor.extract %table[%i] : tensor<4xf32>
    %m = arith.mulf %a, %t : f32
    linalg.yield %m : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
