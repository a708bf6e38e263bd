// RUN: attn-opt %s --split-input-file --verify-diagnostics

// Every message of the parser and the verifier of attn.attention.

//===----------------------------------------------------------------------===//
// Clauses
//===----------------------------------------------------------------------===//

func.func @inputs_missing(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      // expected-error @below {{expected 3 operands 'ins' (query, key, value) with their types, got 2 and 3}}
      ins(%x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @input_types_missing(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      // expected-error @below {{expected 3 operands 'ins' (query, key, value) with their types, got 3 and 2}}
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @inputs_keyword(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{expected 'ins'}}
  %r = attn.attention (%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
                       tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @outs_keyword(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
  // expected-error @below {{expected 'outs'}}
  return
}

// -----

func.func @outs_types(%x: tensor<1x2x3x4xf32>, %l: tensor<1x2x3xf32>) {
  %r:2 = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      // expected-error @below {{number of operands and types do not match: got 2 operands and 1 types}}
      outs(%x, %l : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @scale_word(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected floating point literal}}
      scale(large)
  return
}

// -----

func.func @scale_integer(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{unexpected decimal integer literal for a floating point value}}
      // expected-note @below {{add a trailing dot to make the literal a float}}
      scale(1)
  return
}

// -----

func.func @offset_word(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected SSA operand}}
      offset(top_left)
  return
}

// -----

func.func @sequences_three(%x: tensor<1x2x3x4xf32>, %cu: tensor<2xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected 1 or 2 operands 'sequences' (cumulative_query, cumulative_key) with their types, got 3 and 3}}
      sequences(%cu, %cu, %cu : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>)
  return
}

// -----

func.func @sequences_types(%x: tensor<1x2x3x4xf32>, %cu: tensor<2xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected 1 or 2 operands 'sequences' (cumulative_query, cumulative_key) with their types, got 2 and 1}}
      sequences(%cu, %cu : tensor<2xi32>)
  return
}

// -----

func.func @dropout_operands(%x: tensor<1x2x3x4xf32>, %seed: i64) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected ','}}
      dropout(0.5, %seed)
  return
}

// -----

func.func @clause_in_attributes(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected 'static_scale' in its clause, not in the attribute dictionary}}
      {static_scale = 2.0 : f64}
  return
}

// -----

func.func @segments_in_attributes(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected 'operandSegmentSizes' in its clause, not in the attribute dictionary}}
      {operandSegmentSizes = array<i32: 1>}
  return
}

// -----

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

func.func @unknown_score(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{unknown score 'causal', expected softcap, alibi, bias or a region}}
      score causal
  return
}

// -----

func.func @unknown_mask(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{unknown mask 'softcap', expected causal, sliding_window, prefix_lm, key_padding, document, boolean or a region}}
      mask softcap(2.0)
  return
}

// -----

func.func @mask_number(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{unknown mask '', expected causal, sliding_window, prefix_lm, key_padding, document, boolean or a region}}
      mask 3
  return
}

// -----

func.func @score_of_integers(%x: tensor<1x2x3x4xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xi32>, tensor<1x2x3x4xi32>,
          tensor<1x2x3x4xi32>)
      outs(%x : tensor<1x2x3x4xi32>)
      // expected-error @below {{a score needs a tensor of floats, got 'tensor<1x2x3x4xi32>'}}
      score softcap(2.0)
  return
}

// -----

func.func @softcap_zero(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{softcap: expected a positive number that is finite in 'f32', got 0.000000e+00}}
      score softcap(0.0)
  return
}

// -----

func.func @softcap_negative(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{softcap: expected a positive number that is finite in 'f32', got -2.000000e+00}}
      score softcap(-2.0)
  return
}

// -----

func.func @softcap_large(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{softcap: expected a positive number that is finite in 'f32', got INF}}
      score softcap(1.0e+39)
  return
}

// -----

func.func @softcap_small(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{softcap: expected a positive number that is finite in 'f32', got 0.000000e+00}}
      score softcap(1.0e-46)
  return
}

// -----

func.func @softcap_operand(%x: tensor<1x2x3x4xf32>, %c: i32) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{softcap: expected a float, got 'i32'}}
      score softcap(%c : i32)
  return
}

// -----

func.func @alibi_rank(%x: tensor<1x2x3x4xf32>, %t: tensor<1x2xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of floats and of rank 1, got 'tensor<1x2xf32>'}}
      score alibi(%t : tensor<1x2xf32>)
  return
}

// -----

func.func @alibi_elements(%x: tensor<1x2x3x4xf32>, %t: tensor<2xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of floats and of rank 1, got 'tensor<2xi32>'}}
      score alibi(%t : tensor<2xi32>)
  return
}

// -----

func.func @alibi_scalar(%x: tensor<1x2x3x4xf32>, %t: f32) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of floats and of rank 1, got 'f32'}}
      score alibi(%t : f32)
  return
}

// -----

func.func @alibi_unranked(%x: tensor<1x2x3x4xf32>, %t: tensor<*xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of floats and of rank 1, got 'tensor<*xf32>'}}
      score alibi(%t : tensor<*xf32>)
  return
}

// -----

func.func @alibi_vector(%x: tensor<1x2x3x4xf32>, %t: vector<2xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of floats and of rank 1, got 'vector<2xf32>'}}
      score alibi(%t : vector<2xf32>)
  return
}

// -----

func.func @bias_rank(%x: tensor<1x2x3x4xf32>, %t: tensor<1x1x1x1x1xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of floats and of rank 0 to 4, got 'tensor<1x1x1x1x1xf32>'}}
      score bias(%t : tensor<1x1x1x1x1xf32>)
  return
}

// -----

