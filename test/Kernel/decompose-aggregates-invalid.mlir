// RUN: attn-opt %s -split-input-file -verify-diagnostics -attn-decompose-aggregates

func.func @integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{'linalg.softmax' op expected elements of a float type, got 'i32'}}
  %y = linalg.softmax dimension(0) ins(%x : tensor<4xi32>)
      outs(%x : tensor<4xi32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

func.func @tiles(%x: tensor<16x4xf32>, %tile: index, %dest: tensor<?x4x?xf32>)
    -> tensor<?x4x?xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{'linalg.pack' op expected inner tiles that are known while compiling}}
  %y = linalg.pack %x padding_value(%zero : f32) inner_dims_pos = [0]
      inner_tiles = [%tile] into %dest : tensor<16x4xf32> -> tensor<?x4x?xf32>
  return %y : tensor<?x4x?xf32>
}
