// RUN: attn-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize | FileCheck %s

// A9: sizes of results are those of `outs`, whatever computes them.

// CHECK-LABEL: func.func @attention_a9(
// CHECK-SAME: %{{.*}}: tensor<?x2x?x4xf32>, %[[B:[^:]*]]: index, %[[S:[^:]*]]: index
// CHECK-NOT: attn.attention
// CHECK: %[[C2:.*]] = arith.constant 2 : index
// CHECK: return %[[B]], %[[C2]], %[[S]], %[[S]]
func.func @attention_a9(%x: tensor<?x2x?x4xf32>, %b: index, %s: index)
    -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %o = tensor.empty(%b, %s) : tensor<?x2x?x4xf32>
  %l = tensor.empty(%b, %s) : tensor<?x2x?xf32>
  %r:2 = attn.attention
      ins(%x, %x, %x : tensor<?x2x?x4xf32>, tensor<?x2x?x4xf32>,
          tensor<?x2x?x4xf32>)
      outs(%o, %l : tensor<?x2x?x4xf32>, tensor<?x2x?xf32>) mask causal
  %d0 = tensor.dim %r#0, %c0 : tensor<?x2x?x4xf32>
  %d1 = tensor.dim %r#0, %c1 : tensor<?x2x?x4xf32>
  %d2 = tensor.dim %r#0, %c2 : tensor<?x2x?x4xf32>
  %e2 = tensor.dim %r#1, %c2 : tensor<?x2x?xf32>
  return %d0, %d1, %d2, %e2 : index, index, index, index
}
