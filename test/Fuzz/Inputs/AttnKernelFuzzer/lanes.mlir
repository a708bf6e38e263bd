func.func @f(%q: tensor<16x4611686018427387904xf32>, %k: tensor<9x16xf32>,
             %o: tensor<16x4611686018427387904xf32>,
             %m: tensor<4611686018427387904xf32>, %n: index, %e: i1)
    -> tensor<16x4611686018427387904xf32> {
  %r:3 = attn.online_attention
      ins(%q, %k, %k : tensor<16x4611686018427387904xf32>, tensor<9x16xf32>,
          tensor<9x16xf32>)
      outs(%o, %m, %m : tensor<16x4611686018427387904xf32>,
           tensor<4611686018427387904xf32>, tensor<4611686018427387904xf32>)
      at(%n, %n, %n, %n) queries(%n) exact(%e)
      -> tensor<16x4611686018427387904xf32>, tensor<4611686018427387904xf32>,
         tensor<4611686018427387904xf32>
  return %r#0 : tensor<16x4611686018427387904xf32>
}
