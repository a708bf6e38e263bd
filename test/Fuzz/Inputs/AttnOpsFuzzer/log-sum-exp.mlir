%r:2 = attn.attention ins(%q, %k, %v : tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x6xf32>) outs(%o, %l : tensor<1x4x?x6xf32>, tensor<1x4x?xf32>)