func.func @window_size(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{sliding_window: expected a size from 0 to 2305843009213693952, or -1 for no bound, got -2}}
      mask sliding_window(-2, 0)
  return
}

// -----

func.func @window_large(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{sliding_window: expected a size from 0 to 2305843009213693952, or -1 for no bound, got 2305843009213693953}}
      mask sliding_window(0, 2305843009213693953)
  return
}

// -----

func.func @window_one(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected ','}}
      mask sliding_window(3)
  return
}

// -----

func.func @prefix_boolean(%x: tensor<1x2x3x4xf32>, %t: tensor<1xi1>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of integers and of rank 1, got 'tensor<1xi1>'}}
      mask prefix_lm(%t : tensor<1xi1>)
  return
}

// -----

func.func @prefix_unsigned(%x: tensor<1x2x3x4xf32>, %t: tensor<1xui32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of integers and of rank 1, got 'tensor<1xui32>'}}
      mask prefix_lm(%t : tensor<1xui32>)
  return
}

// -----

func.func @padding_elements(%x: tensor<1x2x3x4xf32>, %t: tensor<1xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of integers or i1 and of rank 1 to 2, got 'tensor<1xf32>'}}
      mask key_padding(%t : tensor<1xf32>)
  return
}

// -----

func.func @padding_boolean_rank(%x: tensor<1x2x3x4xf32>, %t: tensor<1xi1>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected integers of shape (B) or i1 of shape (B, Skv), got 'tensor<1xi1>'}}
      mask key_padding(%t : tensor<1xi1>)
  return
}

// -----

func.func @padding_integer_rank(%x: tensor<1x2x3x4xf32>, %t: tensor<1x3xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected integers of shape (B) or i1 of shape (B, Skv), got 'tensor<1x3xi32>'}}
      mask key_padding(%t : tensor<1x3xi32>)
  return
}

// -----

func.func @document_types(%x: tensor<1x2x3x4xf32>, %s: tensor<1x3xi32>,
                          %t: tensor<1x3xi64>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{document: expected two tensors of one integer type and of shape (B, S), got 'tensor<1x3xi32>' and 'tensor<1x3xi64>'}}
      mask document(%s, %t : tensor<1x3xi32>, tensor<1x3xi64>)
  return
}

// -----

func.func @document_rank(%x: tensor<1x2x3x4xf32>, %s: tensor<3xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{document: expected two tensors of one integer type and of shape (B, S), got 'tensor<3xi32>' and 'tensor<3xi32>'}}
      mask document(%s, %s : tensor<3xi32>, tensor<3xi32>)
  return
}

// -----

func.func @document_unranked(%x: tensor<1x2x3x4xf32>, %s: tensor<*xi32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{document: expected two tensors of one integer type and of shape (B, S), got 'tensor<*xi32>' and 'tensor<*xi32>'}}
      mask document(%s, %s : tensor<*xi32>, tensor<*xi32>)
  return
}

// -----

func.func @boolean_elements(%x: tensor<1x2x3x4xf32>, %t: tensor<3x3xi8>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a tensor of i1 and of rank 0 to 4, got 'tensor<3x3xi8>'}}
      mask boolean(%t : tensor<3x3xi8>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Regions as text
//===----------------------------------------------------------------------===//

func.func @score_arguments(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected 5 arguments (s, b, h, p, j), got 4}}
      score(%b, %h, %p, %j) { attn.yield %b : index }
  return
}

// -----

func.func @mask_arguments(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected 4 arguments (b, h, p, j), got 5}}
      mask(%s, %b, %h, %p, %j) { attn.yield %s : index }
  return
}

// -----

func.func @empty_region(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a region of one block that ends in attn.yield}}
      mask(%b, %h, %p, %j) {}
  return
}

// -----

func.func @other_end(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a region of one block that ends in attn.yield}}
      mask(%b, %h, %p, %j) { %t = arith.constant true }
  return
}

// -----

func.func @two_blocks(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      // expected-error @below {{expected a region of one block that ends in attn.yield}}
      mask(%b, %h, %p, %j) {
        cf.br ^next
      ^next:
        %t = arith.constant true
        attn.yield %t : i1
      }
  return
}

// -----

func.func @yield_type_of_score(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      score(%s, %b, %h, %p, %j) {
        // expected-error @below {{'attn.yield' op expected the 'score' region to yield 'f32', got 'index'}}
        attn.yield %p : index
      }
  return
}

// -----

func.func @yield_type_of_mask(%x: tensor<1x2x3x4xf32>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        // expected-error @below {{'attn.yield' op expected the 'mask' region to yield 'i1', got 'index'}}
        attn.yield %p : index
      }
  return
}

// -----

func.func @attention_a11_isolated(%x: tensor<1x2x3x4xf32>, %c: i1) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        // expected-error @below {{use of undeclared SSA value name}}
        attn.yield %c : i1
      }
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A1) shapes
//===----------------------------------------------------------------------===//

