// A mask whose compiled kernel comes with a remark.
func.func @keep_heavy(%x: tensor<1x2x8x8xf32>, %weights: tensor<8xf32>)
    -> tensor<1x2x8x8xf32> {
  %r = attn.attention ins(%x, %x, %x : tensor<1x2x8x8xf32>,
      tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) outs(%x : tensor<1x2x8x8xf32>)
      mask(%b, %h, %p, %j) captures(%w = %weights : tensor<8xf32>) {
        %zero = arith.constant 0.0 : f32

        %weight = tensor.extract %w[%j] : tensor<8xf32>
        %keep = arith.cmpf ogt, %weight, %zero : f32
        attn.yield %keep : i1
      }
  return %r : tensor<1x2x8x8xf32>
}
