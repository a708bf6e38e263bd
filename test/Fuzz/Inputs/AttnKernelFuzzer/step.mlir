func.func @f(%q: tensor<1x1x4x8xf32>, %n: index) -> tensor<1x1x4x8xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %i = %c0 to %c4 step %c0 iter_args(%a = %q) -> tensor<1x1x4x8xf32> {
    %e = tensor.empty() : tensor<1x1x4x8xf32>
    %o = attn.attention ins(%a, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) outs(%e : tensor<1x1x4x8xf32>)
    scf.yield %o : tensor<1x1x4x8xf32>
  }
  return %r : tensor<1x1x4x8xf32>
}
