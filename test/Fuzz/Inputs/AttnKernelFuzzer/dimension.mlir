func.func @f(%q: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %c4 = arith.constant 4 : index
  %n = tensor.dim %q, %c4 : tensor<1x1x?x8xf32>
  %i = tensor.empty(%n) : tensor<1x1x?x8xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>) outs(%i : tensor<1x1x?x8xf32>)
  return %o : tensor<1x1x?x8xf32>
}
