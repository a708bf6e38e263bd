%r = attn.cache_read ins(%k : tensor<1x2x?x8xf32>) lengths(%n : tensor<1xi32>) size(%j) -> tensor<1x2x?x8xf32>
%s0 = attn.attention ins(%q, %r, %v : tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x6xf32>) outs(%o : tensor<1x4x?x6xf32>) mask causal
