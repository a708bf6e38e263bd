// RUN: attn-opt %s --attn-target="{vector_bits = 512}" -attn-plan -attn-tile-attention | FileCheck %s

!q = tensor<?x4x?x16xf32>
!kv = tensor<?x2x?x16xf32>
!table = tensor<?x8xf32>

// Queries are normalised and rotated where a tile reads them, with the weights of
// its head.
// CHECK-LABEL: func.func @normalised(
// CHECK-SAME: %[[Q:[a-z0-9]*]]: tensor<?x4x?x16xf32>
// CHECK-NOT: attn.head_norm
// CHECK: scf.forall (%[[B:[a-z0-9]*]], %[[H:[a-z0-9]*]], %[[I:[a-z0-9]*]]) =
// CHECK-DAG: %[[ROWS:.*]] = tensor.extract_slice %[[Q]][%[[B]], %[[H]],
// CHECK-DAG: %[[W:.*]] = tensor.extract_slice %{{.*}}[%[[H]], 0] [1, 16] [1, 1]
// CHECK: %[[NORM:.*]] = attn.head_norm ins(%[[ROWS]], %[[W]] : tensor<1x1x?x16xf32>, tensor<1x16xf32>)
// CHECK: %[[TURNED:.*]] = attn.rope half_split ins(%[[NORM]],
// CHECK: attn.attention ins(%[[TURNED]],
func.func @normalised(%q: !q, %k: !kv, %v: !kv, %w: tensor<4x16xf32>,
                      %t: !table, %o: !q) -> !q {
  %0 = attn.head_norm ins(%q, %w : !q, tensor<4x16xf32>) outs(%o : !q)
  %1 = attn.rope half_split ins(%0, %t, %t : !q, !table, !table) outs(%o : !q)
  %r = attn.attention ins(%1, %k, %v : !q, !kv, !kv) outs(%o : !q) mask causal
  return %r : !q
}

// What something else reads too is computed once.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[NORM:.*]] = attn.head_norm
// CHECK: scf.forall
// CHECK-NOT: attn.head_norm
// CHECK: attn.rope half_split
func.func @shared(%q: !q, %k: !kv, %v: !kv, %t: !table, %o: !q, %o2: !q)
    -> (!q, !q) {
  %0 = attn.head_norm ins(%q : !q) outs(%o : !q)
  %1 = attn.rope half_split ins(%0, %t, %t : !q, !table, !table) outs(%o : !q)
  %r = attn.attention ins(%1, %k, %v : !q, !kv, !kv) outs(%o2 : !q) mask causal
  return %r, %0 : !q, !q
}
