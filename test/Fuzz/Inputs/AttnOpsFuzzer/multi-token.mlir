%r0 = attn.multi_token_attention ins(%q, %k, %v : tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x6xf32>) outs(%o : tensor<1x4x?x6xf32>) convolve_before(%lc : tensor<4x3x3xf32>) mask causal
