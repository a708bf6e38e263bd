// RUN: attn-opt %s --split-input-file --verify-diagnostics

// Every message of the verifiers of the online ops.

//===----------------------------------------------------------------------===//
// attn.online_attention
//===----------------------------------------------------------------------===//

func.func @query_rank(%q: tensor<8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (Dk, L) of a float type in layout<lanes>, got 'tensor<8xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @query_type(%q: tensor<16x8xi32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (Dk, L) of a float type in layout<lanes>, got 'tensor<16x8xi32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xi32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @value_rank(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected shape (Skv, Dv), got 'tensor<9xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @head_size(%q: tensor<?x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected dimension 0 to be static and at least 1, got 'tensor<?x8xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<?x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @lanes(%q: tensor<16x0xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected dimension 1 to be static and at least 1, got 'tensor<16x0xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x0xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @most_lanes(%q: tensor<16x4097xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x4097xf32>, %m: tensor<4097xf32>, %l: tensor<4097xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected dimension 1 to be at most 4096, got 'tensor<16x4097xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x4097xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x4097xf32>, tensor<4097xf32>, tensor<4097xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x4097xf32>, tensor<4097xf32>, tensor<4097xf32>
  return
}

// -----

func.func @value_size(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x?xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected dimension 1 to be static and at least 1, got 'tensor<9x?xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x?xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @outs(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{expected 3 operands 'outs' (accumulator, maximum and sum), got 2}}
  %r:2 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m : tensor<4x8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>
  return
}

// -----

func.func @key_head_size(%q: tensor<16x8xf32>, %k: tensor<9x15xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected shape (any, 16) of 'f32', got 'tensor<9x15xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x15xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @key_rank(%q: tensor<16x8xf32>, %k: tensor<1x9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected shape (any, 16) of 'f32', got 'tensor<1x9x16xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<1x9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @scales_of_floats(%q: tensor<3x16xf32>, %k: tensor<9x16xf32>, %s: tensor<9xf32>,
    %o: tensor<3x16xf32>, %m: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key_scales': expected a key of i8 in layout<rows> or layout<mma>, got 'f32' in layout<rows>}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %k : tensor<3x16xf32>, tensor<9x16xf32>, tensor<9x16xf32>)
      key_scales(%s : tensor<9xf32>) value_scales(%s : tensor<9xf32>)
      outs(%o, %m, %m : tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @scales_of_other_keys(%q: tensor<3x16xf32>, %k: tensor<9x16xi8>, %s: tensor<8xf32>,
    %o: tensor<3x16xf32>, %m: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key_scales': expected shape (9) of 'f32', got 'tensor<8xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %k : tensor<3x16xf32>, tensor<9x16xi8>, tensor<9x16xi8>)
      key_scales(%s : tensor<8xf32>) value_scales(%s : tensor<8xf32>)
      outs(%o, %m, %m : tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @integers_without_scales(%q: tensor<3x16xf32>, %k: tensor<9x16xi8>,
    %o: tensor<3x16xf32>, %m: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected 'f32' or a narrower float type, got 'tensor<9x16xi8>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %k : tensor<3x16xf32>, tensor<9x16xi8>, tensor<9x16xi8>)
      outs(%o, %m, %m : tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @key_type(%q: tensor<16x8xf32>, %k: tensor<9x16xf64>, %v: tensor<9x4xf64>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected 'f32' or a narrower float type, got 'tensor<9x16xf64>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf64>, tensor<9x4xf64>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @value_type(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf64>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected 'f32' or a narrower float type, got 'tensor<9x4xf64>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf64>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @accumulator(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<8x4xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'accumulator': expected shape (4, 8) of 'f32', got 'tensor<8x4xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @maximum(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<9xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'maximum': expected shape (8) of 'f32', got 'tensor<9xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<9xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<9xf32>, tensor<8xf32>
  return
}

// -----

func.func @sum(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<?xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'sum': expected shape (8) of 'f32', got 'tensor<?xf32>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<?xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<?xf32>
  return
}

// -----

func.func @rows(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<10x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected 9 rows as 'key', got 10}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<10x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @score_argument(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{'score' region: argument 0: expected 'f32', got 'f64'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      score {
    ^bb0(%s: f64, %b: index, %h: index, %p: index, %j: index):
      attn.yield %s : f64
    }
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @mask_arguments(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{'mask' region: expected 4 arguments (4 and 0 captures), got 3}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      mask {
    ^bb0(%b: index, %h: index, %p: index):
      %t = arith.constant true
      attn.yield %t : i1
    }
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @scale(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %n: index, %e: i1, %f: f64) {
  // expected-error @below {{operand 'scale': expected 'f32', got 'f64'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %m : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) scale(%f : f64)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// In pairs.

func.func @pairs_of_three(%q: tensor<8x16x3xbf16>, %k: tensor<40x16xbf16>, %v: tensor<2x4x32xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (Dk/2, L, 2) of bf16 in layout<pairs>, got 'tensor<8x16x3xbf16>'}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x3xbf16>, tensor<40x16xbf16>, tensor<2x4x32xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @pairs_of_f16(%q: tensor<8x16x2xf16>, %k: tensor<40x16xf16>, %v: tensor<2x4x32xf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (Dk/2, L, 2) of bf16 in layout<pairs>, got 'tensor<8x16x2xf16>'}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xf16>, tensor<40x16xf16>, tensor<2x4x32xf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @pairs_key_size(%q: tensor<8x16x2xbf16>, %k: tensor<40x15xbf16>, %v: tensor<2x4x32xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected shape (any, 16) of 'bf16', got 'tensor<40x15xbf16>'}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x15xbf16>, tensor<2x4x32xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @pairs_value_rank(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<40xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected shape (Skv, Dv), got 'tensor<40xbf16>'}}
  %r:3 = attn.online_attention layout<pairs>
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<40xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @pairs_pack_size(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<3x4x16xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected shape (any, 4, 32) of 'bf16', got 'tensor<3x4x16xbf16>'}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<3x4x16xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @pairs_packs(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<1x4x32xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected 2 packs of the keys, got 1}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<1x4x32xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @pairs_state(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<2x4x32xbf16>,
    %o: tensor<4x16xbf16>, %m: tensor<16xbf16>, %l: tensor<16xbf16>, %n: index, %e: i1) {
  // expected-error @below {{operand 'accumulator': expected shape (4, 16) of 'f32', got 'tensor<4x16xbf16>'}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<2x4x32xbf16>)
      outs(%o, %m, %l : tensor<4x16xbf16>, tensor<16xbf16>, tensor<16xbf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xbf16>, tensor<16xbf16>, tensor<16xbf16>
  return
}

// -----

func.func @pairs_scale(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<2x4x32xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1, %f: bf16) {
  // expected-error @below {{operand 'scale': expected 'f32', got 'bf16'}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<2x4x32xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) scale(%f : bf16)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

// In rows.

func.func @rows_in_pairs(%q: tensor<3x8x2xbf16>, %k: tensor<9x16xbf16>, %v: tensor<9x32xbf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (n, Dk) of a float type in layout<rows>, got 'tensor<3x8x2xbf16>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x8x2xbf16>, tensor<9x16xbf16>, tensor<9x32xbf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_query_type(%q: tensor<3x16xi32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (n, Dk) of a float type in layout<rows>, got 'tensor<3x16xi32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xi32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

// Narrower queries have the type of the keys, and a state of f32.
func.func @mma_state(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf64>, %m: tensor<16xf64>, %l: tensor<16xf64>, %n: index, %e: i1) {
  // expected-error @below {{operand 'accumulator': expected shape (16, 32) of 'f32', got 'tensor<16x32xf64>'}}
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<16x32xf64>, tensor<16xf64>, tensor<16xf64>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x32xf64>, tensor<16xf64>, tensor<16xf64>
  return
}

// -----

func.func @rows_any_number(%q: tensor<?x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected dimension 0 to be static and at least 1, got 'tensor<?x16xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<?x16xf32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_value_rank(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<1x32x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected shape (Skv, Dv), got 'tensor<1x32x32xf16>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<1x32x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_maximum(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<2xf32>, %l: tensor<2xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'maximum': expected at least 3 queries, got 'tensor<2xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<2xf32>, tensor<2xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<2xf32>, tensor<2xf32>
  return
}

// -----

func.func @rows_any_maximum(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<?xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'maximum': expected at least 3 queries, got 'tensor<?xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<?xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<?xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_maximum_rank(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8x1xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'maximum': expected at least 3 queries, got 'tensor<8x1xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8x1xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8x1xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_maximum_type(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf64>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'maximum': expected shape (8) of 'f32', got 'tensor<8xf64>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf64>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf64>, tensor<8xf32>
  return
}

// -----

func.func @rows_sum(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<3xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'sum': expected shape (8) of 'f32', got 'tensor<3xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<3xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<3xf32>
  return
}

// -----

func.func @rows_accumulator(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<32x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'accumulator': expected shape (3, 32) of 'f32', got 'tensor<32x8xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<32x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<32x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_wide_key(%q: tensor<3x16xf32>, %k: tensor<9x16xf64>, %v: tensor<9x32xf64>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected 'f32' or a narrower float type, got 'tensor<9x16xf64>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf64>, tensor<9x32xf64>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_as_wide_key(%q: tensor<3x16xf16>, %k: tensor<9x16xbf16>, %v: tensor<9x32xbf16>,
    %o: tensor<3x32xf16>, %m: tensor<8xf16>, %l: tensor<8xf16>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected 'f16' or a narrower float type, got 'tensor<9x16xbf16>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf16>, tensor<9x16xbf16>, tensor<9x32xbf16>)
      outs(%o, %m, %l : tensor<3x32xf16>, tensor<8xf16>, tensor<8xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf16>, tensor<8xf16>, tensor<8xf16>
  return
}

// -----

func.func @rows_integer_key(%q: tensor<3x16xf32>, %k: tensor<9x16xi8>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected 'f32' or a narrower float type, got 'tensor<9x16xi8>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xi8>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_key_size(%q: tensor<3x16xf32>, %k: tensor<9x15xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected shape (any, 16) of 'f16', got 'tensor<9x15xf16>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x15xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_value_type(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<9x32xi16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected 'f32' or a narrower float type, got 'tensor<9x32xi16>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<9x32xi16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @rows_of_values(%q: tensor<3x16xf32>, %k: tensor<9x16xf16>, %v: tensor<10x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected 9 rows as 'key', got 10}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<3x16xf32>, tensor<9x16xf16>, tensor<10x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @pairs_value_in_packs(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<2x4x32xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected shape (Skv, Dv), got 'tensor<2x4x32xbf16>'}}
  %r:3 = attn.online_attention layout<pairs>
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<2x4x32xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @packed_value_rank(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<40x4xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'value': expected shape (T, Dv, 32) with packed_values, got 'tensor<40x4xbf16>'}}
  %r:3 = attn.online_attention layout<pairs> packed_values
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<40x4xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @packed_values(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{attribute 'packed_values': expected layout<pairs>, got layout<lanes>}}
  %r:3 = attn.online_attention packed_values
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @first(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'first': expected layout<pairs>, got layout<lanes>}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) first(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @in_pages(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{attribute 'in_pages': expected layout<pairs>, got layout<lanes>}}
  %r:3 = attn.online_attention in_pages
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @keeps_packs(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{attribute 'keeps_packs': expected layout<pairs> without packed_values, got layout<lanes>}}
  %r:3 = attn.online_attention keeps_packs
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %l : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @pairs_query_rank(%q: tensor<16x16xbf16>, %k: tensor<40x16xbf16>, %v: tensor<40x4xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (Dk/2, L, 2) of bf16 in layout<pairs>, got 'tensor<16x16xbf16>'}}
  %r:3 = attn.online_attention layout<pairs>
      ins(%q, %k, %v : tensor<16x16xbf16>, tensor<40x16xbf16>, tensor<40x4xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @lanes_of_pairs(%q: tensor<8x16x2xbf16>, %k: tensor<40x16xbf16>, %v: tensor<40x4xbf16>,
    %o: tensor<4x16xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (Dk, L) of a float type in layout<lanes>, got 'tensor<8x16x2xbf16>'}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<8x16x2xbf16>, tensor<40x16xbf16>, tensor<40x4xbf16>)
      outs(%o, %m, %l : tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

// For matrix units.

func.func @mma_query_type(%q: tensor<16x16xf64>, %k: tensor<9x16xf64>, %v: tensor<9x32xf64>,
    %o: tensor<16x32xf64>, %m: tensor<16xf64>, %l: tensor<16xf64>, %n: index, %e: i1) {
  // expected-error @below {{operand 'query': expected shape (L, Dk) of f16, bf16 or f32 in layout<mma>, got 'tensor<16x16xf64>'}}
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf64>, tensor<9x16xf64>, tensor<9x32xf64>)
      outs(%o, %m, %l : tensor<16x32xf64>, tensor<16xf64>, tensor<16xf64>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x32xf64>, tensor<16xf64>, tensor<16xf64>
  return
}

// -----

// A tile is whole: there are no lanes without a row.
func.func @mma_maximum(%q: tensor<3x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<3x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'maximum': expected shape (3) of 'f32', got 'tensor<16xf32>'}}
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<3x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<3x32xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<3x32xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @mma_key_type(%q: tensor<16x16xf16>, %k: tensor<9x16xf32>, %v: tensor<9x32xf32>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected 'f16' or a narrower float type, got 'tensor<9x16xf32>'}}
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf32>, tensor<9x32xf32>)
      outs(%o, %m, %l : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

// Narrower queries than the state are for matrix units.
func.func @rows_state(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %l: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{operand 'accumulator': expected shape (16, 32) of 'f16', got 'tensor<16x32xf32>'}}
  %r:3 = attn.online_attention layout<rows>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %l : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @no_layout(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %m: tensor<8xf32>, %n: index, %e: i1) {
  // expected-error @below {{expected one of [lanes, rows, pairs, mma] for a layout of online attention, got: columns}}
  // expected-error @below {{failed to parse}}
  %r:3 = attn.online_attention layout<columns>
      ins(%q, %k, %k : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x16xf32>)
      outs(%q, %m, %m : tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.online_softmax
//===----------------------------------------------------------------------===//

func.func @outs(%s: memref<104x8xf32>, %m: memref<8xf32>, %l: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{expected 5 operands 'outs' (scores, maximum, sum, rescale factor and pairs), or the first 1, 2 or 4, got 3}}
  attn.online_softmax
      outs(%s, %m, %l : memref<104x8xf32>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @scores_rank(%s: memref<8xf32>, %m: memref<8xf32>, %l: memref<8xf32>, %c: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{operand 'scores': expected shape (K, L) of a float type, got 'memref<8xf32>'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @scores_unranked(%s: memref<*xf32>, %m: memref<8xf32>, %l: memref<8xf32>, %c: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{operand 'scores': expected shape (K, L) of a float type, got 'memref<*xf32>'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<*xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @scores_type(%s: memref<104x8xi1>, %m: memref<8xf32>, %l: memref<8xf32>, %c: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{operand 'scores': expected shape (K, L) of a float type, got 'memref<104x8xi1>'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<104x8xi1>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @rows(%s: memref<?x8xf32>, %m: memref<8xf32>, %l: memref<8xf32>, %c: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{operand 'scores': expected dimension 0 to be static and at least 1, got 'memref<?x8xf32>'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<?x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @maximum(%s: memref<104x8xf32>, %m: memref<8xf64>, %l: memref<8xf32>, %c: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{operand 'maximum': expected shape (8) of 'f32', got 'memref<8xf64>'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<104x8xf32>, memref<8xf64>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @sum(%s: memref<104x8xf32>, %m: memref<8xf32>, %l: memref<8x1xf32>, %c: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{operand 'sum': expected shape (8) of 'f32', got 'memref<8x1xf32>'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<104x8xf32>, memref<8xf32>, memref<8x1xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @rescale_factor(%s: memref<104x8xf32>, %m: memref<8xf32>, %l: memref<8xf32>, %c: memref<7xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{operand 'rescale factor': expected shape (8) of 'f32', got 'memref<7xf32>'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<104x8xf32>, memref<8xf32>, memref<8xf32>, memref<7xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @pairs(%s: memref<104x8xf32>, %m: memref<8xf32>, %p: memref<52x8xbf16>, %n: index, %e: i1) {
  // expected-error @below {{operand 'pairs': expected shape (K/2, L, 2) of bf16 with scores (K, L) of f32, K a multiple of 32, got 'memref<52x8xbf16>' with 'memref<104x8xf32>'}}
  attn.online_softmax
      outs(%s, %m, %m, %m, %p : memref<104x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<52x8xbf16>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @pairs_without_whole_packs(%s: memref<104x8xf32>, %m: memref<8xf32>, %p: memref<52x8x2xbf16>, %n: index, %e: i1) {
  // expected-error @below {{K a multiple of 32, got 'memref<52x8x2xbf16>' with 'memref<104x8xf32>'}}
  attn.online_softmax
      outs(%s, %m, %m, %m, %p : memref<104x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>, memref<52x8x2xbf16>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @pairs_of_f64(%s: memref<104x8xf64>, %m: memref<8xf64>, %p: memref<52x8x2xbf16>, %n: index, %e: i1) {
  // expected-error @below {{operand 'pairs': expected shape (K/2, L, 2) of bf16 with scores (K, L) of f32, K a multiple of 32, got 'memref<52x8x2xbf16>' with 'memref<104x8xf64>'}}
  attn.online_softmax
      outs(%s, %m, %m, %m, %p : memref<104x8xf64>, memref<8xf64>, memref<8xf64>, memref<8xf64>, memref<52x8x2xbf16>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
  return
}

// -----

func.func @mask_argument(%s: memref<104x8xf32>, %m: memref<8xf32>, %l: memref<8xf32>, %c: memref<8xf32>,
    %n: index, %e: i1) {
  // expected-error @below {{'mask' region: argument 2: expected 'index', got 'i64'}}
  attn.online_softmax
      outs(%s, %m, %l, %c : memref<104x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e)
      mask {
    ^bb0(%b: index, %h: index, %p: i64, %j: index):
      %t = arith.constant true
      attn.yield %t : i1
    }
  return
}

// -----

func.func @captures(%s: memref<104x8xf32>, %m: memref<8xf32>, %n: index,
    %e: i1) {
  // expected-error @below {{expected no 'score' captures without a 'score' region, got 1}}
  "attn.online_softmax"(%s, %m, %m, %m, %n, %n, %n, %n, %n, %n, %e, %e, %e, %e)
      <{operandSegmentSizes = array<i32: 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0>}>
      ({}, {}) : (memref<104x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>,
                  index, index, index, index, index, index, i1, i1, i1, i1) -> ()
  return
}

// -----

func.func @scale(%s: memref<104x8xf32>, %m: memref<8xf32>, %n: index, %e: i1, %f: f16) {
  // expected-error @below {{operand 'scale': expected 'f32', got 'f16'}}
  attn.online_softmax
      outs(%s, %m, %m, %m : memref<104x8xf32>, memref<8xf32>, memref<8xf32>, memref<8xf32>)
      at(%n, %n, %n, %n) queries(%n) keys(%n)
      partial(%e) defined(%e) exact(%e) scale(%f : f16)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

func.func @dropout_without_rate(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %n: index, %e: i1, %seed: i64) {
  // expected-error @below {{'attn.online_attention' op expected 'dropout_rate', 'dropout_seed', 'dropout_call' and 'dropout_line' together}}
  %r:3 = "attn.online_attention"(%q, %k, %v, %o, %m, %m, %n, %n, %n, %n, %n, %e, %seed)
      <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 3, 1, 1, 1, 1, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0>}>
      ({}, {}) : (tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>, tensor<4x8xf32>, tensor<8xf32>,
                  tensor<8xf32>, index, index, index, index, index, i1, i64)
      -> (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}

// -----

func.func @dropout_rate(%q: tensor<16x8xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>,
    %o: tensor<4x8xf32>, %m: tensor<8xf32>, %n: index, %e: i1, %seed: i64, %call: i32) {
  // expected-error @below {{'attn.online_attention' op expected 'dropout_rate' in [0, 1), got 1.000000e+00}}
  %r:3 = attn.online_attention
      ins(%q, %k, %v : tensor<16x8xf32>, tensor<9x16xf32>, tensor<9x4xf32>)
      outs(%o, %m, %m : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) dropout(1.0, %seed, %call, %n)
      -> tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  return
}

// -----

func.func @dropout_outs(%w: memref<16x8xf32>, %seed: i64, %call: i32, %n: index) {
  // expected-error @below {{'attn.online_dropout' op expected 1 operand 'outs' (weights), got 2}}
  attn.online_dropout outs(%w, %w : memref<16x8xf32>, memref<16x8xf32>)
      dropout(0.5, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}

// -----

func.func @dropout_weights(%w: memref<8xf32>, %seed: i64, %call: i32, %n: index) {
  // expected-error @below {{operand 'weights': expected shape (K, L) of a float type, got 'memref<8xf32>'}}
  attn.online_dropout outs(%w : memref<8xf32>)
      dropout(0.5, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}

// -----

func.func @dropout_sizes(%w: memref<?x8xf32>, %seed: i64, %call: i32, %n: index) {
  // expected-error @below {{operand 'weights': expected dimension 0 to be static and at least 1, got 'memref<?x8xf32>'}}
  attn.online_dropout outs(%w : memref<?x8xf32>)
      dropout(0.5, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}

// -----

func.func @dropout_negative(%w: memref<16x8xf32>, %seed: i64, %call: i32, %n: index) {
  // expected-error @below {{'attn.online_dropout' op expected 'rate' in [0, 1), got -5.000000e-01}}
  attn.online_dropout outs(%w : memref<16x8xf32>)
      dropout(-0.5, %seed, %call, %n) at(%n, %n) keys(%n)
  return
}

// -----

//===----------------------------------------------------------------------===//
// attn.all_finite
//===----------------------------------------------------------------------===//

func.func @integers(%x: tensor<?xi32>) {
  // expected-error @below {{operand 'source': expected a ranked tensor or memref of a float type, got 'tensor<?xi32>'}}
  %r = attn.all_finite %x : tensor<?xi32>
  return
}

// -----

func.func @unranked(%x: memref<*xf32>) {
  // expected-error @below {{operand 'source': expected a ranked tensor or memref of a float type, got 'memref<*xf32>'}}
  %r = attn.all_finite %x : memref<*xf32>
  return
}
