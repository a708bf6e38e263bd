// RUN: attn-opt %s --split-input-file --verify-diagnostics

func.func @both_kinds(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>, %t: tensor<1x1xi32>) {
  // expected-error@+1 {{'attn.cache_append' op expected 'ring' or 'table', got both}}
  %0 = attn.cache_append ins(%c : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) ring table(%t : tensor<1x1xi32>)
  return
}

// -----

func.func @c1_rank(%r: tensor<1x1x4x2xf32>, %c: tensor<1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'cache': expected a tensor or memref of shape (B, Hkv, capacity, D), got 'tensor<1x4x2xf32>'}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<1x4x2xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c3_page_size(%r: tensor<1x1x4x2xf32>, %c: tensor<1x1x0x2xf32>, %l: tensor<1xi32>, %t: tensor<1x1xi32>) {
  // expected-error@+1 {{operand 'cache': expected dimension 2 (page size) to be at least 1, got 0}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x0x2xf32>) lengths(%l : tensor<1xi32>) table(%t : tensor<1x1xi32>)
  return
}

// -----

func.func @c3_table(%r: tensor<1x1x4x2xf32>, %c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>, %t: tensor<1x1xi64>) {
  // expected-error@+1 {{operand 'table': expected element type 'i32', got 'i64'}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) table(%t : tensor<1x1xi64>)
  return
}

// -----

func.func @c4_heads(%r: tensor<1x1x4x2xf32>, %c: tensor<1x?x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'cache': expected dimension 1 (key/value heads) to be static and at least 1, got '?'}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<1x?x4x2xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c4_no_scales(%r: tensor<1x1x4x2xf32>, %c: tensor<1x1x4x2xi8>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected 'scales' with a cache of i8, got none}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x4x2xi8>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c4_scales_of_f32(%c: tensor<1x1x4x2xf32>, %s: tensor<1x1x4xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected 'scales' only with a cache of i8, got 'tensor<1x1x4x2xf32>'}}
  %0 = attn.cache_read ins(%c, %s : tensor<1x1x4x2xf32>, tensor<1x1x4xf32>) lengths(%l : tensor<1xi32>) -> tensor<1x1x4x2xf32>
  return
}

// -----

// expected-note@+1 {{dimension 2 of 'cache' is 4, from 'tensor<1x1x4x2xi8>'}}
func.func @c4_scales_size(%c: tensor<1x1x4x2xi8>, %s: tensor<1x1x5xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'scales': dimension 2 (capacity) is 5, expected 4}}
  %0 = attn.cache_read ins(%c, %s : tensor<1x1x4x2xi8>, tensor<1x1x5xf32>) lengths(%l : tensor<1xi32>) -> tensor<1x1x4x2xf32>
  return
}

// -----

func.func @c4_scales_type(%c: tensor<1x1x4x2xi8>, %s: tensor<1x1x4xf16>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'scales': expected element type 'f32', got 'f16'}}
  %0 = attn.cache_read ins(%c, %s : tensor<1x1x4x2xi8>, tensor<1x1x4xf16>) lengths(%l : tensor<1xi32>) -> tensor<1x1x4x2xf32>
  return
}

// -----

