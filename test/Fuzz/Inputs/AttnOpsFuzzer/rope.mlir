%d0 = tensor.empty() : tensor<9x3xf32>
%r = attn.rope half_split ins(%q, %d0, %d0 : tensor<1x4x?x8xf32>, tensor<9x3xf32>, tensor<9x3xf32>) outs(%q : tensor<1x4x?x8xf32>) offset(%n : tensor<1xi32>)
