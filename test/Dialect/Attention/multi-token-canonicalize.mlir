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

// Weights that are no identity stay.
// CHECK-LABEL: func.func @attention_t9_stays
// CHECK: attn.multi_token_attention
// CHECK-SAME: mix_after
func.func @attention_t9_stays(%query: tensor<1x2x?x8xf32>,
                              %key: tensor<1x2x?x8xf32>,
                              %init: tensor<1x2x?x8xf32>)
    -> tensor<1x2x?x8xf32> {
  %swap = arith.constant dense<[[[0.0, 1.0], [1.0, 0.0]]]> : tensor<1x2x2xf32>
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>,
          tensor<1x2x?x8xf32>)
      outs(%init : tensor<1x2x?x8xf32>)
      mix_after(%swap : tensor<1x2x2xf32>)
  return %0 : tensor<1x2x?x8xf32>
}

// -----

// Kernels of one number that is repeated: of 1, an identity if they have
// nothing else, however many numbers they have.
// CHECK-LABEL: func.func @attention_t9_splats
// CHECK: attn.multi_token_attention
// CHECK-SAME: convolve_before
// CHECK-NOT: mix_after
// CHECK: attn.multi_token_attention
// CHECK-SAME: convolve_before
// CHECK-NOT: mix_after
func.func @attention_t9_splats(%query: tensor<1x2x3x8xf32>,
                               %init: tensor<1x2x3x8xf32>)
    -> (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) {
  %one = arith.constant dense<1.0> : tensor<2x1x1xf32>
  %ones = arith.constant dense<1.0> : tensor<2x2x1xf32>
  %large = arith.constant dense<0.0> : tensor<2x1x4611686018427387903xf32>
  %0 = attn.multi_token_attention
      ins(%query, %query, %query : tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>,
          tensor<1x2x3x8xf32>)
      outs(%init : tensor<1x2x3x8xf32>)
      convolve_before(%ones : tensor<2x2x1xf32>)
      mix_after(%one : tensor<2x1x1xf32>)
  %1 = attn.multi_token_attention
      ins(%query, %query, %query : tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>,
          tensor<1x2x3x8xf32>)
      outs(%init : tensor<1x2x3x8xf32>)
      convolve_before(%large : tensor<2x1x4611686018427387903xf32>)
      mix_after(%one : tensor<2x1x1xf32>)
  return %0, %1 : tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>
}

// -----

// T2: a past is sliced off. Its length is added to the offset.
// CHECK-LABEL: func.func @attention_t9_past
// CHECK-SAME: (%[[QUERY:[a-z0-9]+]]: tensor<1x2x7x8xf32>, {{.*}}, %[[OFFSET:[a-z0-9]+]]: i32)
// CHECK-DAG: %[[FOUR:.*]] = arith.constant 4 : index
// CHECK: %[[LAST:.*]] = tensor.extract_slice %[[QUERY]][0, 0, 4, 0] [1, 2, 3, 8] [1, 1, 1, 1]
// CHECK: attn.attention ins(%[[LAST]], {{.*}} offset(%[[FOUR]] : index)
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[OFFSET]]
// CHECK: %[[SUM:.*]] = arith.addi %[[INDEX]], %[[FOUR]]
// CHECK: attn.attention ins({{.*}} offset(%[[SUM]] : index)
// CHECK: attn.attention ins({{.*}} offset(bottom_right)
func.func @attention_t9_past(%query: tensor<1x2x7x8xf32>,
                             %key: tensor<1x2x?x8xf32>,
                             %init: tensor<1x2x3x8xf32>, %offset: i32)
    -> (tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>) {
  %0 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<1x2x7x8xf32>, tensor<1x2x?x8xf32>,
          tensor<1x2x?x8xf32>)
      outs(%init : tensor<1x2x3x8xf32>) mask causal
  %1 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<1x2x7x8xf32>, tensor<1x2x?x8xf32>,
          tensor<1x2x?x8xf32>)
      outs(%init : tensor<1x2x3x8xf32>) offset(%offset : i32) mask causal
  %2 = attn.multi_token_attention
      ins(%query, %key, %key : tensor<1x2x7x8xf32>, tensor<1x2x?x8xf32>,
          tensor<1x2x?x8xf32>)
      outs(%init : tensor<1x2x3x8xf32>) offset(bottom_right) mask causal
  return %0, %1, %2 : tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>,
                      tensor<1x2x3x8xf32>
}

// -----

// An offset for each entry of the batch; lengths that only a call knows.
// CHECK-LABEL: func.func @attention_t9_dynamic
// CHECK-SAME: (%[[QUERY:[a-z0-9]+]]: {{.*}}, %[[OFFSETS:[a-z0-9]+]]: tensor<?xi32>)
// CHECK: cf.assert %{{.*}}, "{{.*}}(output length) is more than the query length"
// CHECK: %[[PAST:.*]] = arith.subi
// CHECK: tensor.extract_slice %[[QUERY]][0, 0, %[[PAST]], 0]
// CHECK: %[[SUMS:.*]] = tensor.generate
// CHECK: %[[OFFSET:.*]] = tensor.extract %[[OFFSETS]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[OFFSET]]
// CHECK: arith.addi %[[INDEX]], %[[PAST]]
// CHECK: attn.attention ins({{.*}} offset(%[[SUMS]] : tensor<?xindex>)
func.func @attention_t9_dynamic(%query: tensor<?x2x?x8xf32>,
                                %init: tensor<?x2x?x8xf32>,
                                %offset: tensor<?xi32>)
    -> tensor<?x2x?x8xf32> {
  %0 = attn.multi_token_attention
      ins(%query, %query, %query : tensor<?x2x?x8xf32>, tensor<?x2x?x8xf32>,
          tensor<?x2x?x8xf32>)
      outs(%init : tensor<?x2x?x8xf32>) offset(%offset : tensor<?xi32>)
      mask causal
  return %0 : tensor<?x2x?x8xf32>
}
