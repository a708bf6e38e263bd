%r0:2 = attn.projection ins(%la, %lw : tensor<1x?x6xf32>, tensor<6x64xf32>) outs(%q, %q : tensor<1x4x?x8xf32>, tensor<1x4x?x8xf32>)
%r1 = attn.projection ins(%q, %lo : tensor<1x4x?x8xf32>, tensor<32x6xf32>) outs(%la : tensor<1x?x6xf32>)
