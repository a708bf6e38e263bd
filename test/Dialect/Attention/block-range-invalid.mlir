// RUN: attn-opt %s -split-input-file -verify-diagnostics

func.func @floats(%t: tensor<?xf8E4M3FN>) {
  // expected-error @+1 {{operand 'table': expected at least one dimension and elements of type index, f16, bf16, f32, f64 or of an integer type of at most 64 bits, got 'tensor<?xf8E4M3FN>'}}
  %0:2 = attn.block_range ins(%t : tensor<?xf8E4M3FN>)
      outs(%t, %t : tensor<?xf8E4M3FN>, tensor<?xf8E4M3FN>) blocks [8]
      -> tensor<?xf8E4M3FN>, tensor<?xf8E4M3FN>
  return
}

// -----

func.func @unranked(%t: memref<*xi32>) {
  // expected-error @+1 {{operand 'table': expected at least one dimension}}
  attn.block_range ins(%t : memref<*xi32>)
      outs(%t, %t : memref<*xi32>, memref<*xi32>) blocks [8]
  return
}

// -----

func.func @wide(%t: tensor<?xi128>) {
  // expected-error @+1 {{of at most 64 bits, got 'tensor<?xi128>'}}
  %0:2 = attn.block_range ins(%t : tensor<?xi128>)
      outs(%t, %t : tensor<?xi128>, tensor<?xi128>) blocks [8]
      -> tensor<?xi128>, tensor<?xi128>
  return
}

// -----

func.func @rank(%t: tensor<?xi32>) {
  // expected-error @+1 {{attribute 'blocks': expected 1 sizes of at least 1, got [1, 8]}}
  %0:2 = attn.block_range ins(%t : tensor<?xi32>)
      outs(%t, %t : tensor<?xi32>, tensor<?xi32>) blocks [1, 8]
      -> tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @zero(%t: tensor<?xi32>) {
  // expected-error @+1 {{attribute 'blocks': expected 1 sizes of at least 1, got [0]}}
  %0:2 = attn.block_range ins(%t : tensor<?xi32>)
      outs(%t, %t : tensor<?xi32>, tensor<?xi32>) blocks [0]
      -> tensor<?xi32>, tensor<?xi32>
  return
}

// -----

func.func @outs(%t: tensor<?xi32>) {
  // expected-error @+1 {{expected 2 operands 'outs' (smallest and largest), got 1}}
  %0 = attn.block_range ins(%t : tensor<?xi32>) outs(%t : tensor<?xi32>)
      blocks [8] -> tensor<?xi32>
  return
}

// -----

func.func @size(%t: tensor<100xi32>, %o: tensor<12xi32>) {
  // expected-error @+1 {{operand 'outs': expected an element for each block of 'tensor<100xi32>', got 'tensor<12xi32>'}}
  %0:2 = attn.block_range ins(%t : tensor<100xi32>)
      outs(%o, %o : tensor<12xi32>, tensor<12xi32>) blocks [8]
      -> tensor<12xi32>, tensor<12xi32>
  return
}

// -----

func.func @type(%t: tensor<?xi32>, %o: tensor<?xi64>) {
  // expected-error @+1 {{operand 'outs': expected an element for each block of 'tensor<?xi32>', got 'tensor<?xi64>'}}
  %0:2 = attn.block_range ins(%t : tensor<?xi32>)
      outs(%o, %o : tensor<?xi64>, tensor<?xi64>) blocks [8]
      -> tensor<?xi64>, tensor<?xi64>
  return
}
