func.func @f(%q: tensor<1x1x?x16xf32>, %x: tensor<?x8xf32>) -> (tensor<1x1x?x16xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x1x?x16xf32>
  %m = tensor.dim %x, %c0 : tensor<?x8xf32>
  %i = tensor.empty(%n) : tensor<1x1x?x16xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>) outs(%i : tensor<1x1x?x16xf32>)
  %e = tensor.empty(%m) : tensor<?x8xf32>
  %s = linalg.softmax dimension(1) ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %o, %s : tensor<1x1x?x16xf32>, tensor<?x8xf32>
}
