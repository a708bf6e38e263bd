// The attention of SmolLM2-135M: nine query heads share three key/value heads,
// and a token sees itself and what came before it. Any batch, any length.
func.func @attention(%query: tensor<?x9x?x64xf32>, %key: tensor<?x3x?x64xf32>,
                     %value: tensor<?x3x?x64xf32>) -> tensor<?x9x?x64xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : tensor<?x9x?x64xf32>
  %length = tensor.dim %query, %c2 : tensor<?x9x?x64xf32>
  %init = tensor.empty(%batch, %length) : tensor<?x9x?x64xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<?x9x?x64xf32>, tensor<?x3x?x64xf32>,
          tensor<?x3x?x64xf32>)
      outs(%init : tensor<?x9x?x64xf32>)
      mask causal
  return %output : tensor<?x9x?x64xf32>
}
