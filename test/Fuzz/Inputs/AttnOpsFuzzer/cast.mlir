%w = tensor.cast %x : tensor<2x2x3x4xf16> to tensor<?x2x?x4xf16>
  %t2 = tensor.cast %n : tensor<1xi32> to tensor<?xi32>
  %r = attn.attention ins(%w, %w, %x : tensor<?x2x?x4xf16>, tensor<?x2x?x4xf16>, tensor<2x2x3x4xf16>) outs(%w : tensor<?x2x?x4xf16>) mask prefix_lm(%t2 : tensor<?xi32>)
