// Multi-token attention with the defaults of Golovneva et al.
// (arXiv:2504.00927): a convolution of 6 queries by 11 keys before the softmax,
// and mixing of pairs of heads after it.

func.func @attention(%query: tensor<?x8x?x64xf32>, %key: tensor<?x2x?x64xf32>,
                     %value: tensor<?x2x?x64xf32>, %kernel: tensor<8x6x11xf32>,
                     %weights: tensor<4x2x2xf32>) -> tensor<?x8x?x64xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : tensor<?x8x?x64xf32>
  %length = tensor.dim %query, %c2 : tensor<?x8x?x64xf32>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xf32>
  %output = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>,
          tensor<?x2x?x64xf32>)
      outs(%init : tensor<?x8x?x64xf32>)
      convolve_before(%kernel : tensor<8x6x11xf32>)
      mix_after(%weights : tensor<4x2x2xf32>)
      mask causal
  return %output : tensor<?x8x?x64xf32>
}
