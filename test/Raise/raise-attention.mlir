// RUN: attn-opt %s --attn-raise-attention --canonicalize --cse | FileCheck %s
// RUN: attn-opt %s --attn-raise-attention -verify-diagnostics -o /dev/null

// What is raised, and from what. Nothing of it gets a remark.

#identity = affine_map<(b, i, j) -> (b, i, j)>
#lhs = affine_map<(b, i, j, d) -> (b, i, d)>
#transposed = affine_map<(b, i, j, d) -> (b, j, d)>
#out = affine_map<(b, i, j, d) -> (b, i, j)>

// Products of matrices of a batch: heads are entries of the batch.
// CHECK-LABEL: func.func @batch
// CHECK-SAME: %[[Q:.*]]: tensor<6x5x8xf32>, %[[K:.*]]: tensor<6x7x8xf32>, %[[V:.*]]: tensor<6x7x4xf32>
// CHECK-DAG: %[[Q4:.*]] = tensor.expand_shape %[[Q]] {{\[}}[0], [1, 2], [3]] output_shape [6, 1, 5, 8]
// CHECK-DAG: %[[K4:.*]] = tensor.expand_shape %[[K]]
// CHECK-DAG: %[[V4:.*]] = tensor.expand_shape %[[V]]
// CHECK: %[[O:.*]] = attn.attention
// CHECK-SAME: ins(%[[Q4]], %[[K4]], %[[V4]] :
// CHECK-SAME: scale(2.500000e-01)
// CHECK-NEXT: %[[R:.*]] = tensor.collapse_shape %[[O]] {{\[}}[0], [1, 2], [3]]
// CHECK-NEXT: return %[[R]] : tensor<6x5x4xf32>
func.func @batch(%q: tensor<6x5x8xf32>, %k: tensor<6x7x8xf32>,
                 %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %quarter = arith.constant 0.25 : f32
  %e = tensor.empty() : tensor<6x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul indexing_maps = [#lhs, #transposed, #out]
      ins(%q, %k : tensor<6x5x8xf32>, tensor<6x7x8xf32>)
      outs(%z : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %scaled = linalg.generic
      {indexing_maps = [#identity, #identity],
       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<6x5x7xf32>) outs(%e : tensor<6x5x7xf32>) {
    ^bb0(%x: f32, %unused: f32):
      %y = arith.mulf %x, %quarter : f32
      linalg.yield %y : f32
  } -> tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%scaled : tensor<6x5x7xf32>)
      outs(%e : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %f = tensor.empty() : tensor<6x5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %o = linalg.batch_matmul ins(%p, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>)
      outs(%y : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %o : tensor<6x5x4xf32>
}

// Of one head, without a scale.
// CHECK-LABEL: func.func @matrices
// CHECK: attn.attention
// CHECK-SAME: tensor<1x1x5x8xf16>, tensor<1x1x7x8xf16>, tensor<1x1x7x4xf16>
// CHECK-SAME: scale(1.000000e+00)
func.func @matrices(%q: tensor<5x8xf16>, %k: tensor<8x7xf16>,
                    %v: tensor<7x4xf16>) -> tensor<5x4xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<5x7xf16>
  %z = linalg.fill ins(%zero : f16) outs(%e : tensor<5x7xf16>) -> tensor<5x7xf16>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf16>, tensor<8x7xf16>)
      outs(%z : tensor<5x7xf16>) -> tensor<5x7xf16>
  %p = linalg.softmax dimension(1) ins(%s : tensor<5x7xf16>)
      outs(%e : tensor<5x7xf16>) -> tensor<5x7xf16>
  %f = tensor.empty() : tensor<5x4xf16>
  %y = linalg.fill ins(%zero : f16) outs(%f : tensor<5x4xf16>) -> tensor<5x4xf16>
  %o = linalg.matmul ins(%p, %v : tensor<5x7xf16>, tensor<7x4xf16>)
      outs(%y : tensor<5x4xf16>) -> tensor<5x4xf16>
  return %o : tensor<5x4xf16>
}

// Einstein sums over groups of heads, of any batch and length. The bias is of
// query heads, in two dimensions.
// CHECK-LABEL: func.func @groups
// CHECK: %[[Q:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0], [1, 2], [3], [4]] : tensor<?x2x3x?x8xbf16> into tensor<?x6x?x8xbf16>
// CHECK: attn.attention ins(%[[Q]],
// CHECK-SAME: tensor<?x6x?x8xbf16>, tensor<?x2x?x8xbf16>, tensor<?x2x?x4xbf16>
// CHECK-SAME: captures(%[[T:.*]] = %{{.*}} : tensor<2x3xf32>)
// CHECK-DAG: %[[K:.*]] = arith.divsi %h, %c3
// CHECK-DAG: %[[G:.*]] = arith.remsi %h, %c3
// CHECK: tensor.extract %[[T]][%[[K]], %[[G]]]
#groupQ = affine_map<(b, h, g, i, j, d) -> (b, h, g, i, d)>
#groupK = affine_map<(b, h, g, i, j, d) -> (b, h, j, d)>
#groupS = affine_map<(b, h, g, i, j, d) -> (b, h, g, i, j)>
#all = affine_map<(b, h, g, i, j) -> (b, h, g, i, j)>
#head = affine_map<(b, h, g, i, j) -> (h, g)>
func.func @groups(%q: tensor<?x2x3x?x8xbf16>, %k: tensor<?x2x?x8xbf16>,
                  %v: tensor<?x2x?x4xbf16>, %bias: tensor<2x3xf32>)
    -> tensor<?x2x3x?x4xbf16> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %batch = tensor.dim %q, %c0 : tensor<?x2x3x?x8xbf16>
  %queries = tensor.dim %q, %c3 : tensor<?x2x3x?x8xbf16>
  %keys = tensor.dim %k, %c2 : tensor<?x2x?x8xbf16>
  %e = tensor.empty(%batch, %queries, %keys) : tensor<?x2x3x?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x2x3x?x?xf32>) -> tensor<?x2x3x?x?xf32>
  %s = linalg.contract indexing_maps = [#groupQ, #groupK, #groupS]
      ins(%q, %k : tensor<?x2x3x?x8xbf16>, tensor<?x2x?x8xbf16>)
      outs(%z : tensor<?x2x3x?x?xf32>) -> tensor<?x2x3x?x?xf32>
  %biased = linalg.generic
      {indexing_maps = [#all, #head, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<?x2x3x?x?xf32>, tensor<2x3xf32>)
      outs(%e : tensor<?x2x3x?x?xf32>) {
    ^bb0(%x: f32, %t: f32, %unused: f32):
      %y = arith.addf %x, %t : f32
      linalg.yield %y : f32
  } -> tensor<?x2x3x?x?xf32>
  %p = linalg.softmax dimension(4) ins(%biased : tensor<?x2x3x?x?xf32>)
      outs(%e : tensor<?x2x3x?x?xf32>) -> tensor<?x2x3x?x?xf32>
  %n = tensor.empty(%batch, %queries, %keys) : tensor<?x2x3x?x?xbf16>
  %narrow = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%p : tensor<?x2x3x?x?xf32>) outs(%n : tensor<?x2x3x?x?xbf16>) {
    ^bb0(%x: f32, %unused: bf16):
      %y = arith.truncf %x : f32 to bf16
      linalg.yield %y : bf16
  } -> tensor<?x2x3x?x?xbf16>
  %f = tensor.empty(%batch, %queries) : tensor<?x2x3x?x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<?x2x3x?x4xf32>) -> tensor<?x2x3x?x4xf32>
  %wide = linalg.contract
      indexing_maps = [affine_map<(b, h, g, i, d, j) -> (b, h, g, i, j)>,
                       affine_map<(b, h, g, i, d, j) -> (b, h, j, d)>,
                       affine_map<(b, h, g, i, d, j) -> (b, h, g, i, d)>]
      ins(%narrow, %v : tensor<?x2x3x?x?xbf16>, tensor<?x2x?x4xbf16>)
      outs(%y : tensor<?x2x3x?x4xf32>) -> tensor<?x2x3x?x4xf32>
  %r = tensor.empty(%batch, %queries) : tensor<?x2x3x?x4xbf16>
  %o = linalg.generic
      {indexing_maps = [#all, #all],
       iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel"]}
      ins(%wide : tensor<?x2x3x?x4xf32>) outs(%r : tensor<?x2x3x?x4xbf16>) {
    ^bb0(%x: f32, %unused: bf16):
      %y0 = arith.truncf %x : f32 to bf16
      linalg.yield %y0 : bf16
  } -> tensor<?x2x3x?x4xbf16>
  return %o : tensor<?x2x3x?x4xbf16>
}

// Heads behind lengths, and keys and values that all heads share. The weights are
// the right operand.
// CHECK-LABEL: func.func @layout
// CHECK-SAME: %[[Q:.*]]: tensor<2x5x3x8xf32>, %[[K:.*]]: tensor<2x7x8xf32>
// CHECK-DAG: %[[QT:.*]] = linalg.transpose ins(%[[Q]] :{{.*}} permutation = [0, 2, 1, 3]
// CHECK-DAG: tensor.expand_shape %[[K]] {{\[}}[0], [1, 2], [3]] output_shape [2, 1, 7, 8]
// CHECK: %[[O:.*]] = attn.attention ins(%[[QT]],
// CHECK-SAME: tensor<2x3x5x8xf32>, tensor<2x1x7x8xf32>, tensor<2x1x7x4xf32>
// CHECK: %[[R:.*]] = linalg.transpose ins(%[[O]] :{{.*}} permutation = [0, 2, 1, 3]
// CHECK: return %[[R]]
func.func @layout(%q: tensor<2x5x3x8xf32>, %k: tensor<2x7x8xf32>,
                  %v: tensor<2x7x4xf32>) -> tensor<2x5x3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %s = linalg.contract
      indexing_maps = [affine_map<(b, h, i, j, d) -> (b, i, h, d)>,
                       affine_map<(b, h, i, j, d) -> (b, j, d)>,
                       affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      ins(%q, %k : tensor<2x5x3x8xf32>, tensor<2x7x8xf32>)
      outs(%z : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<2x3x5x7xf32>)
      outs(%e : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %f = tensor.empty() : tensor<2x5x3x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32>
  %o = linalg.contract
      indexing_maps = [affine_map<(b, i, h, d, j) -> (b, j, d)>,
                       affine_map<(b, i, h, d, j) -> (b, h, i, j)>,
                       affine_map<(b, i, h, d, j) -> (b, i, h, d)>]
      ins(%v, %p : tensor<2x7x4xf32>, tensor<2x3x5x7xf32>)
      outs(%y : tensor<2x5x3x4xf32>) -> tensor<2x5x3x4xf32>
  return %o : tensor<2x5x3x4xf32>
}

// Batch and heads as one dimension of products, and of the bias: it is indexed by
// both. What is hidden by -1000 is part of the score.
// CHECK-LABEL: func.func @collapsed
// CHECK-SAME: %[[Q:.*]]: tensor<?x3x?x8xf32>, %[[K:.*]]: tensor<?x3x?x8xf32>, %[[V:.*]]: tensor<?x3x?x8xf32>
// CHECK: attn.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-SAME: captures(%[[T:.*]] = %{{.*}} : tensor<?x?x?xf32>)
// CHECK-DAG: %[[FIRST:.*]] = arith.muli %b, %c3
// CHECK-DAG: %[[N:.*]] = arith.addi %[[FIRST]], %h
// CHECK-DAG: %[[BIAS:.*]] = tensor.extract %[[T]][%[[N]], %p, %j]
// CHECK-DAG: %[[LATER:.*]] = arith.cmpi ugt, %j, %p
// CHECK-DAG: %[[ADDED:.*]] = arith.addf %s, %[[BIAS]]
// CHECK: %[[SCORE:.*]] = arith.select %[[LATER]], %{{.*}}, %[[ADDED]]
// CHECK-NEXT: attn.yield %[[SCORE]] : f32
// CHECK-NOT: mask
func.func @collapsed(%q: tensor<?x3x?x8xf32>, %k: tensor<?x3x?x8xf32>,
                     %v: tensor<?x3x?x8xf32>, %bias: tensor<?x?x?xf32>)
    -> tensor<?x3x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -1000.0 : f32
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<?x3x?x8xf32> into tensor<?x?x8xf32>
  %k3 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<?x3x?x8xf32> into tensor<?x?x8xf32>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<?x3x?x8xf32> into tensor<?x?x8xf32>
  %batch = tensor.dim %q, %c0 : tensor<?x3x?x8xf32>
  %heads = tensor.dim %q3, %c0 : tensor<?x?x8xf32>
  %queries = tensor.dim %q, %c2 : tensor<?x3x?x8xf32>
  %keys = tensor.dim %k, %c2 : tensor<?x3x?x8xf32>
  %e = tensor.empty(%heads, %queries, %keys) : tensor<?x?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %s = linalg.batch_matmul indexing_maps = [#lhs, #transposed, #out]
      ins(%q3, %k3 : tensor<?x?x8xf32>, tensor<?x?x8xf32>)
      outs(%z : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %hidden = linalg.generic
      {indexing_maps = [#identity, #identity, #identity],
       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %bias : tensor<?x?x?xf32>, tensor<?x?x?xf32>)
      outs(%e : tensor<?x?x?xf32>) {
    ^bb0(%x: f32, %t: f32, %unused: f32):
      %sum = arith.addf %x, %t : f32
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %later = arith.cmpi ugt, %j, %i : index
      %y = arith.select %later, %least, %sum : f32
      linalg.yield %y : f32
  } -> tensor<?x?x?xf32>
  %p = linalg.softmax dimension(2) ins(%hidden : tensor<?x?x?xf32>)
      outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %f = tensor.empty(%heads, %queries) : tensor<?x?x8xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %o3 = linalg.batch_matmul ins(%p, %v3 : tensor<?x?x?xf32>, tensor<?x?x8xf32>)
      outs(%y : tensor<?x?x8xf32>) -> tensor<?x?x8xf32>
  %o = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [%batch, 3, %queries, 8]
      : tensor<?x?x8xf32> into tensor<?x3x?x8xf32>
  return %o : tensor<?x3x?x8xf32>
}

// One query for each head: rows of keys times a vector.
// CHECK-LABEL: func.func @vectors
// CHECK: attn.attention
// CHECK-SAME: tensor<2x3x1x8xf32>, tensor<2x3x7x8xf32>, tensor<2x3x7x4xf32>
func.func @vectors(%q: tensor<2x3x8xf32>, %k: tensor<2x3x7x8xf32>,
                   %v: tensor<2x3x7x4xf32>) -> tensor<2x3x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x3x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  %s = linalg.contract
      indexing_maps = [affine_map<(b, h, j, d) -> (b, h, d)>,
                       affine_map<(b, h, j, d) -> (b, h, j, d)>,
                       affine_map<(b, h, j, d) -> (b, h, j)>]
      ins(%q, %k : tensor<2x3x8xf32>, tensor<2x3x7x8xf32>)
      outs(%z : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<2x3x7xf32>)
      outs(%e : tensor<2x3x7xf32>) -> tensor<2x3x7xf32>
  %f = tensor.empty() : tensor<2x3x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %o = linalg.contract
      indexing_maps = [affine_map<(b, h, d, j) -> (b, h, j)>,
                       affine_map<(b, h, d, j) -> (b, h, j, d)>,
                       affine_map<(b, h, d, j) -> (b, h, d)>]
      ins(%p, %v : tensor<2x3x7xf32>, tensor<2x3x7x4xf32>)
      outs(%y : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %o : tensor<2x3x4xf32>
}

// A reshape that mixes two dimensions is not looked through: 6 times 4 is also 4
// times 6, and which of them is a multiple of 4 is not known.
// CHECK-LABEL: func.func @regrouped
// CHECK: attn.attention
// CHECK-SAME: tensor<?x1x5x8xf32>, tensor<?x1x7x8xf32>, tensor<?x1x7x8xf32>
func.func @regrouped(%arg: tensor<?x4x5x8xf32>, %k: tensor<4x?x7x8xf32>)
    -> tensor<4x?x5x8xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %arg, %c0 : tensor<?x4x5x8xf32>
  %q3 = tensor.collapse_shape %arg [[0, 1], [2], [3]]
      : tensor<?x4x5x8xf32> into tensor<?x5x8xf32>
  %q = tensor.expand_shape %q3 [[0, 1], [2], [3]] output_shape [4, %n, 5, 8]
      : tensor<?x5x8xf32> into tensor<4x?x5x8xf32>
  %e = tensor.empty(%n) : tensor<4x?x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x?x5x7xf32>) -> tensor<4x?x5x7xf32>
  %s = linalg.contract
      indexing_maps = [affine_map<(b, h, i, j, d) -> (b, h, i, d)>,
                       affine_map<(b, h, i, j, d) -> (b, h, j, d)>,
                       affine_map<(b, h, i, j, d) -> (b, h, i, j)>]
      ins(%q, %k : tensor<4x?x5x8xf32>, tensor<4x?x7x8xf32>)
      outs(%z : tensor<4x?x5x7xf32>) -> tensor<4x?x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%s : tensor<4x?x5x7xf32>)
      outs(%e : tensor<4x?x5x7xf32>) -> tensor<4x?x5x7xf32>
  %f = tensor.empty(%n) : tensor<4x?x5x8xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<4x?x5x8xf32>) -> tensor<4x?x5x8xf32>
  %o = linalg.contract
      indexing_maps = [affine_map<(b, h, i, d, j) -> (b, h, i, j)>,
                       affine_map<(b, h, i, d, j) -> (b, h, j, d)>,
                       affine_map<(b, h, i, d, j) -> (b, h, i, d)>]
      ins(%p, %k : tensor<4x?x5x7xf32>, tensor<4x?x7x8xf32>)
      outs(%y : tensor<4x?x5x8xf32>) -> tensor<4x?x5x8xf32>
  return %o : tensor<4x?x5x8xf32>
}

// What is no attention is left as it is: a product whose left operand is not a
// softmax.
// CHECK-LABEL: func.func @product
// CHECK-NOT: attn.attention
// CHECK: linalg.matmul
func.func @product(%a: tensor<5x7xf32>, %b: tensor<7x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<5x4xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<5x4xf32>) -> tensor<5x4xf32>
  %o = linalg.matmul ins(%a, %b : tensor<5x7xf32>, tensor<7x4xf32>)
      outs(%y : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %o : tensor<5x4xf32>
}

// Arguments of calls: a copy of what is random.
func.func @queries(%x: tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32> {
  return %x : tensor<2x3x5x8xf32>
}
func.func @keys(%x: tensor<2x3x7x8xf32>) -> tensor<2x3x7x8xf32> {
  return %x : tensor<2x3x7x8xf32>
}
func.func @bias(%x: tensor<6x5x7xf32>) -> tensor<6x5x7xf32> {
  return %x : tensor<6x5x7xf32>
}
func.func @columns(%x: tensor<8x7xf16>) -> tensor<8x7xf16> {
  return %x : tensor<8x7xf16>
}
func.func @rows(%x: tensor<7x4xf16>) -> tensor<7x4xf16> {
  return %x : tensor<7x4xf16>
}