func.func @query_rank(%q: tensor<2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                      %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected a tensor or memref of shape (B, Hq, Sq, Dk), got 'tensor<2x3x4xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @query_scalar(%q: f32, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected a tensor or memref of shape (B, Hq, Sq, Dk), got 'f32'}}
  %r = attn.attention
      ins(%q, %k, %v : f32,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @query_vector(%q: vector<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected a tensor or memref of shape (B, Hq, Sq, Dk), got 'vector<1x2x3x4xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : vector<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @query_encoding(%q: tensor<1x2x3x4xf32, "any">,
                          %k: tensor<1x2x3x4xf32>, %v: tensor<1x2x3x4xf32>,
                          %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected a tensor or memref of shape (B, Hq, Sq, Dk), got 'tensor<1x2x3x4xf32, "any">'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32, "any">,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @key_rank(%q: tensor<1x2x3x4xf32>, %k: tensor<*xf32>,
                    %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'key': expected a tensor or memref of shape (B, Hkv, Skv, Dk), got 'tensor<*xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<*xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_rank(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                      %v: tensor<4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': expected a tensor or memref of shape (B, Hkv, Skv, Dv), got 'tensor<4xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @output_rank(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                       %v: tensor<1x2x3x4xf32>, %o: tensor<4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'output': expected a tensor or memref of shape (B, Hq, Sq, Dv), got 'tensor<4xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<4xf32>)
  return
}

// -----

func.func @log_sum_exp_rank(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                            %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                            %l: tensor<3xf32>) {
  // expected-error @below {{'attn.attention' op operand 'log-sum-exp': expected a tensor or memref of shape (B, Hq, Sq), got 'tensor<3xf32>'}}
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o, %l : tensor<1x2x3x4xf32>, tensor<3xf32>)
  return
}

// -----

func.func @three_outs(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                      %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected 1 or 2 operands 'outs' (output and log-sum-exp), got 3}}
  %r:3 = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o, %o, %o : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
           tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @query_heads_dynamic(%q: tensor<1x?x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                               %v: tensor<1x2x3x4xf32>,
                               %o: tensor<1x?x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected dimension 1 (query heads) to be static and at least 1, got '?'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x?x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x?x3x4xf32>)
  return
}

// -----

func.func @query_heads_zero(%q: tensor<1x0x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                            %v: tensor<1x2x3x4xf32>, %o: tensor<1x0x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected dimension 1 (query heads) to be static and at least 1, got 0}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x0x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x0x3x4xf32>)
  return
}

// -----

func.func @query_head_size(%q: tensor<1x2x3x?xf32>, %k: tensor<1x2x3x4xf32>,
                           %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected dimension 3 (head size) to be static and at least 1, got '?'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x?xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @key_heads(%q: tensor<1x2x3x4xf32>, %k: tensor<1x?x3x4xf32>,
                     %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'key': expected dimension 1 (key/value heads) to be static and at least 1, got '?'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x?x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @query_head_size_huge(%q: tensor<1x2x3x4097xf32>,
                                %v: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected dimension 3 (head size) to be at most 4096, got 4097}}
  %r = attn.attention
      ins(%q, %q, %v : tensor<1x2x3x4097xf32>,
          tensor<1x2x3x4097xf32>, tensor<1x2x3x4xf32>)
      outs(%v : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_head_size_huge(%q: tensor<1x2x3x4xf32>,
                                %v: tensor<1x2x3x1099511627776xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': expected dimension 3 (head size) to be at most 4096, got 1099511627776}}
  %r = attn.attention
      ins(%q, %q, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x1099511627776xf32>)
      outs(%v : tensor<1x2x3x1099511627776xf32>)
  return
}

// -----

func.func @key_head_size(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x0xf32>,
                         %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'key': expected dimension 3 (head size) to be static and at least 1, got 0}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x0xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_heads(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                       %v: tensor<1x?x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': expected dimension 1 (key/value heads) to be static and at least 1, got '?'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x?x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_head_size(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                           %v: tensor<1x2x3x?xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': expected dimension 3 (head size) to be static and at least 1, got '?'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x?xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @output_heads(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x?x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'output': expected dimension 1 (query heads) to be static and at least 1, got '?'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x?x3x4xf32>)
  return
}

// -----

func.func @output_head_size(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                            %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x?xf32>) {
  // expected-error @below {{'attn.attention' op operand 'output': expected dimension 3 (head size) to be static and at least 1, got '?'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x?xf32>)
  return
}

// -----

func.func @log_sum_exp_heads(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                             %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                             %l: tensor<1x?x3xf32>) {
  // expected-error @below {{'attn.attention' op operand 'log-sum-exp': expected dimension 1 (query heads) to be static and at least 1, got '?'}}
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o, %l : tensor<1x2x3x4xf32>, tensor<1x?x3xf32>)
  return
}

// -----

func.func @key_batch(
    // expected-note @below {{dimension 0 of 'query' is 1, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<5x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'key': dimension 0 (batch size) is 5, expected 1}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<5x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @key_head_size_differs(
    // expected-note @below {{dimension 3 of 'query' is 4, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x5xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'key': dimension 3 (head size of query and key) is 5, expected 4}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x5xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_batch(
    // expected-note @below {{dimension 0 of 'query' is 1, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<5x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': dimension 0 (batch size) is 5, expected 1}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<5x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_heads_differ(
    %q: tensor<1x2x3x4xf32>,
    // expected-note @below {{dimension 1 of 'key' is 2, from 'tensor<1x2x3x4xf32>'}}
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x1x3x4xf32>,
    %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': dimension 1 (number of key/value heads) is 1, expected 2}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x1x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_length(
    %q: tensor<1x2x3x4xf32>,
    // expected-note @below {{dimension 2 of 'key' is 3, from 'tensor<1x2x3x4xf32>'}}
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x5x4xf32>,
    %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': dimension 2 (key/value length) is 5, expected 3}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x5x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @output_batch(
    // expected-note @below {{dimension 0 of 'query' is 1, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<5x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'output': dimension 0 (batch size) is 5, expected 1}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<5x2x3x4xf32>)
  return
}

// -----

func.func @output_heads_differ(
    // expected-note @below {{dimension 1 of 'query' is 2, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x5x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'output': dimension 1 (number of query heads) is 5, expected 2}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x5x3x4xf32>)
  return
}

// -----

func.func @output_length(
    // expected-note @below {{dimension 2 of 'query' is 3, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x5x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'output': dimension 2 (query length) is 5, expected 3}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x5x4xf32>)
  return
}

// -----

func.func @output_head_size_differs(
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    // expected-note @below {{dimension 3 of 'value' is 4, from 'tensor<1x2x3x4xf32>'}}
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x5xf32>) {
  // expected-error @below {{'attn.attention' op operand 'output': dimension 3 (head size of value) is 5, expected 4}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x5xf32>)
  return
}

// -----

func.func @log_sum_exp_batch_differs(
    // expected-note @below {{dimension 0 of 'query' is 1, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    %l: tensor<5x2x3xf32>) {
  // expected-error @below {{'attn.attention' op operand 'log-sum-exp': dimension 0 (batch size) is 5, expected 1}}
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o, %l : tensor<1x2x3x4xf32>, tensor<5x2x3xf32>)
  return
}

