// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" \
// RUN:   -attn-plan -attn-tile-backward -canonicalize -mlir-print-local-scope | FileCheck %s
// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 512, vector_registers = 32, bf16_dot = true}" \
// RUN:   -attn-plan | FileCheck %s --check-prefix=PLAN

!q = tensor<?x8x?x64xbf16>
!k = tensor<?x2x?x64xbf16>
!lse = tensor<?x8x?xf32>

// PLAN-LABEL: func.func @causal
// PLAN: attn.plan = #attn.plan<layout = pairs,

// Queries and gradients of a tile in pairs of elements, and of rows.
// CHECK-LABEL: func.func @causal
// CHECK-SAME: %{{[^:]*}}: tensor<?x8x?x64xbf16>, %[[K:[^:]*]]: tensor<?x2x?x64xbf16>, %[[V:[^:]*]]: tensor<?x2x?x64xbf16>,
// CHECK: scf.forall
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [16, 2, 64]
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<16x2x64xbf16>) outs(%{{.*}} : tensor<16x64x2xbf16>)
// CHECK: linalg.transpose ins(%{{.*}} : tensor<32x32x2xbf16>) outs(%{{.*}} : tensor<32x32x2xbf16>) permutation = [1, 0, 2]
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<16x2x64xbf16>) outs(%{{.*}} : tensor<16x64x2xbf16>)
// CHECK: linalg.transpose ins(%{{.*}} : tensor<32x32x2xbf16>)
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c64 iter_args(%{{.*}}) -> (tensor<32x64xf32>, tensor<?x64xf32>, tensor<?x64xf32>)
// CHECK: %[[N:.*]] = affine.min affine_map<()[s0, s1] -> (64, s0 - s1)>
// Keys and values are multiplied as they are. Products wait for their scale.
// CHECK: %[[KEY:.*]] = tensor.extract_slice %[[K]]
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<32x32x2xbf16>) outs(%{{.*}} : tensor<?x32xf32>)
// CHECK: %[[P:.*]]:2 = attn.online_softmax rounded outs(%{{.*}}, %{{.*}} : tensor<64x32xf32>, tensor<32xf32>) {{.*}} scale(%{{.*}} : f32)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<32x32x2xbf16>) outs(%{{.*}} : tensor<?x32xf32>)
// Gradients of products are scaled and rounded, with a row of 0 after an odd
// number, and weights rounded.
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x32xf32>, tensor<?x32xf32>, tensor<32xf32>) outs(%{{.*}} : tensor<?x32xbf16>)
// CHECK: arith.truncf
// CHECK: %[[MISSING:.*]] = affine.apply affine_map<()[s0] -> (-s0 + (s0 ceildiv 2) * 2)>()[%[[N]]]
// CHECK: %[[LAST:.*]] = tensor.extract_slice %{{.*}}[%[[N]], 0] [%[[MISSING]], 32] [1, 1] : tensor<64x32xbf16>
// CHECK: linalg.fill ins(%{{.*}} : bf16) outs(%[[LAST]] : tensor<?x32xbf16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x32xf32>) outs(%{{.*}} : tensor<?x32xbf16>)
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.truncf
// The former in pairs of keys, as keys are.
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x2x32xbf16>) outs(%{{.*}} : tensor<?x32x2xbf16>)
// CHECK: linalg.copy ins(%[[KEY]] : tensor<?x64xbf16>)
// CHECK: linalg.fill ins(%{{.*}} : bf16) outs(%{{.*}} : tensor<?x64xbf16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<?x2x64xbf16>) outs(%{{.*}} : tensor<?x64x2xbf16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x32x2xbf16>, tensor<?x64x2xbf16>) outs(%{{.*}} : tensor<32x64xf32>)
// Both in pairs of queries, which they lie in.
// CHECK-COUNT-2: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?x16x2xbf16>, tensor<16x64x2xbf16>) outs(%{{.*}} : tensor<?x64xf32>)
// CHECK: attn.all_finite
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %do: !q) -> (!q, !k, !k) {
  %dq, %dk, %dv = attn.attention_backward
      ins(%q, %k, %v, %o, %lse, %do : !q, !k, !k, !q, !lse, !q)
      outs(%q, %k, %v : !q, !k, !k) mask causal
  return %dq, %dk, %dv : !q, !k, !k
}

// -----

!q = tensor<2x8x128x64xbf16>
!v = tensor<2x8x128x32xbf16>
!lse = tensor<2x8x128xf32>

// Blocks of a known, even number of keys, which are not copied.
// CHECK-LABEL: func.func @whole
// CHECK: scf.for %{{.*}} = %c0 to %c128 step %c64 iter_args(%{{.*}}) -> (tensor<64x64xf32>, tensor<128x64xf32>, tensor<128x32xf32>)
// CHECK-NOT: linalg.copy
// CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<32x2x64xbf16>) outs(%{{.*}} : tensor<32x64x2xbf16>)
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<32x64x2xbf16>, tensor<32x64x2xbf16>) outs(%{{.*}} : tensor<64x64xf32>)
// CHECK: attn.all_finite
func.func @whole(%q: !q, %v: !v, %lse: !lse) -> (!q, !q, !v) {
  %r:3 = attn.attention_backward ins(%q, %q, %v, %v, %lse, %v : !q, !q, !v, !v, !lse, !v)
      outs(%q, %q, %v : !q, !q, !v)
  return %r#0, %r#1, %r#2 : !q, !q, !v
}
