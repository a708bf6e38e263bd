%r0 = attn.head_norm ins(%q, %lz : tensor<1x4x?x8xf32>, tensor<8xf32>) outs(%q : tensor<1x4x?x8xf32>) epsilon(1.0e-6) layer(3)
