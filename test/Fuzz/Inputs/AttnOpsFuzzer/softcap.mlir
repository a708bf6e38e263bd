%r = attn.attention ins(%d, %d, %d : tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>) outs(%d : tensor<1x1x2x2xf64>) score softcap(30.0)
