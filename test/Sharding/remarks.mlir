// RUN: attn-opt %s --attn-shard="ranks=4 split=sequence" --split-input-file --verify-diagnostics -o /dev/null

func.func @rounded(%query: tensor<1x4x?x16xbf16>, %key: tensor<1x4x?x16xbf16>,
                   %value: tensor<1x4x?x16xbf16>, %init: tensor<1x4x?x16xbf16>)
    -> tensor<1x4x?x16xbf16> {
  // expected-remark @below {{merges whole tensors after each block of keys of a rank, since its results are rounded to 'bf16' before}}
  %o = attn.attention ins(%query, %key, %value : tensor<1x4x?x16xbf16>, tensor<1x4x?x16xbf16>, tensor<1x4x?x16xbf16>)
      outs(%init : tensor<1x4x?x16xbf16>) mask causal
  return %o : tensor<1x4x?x16xbf16>
}

// -----

func.func @packed(%query: tensor<1x4x?x16xf32>, %bounds: tensor<?xi32>, %init: tensor<1x4x?x16xf32>)
    -> tensor<1x4x?x16xf32> {
  // expected-remark @below {{merges whole tensors after each block of keys of a rank, since its batch is packed}}
  %o = attn.attention ins(%query, %query, %query : tensor<1x4x?x16xf32>, tensor<1x4x?x16xf32>, tensor<1x4x?x16xf32>)
      outs(%init : tensor<1x4x?x16xf32>) sequences(%bounds, %bounds : tensor<?xi32>, tensor<?xi32>) mask causal
  return %o : tensor<1x4x?x16xf32>
}

// -----

// Tiles merge their own parts.
func.func @fused(%query: tensor<1x4x?x16xf32>, %init: tensor<1x4x?x16xf32>) -> tensor<1x4x?x16xf32> {
  %o = attn.attention ins(%query, %query, %query : tensor<1x4x?x16xf32>, tensor<1x4x?x16xf32>, tensor<1x4x?x16xf32>)
      outs(%init : tensor<1x4x?x16xf32>) mask causal
  return %o : tensor<1x4x?x16xf32>
}
