// A model of one layer that looks things up. A sequence has a question, a key, and then
// pairs of a key and a value; the model says which value belongs to the question.
//
// Tokens (B, 1 + pairs, 32), of which the question is the first and the first `lengths[b]`
// are real; four query heads on two key/value heads of 16, rotary positions, dropout of
// probabilities. Gives a number for each of the 16 values, of every token.

!tokens = tensor<64x9x32xf32>
!angles = tensor<9x8xf32>

func.func @model(%x: !tokens, %qkv: tensor<32x128xf32>, %output: tensor<64x32xf32>,
                 %head: tensor<32x16xf32>, %cosine: !angles, %sine: !angles,
                 %lengths: tensor<64xi32>, %seed: i64, %call: i32) -> tensor<64x9x16xf32> {
  %0 = tensor.empty() : !tokens
  %1 = tensor.empty() : tensor<64x9x16xf32>
  %attended = attn.multi_head_attention heads(4, 2) sizes(16, 16)
      ins(%x : !tokens) outs(%0 : !tokens) qkv(%qkv : tensor<32x128xf32>)
      output(%output : tensor<64x32xf32>)
      rope half_split(%cosine, %sine : !angles, !angles)
      dropout(0.1, 0.0, %seed, %call)
      mask key_padding(%lengths : tensor<64xi32>)
  %sum = arith.addf %attended, %x : !tokens
  %logits = attn.projection ins(%sum, %head : !tokens, tensor<32x16xf32>)
      outs(%1 : tensor<64x9x16xf32>)
  return %logits : tensor<64x9x16xf32>
}
