%r:2 = attn.merge ins(%o, %l, %o, %l : tensor<1x4x?x6xf32>, tensor<1x4x?xf32>, tensor<1x4x?x6xf32>, tensor<1x4x?xf32>) outs(%o, %l : tensor<1x4x?x6xf32>, tensor<1x4x?xf32>)
