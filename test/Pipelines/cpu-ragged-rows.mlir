// Tiles of three rows, of which the last has two: rows of no query are 0.
// RUN: attn-run %s --random 1 --check

func.func @plan(%q: tensor<1x1x8x32xf32>) -> tensor<1x1x8x32xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x8x32xf32>, tensor<1x1x8x32xf32>,
          tensor<1x1x8x32xf32>) outs(%q : tensor<1x1x8x32xf32>)
      {attn.plan = #attn.plan<rows = 3>}
  return %r : tensor<1x1x8x32xf32>
}
