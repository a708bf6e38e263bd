// softmax(Q K^T / 8) V of four heads, as a front end may write it.
#query = affine_map<(h, i, j, d) -> (h, i, d)>
#key = affine_map<(h, i, j, d) -> (h, j, d)>
#score = affine_map<(h, i, j, d) -> (h, i, j)>
#identity = affine_map<(h, i, j) -> (h, i, j)>
func.func @attend(%q: tensor<1x4x128x64xf32>, %k: tensor<1x4x128x64xf32>,
                  %v: tensor<1x4x128x64xf32>) -> tensor<1x4x128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %eighth = arith.constant 0.125 : f32
  %q3 = tensor.collapse_shape %q [[0, 1], [2], [3]] : tensor<1x4x128x64xf32> into tensor<4x128x64xf32>
  %k3 = tensor.collapse_shape %k [[0, 1], [2], [3]] : tensor<1x4x128x64xf32> into tensor<4x128x64xf32>
  %v3 = tensor.collapse_shape %v [[0, 1], [2], [3]] : tensor<1x4x128x64xf32> into tensor<4x128x64xf32>
  %e = tensor.empty() : tensor<4x128x128xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %s = linalg.batch_matmul indexing_maps = [#query, #key, #score]
      ins(%q3, %k3 : tensor<4x128x64xf32>, tensor<4x128x64xf32>)
      outs(%z : tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %scaled = linalg.generic
      {indexing_maps = [#identity, #identity],
       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s : tensor<4x128x128xf32>) outs(%e : tensor<4x128x128xf32>) {
    ^bb0(%x: f32, %unused: f32):
      %y = arith.mulf %x, %eighth : f32
      linalg.yield %y : f32
  } -> tensor<4x128x128xf32>
  %p = linalg.softmax dimension(2) ins(%scaled : tensor<4x128x128xf32>)
      outs(%e : tensor<4x128x128xf32>) -> tensor<4x128x128xf32>
  %f = tensor.empty() : tensor<4x128x64xf32>
  %y = linalg.fill ins(%zero : f32) outs(%f : tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
  %o3 = linalg.batch_matmul ins(%p, %v3 : tensor<4x128x128xf32>, tensor<4x128x64xf32>)
      outs(%y : tensor<4x128x64xf32>) -> tensor<4x128x64xf32>
  %o = tensor.expand_shape %o3 [[0, 1], [2], [3]] output_shape [1, 4, 128, 64]
      : tensor<4x128x64xf32> into tensor<1x4x128x64xf32>
  return %o : tensor<1x4x128x64xf32>
}
