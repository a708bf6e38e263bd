func.func @f(%q: tensor<?x4x?x8xf32>, %k: tensor<?x2x?x8xf32>,
             %v: tensor<?x2x?x6xf32>, %o: tensor<?x4x?x6xf32>, %n: i64)
    -> tensor<?x4x?x6xf32> {
  %0 = attn.attention
      ins(%q, %k, %v : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x6xf32>)
      outs(%o : tensor<?x4x?x6xf32>) offset(%n : i64)
      mask causal, sliding_window(7, 0)
  return %0 : tensor<?x4x?x6xf32>
}
