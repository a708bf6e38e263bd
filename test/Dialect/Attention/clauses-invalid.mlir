// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @score_twice(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score softcap(2.0)
      mask causal
      // expected-error @below {{expected clause 'score' once, got it again}}
      score softcap(3.0)
  return
}

// -----

func.func @offset_twice(%x: tensor<1x2x3x4xf32>, %o: index) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      offset(bottom_right)
      // expected-error @below {{expected clause 'offset' once, got it again}}
      offset(%o : index)
  return
}

// -----

func.func @unknown_clause(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected another operation or a clause (sequences, counts, scale, offset, sink, dropout, score, mask), got 'skore'}}
      skore softcap(2.0)
  return
}

// -----

// A clause of another op, and the name of one.
func.func @clause_of_another_op(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected another operation or a clause (sequences, counts, scale, offset, sink, dropout, score, mask), got 'rope'}}
      mask causal rope(%x)
  return
}

// -----

func.func @unknown_clause_of_layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      // expected-error @below {{expected another operation or a clause (source, memory, outs, qkv, query, key, value, output, gate, norms, output_norm, layer, epsilon, rope, positions, sequences, offset, lengths, counts, ring, table, size, scale, sink, dropout, score, mask), got 'convolve_before'}}
      convolve_before(%w : tensor<6x16xf32>)
  return
}

// -----

func.func @rope_twice(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<9x2xf32>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      rope half_split(%t, %t : tensor<9x2xf32>, tensor<9x2xf32>)
      mask causal
      // expected-error @below {{expected clause 'rope' once, got it again}}
      rope half_split(%t, %t : tensor<9x2xf32>, tensor<9x2xf32>)
  return
}

// -----

func.func @rope_pairing(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<9x2xf32>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      // expected-error @below {{expected 'half_split' or 'interleaved', got 'half'}}
      rope half(%t, %t : tensor<9x2xf32>, tensor<9x2xf32>)
  return
}

// -----

func.func @no_output_weight(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      qkv(%w : tensor<6x16xf32>)
  // expected-error @below {{expected clause 'output'}}
  return
}

// -----

func.func @no_outs(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
  // expected-error @below {{expected clause 'outs'}}
  return
}

// -----

func.func @attribute_of_layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      // expected-error @below {{expected 'ring' in its clause, not in the attribute dictionary}}
      {ring}
  return
}

// -----

func.func @ring_twice(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error @below {{`ring` clause can appear at most once}}
  %0 = attn.cache_read ins(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) ring ring -> tensor<1x1x4x2xf32>
  return
}

// -----

func.func @unknown_clause_of_read(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error @below {{expected another operation or a clause (ring, table, size), got 'counts'}}
  %0 = attn.cache_read ins(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) counts(%l : tensor<1xi32>) -> tensor<1x1x4x2xf32>
  return
}

// -----

func.func @unknown_clause_of_append(%r: tensor<1x1x3x2xf32>, %c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error @below {{expected another operation or a clause (counts, sequences, ring, table), got 'pages'}}
  %0 = attn.cache_append ins(%r : tensor<1x1x3x2xf32>) outs(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) pages(%l : tensor<1xi32>)
  return
}

// -----

func.func @unknown_clause_of_rope(%x: tensor<1x2x3x4xf32>, %t: tensor<9x2xf32>, %o: index) {
  // expected-error @below {{expected another operation or a clause (offset, positions), got 'ofset'}}
  %0 = attn.rope half_split ins(%x, %t, %t : tensor<1x2x3x4xf32>, tensor<9x2xf32>, tensor<9x2xf32>) outs(%x : tensor<1x2x3x4xf32>) ofset(%o : index)
  return
}

// -----

func.func @unknown_clause_of_projection(%x: tensor<1x3x4xf32>, %w: tensor<4x6xf32>, %o: tensor<1x3x6xf32>) {
  // expected-error @below {{expected another operation or a clause (scales, bias), got 'sink'}}
  %0 = attn.projection ins(%x, %w : tensor<1x3x4xf32>, tensor<4x6xf32>) outs(%o : tensor<1x3x6xf32>) sink(%x : tensor<1x3x4xf32>)
  return
}

// -----

func.func @unknown_clause_of_norm(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{expected another operation or a clause (epsilon, layer), got 'eps'}}
  %0 = attn.head_norm ins(%x : tensor<1x2x3x4xf32>) outs(%x : tensor<1x2x3x4xf32>) eps(1.0e-6)
  return
}
