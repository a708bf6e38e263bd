%r = attn.attention ins(%x, %x, %x : tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>) outs(%x : tensor<2x2x3x4xf16>) mask sliding_window(3, -1), sliding_window(-1, -1)
