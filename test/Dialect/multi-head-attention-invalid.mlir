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
  // expected-error@+1 {{operand 'qkv': expected shape (6, 16), from 6 features to 16, got 'tensor<6x8xf32>'}}
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
  // expected-error@+1 {{operand 'qkv': expected a weight of i8, its scales and perhaps a bias, got 1 operands}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%i : tensor<6x16xi8>) output(%wo : tensor<8x6xf32>)
  return
}

// -----

func.func @l2_bias(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %b: tensor<7xf32>) {
  // expected-error@+1 {{operand 'output': expected 6 scales or biases, got 7}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo, %b : tensor<8x6xf32>, tensor<7xf32>)
  return
}

// -----

func.func @l2_dynamic(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %d: tensor<?x6xf32>) {
  // expected-error@+1 {{operand 'output': expected a weight of static shape (K, N), (panels, K, P) or (panels, K / 2, P, 2), got 'tensor<?x6xf32>'}}
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
  // expected-error@+1 {{operand 'norms': expected a weight for 1 heads of size 4, got 'tensor<7xf32>'}}
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
  // expected-error@+1 {{expected the caches of keys and values behind the output in 'outs', got 1 operands}}
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

func.func @l7_gate(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wk: tensor<6x4xf32>, %wo: tensor<8x6xf32>) {
  // expected-error@+1 {{operand 'gate': expected shape (6, 2), from 6 features to 2, got 'tensor<6x4xf32>'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) gate(%wk : tensor<6x4xf32>)
  return
}

// -----

func.func @l9_rate(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %seed: i64, %call: i32) {
  // expected-error@+1 {{expected rates of 'dropout' in [0, 1), got 1.5}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) dropout(0.0, 1.5, %seed, %call)
  return
}

// -----

func.func @l7_packed_gate(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %g: tensor<1x6x16xf32>) {
  // expected-error@+1 {{operand 'gate': expected panels that are not as many for heads as for their elements, got 'tensor<1x6x16xf32>'}}
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4) ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>) qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>) gate(%g : tensor<1x6x16xf32>)
  return
}
