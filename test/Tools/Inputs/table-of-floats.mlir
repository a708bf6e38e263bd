// A mask whose compiled kernel comes with a remark.
func.func @keep_heavy(%x: tensor<1x2x8x8xf32>, %weights: tensor<8xf32>)
    -> tensor<1x2x8x8xf32> {
  %r = attn.attention ins(%x, %x, %x : tensor<1x2x8x8xf32>,
      tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) outs(%x : tensor<1x2x8x8xf32>)
      mask(%b, %h, %p, %j) captures(%w = %weights : tensor<8xf32>) {
        %weight = tensor.extract %w[%j] : tensor<8xf32>
        %wave = math.sin %weight : f32
        %keep = arith.cmpf olt, %wave, %weight : f32
        attn.yield %keep : i1
      }
  return %r : tensor<1x2x8x8xf32>
}
