%r = attn.attention ins(%q, %k, %v : tensor<1x4x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x6xf32>) outs(%o : tensor<1x4x?x6xf32>)
  score(%s1, %b1, %h1, %p1, %j1) captures(%t1 = %t : tensor<4xf32>, %f1 = %f : f32) {
    %e1 = tensor.extract %t1[%h1] : tensor<4xf32>
    %m1 = arith.mulf %e1, %f1 : f32
    %r1 = arith.addf %s1, %m1 : f32
    attn.yield %r1 : f32
  }
  mask(%b1, %h1, %p1, %j1) captures(%g1 = %b : i1) {
    %k1 = index.cmp ule(%j1, %p1)
    %n1 = arith.andi %k1, %g1 : i1
    attn.yield %n1 : i1
  }
