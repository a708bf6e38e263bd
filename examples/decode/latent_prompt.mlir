// A prompt, or a chunk of one, with multi-head latent attention (DeepSeek-AI,
// "DeepSeek-V2", arXiv:2405.04434). Many queries do better with the keys and values
// of every head than with the absorbed form of latent.mlir: scores are sums of 192
// elements instead of 576, and outputs have 128 instead of 512. So each latent is
// unfolded into the keys and values of 128 heads, once for all queries; behind the
// 128 elements of a key stand the 64 that the rotary embedding turned, which all
// heads share.
//
// Query (B, 128, S, 192), latents (B, L, 512) and turned parts of keys (B, 1, L, 64)
// of all positions, the L - S before the prompt and its own; the weight (512, 128 *
// (128 + 128)), with the columns of all keys before those of all values. Output
// (B, 128, S, 128).

!query = tensor<?x128x?x192xf32>
!output = tensor<?x128x?x128xf32>
!latents = tensor<?x?x512xf32>
!turned = tensor<?x1x?x64xf32>
!weight = tensor<512x32768xf32>
!heads = tensor<?x128x?x128xf32>
!key = tensor<?x128x?x192xf32>

func.func @latent_prompt(%query: !query, %latents: !latents, %turned: !turned,
                         %weight: !weight) -> !output {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %latents, %c0 : !latents
  %positions = tensor.dim %latents, %c1 : !latents
  %tokens = tensor.dim %query, %c2 : !query

  %empty = tensor.empty(%batch, %positions) : !heads
  %unfolded, %value = attn.projection
      ins(%latents, %weight : !latents, !weight)
      outs(%empty, %empty : !heads, !heads)

  %keys = tensor.empty(%batch, %positions) : !key
  %with_unfolded = tensor.insert_slice %unfolded
      into %keys[0, 0, 0, 0] [%batch, 128, %positions, 128] [1, 1, 1, 1]
      : !heads into !key
  %part = tensor.extract_slice %with_unfolded[0, 0, 0, 128]
      [%batch, 128, %positions, 64] [1, 1, 1, 1]
      : !key to tensor<?x128x?x64xf32>
  %row = tensor.collapse_shape %turned [[0, 1], [2], [3]]
      : !turned into tensor<?x?x64xf32>
  %of_all = linalg.broadcast ins(%row : tensor<?x?x64xf32>)
      outs(%part : tensor<?x128x?x64xf32>) dimensions = [1]
  %key = tensor.insert_slice %of_all
      into %with_unfolded[0, 0, 0, 128] [%batch, 128, %positions, 64] [1, 1, 1, 1]
      : tensor<?x128x?x64xf32> into !key

  %init = tensor.empty(%batch, %tokens) : !output
  %output = attn.attention ins(%query, %key, %value : !query, !key, !heads)
      outs(%init : !output) offset(bottom_right) mask causal
  return %output : !output
}
