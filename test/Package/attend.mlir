func.func @attend(%query: tensor<1x1x?x2xf32>, %key: tensor<1x1x?x2xf32>,
                  %value: tensor<1x1x?x1xf32>) -> tensor<1x1x?x1xf32> {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x1x?x2xf32>
  %init = tensor.empty(%length) : tensor<1x1x?x1xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<1x1x?x2xf32>, tensor<1x1x?x2xf32>,
          tensor<1x1x?x1xf32>)
      outs(%init : tensor<1x1x?x1xf32>)
  return %output : tensor<1x1x?x1xf32>
}
