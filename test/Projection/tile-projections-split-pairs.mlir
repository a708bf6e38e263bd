// RUN: attn-opt %s --attn-target="{vector_bits = 256}" -attn-plan -attn-tile-projections -canonicalize | FileCheck %s
// RUN: attn-opt %s --attn-target="{vector_bits = 256}" -attn-cpu-pipeline -o /dev/null

// Without products of pairs, a block of features still has whole pairs of a weight
// that is packed for them: 4096 features are 10 blocks of 374 and one of 356.
// CHECK-LABEL: func.func @split_pairs(
// CHECK-SAME: %{{[^:]*}}: tensor<1x256x4096xbf16>, %[[W:[^:]*]]: tensor<4x2048x32x2xbf16>
// CHECK: tensor.extract_slice %[[W]][%{{.*}}, 0, 0, 0] [1, 187, 32, 2]
// CHECK: scf.for %{{.*}} = %c374 to %c3740 step %c374
// CHECK: tensor.extract_slice %[[W]][%{{.*}}, 1870, 0, 0] [1, 178, 32, 2]
func.func @split_pairs(%x: tensor<1x256x4096xbf16>, %w: tensor<4x2048x32x2xbf16>,
                       %y: tensor<1x256x128xbf16>) -> tensor<1x256x128xbf16> {
  %0 = attn.projection
      ins(%x, %w : tensor<1x256x4096xbf16>, tensor<4x2048x32x2xbf16>)
      outs(%y : tensor<1x256x128xbf16>)
  return %0 : tensor<1x256x128xbf16>
}
