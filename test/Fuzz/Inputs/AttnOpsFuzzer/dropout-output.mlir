%r0 = attn.dropout ins(%la : tensor<1x?x6xf32>) outs(%la : tensor<1x?x6xf32>) rate(0.5, %s, %i)
