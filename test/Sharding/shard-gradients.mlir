// RUN: attn-opt %s --attn-shard="ranks=4 split=sequence" --canonicalize --split-input-file | FileCheck %s --check-prefix=RING
// RUN: attn-opt %s --attn-shard="ranks=4 split=keys" --canonicalize --split-input-file | FileCheck %s --check-prefix=KEYS
// RUN: attn-opt %s --attn-shard="ranks=2 split=heads" --canonicalize --split-input-file | FileCheck %s --check-prefix=HEADS

// Blocks go around in zig-zag order, and sums of what was computed of each go
// back. The gradient of the sink is that of no keys, summed over ranks, as is
// that of what the score captures.
// RING-LABEL: func @causal(
// RING-SAME: %[[Q:[^:]*]]: tensor<1x4x64x16xf32>, %[[K:[^:]*]]: tensor<1x2x64x16xf32>
// RING: %[[ALL:.*]]:4 = scf.for %[[STEP:.*]] = {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[DK:.*]] = %{{.*}}, %[[DV:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<1x4x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<4xf32>)
// RING: attn.rank_block %[[STEP]] of(%[[K]],
// RING: %[[BLOCK:.*]]:4 = scf.for {{.*}} -> (tensor<1x4x64x16xf32>, tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>, tensor<4xf32>)
// RING: scf.if
// RING: attn.attention_backward
// RING-NOT: sink
// RING-SAME: gradients(0)
// RING: attn.rank_sums %[[STEP]] of(%[[BLOCK]]#1, %[[BLOCK]]#2 : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
// RING-SAME: outs(%[[DK]], %[[DV]] : tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>)
// RING: attn.attention_backward
// RING-SAME: tensor<1x2x0x16xf32>
// RING-SAME: gradients(sink)
// RING: %[[SINK:.*]] = attn.all_reduce {{.*}} stride 1 size 4
// RING: %[[SLOPES:.*]] = attn.all_reduce ins(%[[ALL]]#3 : tensor<4xf32>) {{.*}} stride 1 size 4
// RING: return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2, %[[SINK]], %[[SLOPES]]

// Those of keys are the rank's own, those of queries are summed. All rows are on
// each rank: so is the gradient of the sink.
// KEYS-LABEL: func @causal(
// KEYS: %[[PART:.*]]:4 = attn.attention_backward
// KEYS: %[[DQ:.*]] = attn.all_reduce ins(%[[PART]]#0 : tensor<1x4x256x16xf32>) {{.*}} stride 1 size 4
// KEYS: %[[SINK:.*]]:4 = attn.attention_backward
// KEYS-SAME: gradients(sink)
// KEYS-NOT: attn.all_reduce ins(%[[SINK]]
// KEYS: attn.all_reduce ins(%[[PART]]#3
// KEYS: return %[[DQ]], %[[PART]]#1, %[[PART]]#2, %[[SINK]]#3,

// Nothing of queries, keys and values is exchanged.
// HEADS-LABEL: func @causal(
// HEADS: %[[PART:.*]]:4 = attn.attention_backward
// HEADS: tensor.extract_slice %{{.*}}[%{{.*}}] [2] [1] : tensor<4xf32> to tensor<2xf32>
// HEADS: %[[OF_SINK:.*]]:4 = attn.attention_backward
// HEADS: %[[HEADS:.*]] = attn.all_gather ins(%[[OF_SINK]]#3 : tensor<2xf32>)
// HEADS: %[[SINK:.*]] = tensor.collapse_shape %[[HEADS]]
// HEADS: return %[[PART]]#0, %[[PART]]#1, %[[PART]]#2, %[[SINK]],
!q = tensor<1x4x256x16xf32>
!k = tensor<1x2x256x16xf32>
!l = tensor<1x4x256xf32>
!h = tensor<4xf32>
func.func @causal(%query: !q, %key: !k, %value: !k, %output: !q, %lse: !l, %gradient: !q,
                  %sink: !h, %slopes: !h, %dq: !q, %dk: !k, %ds: !h) -> (!q, !k, !k, !h, !h) {
  %d:5 = attn.attention_backward
      ins(%query, %key, %value, %output, %lse, %gradient : !q, !k, !k, !q, !l, !q)
      outs(%dq, %dk, %dk, %ds, %ds : !q, !k, !k, !h, !h)
      sink(%sink : !h) score alibi(%slopes : !h) mask causal gradients(sink, 0)
  return %d#0, %d#1, %d#2, %d#3, %d#4 : !q, !k, !k, !h, !h
}

