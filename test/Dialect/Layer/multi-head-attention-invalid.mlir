// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @l1_heads(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected the number of query heads to be a multiple of the number of key/value heads, got 3 and 2}}
  %0 = attn.multi_head_attention heads(3, 2) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l1_no_heads(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected the query heads to be from 1 to 2^30, got 0}}
  %0 = attn.multi_head_attention heads(0, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l1_size_of_keys(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected the size of keys to be from 1 to 4096, got 4097}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4097, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l1_output(%x: tensor<1x3x6xf32>, %h: tensor<1x3x6xf16>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{operand 'outs': expected element type 'f32', got 'f16'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%h : tensor<1x3x6xf16>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

// expected-note@+1 {{dimension 1 of 'input' is 3}}
func.func @l1_length(%x: tensor<1x3x6xf32>, %y: tensor<1x4x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{operand 'outs': dimension 1 (sequence length) is 4, expected 3}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%y : tensor<1x4x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l2_weight(%x: tensor<1x3x6xf32>, %wq: tensor<6x8xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{operand 'qkv': dimension 1 (columns of all results) is 8, expected 16}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%wq : tensor<6x8xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l2_both(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wq: tensor<6x8xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected weights 'qkv', or 'query', 'key' and 'value', or with a 'memory' only 'query'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) query(%wq : tensor<6x8xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l2_scales(%x: tensor<1x3x6xf32>, %i: tensor<6x16xi8>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{operand 'qkv': expected scales with a weight of i8}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%i : tensor<6x16xi8>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l2_bias(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %b: tensor<7xf32>) {
  // expected-error@+1 {{operand 'output': dimension 0 (columns of all results) is 7, expected 6}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo, %b : tensor<8x6xf32>, tensor<7xf32>)
  return
}

// -----

func.func @l2_dynamic(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %d: tensor<?x6xf32>) {
  // expected-error@+1 {{operand 'output': expected dimension 0 (weights) to be static and at least 1, got '?'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%d : tensor<?x6xf32>)
  return
}

// -----

func.func @l3_fused(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected separate weights with a 'source' or a 'memory', got 'qkv'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) source(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l3_memory(%x: tensor<1x3x6xf32>, %wq: tensor<6x8xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xf32>) {
  // expected-error@+1 {{expected 2 operands 'memory' (keys and values), got 1}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) memory(%k : tensor<1x1x3x4xf32>) outs(%x : tensor<1x3x6xf32>) query(%wq : tensor<6x8xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l4_norms(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %n: tensor<4xf32>) {
  // expected-error@+1 {{expected 2 operands 'norms', got 1}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) norms(%n : tensor<4xf32>)
  return
}

// -----

func.func @l4_norm_size(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %b: tensor<7xf32>, %n: tensor<4xf32>) {
  // expected-error@+1 {{operand 'norms': dimension 0 (head size) is 7, expected 4}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) norms(%n, %b : tensor<4xf32>, tensor<7xf32>)
  return
}

// -----

func.func @l5_rope(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<9x2xf32>) {
  // expected-error@+1 {{expected 2 operands 'rope' (cosine and sine), got 1}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) rope half_split(%t : tensor<9x2xf32>)
  return
}

// -----

func.func @l5_rope_of_memory(%x: tensor<1x3x6xf32>, %wq: tensor<6x8xf32>, %wo: tensor<8x6xf32>, %t: tensor<9x2xf32>, %k: tensor<1x1x3x4xf32>) {
  // expected-error@+1 {{expected 'rope' only where keys come from the 'input'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) memory(%k, %k : tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) outs(%x : tensor<1x3x6xf32>) query(%wq : tensor<6x8xf32>) output(%wo : tensor<8x6xf32>) rope half_split(%t, %t : tensor<9x2xf32>, tensor<9x2xf32>)
  return
}

// -----

func.func @l6_no_cache(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected the caches of keys and values behind the output in 'outs', and the scales of both if they are of i8, got 1 operands}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @l6_no_lengths(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected 'counts', 'ring', 'table' and 'size' only with 'lengths'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) ring
  return
}

// -----

func.func @l6_ring(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected a 'size' with 'ring'}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>) ring
  return
}

// -----

func.func @l9_rate(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %seed: i64, %call: i32) {
  // expected-error@+1 {{expected 'output_rate' in [0, 1), got 1.500000e+00}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) dropout(0.0, 1.5, %seed, %call)
  return
}

// -----

func.func @l2_f64_bias(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %b: tensor<6xf64>) {
  // expected-error@+1 {{operand 'output': expected element type f32, f16 or bf16, got f64}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo, %b : tensor<8x6xf32>, tensor<6xf64>)
  return
}

// -----

func.func @l2_unsigned(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %u: tensor<6x16xui8>, %s: tensor<16xf32>) {
  // expected-error@+1 {{operand 'qkv': expected element type f32, f16, bf16 or i8, got 'ui8'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%u, %s : tensor<6x16xui8>, tensor<16xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l2_too_many(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %b: tensor<6xf32>) {
  // expected-error@+1 {{operand 'output': expected a weight, its scales if it is of i8, and perhaps a bias, got 3 operands}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo, %b, %b : tensor<8x6xf32>, tensor<6xf32>, tensor<6xf32>)
  return
}

// -----

func.func @l2_odd_pairs(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %y: tensor<1x3x5xf32>, %p: tensor<1x2x16x2xf32>) {
  // expected-error@+1 {{operand 'qkv': expected an even number of features for pairs of rows, got 5}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%y : tensor<1x3x5xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%p : tensor<1x2x16x2xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l2_empty_panels(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %p: tensor<1x6x0xf32>) {
  // expected-error@+1 {{operand 'qkv': expected dimension 2 (weights) to be static and at least 1, got 0}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%p : tensor<1x6x0xf32>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l4_norm_type(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %n: tensor<4xf64>) {
  // expected-error@+1 {{operand 'norms': expected element type f64, f32, f16 or bf16, no wider than 'f32', got 'f64'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) norms(%n, %n : tensor<4xf64>, tensor<4xf64>)
  return
}

// -----

func.func @l4_norm_rank(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %n: tensor<f32>) {
  // expected-error@+1 {{operand 'norms': expected a tensor or memref of shape (D) or (H, D), got 'tensor<f32>'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) norms(%n, %n : tensor<f32>, tensor<f32>)
  return
}

// -----

func.func @l4_epsilon(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %n: tensor<4xf32>) {
  // expected-error@+1 {{expected 'epsilon' to be positive and finite in 'f32', got -1.000000e+00 : f64}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) norms(%n, %n : tensor<4xf32>, tensor<4xf32>) epsilon(-1.0)
  return
}

// -----

func.func @l4_output_norm(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %n: tensor<1x4xf32>) {
  // expected-error@+1 {{operand 'output_norm': dimension 0 (number of heads) is 1, expected 2}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) output_norm(%n : tensor<1x4xf32>)
  return
}

// -----

func.func @l4_layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected 'layer' only with 'output_norm'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) layer(3)
  return
}

// -----

func.func @l4_negative_layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %n: tensor<4xf32>) {
  // expected-error@+1 {{expected 'layer' to be at least 0, got -3}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) output_norm(%n : tensor<4xf32>) layer(-3)
  return
}

// -----

func.func @l5_table_type(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<9x2xf64>) {
  // expected-error@+1 {{operand 'rope': expected element type f32, got 'f64'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) rope half_split(%t, %t : tensor<9x2xf64>, tensor<9x2xf64>)
  return
}

// -----

func.func @l5_table_size(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<9x3xf32>) {
  // expected-error@+1 {{operand 'rope': expected dimension 1 (half of the rotary size) to be at most half of the head size 4, got 3}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) rope half_split(%t, %t : tensor<9x3xf32>, tensor<9x3xf32>)
  return
}

// -----

// expected-note@+1 {{dimension 0 of 'rope' is 9}}
func.func @l5_tables(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<9x2xf32>, %s: tensor<8x2xf32>) {
  // expected-error@+1 {{operand 'rope': dimension 0 (number of positions) is 8, expected 9}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) rope half_split(%t, %s : tensor<9x2xf32>, tensor<8x2xf32>)
  return
}

// -----

func.func @l5_odd_head(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %v: tensor<6x12xf32>, %o: tensor<6x6xf32>, %t: tensor<9x2xf32>) {
  // expected-error@+1 {{operand 'rope': expected dimension 1 (half of the rotary size) to be at most half of the head size 3, got 2}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(3, 3) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%v : tensor<6x12xf32>) output(%o : tensor<6x6xf32>) rope half_split(%t, %t : tensor<9x2xf32>, tensor<9x2xf32>)
  return
}

// -----

func.func @l5_positions(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %p: tensor<1x3xi32>) {
  // expected-error@+1 {{expected 'positions' only with 'rope'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) positions(%p : tensor<1x3xi32>)
  return
}

// -----

func.func @l5_offset(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %f: f32) {
  // expected-error@+1 {{operand 'offset': expected index, i32 or i64, or a tensor of them of shape (B), got 'f32'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) offset(%f : f32)
  return
}

// -----

func.func @l6_unsigned(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xui8>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'outs': expected element type f64, f32, f16, bf16, f8E4M3FN, f8E5M2 or i8, got 'ui8'}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x1x3x4xui8>, tensor<1x1x3x4xui8>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @l6_scales(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xi8>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected 'scales' with a cache of i8, got none}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x1x3x4xi8>, tensor<1x1x3x4xi8>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @l6_wide(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xf64>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'input': expected element type 'f64', which the cache has, or a wider one, got 'f32'}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x1x3x4xf64>, tensor<1x1x3x4xf64>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @l6_ring_of_pages(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xf32>, %l: tensor<1xi32>, %t: tensor<1x2xi32>, %n: index) {
  // expected-error@+1 {{expected 'ring' or 'table', got both}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>) ring table(%t : tensor<1x2xi32>) size(%n)
  return
}

// -----

func.func @l6_heads(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x2x3x4xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'outs': dimension 1 (number of key/value heads) is 2, expected 1}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @l6_counts(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xf32>, %l: tensor<1xi32>, %c: tensor<1xindex>) {
  // expected-error@+1 {{operand 'counts': expected element type i32 or i64, got 'index'}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) lengths(%l : tensor<1xi32>) counts(%c : tensor<1xindex>)
  return
}

// -----

func.func @l7_gate(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %g: tensor<6x4xf32>) {
  // expected-error@+1 {{operand 'gate': dimension 1 (columns of all results) is 4, expected 2}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) gate heads(%g : tensor<6x4xf32>)
  return
}

// -----

func.func @l7_gate_of_elements(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %g: tensor<6x2xf32>) {
  // expected-error@+1 {{operand 'gate': dimension 1 (columns of all results) is 2, expected 8}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) gate elements(%g : tensor<6x2xf32>)
  return
}

// -----

func.func @l8_scale(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{expected a 'scale' that is finite in 'f32', got nan}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) scale(0x7FF8000000000000)
  return
}

// -----

func.func @l8_sink(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %s: tensor<2xf64>) {
  // expected-error@+1 {{operand 'sink': expected element type f64, f32, f16 or bf16, no wider than 'f32', got 'f64'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) sink(%s : tensor<2xf64>)
  return
}

// -----

func.func @l8_sequences(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %c: tensor<2xi32>) {
  // expected-error@+1 {{expected 2 operands 'sequences' (of queries and of keys), got 1}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) sequences(%c : tensor<2xi32>)
  return
}

// -----

func.func @l8_sequences_type(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %c: tensor<2xi64>) {
  // expected-error@+1 {{operand 'sequences': expected element type 'i32', got 'i64'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) sequences(%c, %c : tensor<2xi64>, tensor<2xi64>)
  return
}

// -----

func.func @l8_packed_rope(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %c: tensor<2xi32>, %t: tensor<9x2xf32>) {
  // expected-error@+1 {{expected 'positions' for a 'rope' of 'sequences'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) rope half_split(%t, %t : tensor<9x2xf32>, tensor<9x2xf32>) sequences(%c, %c : tensor<2xi32>, tensor<2xi32>)
  return
}

// -----

func.func @l8_packed_cache(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %k: tensor<1x1x3x4xf32>, %l: tensor<1xi32>, %c: tensor<2xi32>) {
  // expected-error@+1 {{expected 'sequences' or 'lengths', got both}}
  %0:3 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x, %k, %k : tensor<1x3x6xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) sequences(%c, %c : tensor<2xi32>, tensor<2xi32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @l9_rate_of_1(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %seed: i64, %call: i32) {
  // expected-error@+1 {{expected 'probability_rate' in [0, 1), got 1.000000e+00}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) dropout(1.0, 0.0, %seed, %call)
  return
}

// -----

func.func @l9_nan(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %seed: i64, %call: i32) {
  // expected-error@+1 {{expected 'output_rate' in [0, 1), got nan}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) dropout(0.0, 0x7FF8000000000000, %seed, %call)
  return
}
