%r = attn.attention ins(%x, %x, %x : tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>) outs(%x : tensor<2x2x3x4xf16>) dropout(0.0, %s, %i)
