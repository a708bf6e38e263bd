// Cross attention in two kernels: the keys and values of an encoder's output, computed
// once, and a layer of a decoder that uses them in every step.

!tokens = tensor<?x?x512xf32>
!rows = tensor<?x8x?x64xf32>
!weight = tensor<512x512xf32>

func.func @memory(%encoded: !tokens, %weight: tensor<512x1024xf32>) -> (!rows, !rows) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %encoded, %c0 : !tokens
  %length = tensor.dim %encoded, %c1 : !tokens
  %k = tensor.empty(%batch, %length) : !rows
  %v = tensor.empty(%batch, %length) : !rows
  %key, %value = attn.projection
      ins(%encoded, %weight : !tokens, tensor<512x1024xf32>) outs(%k, %v : !rows, !rows)
  return %key, %value : !rows, !rows
}

// Of the encoder's tokens, the first `lengths[b]` are real.
func.func @layer(%x: !tokens, %key: !rows, %value: !rows, %lengths: tensor<?xi32>,
                 %query_weight: !weight, %output_weight: !weight) -> !tokens {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : !tokens
  %length = tensor.dim %x, %c1 : !tokens
  %init = tensor.empty(%batch, %length) : !tokens
  %y = attn.multi_head_attention heads(8, 8) sizes(64, 64) ins(%x : !tokens)
      memory(%key, %value : !rows, !rows) outs(%init : !tokens)
      query(%query_weight : !weight) output(%output_weight : !weight)
      mask key_padding(%lengths : tensor<?xi32>)
  return %y : !tokens
}
