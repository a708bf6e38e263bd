// RUN: attn-opt %s -resolve-ranked-shaped-type-result-dims -canonicalize | FileCheck %s

// Sizes are those of the operands.
// CHECK-LABEL: func.func @sizes(
// CHECK-SAME: %[[CACHE:[^:]*]]: tensor<?x2x?x4xf32>, %[[L:[^:]*]]: tensor<?xi32>, %[[N:[^:]*]]: index
// CHECK-DAG: %[[B:.*]] = tensor.dim %[[L]], %c0
// CHECK-DAG: %[[C:.*]] = tensor.dim %[[CACHE]], %c2
// CHECK: return %[[B]], %[[N]], %[[C]]
func.func @sizes(%cache: tensor<?x2x?x4xf32>, %lengths: tensor<?xi32>, %n: index)
    -> (index, index, index) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %0 = attn.cache_append ins(%cache : tensor<?x2x?x4xf32>)
      outs(%cache : tensor<?x2x?x4xf32>) lengths(%lengths : tensor<?xi32>)
  %1 = attn.cache_read ins(%0 : tensor<?x2x?x4xf32>)
      lengths(%lengths : tensor<?xi32>) size(%n) -> tensor<?x2x?x4xf32>
  %b = tensor.dim %1, %c0 : tensor<?x2x?x4xf32>
  %s = tensor.dim %1, %c2 : tensor<?x2x?x4xf32>
  %c = tensor.dim %0, %c2 : tensor<?x2x?x4xf32>
  return %b, %s, %c : index, index, index
}