// -----

func.func @log_sum_exp_heads_differs(
    // expected-note @below {{dimension 1 of 'query' is 2, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    %l: tensor<1x5x3xf32>) {
  // expected-error @below {{'attn.attention' op operand 'log-sum-exp': dimension 1 (number of query heads) is 5, expected 2}}
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o, %l : tensor<1x2x3x4xf32>, tensor<1x5x3xf32>)
  return
}

// -----

func.func @log_sum_exp_length_differs(
    // expected-note @below {{dimension 2 of 'query' is 3, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    %l: tensor<1x2x5xf32>) {
  // expected-error @below {{'attn.attention' op operand 'log-sum-exp': dimension 2 (query length) is 5, expected 3}}
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o, %l : tensor<1x2x3x4xf32>, tensor<1x2x5xf32>)
  return
}

// -----

func.func @tensors_and_memrefs(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                               %v: tensor<1x2x3x4xf32>,
                               %o: memref<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected only tensors or only memrefs, got both}}
  attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : memref<1x2x3x4xf32>)
  return
}

// -----

func.func @tensors_and_memref_capture(%q: tensor<1x2x3x4xf32>,
                                      %k: tensor<1x2x3x4xf32>,
                                      %v: tensor<1x2x3x4xf32>,
                                      %o: tensor<1x2x3x4xf32>,
                                      %t: memref<2xf32>) {
  // expected-error @below {{'attn.attention' op expected only tensors or only memrefs, got both}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      score alibi(%t : memref<2xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A2) element types
//===----------------------------------------------------------------------===//

func.func @query_element_type(%q: tensor<1x2x3x4xi32>, %k: tensor<1x2x3x4xi32>,
                              %v: tensor<1x2x3x4xi32>,
                              %o: tensor<1x2x3x4xi32>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected element type f64, f32, f16 or bf16, got 'i32'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xi32>,
          tensor<1x2x3x4xi32>, tensor<1x2x3x4xi32>)
      outs(%o : tensor<1x2x3x4xi32>)
  return
}

// -----

func.func @query_small_float(%q: tensor<1x2x3x4xf8E5M2>,
                             %k: tensor<1x2x3x4xf8E5M2>,
                             %v: tensor<1x2x3x4xf8E5M2>,
                             %o: tensor<1x2x3x4xf8E5M2>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected element type f64, f32, f16 or bf16, got 'f8E5M2'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf8E5M2>,
          tensor<1x2x3x4xf8E5M2>, tensor<1x2x3x4xf8E5M2>)
      outs(%o : tensor<1x2x3x4xf8E5M2>)
  return
}

// -----

func.func @query_vector_elements(%q: tensor<1x2x3x4xvector<2xf32>>,
                                 %k: tensor<1x2x3x4xvector<2xf32>>,
                                 %v: tensor<1x2x3x4xvector<2xf32>>,
                                 %o: tensor<1x2x3x4xvector<2xf32>>) {
  // expected-error @below {{'attn.attention' op operand 'query': expected element type f64, f32, f16 or bf16, got 'vector<2xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xvector<2xf32>>,
          tensor<1x2x3x4xvector<2xf32>>, tensor<1x2x3x4xvector<2xf32>>)
      outs(%o : tensor<1x2x3x4xvector<2xf32>>)
  return
}

// -----

func.func @key_element_type(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf16>,
                            %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'key': expected element type 'f32', got 'f16'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf16>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @value_element_type(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                              %v: tensor<1x2x3x4xf16>,
                              %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op operand 'value': expected element type 'f32', got 'f16'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf16>)
      outs(%o : tensor<1x2x3x4xf32>)
  return
}

// -----

func.func @output_element_type(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                               %v: tensor<1x2x3x4xf32>,
                               %o: tensor<1x2x3x4xf16>) {
  // expected-error @below {{'attn.attention' op operand 'output': expected element type 'f32', got 'f16'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf16>)
  return
}

// -----

func.func @log_sum_exp_element_type(%q: tensor<1x2x3x4xf16>,
                                    %k: tensor<1x2x3x4xf16>,
                                    %v: tensor<1x2x3x4xf16>,
                                    %o: tensor<1x2x3x4xf16>,
                                    %l: tensor<1x2x3xf16>) {
  // expected-error @below {{'attn.attention' op operand 'log-sum-exp': expected element type 'f32', got 'f16'}}
  %r:2 = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf16>,
          tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>)
      outs(%o, %l : tensor<1x2x3x4xf16>, tensor<1x2x3xf16>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A3) heads
//===----------------------------------------------------------------------===//

func.func @heads_not_a_multiple(%q: tensor<1x3x3x4xf32>,
                                %k: tensor<1x2x3x4xf32>,
                                %v: tensor<1x2x3x4xf32>,
                                %o: tensor<1x3x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected the number of query heads to be a multiple of the number of key/value heads, got 3 and 2}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x3x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x3x3x4xf32>)
  return
}

