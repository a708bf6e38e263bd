// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @without_weights(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %u: tensor<?x32xf16>,
    %only: i1, %n: index, %e: i1) {
  // expected-error @below {{expected 4 operands 'outs' (accumulator, maximum, sum and weights), got 3}}
  %r:3 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%u, %only : tensor<?x32xf16>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>
  return
}

// -----

func.func @weights_of_no_product(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %u: tensor<?x32xf16>,
    %only: i1, %n: index, %e: i1) {
  // expected-error @below {{expected 3 operands 'outs' (accumulator, maximum and sum), got 4}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return
}

// -----

func.func @weights_of_other_type(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf32>, %u: tensor<?x32xf16>,
    %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'weights': expected shape (16, any) of 'f16', got 'tensor<16x64xf32>'}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%u, %only : tensor<?x32xf16>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf32>
  return
}

// -----

func.func @weights_of_other_queries(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<8x64xf16>, %u: tensor<?x32xf16>,
    %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'weights': expected shape (16, any) of 'f16', got 'tensor<8x64xf16>'}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%u, %only : tensor<?x32xf16>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<8x64xf16>
  return
}

// -----

func.func @weights_of_any_keys(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x?xf16>, %u: tensor<?x32xf16>,
    %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'weights': expected dimension 1 to be static and at least 1, got 'tensor<16x?xf16>'}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x?xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%u, %only : tensor<?x32xf16>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x?xf16>
  return
}

// -----

func.func @values_of_other_size(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %u: tensor<?x16xf16>,
    %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'delayed_values': expected shape (any, 32) of 'f16', got 'tensor<?x16xf16>'}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%u, %only : tensor<?x16xf16>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return
}

// -----

func.func @values_of_other_type(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %u: tensor<?x32xf32>,
    %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'delayed_values': expected shape (any, 32) of 'f16', got 'tensor<?x32xf32>'}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%u, %only : tensor<?x32xf32>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return
}

// -----

func.func @in_rows(%q: tensor<3x16xf32>, %k: tensor<9x16xf32>, %o: tensor<3x16xf32>,
    %m: tensor<8xf32>, %w: tensor<3x64xf32>, %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'delayed_values': expected layout<mma> without value_scales and dropout}}
  %r:4 = attn.online_attention layout<rows>
      ins(%q, %k, %k : tensor<3x16xf32>, tensor<9x16xf32>, tensor<9x16xf32>)
      outs(%o, %m, %m, %w : tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<3x64xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%k, %only : tensor<9x16xf32>)
      -> tensor<3x16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<3x64xf32>
  return
}

// -----

func.func @with_dropout(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x32xf16>,
    %o: tensor<16x32xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %u: tensor<?x32xf16>,
    %only: i1, %n: index, %e: i1, %seed: i64, %call: i32) {
  // expected-error @below {{operand 'delayed_values': expected layout<mma> without value_scales and dropout}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %v : tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x32xf16>)
      outs(%o, %m, %m, %w : tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) dropout(0.5, %seed, %call, %n) delayed(%u, %only : tensor<?x32xf16>)
      -> tensor<16x32xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return
}

// -----

func.func @values_alone(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>,
    %o: tensor<16x16xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %n: index, %e: i1) {
  // expected-error @below {{expected 'delayed_values' and 'delayed_only' together}}
  %r:4 = "attn.online_attention"(%q, %k, %k, %o, %m, %m, %w, %n, %n, %n, %n, %n, %e, %k) <{
      layout = #attn.layout<mma>,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 4, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0>}> ({}, {})
      : (tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x16xf16>, tensor<16x16xf32>, tensor<16xf32>,
         tensor<16xf32>, tensor<16x64xf16>, index, index, index, index, index, i1, tensor<9x16xf16>)
      -> (tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
  return
}

// -----

func.func @only_alone(%q: tensor<16x16xf16>, %k: tensor<9x16xf16>,
    %o: tensor<16x16xf32>, %m: tensor<16xf32>, %n: index, %e: i1) {
  // expected-error @below {{expected 'delayed_values' and 'delayed_only' together}}
  %r:3 = "attn.online_attention"(%q, %k, %k, %o, %m, %m, %n, %n, %n, %n, %n, %e, %e) <{
      layout = #attn.layout<mma>,
      operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 3, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0>}> ({}, {})
      : (tensor<16x16xf16>, tensor<9x16xf16>, tensor<9x16xf16>, tensor<16x16xf32>, tensor<16xf32>,
         tensor<16xf32>, index, index, index, index, index, i1, i1)
      -> (tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>)
  return
}

// -----

func.func @with_scales(%q: tensor<16x16xf16>, %k: tensor<9x16xi8>, %s: tensor<9xf32>,
    %o: tensor<16x16xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'delayed_values': expected layout<mma> without value_scales and dropout}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<16x16xf16>, tensor<9x16xi8>, tensor<9x16xi8>)
      key_scales(%s : tensor<9xf32>) value_scales(%s : tensor<9xf32>)
      outs(%o, %m, %m, %w : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%k, %only : tensor<9x16xi8>)
      -> tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return
}

// -----

func.func @more_keys(%q: tensor<16x16xf16>, %k: tensor<65x16xf16>, %v: tensor<?x16xf16>,
    %o: tensor<16x16xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'key': expected at most 64 rows as 'weights', got 'tensor<65x16xf16>'}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<16x16xf16>, tensor<65x16xf16>, tensor<65x16xf16>)
      outs(%o, %m, %m, %w : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%v, %only : tensor<?x16xf16>)
      -> tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return
}

// -----

func.func @more_values(%q: tensor<16x16xf16>, %k: tensor<?x16xf16>, %v: tensor<65x16xf16>,
    %o: tensor<16x16xf32>, %m: tensor<16xf32>, %w: tensor<16x64xf16>, %only: i1, %n: index, %e: i1) {
  // expected-error @below {{operand 'delayed_values': expected at most 64 rows as 'weights', got 'tensor<65x16xf16>'}}
  %r:4 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<16x16xf16>, tensor<?x16xf16>, tensor<?x16xf16>)
      outs(%o, %m, %m, %w : tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>)
      at(%n, %n, %n, %n) queries(%n) exact(%e) delayed(%v, %only : tensor<65x16xf16>)
      -> tensor<16x16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16x64xf16>
  return
}
