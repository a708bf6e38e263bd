%r = attn.cache_append ins(%q : tensor<1x4x?x8xf32>) outs(%q : tensor<1x4x?x8xf32>) lengths(%n : tensor<1xi32>) counts(%n : tensor<1xi32>) ring
