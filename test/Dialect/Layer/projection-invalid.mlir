// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @p1_rank(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'input': expected a tensor or memref of shape (B, S, features) or (B, H, S, D), got 'tensor<3x4xf32>'}}
  %0 = attn.projection ins(%x, %w : tensor<3x4xf32>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p1_dynamic(%x: tensor<1x3x?xf32>, %w: tensor<4x5xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'input': expected dimension 2 (features) to be static and at least 1, got '?'}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x?xf32>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p1_heads(%x: tensor<1x?x3x4xf32>, %w: tensor<4x5xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'input': expected dimension 1 (heads) to be static and at least 1, got '?'}}
  %0 = attn.projection ins(%x, %w : tensor<1x?x3x4xf32>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

// expected-note@+1 {{dimension 2 of 'input' is 3}}
func.func @p1_length(%x: tensor<1x2x3x2xf32>, %w: tensor<4x5xf32>, %y: tensor<1x2x5xf32>) {
  // expected-error@+1 {{operand 'outs': dimension 1 (sequence length) is 2, expected 3}}
  %0 = attn.projection ins(%x, %w : tensor<1x2x3x2xf32>, tensor<4x5xf32>) outs(%y : tensor<1x2x5xf32>)
  return
}

// -----

func.func @p1_outs(%x: tensor<1x3x4xf32>, %w: tensor<4x5xf32>) {
  // expected-error@+1 {{expected at least 1 operand 'outs', got 0}}
  "attn.projection"(%x, %w) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (tensor<1x3x4xf32>, tensor<4x5xf32>) -> ()
  return
}

// -----

func.func @p1_overflow(%x: tensor<1x4294967296x3x4294967296xf32>, %w: tensor<4x5xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'input': expected less than 2^63 features}}
  %0 = attn.projection ins(%x, %w : tensor<1x4294967296x3x4294967296xf32>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p2_columns(%x: tensor<1x3x4xf32>, %w: tensor<4x12xf32>, %q: tensor<1x2x3x4xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'weight': dimension 1 (columns of all results) is 12, expected 13}}
  %0:2 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x12xf32>) outs(%q, %y : tensor<1x2x3x4xf32>, tensor<1x3x5xf32>)
  return
}

// -----

func.func @p3_rows(%x: tensor<1x3x4xf32>, %w: tensor<6x5xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'weight': dimension 0 (features of the input) is 6, expected 4}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<6x5xf32>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p3_panels(%x: tensor<1x3x4xf32>, %w: tensor<1x4x16xf32>, %y: tensor<1x3x17xf32>) {
  // expected-error@+1 {{operand 'weight': dimension 0 (panels for the columns of all results) is 1, expected 2}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<1x4x16xf32>) outs(%y : tensor<1x3x17xf32>)
  return
}

// -----

func.func @p3_pairs(%x: tensor<1x3x4xbf16>, %w: tensor<1x1x16x4xbf16>, %y: tensor<1x3x5xbf16>) {
  // expected-error@+1 {{operand 'weight': dimension 1 (pairs of features of the input) is 1, expected 2}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xbf16>, tensor<1x1x16x4xbf16>) outs(%y : tensor<1x3x5xbf16>)
  return
}

// -----

func.func @p3_pairs(%x: tensor<1x3x4xbf16>, %w: tensor<1x2x16x4xbf16>, %y: tensor<1x3x5xbf16>) {
  // expected-error@+1 {{operand 'weight': dimension 3 (rows of a pair) is 4, expected 2}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xbf16>, tensor<1x2x16x4xbf16>) outs(%y : tensor<1x3x5xbf16>)
  return
}

// -----

func.func @p3_odd(%x: tensor<1x3x5xbf16>, %w: tensor<1x3x16x2xbf16>, %y: tensor<1x3x5xbf16>) {
  // expected-error@+1 {{operand 'weight': expected an even number of features for pairs of rows, got 5}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x5xbf16>, tensor<1x3x16x2xbf16>) outs(%y : tensor<1x3x5xbf16>)
  return
}

// -----

func.func @p3_dynamic(%x: tensor<1x3x4xf32>, %w: tensor<?x4x16xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'weight': expected dimension 0 (weights) to be static and at least 1, got '?'}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<?x4x16xf32>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p4_input(%x: tensor<1x3x4xi8>, %w: tensor<4x5xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'input': expected element type f64, f32, f16 or bf16, got 'i8'}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xi8>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p4_weight(%x: tensor<1x3x4xf32>, %w: tensor<4x5xf64>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'weight': expected element type f32, f16, bf16 or i8, got 'f64'}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x5xf64>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p4_outs(%x: tensor<1x3x4xbf16>, %w: tensor<4x5xf32>, %y: tensor<1x3x5xf16>) {
  // expected-error@+1 {{operand 'outs': expected element type 'bf16' or 'f32', got 'f16'}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xbf16>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf16>)
  return
}

// -----

func.func @p5_scales(%x: tensor<1x3x4xf32>, %w: tensor<4x5xi8>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'weight': expected scales with a weight of i8}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x5xi8>) outs(%y : tensor<1x3x5xf32>)
  return
}

// -----

func.func @p5_no_scales(%x: tensor<1x3x4xf32>, %w: tensor<4x5xf32>, %s: tensor<5xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'weight': expected scales only with a weight of i8}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>) scales(%s : tensor<5xf32>)
  return
}

// -----

func.func @p5_bias(%x: tensor<1x3x4xf32>, %w: tensor<4x5xf32>, %s: tensor<4xf32>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'bias': dimension 0 (columns of all results) is 4, expected 5}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>) bias(%s : tensor<4xf32>)
  return
}

// -----

func.func @p5_bias_type(%x: tensor<1x3x4xf32>, %w: tensor<4x5xf32>, %s: tensor<5xf64>, %y: tensor<1x3x5xf32>) {
  // expected-error@+1 {{operand 'bias': expected element type f32, f16 or bf16, got f64}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x5xf32>) outs(%y : tensor<1x3x5xf32>) bias(%s : tensor<5xf64>)
  return
}
