%r = "attn.attention"(%x, %x, %x, %x, %j, %b) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1>, static_scale = 2.0 : f64}> ({}, {
  ^bb0(%b1: index, %h1: index, %p1: index, %j1: index, %c1: i1):
    "attn.yield"(%c1) : (i1) -> ()
  }) : (tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>, index, i1) -> tensor<2x2x3x4xf16>