// -----

func.func @fewer_query_heads(%q: tensor<1x1x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                             %v: tensor<1x2x3x4xf32>, %o: tensor<1x1x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected the number of query heads to be a multiple of the number of key/value heads, got 1 and 2}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x1x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x1x3x4xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A4) scale
//===----------------------------------------------------------------------===//

func.func @scale_infinite(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                          %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected a 'scale' that is finite in 'f32', got INF}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      scale(0x7FF0000000000000)
  return
}

// -----

func.func @scale_large(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                       %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected a 'scale' that is finite in 'f32', got 1.000000e+39}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      scale(1.0e+39)
  return
}

// -----

func.func @scale_type(%q: tensor<1x2x3x4xf16>, %k: tensor<1x2x3x4xf16>,
                      %v: tensor<1x2x3x4xf16>, %o: tensor<1x2x3x4xf16>,
                      %s: f16) {
  // expected-error @below {{'attn.attention' op operand 'scale': expected 'f32', got 'f16'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf16>,
          tensor<1x2x3x4xf16>, tensor<1x2x3x4xf16>)
      outs(%o : tensor<1x2x3x4xf16>)
      scale(%s : f16)
  return
}

// -----

func.func @scale_twice(%x: tensor<1x2x3x4xf32>, %s: f32) {
  // expected-error @below {{'attn.attention' op expected 'scale' as a constant or as an operand, got both}}
  %r = "attn.attention"(%x, %x, %x, %x, %s) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, static_scale = 2.0 : f64
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, f32) -> tensor<1x2x3x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A5) offset
//===----------------------------------------------------------------------===//

func.func @offset_float(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                        %n: f32) {
  // expected-error @below {{'attn.attention' op operand 'offset': expected index, i32 or i64, or a tensor of them of shape (B), got 'f32'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : f32)
  return
}

// -----

func.func @offset_width(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                        %n: i16) {
  // expected-error @below {{'attn.attention' op operand 'offset': expected index, i32 or i64, or a tensor of them of shape (B), got 'i16'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : i16)
  return
}

// -----

func.func @offset_rank(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                       %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                       %n: tensor<1x1xindex>) {
  // expected-error @below {{'attn.attention' op operand 'offset': expected index, i32 or i64, or a tensor of them of shape (B), got 'tensor<1x1xindex>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : tensor<1x1xindex>)
  return
}

// -----

func.func @offset_elements(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                           %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                           %n: tensor<1xui32>) {
  // expected-error @below {{'attn.attention' op operand 'offset': expected index, i32 or i64, or a tensor of them of shape (B), got 'tensor<1xui32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : tensor<1xui32>)
  return
}

// -----

func.func @offset_packed(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                         %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                         %n: tensor<f32>, %cu: tensor<2xi32>) {
  // expected-error @below {{'attn.attention' op operand 'offset': expected index, i32 or i64, or a tensor of them of shape (N), got 'tensor<f32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : tensor<f32>)
      sequences(%cu, %cu : tensor<2xi32>, tensor<2xi32>)
  return
}

// -----

func.func @offset_batch(
    // expected-note @below {{dimension 0 of 'query' is 1, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    %n: tensor<5xi32>) {
  // expected-error @below {{'attn.attention' op operand 'offset': dimension 0 (batch size) is 5, expected 1}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : tensor<5xi32>)
  return
}

// -----

func.func @offset_twice(%x: tensor<1x2x3x4xf32>, %n: index) {
  // expected-error @below {{'attn.attention' op expected 'offset' as an operand or as bottom_right, got both}}
  %r = "attn.attention"(%x, %x, %x, %x, %n) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, bottom_right
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, index) -> tensor<1x2x3x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A6) sink
//===----------------------------------------------------------------------===//

func.func @sink_rank(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                     %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                     %s: f32) {
  // expected-error @below {{'attn.attention' op operand 'sink': expected a tensor or memref of shape (Hq) or (Hq, Sq), got 'f32'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sink(%s : f32)
  return
}

// -----

func.func @sink_wide(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                     %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                     %s: tensor<2xf64>) {
  // expected-error @below {{'attn.attention' op operand 'sink': expected element type f64, f32, f16 or bf16, no wider than 'f32', got 'f64'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sink(%s : tensor<2xf64>)
  return
}

// -----

func.func @sink_elements(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                         %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                         %s: tensor<2xi32>) {
  // expected-error @below {{'attn.attention' op operand 'sink': expected element type f64, f32, f16 or bf16, no wider than 'f32', got 'i32'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sink(%s : tensor<2xi32>)
  return
}

// -----

func.func @sink_heads(
    // expected-note @below {{dimension 1 of 'query' is 2, from 'tensor<1x2x3x4xf32>'}}
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    %s: tensor<5xf32>) {
  // expected-error @below {{'attn.attention' op operand 'sink': dimension 0 (number of query heads) is 5, expected 2}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sink(%s : tensor<5xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A7) packed sequences
//===----------------------------------------------------------------------===//

func.func @sequences_half(%x: tensor<1x2x3x4xf32>, %cu: tensor<2xi32>) {
  // expected-error @below {{'attn.attention' op expected 'cumulative_key' only beside 'cumulative_query', got it alone}}
  %r = "attn.attention"(%x, %x, %x, %x, %cu) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<2xi32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @sequences_of_a_batch(
    %q: tensor<1x2x3x4xf32>,
    // expected-note @below {{dimension 0 of 'key' is 2}}
    %k: tensor<2x2x5x4xf32>, %cu: tensor<2xi32>) {
  // expected-error @below {{'attn.attention' op operand 'cumulative_query': dimension 0 (number of sequences + 1) is 2, expected 3}}
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x2x3x4xf32>, tensor<2x2x5x4xf32>,
          tensor<2x2x5x4xf32>)
      outs(%q : tensor<1x2x3x4xf32>) sequences(%cu : tensor<2xi32>)
  return
}

// -----

func.func @counts_and_sequences(%x: tensor<1x2x3x4xf32>, %cu: tensor<2xi32>,
                                %n: tensor<1xi32>) {
  // expected-error @below {{'attn.attention' op expected 'counts' or 'sequences', got both}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) sequences(%cu : tensor<2xi32>)
      counts(%n : tensor<1xi32>)
  return
}

// -----

// expected-note @below {{dimension 0 of 'query' is 1}}
func.func @counts_batch(%x: tensor<1x2x3x4xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{'attn.attention' op operand 'counts': dimension 0 (batch size) is 2, expected 1}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) counts(%n : tensor<2xi32>)
  return
}

