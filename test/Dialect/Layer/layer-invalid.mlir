// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @pairing(%x: tensor<1x1x2x4xf32>, %t: tensor<8x2xf32>) {
  // expected-error@+1 {{half_split}}
  %0 = attn.rope halves ins(%x, %t, %t : tensor<1x1x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) outs(%x : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @r1_types(%x: tensor<1x1x2x4xi32>, %t: tensor<8x2xf32>) {
  // expected-error@+1 {{operand 'input': expected element type f64, f32, f16 or bf16, got 'i32'}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x4xi32>, tensor<8x2xf32>, tensor<8x2xf32>) outs(%x : tensor<1x1x2x4xi32>)
  return
}

// -----

func.func @r1_output(%x: tensor<1x1x2x4xf32>, %t: tensor<8x2xf32>, %o: tensor<1x1x2x4xf16>) {
  // expected-error@+1 {{operand 'output': expected element type 'f32', got 'f16'}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) outs(%o : tensor<1x1x2x4xf16>)
  return
}

// -----

// expected-note@+1 {{dimension 2 of 'input' is 2}}
func.func @r1_output_size(%x: tensor<1x1x2x4xf32>, %t: tensor<8x2xf32>, %o: tensor<1x1x3x4xf32>) {
  // expected-error@+1 {{operand 'output': dimension 2 (sequence length) is 3, expected 2}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) outs(%o : tensor<1x1x3x4xf32>)
  return
}

// -----

func.func @r1_table_type(%x: tensor<1x1x2x4xf32>, %t: tensor<8x2xf64>) {
  // expected-error@+1 {{operand 'cosine': expected element type f32, got 'f64'}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x4xf32>, tensor<8x2xf64>, tensor<8x2xf64>) outs(%x : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @r2_rotary_size(%x: tensor<1x1x2x5xf32>, %t: tensor<8x3xf32>) {
  // expected-error@+1 {{operand 'cosine': expected dimension 1 (half of the rotary size) to be at most half of the head size 5, got 3}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x5xf32>, tensor<8x3xf32>, tensor<8x3xf32>) outs(%x : tensor<1x1x2x5xf32>)
  return
}

// -----

// expected-note@+1 {{dimension 1 of 'cosine' is 2}}
func.func @r2_tables(%x: tensor<1x1x2x4xf32>, %c: tensor<8x2xf32>, %s: tensor<8x1xf32>) {
  // expected-error@+1 {{operand 'sine': dimension 1 (half of the rotary size) is 1, expected 2}}
  %0 = attn.rope half_split ins(%x, %c, %s : tensor<1x1x2x4xf32>, tensor<8x2xf32>, tensor<8x1xf32>) outs(%x : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @r4_both(%x: tensor<1x1x2x4xf32>, %t: tensor<8x2xf32>, %o: index, %p: tensor<1x2xi32>) {
  // expected-error@+1 {{expected 'offset' or 'positions', got both}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) outs(%x : tensor<1x1x2x4xf32>) offset(%o : index) positions(%p : tensor<1x2xi32>)
  return
}

// -----

func.func @r4_offset(%x: tensor<1x1x2x4xf32>, %t: tensor<8x2xf32>, %o: f32) {
  // expected-error@+1 {{operand 'offset': expected index, i32 or i64, or a tensor of them of shape (B), got 'f32'}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) outs(%x : tensor<1x1x2x4xf32>) offset(%o : f32)
  return
}

// -----

// expected-note@+1 {{dimension 2 of 'input' is 2}}
func.func @r4_positions(%x: tensor<1x1x2x4xf32>, %t: tensor<8x2xf32>, %p: tensor<1x3xi32>) {
  // expected-error@+1 {{operand 'positions': dimension 1 (sequence length) is 3, expected 2}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x1x2x4xf32>, tensor<8x2xf32>, tensor<8x2xf32>) outs(%x : tensor<1x1x2x4xf32>) positions(%p : tensor<1x3xi32>)
  return
}

// -----

func.func @m1_types(%a: tensor<1x1x2x4xf32>, %b: tensor<1x1x2x4xf16>, %l: tensor<1x1x2xf32>) {
  // expected-error@+1 {{operand 'output2': expected element type 'f32', got 'f16'}}
  %0 = attn.merge ins(%a, %l, %b, %l : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2x4xf16>, tensor<1x1x2xf32>) outs(%a : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @m1_lse(%a: tensor<1x1x2x4xf64>, %l: tensor<1x1x2xf32>) {
  // expected-error@+1 {{operand 'lse1': expected element type 'f64', got 'f32'}}
  %0 = attn.merge ins(%a, %l, %a, %l : tensor<1x1x2x4xf64>, tensor<1x1x2xf32>, tensor<1x1x2x4xf64>, tensor<1x1x2xf32>) outs(%a : tensor<1x1x2x4xf64>)
  return
}

// -----

// expected-note@+1 {{dimension 2 of 'output1' is 2}}
func.func @m1_sizes(%a: tensor<1x1x2x4xf32>, %l: tensor<1x1x2xf32>, %m: tensor<1x1x3xf32>) {
  // expected-error@+1 {{operand 'lse2': dimension 2 (sequence length) is 3, expected 2}}
  %0 = attn.merge ins(%a, %l, %a, %m : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2x4xf32>, tensor<1x1x3xf32>) outs(%a : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @m1_outs(%a: tensor<1x1x2x4xf32>, %l: tensor<1x1x2xf32>) {
  // expected-error@+1 {{expected 1 or 2 operands 'outs' (output and log-sum-exp), got 3}}
  %0:3 = attn.merge ins(%a, %l, %a, %l : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2xf32>) outs(%a, %l, %l : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  return
}

// -----

func.func @n1_output(%x: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf16>) {
  // expected-error@+1 {{operand 'output': expected element type 'f32', got 'f16'}}
  %0 = attn.head_norm ins(%x : tensor<1x2x3x4xf32>) outs(%o : tensor<1x2x3x4xf16>)
  return
}

// -----

func.func @n1_head_size(%x: tensor<1x2x3x?xf32>) {
  // expected-error@+1 {{operand 'input': expected dimension 3 (head size) to be static and at least 1, got '?'}}
  %0 = attn.head_norm ins(%x : tensor<1x2x3x?xf32>) outs(%x : tensor<1x2x3x?xf32>)
  return
}

// -----

// expected-note@+1 {{dimension 3 of 'input' is 4}}
func.func @n2_weight_size(%x: tensor<1x2x3x4xf32>, %w: tensor<5xf32>) {
  // expected-error@+1 {{operand 'weight': dimension 0 (head size) is 5, expected 4}}
  %0 = attn.head_norm ins(%x, %w : tensor<1x2x3x4xf32>, tensor<5xf32>) outs(%x : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @n2_weight_rank(%x: tensor<1x2x3x4xf32>, %w: tensor<1x2x4xf32>) {
  // expected-error@+1 {{operand 'weight': expected a tensor or memref of shape (D) or (H, D), got 'tensor<1x2x4xf32>'}}
  %0 = attn.head_norm ins(%x, %w : tensor<1x2x3x4xf32>, tensor<1x2x4xf32>) outs(%x : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @n2_weight_type(%x: tensor<1x2x3x4xf16>, %w: tensor<4xf64>) {
  // expected-error@+1 {{operand 'weight': expected element type f64, f32, f16 or bf16, no wider than 'f32', got 'f64'}}
  %0 = attn.head_norm ins(%x, %w : tensor<1x2x3x4xf16>, tensor<4xf64>) outs(%x : tensor<1x2x3x4xf16>)
  return
}

// -----

func.func @n3_epsilon(%x: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected 'epsilon' to be positive and finite in 'f32', got}}
  %0 = attn.head_norm ins(%x : tensor<1x2x3x4xf32>) outs(%x : tensor<1x2x3x4xf32>) epsilon(1.0e-60)
  return
}

// -----

func.func @n4_layer(%x: tensor<1x2x3x4xf32>) {
  // expected-error@+1 {{expected 'layer' to be at least 0, got -1}}
  %0 = attn.head_norm ins(%x : tensor<1x2x3x4xf32>) outs(%x : tensor<1x2x3x4xf32>) layer(-1)
  return
}

// -----

// expected-note@+1 {{dimension 2 of 'input' is 4}}
func.func @d1_output(%x: tensor<1x2x4xf32>, %o: tensor<1x2x5xf32>, %seed: i64, %call: i32) {
  // expected-error@+1 {{operand 'output': dimension 2 (width) is 5, expected 4}}
  %0 = attn.dropout ins(%x : tensor<1x2x4xf32>) outs(%o : tensor<1x2x5xf32>) rate(0.5, %seed, %call)
  return
}

// -----

func.func @d2_rate(%x: tensor<1x2x4xf32>, %seed: i64, %call: i32) {
  // expected-error@+1 {{expected 'rate' in [0, 1), got 1.000000e+00}}
  %0 = attn.dropout ins(%x : tensor<1x2x4xf32>) outs(%x : tensor<1x2x4xf32>) rate(1.0, %seed, %call)
  return
}
