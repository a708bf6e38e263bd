// RUN: not attn-opt %s -attn-tile-keys 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not attn-opt %s -attn-decompose-online 2>&1 | FileCheck %s --check-prefix=ERROR

// What adds the product of the block before is a block already, and one for GPUs.
// TILES: error: could not be tiled
// ERROR: error: delayed: has a lowering for GPUs alone
func.func @delayed(%q: tensor<64x16xf16>, %k: tensor<64x16xf16>, %o: tensor<64x16xf32>,
    %m: tensor<64xf32>, %w: tensor<64x64xf16>, %n: index, %e: i1) -> tensor<64x16xf32> {
  %c0 = arith.constant 0 : index
  %t:4 = attn.online_attention layout<mma>
      ins(%q, %k, %k : tensor<64x16xf16>, tensor<64x16xf16>, tensor<64x16xf16>)
      outs(%o, %m, %m, %w : tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>)
      at(%c0, %c0, %c0, %c0) queries(%n) exact(%e) delayed(%k, %e : tensor<64x16xf16>)
      {attn.plan = #attn.plan<layout = mma, keys = 16>}
      -> tensor<64x16xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf16>
  return %t#0 : tensor<64x16xf32>
}
