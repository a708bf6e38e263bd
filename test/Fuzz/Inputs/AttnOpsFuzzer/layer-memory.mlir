%e0 = tensor.extract_slice %lw[0, 0] [6, 32] [1, 1] : tensor<6x64xf32> to tensor<6x32xf32>
%r0 = attn.multi_head_attention heads(4, 2) sizes(8, 8) ins(%la : tensor<1x?x6xf32>) memory(%lk, %lk : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) outs(%la : tensor<1x?x6xf32>) query(%e0 : tensor<6x32xf32>) output(%lo : tensor<32x6xf32>)
