%r = attn.attention ins(%x, %x, %x : tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>) outs(%x : tensor<2x2x3x4xf16>) score softcap(2.0), (%s1, %b1, %h1, %p1, %j1) {
    attn.yield %s1 : f32
  } mask causal, (%b1, %h1, %p1, %j1) captures(%c1 : tensor<?xi32> = %n : tensor<1xi32>) {
    %d1 = arith.divsi %j1, %p1 : index
    %e1 = tensor.extract %c1[%d1] : tensor<?xi32>
    %i1 = arith.index_cast %e1 : i32 to index
    %k1 = arith.cmpi ne, %i1, %d1 : index
    attn.yield %k1 : i1
  }
