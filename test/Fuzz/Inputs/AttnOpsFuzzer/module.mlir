func.func @g(%x: tensor<2x2x3x4xf16>, %n: index) -> tensor<2x2x3x4xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<2x2x3x4xf16>) {
    %y = attn.attention ins(%x, %x, %x : tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>, tensor<2x2x3x4xf16>) outs(%a : tensor<2x2x3x4xf16>) offset(%i : index) mask causal
    scf.yield %y : tensor<2x2x3x4xf16>
  }
  return %r : tensor<2x2x3x4xf16>
}
