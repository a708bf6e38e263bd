// RUN: attn-opt %s --split-input-file --verify-diagnostics

// What names read has the sizes of the op, where they are static.

func.func @heads_of_mask(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<1x3x1x5xi1>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{boolean(%t): dimension 1 (number of query heads) is 3, expected 1 or at least 6}}
      mask boolean(%t : tensor<1x3x1x5xi1>)
  return
}

// -----

func.func @heads_of_bias(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<3x?x?xf32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{bias rows(%t): dimension 0 (number of query heads) is 3, expected 1 or at least 6}}
      score bias rows(%t : tensor<3x?x?xf32>)
  return
}

// -----

func.func @heads_of_slopes(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<2xf32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{alibi(%t): dimension 0 (number of query heads) is 2, expected at least 6}}
      score alibi(%t : tensor<2xf32>)
  return
}

// -----

func.func @one_slope(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<1xf32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{alibi(%t): dimension 0 (number of query heads) is 1, expected at least 6}}
      score alibi(%t : tensor<1xf32>)
  return
}

// -----

func.func @batch_of_lengths(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<1xi32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{prefix_lm(%t): dimension 0 (batch size) is 1, expected at least 2}}
      mask prefix_lm(%t : tensor<1xi32>)
  return
}

// -----

func.func @keys_of_padding(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<2x4xi1>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{key_padding(%t): dimension 1 (key/value length) is 4, expected at least 5}}
      mask key_padding(%t : tensor<2x4xi1>)
  return
}

// -----

func.func @keys_of_document(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<2x3xi32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{document: dimension 1 (key/value length) is 3, expected at least 5}}
      mask document(%t, %t : tensor<2x3xi32>, tensor<2x3xi32>)
  return
}

// -----

func.func @queries_of_mask(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<2x5xi1>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{boolean(%t): dimension 0 (query length) is 2, expected 1 or at least 3}}
      mask boolean(%t : tensor<2x5xi1>)
  return
}

// -----

func.func @rows_of_mask(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<2x5xi1>, %o: index) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{boolean rows(%t): dimension 0 (query length) is 2, expected 1 or at least 3}}
      mask boolean rows(%t : tensor<2x5xi1>) offset(%o : index)
  return
}

// -----

func.func @batch_of_sequences(%q: tensor<1x6x3x4xf32>, %k: tensor<1x2x5x4xf32>, %t: tensor<2xi32>, %c: tensor<4xi32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<1x6x3x4xf32>, tensor<1x2x5x4xf32>, tensor<1x2x5x4xf32>) outs(%q : tensor<1x6x3x4xf32>)
      // expected-error @below {{key_padding(%t): dimension 0 (batch size) is 2, expected at least 3}}
      mask key_padding(%t : tensor<2xi32>) sequences(%c, %c : tensor<4xi32>, tensor<4xi32>)
  return
}

// -----

func.func @rows_from_bottom_right(%q: tensor<2x6x?x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<?x?xi1>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x?x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x?x4xf32>)
      // expected-error @below {{boolean rows: expected an operand 'offset', or bottom_right of static lengths}}
      mask boolean rows(%t : tensor<?x?xi1>) offset(bottom_right)
  return
}

// -----

func.func @rows_from_float(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<?x?xi1>, %o: f32) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{boolean rows: expected an 'offset' of integers, got 'f32'}}
      mask boolean rows(%t : tensor<?x?xi1>) offset(%o : f32)
  return
}

// -----

func.func @rows_from_matrix(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<?x?xi1>, %o: tensor<2x1xi32>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{boolean rows: expected an 'offset' of integers, got 'tensor<2x1xi32>'}}
      mask boolean rows(%t : tensor<?x?xi1>) offset(%o : tensor<2x1xi32>)
  return
}

// -----

func.func @rows_of_causal(%q: tensor<2x6x3x4xf32>, %k: tensor<2x2x5x4xf32>, %t: tensor<?x?xi1>) {
  %r = attn.attention ins(%q, %k, %k : tensor<2x6x3x4xf32>, tensor<2x2x5x4xf32>, tensor<2x2x5x4xf32>) outs(%q : tensor<2x6x3x4xf32>)
      // expected-error @below {{expected another operation or a clause}}
      mask causal rows(%t : tensor<?x?xi1>)
  return
}

// -----

func.func @heads_of_layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<1xf32>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      // expected-error @below {{alibi(%t): dimension 0 (number of query heads) is 1, expected at least 2}}
      score alibi(%t : tensor<1xf32>)
  return
}

// -----

func.func @keys_of_layer(%x: tensor<1x3x6xf32>, %w: tensor<6x16xf32>, %wo: tensor<8x6xf32>, %t: tensor<2xi1>) {
  %0 = attn.multi_head_attention heads(2, 1) sizes(4, 4)
      ins(%x : tensor<1x3x6xf32>) outs(%x : tensor<1x3x6xf32>)
      qkv(%w : tensor<6x16xf32>) output(%wo : tensor<8x6xf32>)
      // expected-error @below {{boolean(%t): dimension 0 (key/value length) is 2, expected 1 or at least 3}}
      mask boolean(%t : tensor<2xi1>)
  return
}
