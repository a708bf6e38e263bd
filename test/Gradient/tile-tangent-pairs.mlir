// RUN: attn-opt %s --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" \
// RUN:   -attn-plan -attn-tile-tangent -canonicalize -mlir-print-local-scope | FileCheck %s

!q = tensor<?x8x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!lse = tensor<?x8x?xf32>

// Products in pairs of elements, whose scale waits for scores and their tangents.
// CHECK-LABEL: func.func @causal(
// CHECK: scf.forall
// CHECK-COUNT-2: linalg.transpose ins(%{{.*}} : tensor<32x32x2xbf16>)
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c64 iter_args(%{{.*}}) -> (tensor<32x64xf32>, tensor<32xf32>)
// CHECK-COUNT-3: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<32x32x2xbf16>) outs(%{{.*}} : tensor<?x32xf32>)
// CHECK: attn.online_softmax rounded outs(%{{.*}}, %{{.*}} : tensor<64x32xf32>, tensor<32xf32>) {{.*}} scale(%[[SCALE:[^ ]*]] : f32)
// CHECK: linalg.generic
// CHECK: arith.mulf %{{.*}}, %[[SCALE]] : f32
// CHECK: arith.select
// Weights and what they move by, in pairs of keys.
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x32xf32>) outs(%{{.*}} : tensor<?x32xbf16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<?x64x2xbf16>) outs(%{{.*}} : tensor<32x64xf32>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x32xf32>) outs(%{{.*}} : tensor<?x32xbf16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<?x64x2xbf16>) outs(%{{.*}} : tensor<32x64xf32>)
// CHECK: attn.all_finite
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %dq: !q, %dk: !k, %dv: !k) -> !q {
  %r = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !k, !q, !lse)
      outs(%q : !q) tangents(query = %dq, key = %dk, value = %dv : !q, !k, !k) mask causal
  return %r : !q
}
