// RUN: attn-opt %s --split-input-file --attn-target="{vector_bits = 256}" -attn-plan -attn-tile-tangent -canonicalize -mlir-print-local-scope | FileCheck %s

!q = tensor<?x8x?x64xf32>
!k = tensor<?x2x?x64xf32>
!lse = tensor<?x8x?xf32>

// Tiles of queries in parallel, and for each the blocks of keys that the mask may
// keep.
// CHECK-LABEL: func.func @causal(
// CHECK-SAME: %{{[^:]*}}: tensor<?x8x?x64xf32>, %[[K:[^:]*]]: tensor<?x2x?x64xf32>, %[[V:[^:]*]]: tensor<?x2x?x64xf32>,
// CHECK-SAME: %{{[^:]*}}: tensor<?x8x?xf32>, %{{[^:]*}}: tensor<?x8x?x64xf32>, %[[DK:[^:]*]]: tensor<?x2x?x64xf32>, %[[DV:[^:]*]]: tensor<?x2x?x64xf32>)
// CHECK: %[[R:.*]]:2 = scf.forall (%[[N:.*]], %[[H:.*]], %[[TILE:.*]]) in (%{{.*}}, 8, %{{.*}})
// CHECK: arith.minsi
// Each product fetches what a later one reads, the last but one keys of the next
// block.
// CHECK: scf.for %[[J:.*]] = %c0 to %{{.*}} step %c64
// CHECK: attn.prefetch %[[DK]][%[[N]], %{{.*}}, %[[J]]] to %{{.*}} spread
// CHECK: linalg.matmul ins(%{{.*}}, %[[QT:.*]] : tensor<?x64xf32>, tensor<64x16xf32>)
// CHECK: attn.prefetch %[[V]][%[[N]], %{{.*}}, %[[J]]] to %{{.*}} spread
// CHECK: linalg.matmul ins(%{{.*}}, %[[DQT:.*]] : tensor<?x64xf32>, tensor<64x16xf32>)
// CHECK: attn.prefetch %[[DV]][%[[N]], %{{.*}}, %[[J]]] to %{{.*}} spread
// CHECK: linalg.matmul ins(%{{.*}}, %[[QT]] : tensor<?x64xf32>, tensor<64x16xf32>)
// CHECK: %[[P:.*]]:2 = attn.online_softmax outs(%{{.*}}, %[[LSE:.*]] : tensor<64x16xf32>, tensor<16xf32>)
// CHECK: linalg.generic
// CHECK: arith.mulf
// CHECK: arith.cmpf oeq
// CHECK: arith.select
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: %[[NEXT:.*]] = arith.addi %[[J]], %c64
// CHECK: attn.prefetch %[[K]][%[[N]], %{{.*}}, %[[NEXT]]] to %{{.*}} spread
// CHECK: linalg.matmul
// CHECK-NOT: attn.prefetch
// CHECK: linalg.matmul
// CHECK: attn.all_finite
// CHECK: scf.forall.in_parallel
// CHECK: %[[FINITE:.*]] = attn.all_finite %[[R]]#1
// CHECK: scf.if %[[FINITE]]
// CHECK: } else {
// CHECK: attn.attention_tangent
// CHECK-NOT: attn.plan
func.func @causal(%q: !q, %k: !k, %v: !k, %o: !q, %lse: !lse, %dq: !q, %dk: !k, %dv: !k) -> !q {
  %do = attn.attention_tangent ins(%q, %k, %v, %o, %lse : !q, !k, !k, !q, !lse)
      outs(%o : !q) tangents(query = %dq, key = %dk, value = %dv : !q, !k, !k) mask causal
  return %do : !q
}

// -----

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

// Where only values move, scores do not: two products. Without a mask and a score,
// tiles are of 32 queries, and blocks of a known number of keys are whole.
// CHECK-LABEL: func.func @values
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (2, 8, 2)
// CHECK: linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<64x64xf32>, tensor<64x32xf32>)
// CHECK: attn.online_softmax
// CHECK: linalg.matmul
// CHECK-NOT: linalg.matmul
// CHECK: return
func.func @values(%q: !q, %lse: !lse) -> !q {
  %r = attn.attention_tangent ins(%q, %q, %q, %q, %lse : !q, !q, !q, !q, !lse)
      outs(%q : !q) tangents(value = %q : !q)
  return %r : !q
}

// -----

!q = tensor<2x8x64x64xf32>
!lse = tensor<2x8x64xf32>

// Along a capture, the score is evaluated once more, with the tangents as captures.
// CHECK-LABEL: func.func @capture
// CHECK: attn.online_softmax outs(%{{[^,]*}} : tensor<64x16xf32>)
// CHECK-SAME: score (%{{.*}}, %{{.*}} : tensor<8xf32>, tensor<8xf32>) {
// CHECK-NEXT: %[[D:[^ ]*]]: tensor<8xf32>):
// CHECK: tensor.extract %[[D]][
func.func @capture(%q: !q, %lse: !lse, %t: tensor<8xf32>, %dt: tensor<8xf32>) -> !q {
  %r = attn.attention_tangent ins(%q, %q, %q, %q, %lse : !q, !q, !q, !q, !lse)
      outs(%q : !q) score alibi(%t : tensor<8xf32>) tangents(0 = %dt : tensor<8xf32>)
  return %r : !q
}
