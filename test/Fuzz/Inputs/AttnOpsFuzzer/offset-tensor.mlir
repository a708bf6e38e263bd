%r = attn.attention ins(%q, %k, %v : tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x6xf32>) outs(%o : tensor<1x4x?x6xf32>) offset(%n : tensor<1xi32>) sink(%t : tensor<4xf32>)