// -----

func.func @counts_type(%x: tensor<1x2x3x4xf32>, %n: tensor<1xi8>) {
  // expected-error @below {{'attn.attention' op operand 'counts': expected element type i32 or i64, got 'i8'}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) counts(%n : tensor<1xi8>)
  return
}

// -----

func.func @counts_bottom_right_rows(%x: tensor<1x2x3x4xf32>,
                                    %n: tensor<1xi32>, %t: tensor<3x3xi1>) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) offset(bottom_right)
      counts(%n : tensor<1xi32>)
      // expected-error @below {{expected an operand 'offset', or bottom_right of static lengths}}
      mask boolean rows(%t : tensor<3x3xi1>)
  return
}

// -----

func.func @sequences_rank(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                          %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                          %cu: tensor<2x1xi32>) {
  // expected-error @below {{'attn.attention' op operand 'cumulative_query': expected a tensor or memref of shape (N+1), got 'tensor<2x1xi32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sequences(%cu, %cu : tensor<2x1xi32>, tensor<2x1xi32>)
  return
}

// -----

func.func @sequences_elements(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                              %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                              %cu: tensor<2xi32>, %ck: tensor<2xi64>) {
  // expected-error @below {{'attn.attention' op operand 'cumulative_key': expected element type 'i32', got 'i64'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sequences(%cu, %ck : tensor<2xi32>, tensor<2xi64>)
  return
}

// -----

func.func @sequences_empty(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                           %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                           %cu: tensor<2xi32>, %ck: tensor<0xi32>) {
  // expected-error @below {{'attn.attention' op operand 'cumulative_key': expected at least 1 element, got 0}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sequences(%cu, %ck : tensor<2xi32>, tensor<0xi32>)
  return
}

// -----

func.func @sequences_batch(%q: tensor<2x2x3x4xf32>, %k: tensor<2x2x3x4xf32>,
                           %v: tensor<2x2x3x4xf32>, %o: tensor<2x2x3x4xf32>,
                           %cu: tensor<2xi32>) {
  // expected-error @below {{'attn.attention' op operand 'query': dimension 0 (batch size of packed sequences) is 2, expected 1}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<2x2x3x4xf32>,
          tensor<2x2x3x4xf32>, tensor<2x2x3x4xf32>)
      outs(%o : tensor<2x2x3x4xf32>)
      sequences(%cu, %cu : tensor<2xi32>, tensor<2xi32>)
  return
}

// -----

func.func @sequences_differ(
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    // expected-note @below {{dimension 0 of 'cumulative_query' is 2, from 'tensor<2xi32>'}}
    %cumulative_query: tensor<2xi32>,
    %ck: tensor<3xi32>) {
  // expected-error @below {{'attn.attention' op operand 'cumulative_key': dimension 0 (number of sequences + 1) is 3, expected 2}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      sequences(%cumulative_query, %ck : tensor<2xi32>, tensor<3xi32>)
  return
}

// -----

func.func @sequences_offset(
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    %cu: tensor<2xi32>,
    // expected-note @below {{dimension 0 of 'offset' is 3, from 'tensor<3xi32>'}}
    %n: tensor<3xi32>) {
  // expected-error @below {{'attn.attention' op operand 'cumulative_query': dimension 0 (number of sequences + 1) is 2, expected 4}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : tensor<3xi32>)
      sequences(%cu, %cu : tensor<2xi32>, tensor<2xi32>)
  return
}

// -----

