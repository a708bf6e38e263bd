// RUN: attn-opt %s -verify-diagnostics -attn-decompose-aggregates

func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{'linalg.softmax' op expected elements of a float type, got 'i32'}}
  %y = linalg.softmax dimension(0) ins(%x : tensor<4xi32>)
      outs(%x : tensor<4xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}
