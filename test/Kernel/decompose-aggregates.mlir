// RUN: attn-opt %s -attn-decompose-aggregates | FileCheck %s
// RUN: attn-opt %s -attn-cpu-pipeline -o /dev/null
// RUN: attn-opt %s -attn-reference-pipeline -o /dev/null

// CHECK-LABEL: func.func @softmax(
// CHECK-NOT: linalg.softmax
// CHECK: linalg.generic
// CHECK: arith.max
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: linalg.generic
// CHECK: arith.divf
func.func @softmax(%query: tensor<1x1x?x16xf32>, %x: tensor<?x8xf32>)
    -> (tensor<1x1x?x16xf32>, tensor<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : tensor<1x1x?x16xf32>
  %init = tensor.empty(%length) : tensor<1x1x?x16xf32>
  %output = attn.attention
      ins(%query, %query, %query : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>,
          tensor<1x1x?x16xf32>)
      outs(%init : tensor<1x1x?x16xf32>)
  %rows = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%rows) : tensor<?x8xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<?x8xf32>)
      outs(%empty : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %output, %y : tensor<1x1x?x16xf32>, tensor<?x8xf32>
}