func.func @sequences_offset_huge(
    %q: tensor<1x2x3x4xf32>,
    %k: tensor<1x2x3x4xf32>,
    %v: tensor<1x2x3x4xf32>,
    %o: tensor<1x2x3x4xf32>,
    %cu: tensor<2xi32>,
    // expected-note @below {{dimension 0 of 'offset' is 9223372036854775807, from 'tensor<9223372036854775807xi32>'}}
    %n: tensor<9223372036854775807xi32>) {
  // expected-error @below {{'attn.attention' op operand 'cumulative_query': dimension 0 (number of sequences + 1) is 2, expected 9223372036854775808}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      offset(%n : tensor<9223372036854775807xi32>)
      sequences(%cu, %cu : tensor<2xi32>, tensor<2xi32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A8) dropout
//===----------------------------------------------------------------------===//

func.func @dropout_one(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                       %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                       %seed: i64, %call: i32) {
  // expected-error @below {{'attn.attention' op expected 'dropout_rate' in [0, 1), got 1.000000e+00}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      dropout(1.0, %seed, %call)
  return
}

// -----

func.func @dropout_negative(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                            %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                            %seed: i64, %call: i32) {
  // expected-error @below {{'attn.attention' op expected 'dropout_rate' in [0, 1), got -5.000000e-01}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      dropout(-0.5, %seed, %call)
  return
}

// -----

func.func @dropout_nan(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                       %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                       %seed: i64, %call: i32) {
  // expected-error @below {{'attn.attention' op expected 'dropout_rate' in [0, 1), got nan}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      dropout(0x7FF8000000000000, %seed, %call)
  return
}

// -----

func.func @dropout_without_operands(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected 'dropout_rate', 'dropout_seed' and 'dropout_call' together}}
  %r = "attn.attention"(%x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>, dropout_rate = 0.5 : f64
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @dropout_without_rate(%x: tensor<1x2x3x4xf32>, %seed: i64,
                                %call: i32) {
  // expected-error @below {{'attn.attention' op expected 'dropout_rate', 'dropout_seed' and 'dropout_call' together}}
  %r = "attn.attention"(%x, %x, %x, %x, %seed, %call) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, i64, i32) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @dropout_line_alone(%x: tensor<1x2x3x4xf32>, %line: index) {
  // expected-error @below {{'attn.attention' op expected 'dropout_line' only beside 'dropout_rate', got it alone}}
  %r = "attn.attention"(%x, %x, %x, %x, %line) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, index) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @dropout_key_alone(%x: tensor<1x2x3x4xf32>, %key: index) {
  // expected-error @below {{'attn.attention' op expected 'dropout_key' only beside 'dropout_rate', got it alone}}
  %r = "attn.attention"(%x, %x, %x, %x, %key) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, index) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @dropout_heads_alone(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected 'dropout_heads' only beside 'dropout_rate', got it alone}}
  %r = "attn.attention"(%x, %x, %x, %x) <{dropout_heads = 4 : i64,
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @dropout_heads_few(%x: tensor<1x2x3x4xf32>, %seed: i64, %call: i32) {
  // expected-error @below {{'attn.attention' op expected 'dropout_heads' of at least the 2 query heads, got 1}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) dropout(0.5, %seed, %call, heads = 1)
  return
}

// -----

func.func @dropout_key_type(%x: tensor<1x2x3x4xf32>, %seed: i64, %call: i32, %key: tensor<1xi32>) {
  // expected-error @below {{'attn.attention' op operand 'dropout_key': expected element type 'index', got 'i32'}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) dropout(0.5, %seed, %call, key = %key : tensor<1xi32>)
  return
}

// -----

// expected-note @below {{dimension 0 of 'query' is 1, from 'tensor<1x2x3x4xf32>'}}
func.func @dropout_key_size(%x: tensor<1x2x3x4xf32>, %seed: i64, %call: i32, %key: tensor<2xindex>) {
  // expected-error @below {{'attn.attention' op operand 'dropout_key': dimension 0 (batch size) is 2, expected 1}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>) dropout(0.5, %seed, %call, key = %key : tensor<2xindex>)
  return
}

// -----

func.func @dropout_syntax(%x: tensor<1x2x3x4xf32>, %seed: i64, %call: i32) {
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      // expected-error @below {{expected 'heads'}}
      outs(%x : tensor<1x2x3x4xf32>) dropout(0.5, %seed, %call, keys = 4)
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A9) results
//===----------------------------------------------------------------------===//

func.func @attention_a9_number(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected the number of tensor results (0) to be equal to the number of output tensors (1)}}
  "attn.attention"(%x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {}) : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
    tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> ()
  return
}

// -----

func.func @attention_a9_type(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected type of operand #3 ('tensor<1x2x3x4xf32>') to match type of corresponding result ('tensor<1x2x?x4xf32>')}}
  %r = "attn.attention"(%x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {}) : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
    tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x?x4xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// (A10), (A11) regions
//===----------------------------------------------------------------------===//

func.func @no_query(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected 1 operand 'query', got 0}}
  %r = "attn.attention"(%x, %x, %x) <{
      operandSegmentSizes = array<i32: 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @two_values(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected 1 operand 'value', got 2}}
  %r = "attn.attention"(%x, %x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @no_outs(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expected 1 or 2 operands 'outs' (output and log-sum-exp), got 0}}
  %r = "attn.attention"(%x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @captures_without_region(%x: tensor<1x2x3x4xf32>, %c: i1) {
  // expected-error @below {{'attn.attention' op expected no 'mask' captures without a 'mask' region, got 1}}
  %r = "attn.attention"(%x, %x, %x, %x, %c) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>
  }> ({}, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, i1) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @region_arguments(%x: tensor<1x2x3x4xf32>, %c: f32) {
  // expected-error @below {{'attn.attention' op 'score' region: expected 6 arguments (5 and 1 captures), got 5}}
  %r = "attn.attention"(%x, %x, %x, %x, %c) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>
  }> ({
    ^bb0(%s: f32, %b: index, %h: index, %p: index, %j: index):
      attn.yield %s : f32
  }, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, f32) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @attention_a10_argument_type(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op 'score' region: argument 0: expected 'f32', got 'f64'}}
  %r = "attn.attention"(%x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({
    ^bb0(%s: f64, %b: index, %h: index, %p: index, %j: index):
      attn.yield %s : f64
  }, {})
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @region_without_yield(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op 'mask' region: expected 'attn.yield' at its end, got 'ub.unreachable'}}
  %r = "attn.attention"(%x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      ub.unreachable
  })
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @region_yield_type(%x: tensor<1x2x3x4xf32>) {
  %r = "attn.attention"(%x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      // expected-error @below {{'attn.yield' op expected the 'mask' region to yield 'i1', got 'index'}}
      attn.yield %b : index
  }) : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
    tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @region_of_two_blocks(%x: tensor<1x2x3x4xf32>) {
  // expected-error @below {{'attn.attention' op expects region #1 to have 0 or 1 blocks}}
  %r = "attn.attention"(%x, %x, %x, %x) <{
      operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0>
  }> ({}, {
    ^bb0(%b: index, %h: index, %p: index, %j: index):
      cf.br ^bb1
    ^bb1:
      ub.unreachable
  })
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
  return
}

