// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @no_most(%first: index, %count: index) {
  // expected-error @below {{'attn.kept_packs' op operand 'most': expected it with a dynamic number of packs, got 'tensor<?x64x32xbf16>'}}
  %0:4 = attn.kept_packs [%first, %count] : tensor<?x64x32xbf16>
  return
}

// -----

func.func @most(%first: index, %count: index) {
  // expected-error @below {{'attn.kept_packs' op operand 'most': expected a dynamic number of packs, got 'tensor<8x64x32xbf16>'}}
  %0:4 = attn.kept_packs [%first, %count] most(%count) : tensor<8x64x32xbf16>
  return
}

// -----

func.func @overlap(%first: index, %count: index) {
  // expected-error @below {{'attn.kept_packs' op attribute 'overlap': expected 0 without 'most', got 1}}
  %0:4 = attn.kept_packs [%first, %count] overlap 1 : tensor<8x64x32xbf16>
  return
}

// -----

func.func @negative_overlap(%first: index, %count: index) {
  // expected-error @below {{'attn.kept_packs' op attribute 'overlap': expected 0 or more, got -1}}
  %0:4 = attn.kept_packs [%first, %count] most(%count) overlap -1 : tensor<?x64x32xbf16>
  return
}

// -----

func.func @pack(%first: index, %count: index) {
  // expected-error @below {{'attn.kept_packs' op result 'packs': expected a number of packs of static sizes, got 'tensor<8x?x32xbf16>'}}
  %0:4 = attn.kept_packs [%first, %count] : tensor<8x?x32xbf16>
  return
}

// -----

func.func @columns(%x: tensor<8x?xf32>, %i: index) {
  // expected-error @below {{'attn.prefetch' op operand 'source': expected rows of static sizes, got 'tensor<8x?xf32>'}}
  attn.prefetch %x[%i] to %i : tensor<8x?xf32>
  return
}

// -----

func.func @elements(%x: tensor<8x8xindex>, %i: index) {
  // expected-error @below {{'attn.prefetch' op operand 'source': expected rows of integers or floats, got 'tensor<8x8xindex>'}}
  attn.prefetch %x[%i] to %i : tensor<8x8xindex>
  return
}

// -----

func.func @indices(%x: tensor<8x8x8xf32>, %i: index) {
  // expected-error @below {{'attn.prefetch' op expected 1 to 2 operands 'indices', got 3}}
  attn.prefetch %x[%i, %i, %i] to %i : tensor<8x8x8xf32>
  return
}

// -----

func.func @shares(%x: tensor<8x8xf32>, %i: index) {
  // expected-error @below {{'attn.prefetch' op attribute 'num_shares': expected 1 or more, got 0}}
  attn.prefetch %x[%i] to %i spread share(%i of 0) : tensor<8x8xf32>
  return
}

// -----

func.func @stream(%x: tensor<8x8xf32>, %i: index) {
  // expected-error @below {{'attn.prefetch' op attribute 'stream': expected it alone, got 'spread' as well}}
  attn.prefetch %x[%i] to %i spread stream(8) : tensor<8x8xf32>
  return
}

// -----

func.func @stream_ahead(%x: tensor<8x8xf32>, %i: index) {
  // expected-error @below {{'attn.prefetch' op attribute 'stream': expected 1 or more bytes, got 0}}
  attn.prefetch %x[%i] to %i stream(0) : tensor<8x8xf32>
  return
}

// -----

func.func @dense_rows_of_none() {
  // expected-error @below {{'attn.dense_rows' op expected as many results as sources, at least 1, got 0 and 0}}
  "attn.dense_rows"() {operandSegmentSizes = array<i32: 0, 0>} : () -> ()
  return
}

// -----

func.func @dense_rows_of_any_size(%x: tensor<8x?xf32>) {
  // expected-error @below {{'attn.dense_rows' op source 0: expected rows of a static size, got 'tensor<8x?xf32>'}}
  %0 = attn.dense_rows %x : tensor<8x?xf32> to tensor<8x?xf32>
  return
}

// -----

func.func @dense_rows_of_another_shape(%x: tensor<8x64xf32>) {
  // expected-error @below {{'attn.dense_rows' op result 0: expected the shape and the elements of 'tensor<8x64xf32>', got 'tensor<8x64xbf16>'}}
  %0 = attn.dense_rows %x : tensor<8x64xf32> to tensor<8x64xbf16>
  return
}

// -----

func.func @dense_rows_of_other_numbers(%x: tensor<8x64xf32>, %y: tensor<9x64xf32>) {
  // expected-error @below {{'attn.dense_rows' op source 1: expected as many rows as of source 0, got 'tensor<9x64xf32>' and 'tensor<8x64xf32>'}}
  %0:2 = attn.dense_rows %x, %y : tensor<8x64xf32>, tensor<9x64xf32> to tensor<8x64xf32>, tensor<9x64xf32>
  return
}
