// RUN: attn-opt %s --canonicalize --split-input-file | FileCheck %s

// T9: identities disappear, and what is left is attn.attention.
// CHECK-LABEL: func.func @attention_t9
// CHECK-NOT: multi_token
// CHECK: attn.attention ins(%{{.*}}) outs(%{{.*}}) scale(2.500000e-01) offset(%{{.*}} : index) score(
// CHECK: mask(
func.func @attention_t9(%query: tensor<?x4x?x8xf32>, %key: tensor<?x2x?x8xf32>,
                        %value: tensor<?x2x?x8xf32>, %offset: index)
    -> tensor<?x4x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %query, %c0 : tensor<?x4x?x8xf32>
  %length = tensor.dim %query, %c2 : tensor<?x4x?x8xf32>
  %init = tensor.empty(%batch, %length) : tensor<?x4x?x8xf32>
  %kernel = arith.constant dense<[[[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                                  [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                                  [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
                                  [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]>
      : tensor<4x2x3xf32>
  %heads = arith.constant dense<[[[[1.0]], [[0.0]]], [[[0.0]], [[1.0]]],
                                 [[[1.0]], [[0.0]]], [[[0.0]], [[1.0]]]]>
      : tensor<4x2x1x1xf32>
  %weights = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0]],
                                   [[1.0, 0.0], [0.0, 1.0]]]>
      : tensor<2x2x2xf32>
  %0 = attn.multi_token_attention
      ins(%query, %key, %value : tensor<?x4x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x4x?x8xf32>)
      scale(0.25) offset(%offset : index)
      convolve_before(%kernel : tensor<4x2x3xf32>)
      mix_before(%weights : tensor<2x2x2xf32>)
      convolve_after(%heads : tensor<4x2x1x1xf32>)
      score softcap(30.0)
      mask causal
  return %0 : tensor<?x4x?x8xf32>
}

// -----

// One of a kernel that is no identity, a past that may be there: both stay.
// CHECK-LABEL: func.func @attention_t9_stays
// CHECK: attn.multi_token_attention
// CHECK-SAME: mix_after
// CHECK: attn.multi_token_attention
// CHECK-NOT: mix_after
func.func @attention_t9_stays(%query: tensor<1x2x?x8xf32>,
                              %key: tensor<1x2x?x8xf32>,
                              %init: tensor<1x2x?x8xf32>)
    -> (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) {
  %swap = arith.constant dense<[[[0.0, 1.0], [1.0, 0.0]]]> : tensor<1x2x2xf32>
  %identity = arith.constant dense<[[[1.0, 0.0], [0.0, 1.0]]]>
      : tensor<1x2x2xf32>
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>,
          tensor<1x2x?x8xf32>)
      outs(%init : tensor<1x2x?x8xf32>)
      mix_after(%swap : tensor<1x2x2xf32>)
  %1 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>,
          tensor<1x2x?x8xf32>)
      outs(%init : tensor<1x2x?x8xf32>)
      mix_after(%identity : tensor<1x2x2xf32>)
  return %0, %1 : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>
}