func.func @c5_rows_of_8_bits(%c: tensor<1x1x4x2xf8E5M2>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'rows': expected element type f64, f32, f16 or bf16, got 'f8E5M2'}}
  %0 = attn.cache_append ins(%c : tensor<1x1x4x2xf8E5M2>) outs(%c : tensor<1x1x4x2xf8E5M2>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c11_result_of_8_bits(%c: tensor<1x1x4x2xf8E4M3FN>, %l: tensor<1xi32>) {
  // expected-error@+1 {{'result': expected element type f64, f32, f16 or bf16, got 'f8E4M3FN'}}
  %0 = attn.cache_read ins(%c : tensor<1x1x4x2xf8E4M3FN>) lengths(%l : tensor<1xi32>) -> tensor<1x1x4x2xf8E4M3FN>
  return
}

// -----

func.func @c4_element_type(%r: tensor<1x1x4x2xf32>, %c: tensor<1x1x4x2xi16>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'cache': expected element type f64, f32, f16, bf16, f8E4M3FN, f8E5M2 or i8, got 'i16'}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x4x2xi16>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c5_narrower(%r: tensor<1x1x4x2xf16>, %c: tensor<1x1x4x2xbf16>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'rows': expected element type 'bf16', which the cache has, or a wider one, got 'f16'}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf16>) outs(%c : tensor<1x1x4x2xbf16>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c5_f64_to_i8(%r: tensor<1x1x4x2xf64>, %c: tensor<1x1x4x2xi8>, %s: tensor<1x1x4xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'rows': expected element type f32, f16 or bf16 for a cache of i8, got 'f64'}}
  %0:2 = attn.cache_append ins(%r : tensor<1x1x4x2xf64>) outs(%c, %s : tensor<1x1x4x2xi8>, tensor<1x1x4xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

// expected-note@+1 {{dimension 3 of 'rows' is 3, from 'tensor<1x1x4x3xf32>'}}
func.func @c5_head_size(%r: tensor<1x1x4x3xf32>, %c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'cache': dimension 3 (head size) is 2, expected 3}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x3xf32>) outs(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c6_lengths(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi16>) {
  // expected-error@+1 {{operand 'lengths': expected element type i32 or i64, got 'i16'}}
  %0 = attn.cache_append ins(%c : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi16>)
  return
}

// -----

// expected-note@+1 {{dimension 0 of 'rows' is 2}}
func.func @c6_batch(%c: tensor<2x1x4x2xf32>, %l: tensor<3xi32>) {
  // expected-error@+1 {{operand 'lengths': dimension 0 (batch size) is 3, expected 2}}
  %0 = attn.cache_append ins(%c : tensor<2x1x4x2xf32>) outs(%c : tensor<2x1x4x2xf32>) lengths(%l : tensor<3xi32>)
  return
}

// -----

func.func @c6_sequences_and_counts(%r: tensor<1x1x4x2xf32>, %c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>, %s: tensor<2xi32>) {
  // expected-error@+1 {{'attn.cache_append' op expected 'counts' or 'sequences', got both}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) counts(%l : tensor<1xi32>) sequences(%s : tensor<2xi32>)
  return
}

// -----

// expected-note@+1 {{dimension 0 of 'lengths' is 2}}
func.func @c6_sequences_number(%r: tensor<1x1x4x2xf32>, %c: tensor<2x1x4x2xf32>, %l: tensor<2xi32>, %s: tensor<2xi32>) {
  // expected-error@+1 {{operand 'sequences': dimension 0 (number of sequences + 1) is 2, expected 3}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<2x1x4x2xf32>) lengths(%l : tensor<2xi32>) sequences(%s : tensor<2xi32>)
  return
}

// -----

func.func @c6_sequences_packed(%r: tensor<2x1x4x2xf32>, %c: tensor<2x1x4x2xf32>, %l: tensor<2xi32>, %s: tensor<3xi32>) {
  // expected-error@+1 {{operand 'rows': dimension 0 (batch size of packed sequences) is 2, expected 1}}
  %0 = attn.cache_append ins(%r : tensor<2x1x4x2xf32>) outs(%c : tensor<2x1x4x2xf32>) lengths(%l : tensor<2xi32>) sequences(%s : tensor<3xi32>)
  return
}

// -----

func.func @c6_sequences_type(%r: tensor<1x1x4x2xf32>, %c: tensor<2x1x4x2xf32>, %l: tensor<2xi32>, %s: tensor<3xi64>) {
  // expected-error@+1 {{operand 'sequences': expected element type 'i32', got 'i64'}}
  %0 = attn.cache_append ins(%r : tensor<1x1x4x2xf32>) outs(%c : tensor<2x1x4x2xf32>) lengths(%l : tensor<2xi32>) sequences(%s : tensor<3xi64>)
  return
}

// -----

// expected-note@+1 {{dimension 0 of 'rows' is 2}}
func.func @c6_counts(%c: tensor<2x1x4x2xf32>, %l: tensor<2xi32>, %n: tensor<1xi32>) {
  // expected-error@+1 {{operand 'counts': dimension 0 (batch size) is 1, expected 2}}
  %0 = attn.cache_append ins(%c : tensor<2x1x4x2xf32>) outs(%c : tensor<2x1x4x2xf32>) lengths(%l : tensor<2xi32>) counts(%n : tensor<1xi32>)
  return
}

// -----

func.func @c8_outs(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected 1 or 2 operands 'outs' (cache and scales), got 3}}
  %0:3 = attn.cache_append ins(%c : tensor<1x1x4x2xf32>) outs(%c, %c, %c : tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>)
  return
}

