// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @floats(%t: tensor<?xf8E4M3FN>, %r: tensor<2x?xf8E4M3FN>) {
  // expected-error @+1 {{operand 'table': expected at least one dimension and elements of type index, f16, bf16, f32, f64 or of an integer type of at most 64 bits, got 'tensor<?xf8E4M3FN>'}}
  %0 = attn.with_block_range %t, %r blocks [8]
      : tensor<?xf8E4M3FN>, tensor<2x?xf8E4M3FN>
  return
}

// -----

func.func @scalar(%t: tensor<i32>, %r: tensor<2xi32>) {
  // expected-error @+1 {{operand 'table': expected at least one dimension}}
  %0 = attn.with_block_range %t, %r blocks [] : tensor<i32>, tensor<2xi32>
  return
}

// -----

func.func @rank(%t: tensor<?xi32>, %r: tensor<2x?xi32>) {
  // expected-error @+1 {{attribute 'blocks': expected 1 sizes that are powers of two, got [1, 8]}}
  %0 = attn.with_block_range %t, %r blocks [1, 8]
      : tensor<?xi32>, tensor<2x?xi32>
  return
}

// -----

// There may be as many blocks of 39, whose ranges would pass for these.
func.func @power(%t: tensor<?xi32>, %r: tensor<2x?xi32>) {
  // expected-error @+1 {{attribute 'blocks': expected 1 sizes that are powers of two, got [40]}}
  %0 = attn.with_block_range %t, %r blocks [40]
      : tensor<?xi32>, tensor<2x?xi32>
  return
}

// -----

func.func @negative(%t: tensor<?xi32>, %r: tensor<2x?xi32>) {
  // expected-error @+1 {{attribute 'blocks': expected 1 sizes that are powers of two, got [-8]}}
  %0 = attn.with_block_range %t, %r blocks [-8]
      : tensor<?xi32>, tensor<2x?xi32>
  return
}

// -----

func.func @size(%t: tensor<100xi32>, %r: tensor<2x12xi32>) {
  // expected-error @+1 {{operand 'ranges': expected 2 elements for each block of 'tensor<100xi32>', got 'tensor<2x12xi32>'}}
  %0 = attn.with_block_range %t, %r blocks [8]
      : tensor<100xi32>, tensor<2x12xi32>
  return
}

// -----

func.func @both(%t: tensor<?xi32>, %r: tensor<?x?xi32>) {
  // expected-error @+1 {{operand 'ranges': expected 2 elements for each block of 'tensor<?xi32>', got 'tensor<?x?xi32>'}}
  %0 = attn.with_block_range %t, %r blocks [8]
      : tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @low_only(%t: tensor<?xi32>, %r: tensor<?xi32>) {
  // expected-error @+1 {{operand 'ranges': expected 2 elements for each block of 'tensor<?xi32>', got 'tensor<?xi32>'}}
  %0 = attn.with_block_range %t, %r blocks [8]
      : tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @type(%t: tensor<?xi32>, %r: tensor<2x?xi64>) {
  // expected-error @+1 {{operand 'ranges': expected 2 elements for each block of 'tensor<?xi32>', got 'tensor<2x?xi64>'}}
  %0 = attn.with_block_range %t, %r blocks [8]
      : tensor<?xi32>, tensor<2x?xi64>
  return
}