// -----

// Of two heads of four, dropout says which they are.
// HEADS-LABEL: func @dropout(
// HEADS: %[[LINE:.*]] = arith.muli
// HEADS: attn.attention_backward
// HEADS-SAME: dropout(1.000000e-01, %{{.*}}, %{{.*}}, %[[LINE]], heads = 4)
// Of a quarter of the keys, which it is of them.
// KEYS-LABEL: func @dropout(
// KEYS: %[[KEY:.*]] = arith.muli
// KEYS: attn.attention_backward
// KEYS-SAME: dropout(1.000000e-01, %{{.*}}, %{{.*}}, key = %[[KEY]] : index)
// RING-LABEL: func @dropout(
// RING: attn.rank_block
// RING: attn.attention_backward
// RING-SAME: dropout(1.000000e-01, %{{.*}}, %{{.*}}, key = %{{.*}} : index)
!q = tensor<1x4x256x16xf32>
!k = tensor<1x2x256x16xf32>
!l = tensor<1x4x256xf32>
func.func @dropout(%query: !q, %key: !k, %value: !k, %output: !q, %lse: !l, %gradient: !q,
                   %seed: i64, %call: i32, %dq: !q, %dk: !k) -> (!q, !k, !k) {
  %d:3 = attn.attention_backward
      ins(%query, %key, %value, %output, %lse, %gradient : !q, !k, !k, !q, !l, !q)
      outs(%dq, %dk, %dk : !q, !k, !k) dropout(0.1, %seed, %call) mask causal
  return %d#0, %d#1, %d#2 : !q, !k, !k
}

// -----

// Parts of the gradients of bf16 are added in f32, and rounded once.
// RING-LABEL: func @narrow(
// RING: scf.for {{.*}} -> (tensor<1x4x64x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>, tensor<4xf32>)
// RING: attn.attention_backward
// RING-SAME: tensor<1x2x?x16xbf16>, tensor<4xf32>) offset({{.*}}) gradients(0)
// RING: attn.attention_backward
// RING-SAME: tensor<4xf32>) sink({{.*}}) gradients(sink)
// RING: attn.all_reduce {{.*}} : tensor<4xf32>
// RING: arith.truncf
// RING: attn.all_reduce {{.*}} : tensor<4xf32>
// RING: arith.truncf
!q = tensor<1x4x256x16xbf16>
!k = tensor<1x2x256x16xbf16>
!l = tensor<1x4x256xf32>
!h = tensor<4xbf16>
func.func @narrow(%query: !q, %key: !k, %value: !k, %output: !q, %lse: !l, %gradient: !q,
                  %sink: !h, %slopes: !h, %dq: !q, %dk: !k, %ds: !h) -> (!q, !k, !k, !h, !h) {
  %d:5 = attn.attention_backward
      ins(%query, %key, %value, %output, %lse, %gradient : !q, !k, !k, !q, !l, !q)
      outs(%dq, %dk, %dk, %ds, %ds : !q, !k, !k, !h, !h)
      sink(%sink : !h) score alibi(%slopes : !h) mask causal gradients(sink, 0)
  return %d#0, %d#1, %d#2, %d#3, %d#4 : !q, !k, !k, !h, !h
}
