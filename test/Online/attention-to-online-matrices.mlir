// RUN: attn-opt %s -attn-plan=workgroups -attn-attention-to-online \
// RUN:   -canonicalize -cse | FileCheck %s
// RUN: attn-opt %s -attn-plan=workgroups -attn-attention-to-online \
// RUN:   -attn-tile-keys -canonicalize -cse | FileCheck %s --check-prefix=KEYS

!q = tensor<1x1x?x64xf16>
!o = tensor<1x1x?x64xf16>

// Queries stay what they are, in 16 rows of which those after the last are 0, and
// scores are scaled.
// CHECK-LABEL: func.func @ragged
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 1.250000e-01 : f32
// CHECK: %[[PADDED:.*]] = tensor.pad %{{.*}} low[0, 0] high[%{{.*}}, 0]
// CHECK: tensor<?x64xf16> to tensor<16x64xf16>
// CHECK: %[[R:.*]]:3 = attn.online_attention layout<mma>
// CHECK-SAME: ins(%[[PADDED]], %{{.*}}, %{{.*}} : tensor<16x64xf16>, tensor<?x64xf16>, tensor<?x64xf16>)
// CHECK-SAME: outs(%{{.*}} : tensor<16x64xf32>, tensor<16xf32>, tensor<16xf32>)
// CHECK-SAME: scale(%[[SCALE]] : f32)
// CHECK-NOT: linalg.transpose
// CHECK: tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, 64] [1, 1] : tensor<16x64xf16> to tensor<?x64xf16>
// KEYS-LABEL: func.func @ragged
// KEYS: scf.for {{.*}} step %c64
func.func @ragged(%q: !q, %k: !q, %v: !q, %o: !o, %n: index) -> !o {
  %c0 = arith.constant 0 : index
  %count = affine.min affine_map<()[s0] -> (s0, 10)>()[%n]
  %rows = tensor.extract_slice %q[0, 0, 0, 0] [1, 1, %count, 64] [1, 1, 1, 1] : !q to !q
  %outs = tensor.extract_slice %o[0, 0, 0, 0] [1, 1, %count, 64] [1, 1, 1, 1] : !o to !o
  %r = attn.attention ins(%rows, %k, %v : !q, !q, !q) outs(%outs : !o)
  return %r : !o
}

// Heads of 128 elements leave registers for 64 keys, those of 256 for 16.
// KEYS-LABEL: func.func @longer
// KEYS: scf.for {{.*}} step %c64
// KEYS-LABEL: func.func @longest
// KEYS: scf.for {{.*}} step %c16
func.func @longer(%q: tensor<1x1x64x128xbf16>, %k: tensor<1x1x?x128xbf16>)
    -> tensor<1x1x64x128xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x64x128xbf16>, tensor<1x1x?x128xbf16>, tensor<1x1x?x128xbf16>)
      outs(%q : tensor<1x1x64x128xbf16>)
  return %r : tensor<1x1x64x128xbf16>
}
func.func @longest(%q: tensor<1x1x64x256xbf16>, %k: tensor<1x1x?x256xbf16>)
    -> tensor<1x1x64x256xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x1x64x256xbf16>, tensor<1x1x?x256xbf16>, tensor<1x1x?x256xbf16>)
      outs(%q : tensor<1x1x64x256xbf16>)
  return %r : tensor<1x1x64x256xbf16>
}
