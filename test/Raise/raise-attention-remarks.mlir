// RUN: attn-opt %s --attn-raise-attention -split-input-file -verify-diagnostics \
// RUN: | FileCheck %s --implicit-check-not=attn.attention

// What looks like attention and is not raised, and why.

#identity = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// The weights are returned, too.
// CHECK-LABEL: func.func @weights
// CHECK: linalg.softmax
func.func @weights(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>,
                   %v: tensor<7x4xf32>) -> (tensor<5x4xf32>, tensor<5x7xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf32>, tensor<8x7xf32>)
      outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{is not raised to attn.attention, because another operation reads its scores or weights}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-note @below {{see this operation}}
  return %o, %p : tensor<5x4xf32>, tensor<5x7xf32>
}

// -----

// CHECK-LABEL: func.func @columns
func.func @columns(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>,
                   %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf32>, tensor<8x7xf32>)
      outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %p = linalg.softmax dimension(0) ins(%s : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because its softmax is not over the keys}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// -----

// Weights of a pooling.
// CHECK-LABEL: func.func @pooling
func.func @pooling(%s: tensor<5x7xf32>, %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because its scores are not computed from a product of queries and keys}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// -----

// CHECK-LABEL: func.func @added_to
func.func @added_to(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>,
                    %t: tensor<5x7xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf32>, tensor<8x7xf32>)
      outs(%t : tensor<5x7xf32>) -> tensor<5x7xf32>
  %e = tensor.empty() : tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because the product of queries and keys is added to something}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// -----

// A product in f32 that stays in it.
// CHECK-LABEL: func.func @wide
func.func @wide(%q: tensor<5x8xf16>, %k: tensor<8x7xf16>,
                %v: tensor<7x4xf16>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf16>, tensor<8x7xf16>)
      outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because its result is not rounded to the type of its operands}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf16>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// -----

// CHECK-LABEL: func.func @types
func.func @types(%q: tensor<5x8xf16>, %k: tensor<8x7xf16>,
                 %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf16>, tensor<8x7xf16>)
      outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because its query, key and value have different types of elements}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// -----

// CHECK-LABEL: func.func @head_size
func.func @head_size(%q: tensor<5x?xf32>, %k: tensor<?x7xf32>,
                     %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x?xf32>, tensor<?x7xf32>)
      outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because a head size is not known while compiling, or not from 1 to 4096}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// -----

#identity = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// exp(s) / sum(exp(s)) overflows where attention does not.
// CHECK-LABEL: func.func @without_maximum
func.func @without_maximum(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>,
                           %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf32>, tensor<8x7xf32>)
      outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %x = linalg.exp ins(%s : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %r = tensor.empty() : tensor<5xf32>
  %rz = linalg.fill ins(%zero : f32) outs(%r : tensor<5xf32>) -> tensor<5xf32>
  %sum = linalg.reduce { arith.addf } ins(%x : tensor<5x7xf32>) outs(%rz : tensor<5xf32>) dimensions = [1]
  %p = linalg.generic
      {indexing_maps = [#identity, #row, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<5x7xf32>, tensor<5xf32>) outs(%e : tensor<5x7xf32>) {
    ^bb0(%a: f32, %b: f32, %unused: f32):
      %quotient = arith.divf %a, %b : f32
      linalg.yield %quotient : f32
  } -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because the exponents of its softmax are not scores less their maximum}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// -----

#identity = affine_map<(i, j) -> (i, j)>

// The bits of a score.
// CHECK-LABEL: func.func @bits
func.func @bits(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>,
                %v: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : i32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf32>, tensor<8x7xf32>)
      outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %t = linalg.generic
      {indexing_maps = [#identity, #identity], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) {
    ^bb0(%a: f32, %unused: f32):
      %bits = arith.bitcast %a : f32 to i32
      %more = arith.ori %bits, %one : i32
      %b = arith.bitcast %more : i32 to f32
      linalg.yield %b : f32
  } -> tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<5x7xf32>)
      outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @below {{because an operation on its scores has no place in the region of a score}}
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}
