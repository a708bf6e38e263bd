// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true, bf16_tiles = true}" \
// RUN:   -attn-plan -attn-tile-tangent -canonicalize -mlir-print-local-scope | FileCheck %s

!q = tensor<?x8x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!lse = tensor<?x8x?xf32>

// Values and their tangents are packed once for all tiles.
// CHECK-LABEL: func.func @causal(
// CHECK-COUNT-2: linalg.pack {{.*}} inner_dims_pos = [2] inner_tiles = [32] {{.*}} tensor<?x2x?x64xbf16> -> tensor<?x2x?x64x32xbf16>
// CHECK: scf.forall
// CHECK-NOT: linalg.pack
// CHECK: scf.for %{{.*}} step %c64 iter_args(%{{.*}}) -> (tensor<64x32xf32>, tensor<32xf32>)
// CHECK-COUNT-3: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<32x32x2xbf16>) outs(%{{.*}} : tensor<?x32xf32>)
// CHECK-COUNT-2: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x64x16x2xbf16>, tensor<?x16x32x2xbf16>) outs(%{{.*}} : tensor<64x32xf32>)
// CHECK: attn.all_finite
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %dq: !q, %dk: !k, %dv: !k) -> !q {
  %r = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !k, !q, !lse)
      outs(%q : !q) tangents(query = %dq, key = %dk, value = %dv : !q, !k, !k) mask causal
  return %r : !q
}

// Sequences begin anywhere: each block packs its values.
// CHECK-LABEL: func.func @packed(
// CHECK-NOT: linalg.pack
// CHECK: scf.forall
// CHECK: scf.for
// CHECK: linalg.pack {{.*}} inner_dims_pos = [0] inner_tiles = [32] {{.*}} tensor<?x64xbf16> -> tensor<?x64x32xbf16>
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x64x16x2xbf16>, tensor<?x16x32x2xbf16>) outs(%{{.*}} : tensor<64x32xf32>)
func.func @packed(%q: tensor<1x8x?x64xbf16>, %k: tensor<1x2x?x64xbf16>, %lse: tensor<1x8x?xf32>, %n: tensor<3xi32>) -> tensor<1x8x?x64xbf16> {
  %r = attn.attention_tangent
      ins(%q, %k, %k, %q, %lse : tensor<1x8x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x8x?x64xbf16>, tensor<1x8x?xf32>)
      outs(%q : tensor<1x8x?x64xbf16>) sequences(%n, %n : tensor<3xi32>, tensor<3xi32>)
      tangents(key = %k : tensor<1x2x?x64xbf16>)
  return %r : tensor<1x8x?x64xbf16>
}
