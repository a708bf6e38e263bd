%r = attn.attention ins(%d, %d, %d : tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>) outs(%d : tensor<1x1x2x2xf64>) score(%s1, %b1, %h1, %p1, %j1) {
    %a1 = arith.fptosi %s1 : f64 to i8
    %b2 = arith.shli %a1, %a1 overflow<nsw> : i8
    %c1 = math.ipowi %a1, %b2 : i8
    %d1 = math.ctlz %c1 : i8
    %e1 = arith.constant 3 : i8
    %f1 = arith.floordivsi %d1, %e1 : i8
    %x1 = arith.cmpi slt, %f1, %e1 : i8
    %g1 = arith.select %x1, %f1, %d1 : i8
    %h2 = arith.sitofp %g1 : i8 to f64
    %u1 = ub.poison : f64
    %y1 = arith.maximumf %h2, %u1 fastmath<nnan> : f64
    attn.yield %y1 : f64
  }
