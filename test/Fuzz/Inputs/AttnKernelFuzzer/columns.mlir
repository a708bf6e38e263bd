func.func @f(%x: tensor<?x40xf32>, %y: tensor<40xf32>) -> tensor<40xf32> {
  %0 = linalg.generic {
      indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<?x40xf32>) outs(%y : tensor<40xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<40xf32>
  return %0 : tensor<40xf32>
}
