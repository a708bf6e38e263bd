// Grouped heads, any lengths, scalars of both kinds.
func.func @attend(%query: tensor<1x4x?x32xf32>, %key: tensor<1x2x?x32xf32>,
                  %value: tensor<1x2x?x16xf32>, %offset: i32, %scale: f32)
    -> tensor<1x4x?x16xf32> {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x4x?x32xf32>
  %init = tensor.empty(%length) : tensor<1x4x?x16xf32>
  %output = attn.attention
      ins(%query, %key, %value
          : tensor<1x4x?x32xf32>, tensor<1x2x?x32xf32>, tensor<1x2x?x16xf32>)
      outs(%init : tensor<1x4x?x16xf32>) scale(%scale : f32)
      offset(%offset : i32) mask causal
  return %output : tensor<1x4x?x16xf32>
}