// -----

func.func @c8_result_types(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected type of operand #1 ('tensor<1x1x4x2xf32>') to match type of corresponding result ('tensor<1x1x5x2xf32>')}}
  %0 = "attn.cache_append"(%c, %c, %l) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}> : (tensor<1x1x4x2xf32>, tensor<1x1x4x2xf32>, tensor<1xi32>) -> tensor<1x1x5x2xf32>
  return
}

// -----

func.func @segments(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected 1 operand 'rows', got 0}}
  %0 = "attn.cache_append"(%c, %l, %l) <{operandSegmentSizes = array<i32: 0, 1, 1, 1, 0, 0>}> : (tensor<1x1x4x2xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<1x1x4x2xf32>
  return
}

// -----

func.func @mixed(%c: tensor<1x1x4x2xf32>, %l: memref<1xi32>) {
  // expected-error@+1 {{expected only tensors or only memrefs, got both}}
  %0 = attn.cache_append ins(%c : tensor<1x1x4x2xf32>) outs(%c : tensor<1x1x4x2xf32>) lengths(%l : memref<1xi32>)
  return
}

// -----

func.func @read_of_memref(%c: memref<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected tensors, got 'memref<1x1x4x2xf32>'}}
  %0 = attn.cache_read ins(%c : memref<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) -> tensor<1x1x4x2xf32>
  return
}

// -----

func.func @c10_size_missing(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{expected 'size' where dimension 2 of the result is dynamic, got 'tensor<1x1x?x2xf32>'}}
  %0 = attn.cache_read ins(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) -> tensor<1x1x?x2xf32>
  return
}

// -----

func.func @c10_size_static(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>, %n: index) {
  // expected-error@+1 {{expected 'size' only where dimension 2 of the result is dynamic, got 'tensor<1x1x3x2xf32>'}}
  %0 = attn.cache_read ins(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) size(%n) -> tensor<1x1x3x2xf32>
  return
}

// -----

// expected-note@+1 {{dimension 0 of 'lengths' is 2}}
func.func @c10_batch(%c: tensor<4x1x4x2xf32>, %l: tensor<2xi32>, %t: tensor<3x8xi32>) {
  // expected-error@+1 {{operand 'table': dimension 0 (batch size) is 3, expected 2}}
  %0 = attn.cache_read ins(%c : tensor<4x1x4x2xf32>) lengths(%l : tensor<2xi32>) table(%t : tensor<3x8xi32>) -> tensor<2x1x4x2xf32>
  return
}

// -----

func.func @c11_narrower(%c: tensor<1x1x4x2xf32>, %l: tensor<1xi32>) {
  // expected-error@+1 {{operand 'result': expected element type 'f32', which the cache has, or a wider one, got 'f16'}}
  %0 = attn.cache_read ins(%c : tensor<1x1x4x2xf32>) lengths(%l : tensor<1xi32>) -> tensor<1x1x4x2xf16>
  return
}
