%z = arith.constant 0 : i32
  %g = arith.constant 0.25 : f32
  %r = attn.attention ins(%q, %k, %v : tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x6xf32>) outs(%o : tensor<1x4x?x6xf32>) scale(%g : f32) offset(%z : i32) score softcap(%g : f32) mask(%b1, %h1, %p1, %j1) captures(%z1 = %z : i32) {
    %t1 = arith.constant true
    attn.yield %t1 : i1
  }
