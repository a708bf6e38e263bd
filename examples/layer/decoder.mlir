// The self attention of a decoder's layer, of the shape of SmolLM2-135M's: nine query
// heads share three key/value heads of 64. New tokens of every sequence, one or a
// whole prompt, attend to themselves and to what the cache has of their sequence.
//
// Tokens (B, S, 576); weights of bf16, that of queries, keys and values fused; tables
// of the angles of every position; caches (B, 3, capacity, 64), updated in place, and
// how many tokens each sequence has in them.

!tokens = tensor<?x?x576xf32>
!cache = tensor<?x3x?x64xf32>
!angles = tensor<?x32xf32>

func.func @layer(%x: !tokens, %weight: tensor<576x960xbf16>,
                 %output_weight: tensor<576x576xbf16>, %cosine: !angles,
                 %sine: !angles, %key_cache: !cache {bufferization.writable = true},
                 %value_cache: !cache {bufferization.writable = true},
                 %stored: tensor<?xi32>) -> (!tokens, !cache, !cache) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : !tokens
  %length = tensor.dim %x, %c1 : !tokens
  %init = tensor.empty(%batch, %length) : !tokens
  %y, %keys, %values = attn.multi_head_attention heads(9, 3) sizes(64, 64)
      ins(%x : !tokens) outs(%init, %key_cache, %value_cache : !tokens, !cache, !cache)
      qkv(%weight : tensor<576x960xbf16>) output(%output_weight : tensor<576x576xbf16>)
      rope half_split(%cosine, %sine : !angles, !angles)
      lengths(%stored : tensor<?xi32>) mask causal
  return %y, %keys, %values : !tokens, !cache, !cache
}
