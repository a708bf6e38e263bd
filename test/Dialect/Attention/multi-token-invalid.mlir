// RUN: attn-opt %s --split-input-file --verify-diagnostics

// -----

func.func @t2_more_rows(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x8x8xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'output': dimension 2 (output length) is 8, expected at most 7, the query length}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x8x8xf32>)
  return
}

// -----

func.func @t3_even_keys(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %kb: tensor<4x3x4xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'kernel_before': expected dimension 2 (ck) to be odd, got 4}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      convolve_before(%kb : tensor<4x3x4xf32>)
  return
}

// -----
// expected-note @+1 {{dimension 1 of 'query' is 4, from 'tensor<1x4x7x8xf32>'}}
func.func @t3_other_heads(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %kb: tensor<2x3x5xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'kernel_before': dimension 0 (number of query heads) is 2, expected 4}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      convolve_before(%kb : tensor<2x3x5xf32>)
  return
}

// -----

func.func @t3_kernel_rank(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %kb: tensor<4x3xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'kernel_before': expected a tensor or memref of shape (Hq, cq, ck) or (Hq, ch, cq, ck), got 'tensor<4x3xf32>'}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      convolve_before(%kb : tensor<4x3xf32>)
  return
}

// -----

func.func @t3_dynamic_kernel(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %kb: tensor<4x?x5xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'kernel_before': expected dimension 1 (cq) to be static and at least 1, got '?'}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      convolve_before(%kb : tensor<4x?x5xf32>)
  return
}

// -----

func.func @t3_wide_kernel(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %kb: tensor<4x3x5xf64>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'kernel_before': expected element type f64, f32, f16 or bf16, no wider than 'f32', got 'f64'}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      convolve_before(%kb : tensor<4x3x5xf64>)
  return
}

// -----

func.func @t3_integers(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %ma: tensor<2x2x2xi32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'mixing_after': expected element type f64, f32, f16 or bf16, no wider than 'f32', got 'i32'}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      mix_after(%ma : tensor<2x2x2xi32>)
  return
}

// -----

func.func @t3_group_of_kernel(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %kb: tensor<4x3x3x5xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'kernel_before': expected ch, which is 3, to divide the 4 query heads}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      convolve_before(%kb : tensor<4x3x3x5xf32>)
  return
}

// -----

func.func @t3_group_of_mixing(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %ma: tensor<2x3x3xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'mixing_after': expected ch, which is 3, to divide the 4 query heads}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      mix_after(%ma : tensor<2x3x3xf32>)
  return
}

// -----

func.func @t3_number_of_groups(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %ma: tensor<1x2x2xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'mixing_after': dimension 0 (Hq / ch) is 1, expected 2}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      mix_after(%ma : tensor<1x2x2xf32>)
  return
}

// -----

func.func @t3_not_square(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %ma: tensor<2x2x4xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'mixing_after': expected dimensions 1 and 2 (ch) to be equal, got 2 and 4}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      mix_after(%ma : tensor<2x2x4xf32>)
  return
}

// -----

func.func @t3_mixing_twice(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %kb: tensor<4x2x3x5xf32>, %mb: tensor<2x2x2xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op expected no 'mixing_before' beside a kernel with heads, got both}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      convolve_before(%kb : tensor<4x2x3x5xf32>)
      mix_before(%mb : tensor<2x2x2xf32>)
  return
}

// -----

func.func @t1_sink_per_row(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %sink: tensor<4x7xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'sink': expected a tensor or memref of shape (Hq), got 'tensor<4x7xf32>'}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      sink(%sink : tensor<4x7xf32>)
  return
}

// -----

func.func @t1_heads(%q: tensor<1x4x7x8xf32>, %k: tensor<1x3x9x8xf32>, %v: tensor<1x3x9x8xf32>, %o: tensor<1x4x7x8xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op expected the number of query heads to be a multiple of the number of key/value heads, got 4 and 3}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x3x9x8xf32>, tensor<1x3x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
  return
}

// -----

func.func @t2_output_rank(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7xf32>) {
  // expected-error @+1 {{'attn.multi_token_attention' op operand 'output': expected a tensor or memref of shape (B, Hq, So, Dv), got 'tensor<1x4x7xf32>'}}
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7xf32>)
  return
}

// -----

func.func @stage_twice(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %w: tensor<4x1x1xf32>) {
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      mix_after(%w : tensor<4x1x1xf32>)
      // expected-error @+1 {{expected clause 'mix_after' once, got it again}}
      mix_after(%w : tensor<4x1x1xf32>)
  return
}

// -----

func.func @t1_sequences(%q: tensor<1x4x7x8xf32>, %k: tensor<1x2x9x8xf32>, %v: tensor<1x2x9x8xf32>, %o: tensor<1x4x7x8xf32>, %c: tensor<2xi32>) {
  %0 = attn.multi_token_attention
      ins(%q, %k, %v : tensor<1x4x7x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) outs(%o : tensor<1x4x7x8xf32>)
      // expected-error @+1 {{expected another operation or a clause (convolve_before, mix_before, convolve_after, mix_after, scale, offset, sink, dropout, score, mask), got 'sequences'}}
      sequences(%c, %c : tensor<2xi32>, tensor<2xi32>)
  return
}