// -----

func.func @capture_vector(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                          %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                          %c: vector<4xf32>) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'vector<4xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : vector<4xf32>) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_unranked(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                            %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                            %c: tensor<*xf32>) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'tensor<*xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : tensor<*xf32>) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_encoding(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                            %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                            %c: tensor<4xf32, "any">) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'tensor<4xf32, "any">'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : tensor<4xf32, "any">) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_wide(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                        %c: i128) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'i128'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : i128) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_empty(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                         %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                         %c: i0) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'i0'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : i0) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_signed(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                          %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                          %c: tensor<4xsi32>) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'tensor<4xsi32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : tensor<4xsi32>) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_small_float(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                               %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                               %c: f8E5M2) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'f8E5M2'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : f8E5M2) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_complex(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                           %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                           %c: complex<f32>) {
  // expected-error @below {{'attn.attention' op 'mask' capture 0: expected a scalar, tensor or memref of index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'complex<f32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t = %c : complex<f32>) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_type(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                        %c: f32) {
  // expected-error @below {{'attn.attention' op 'mask' region: argument 4: expected 'f32' as its capture, got 'f64'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t : f64 = %c : f32) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_more_static(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                               %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                               %c: tensor<?xf32>) {
  // expected-error @below {{'attn.attention' op 'mask' region: argument 4: expected 'tensor<?xf32>' as its capture, got 'tensor<4xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t : tensor<4xf32> = %c : tensor<?xf32>) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_size(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                        %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                        %c: tensor<5xf32>) {
  // expected-error @below {{'attn.attention' op 'mask' region: argument 4: expected 'tensor<5xf32>' as its capture, got 'tensor<4xf32>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t : tensor<4xf32> = %c : tensor<5xf32>) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @capture_element(%q: tensor<1x2x3x4xf32>, %k: tensor<1x2x3x4xf32>,
                           %v: tensor<1x2x3x4xf32>, %o: tensor<1x2x3x4xf32>,
                           %c: tensor<4xf32>) {
  // expected-error @below {{'attn.attention' op 'mask' region: argument 4: expected 'tensor<4xf32>' as its capture, got 'tensor<4xf16>'}}
  %r = attn.attention
      ins(%q, %k, %v : tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
      outs(%o : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) captures(%t : tensor<4xf16> = %c : tensor<4xf32>) {
        %y = arith.constant true
        attn.yield %y : i1
      }
  return
}

// -----

func.func @attention_a11_dialect(%x: tensor<1x2x3x4xf32>) {
  // expected-note @below {{see this op}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        %t = arith.constant true
        // expected-error @below {{'tensor.empty' in the 'mask' region of 'attn.attention': expected an op of arith, math or index, tensor.extract or attn.yield}}
        %e = tensor.empty() : tensor<1xf32>
        attn.yield %t : i1
      }
  return
}

// -----

func.func @attention_a11_side_effect(%x: tensor<1x2x3x4xf32>) {
  // expected-note @below {{see this op}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        %t = arith.constant true
        // expected-error @below {{'cf.assert' in the 'mask' region of 'attn.attention': expected an op of arith, math or index, tensor.extract or attn.yield}}
        cf.assert %t, "no"
        attn.yield %t : i1
      }
  return
}

// -----

func.func @attention_a11_region(%x: tensor<1x2x3x4xf32>) {
  // expected-note @below {{see this op}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        %t = arith.constant true
        // expected-error @below {{'scf.if' in the 'mask' region of 'attn.attention': expected an op of arith, math or index, tensor.extract or attn.yield}}
        %e = scf.if %t -> (index) { scf.yield %p : index }
             else { scf.yield %j : index }
        attn.yield %t : i1
      }
  return
}

// -----

func.func @attention_a11_tensor(%x: tensor<1x2x3x4xf32>) {
  // expected-note @below {{see this op}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        %t = arith.constant true
        // expected-error @below {{'arith.constant' in the 'mask' region of 'attn.attention': expected scalar results of type index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'tensor<2xi1>'}}
        %e = arith.constant dense<true> : tensor<2xi1>
        attn.yield %t : i1
      }
  return
}

// -----

func.func @attention_a11_wide(%x: tensor<1x2x3x4xf32>) {
  // expected-note @below {{see this op}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        %t = arith.constant true
        // expected-error @below {{'arith.index_cast' in the 'mask' region of 'attn.attention': expected scalar results of type index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'i128'}}
        %e = arith.index_cast %p : index to i128
        attn.yield %t : i1
      }
  return
}

// -----

func.func @attention_a11_empty(%x: tensor<1x2x3x4xf32>) {
  // expected-note @below {{see this op}}
  %r = attn.attention
      ins(%x, %x, %x : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>,
          tensor<1x2x3x4xf32>)
      outs(%x : tensor<1x2x3x4xf32>)
      mask(%b, %h, %p, %j) {
        %t = arith.constant true
        // expected-error @below {{'arith.constant' in the 'mask' region of 'attn.attention': expected scalar results of type index, integer of at most 64 bits, f64, f32, f16 or bf16, got 'i0'}}
        %e = arith.constant 0 : i0
        attn.yield %t : i1
      }
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.yield
//===----------------------------------------------------------------------===//

func.func @yield_outside(%c: i1) {
  // expected-error @below {{'attn.yield' op expects parent op to be one of 'attn.attention_backward, attn.attention, attn.attention_tangent, attn.multi_head_attention, attn.multi_token_attention_backward, attn.multi_token_attention, attn.online_attention, attn.online_softmax'}}
  attn.yield %c : i1
  return
}
