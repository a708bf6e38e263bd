// RUN: attn-opt %s --attn-plan-exchange 2>/dev/null | FileCheck %s

// In two pieces each, two ranks of one machine compute five attentions of pieces
// in a ring, and copy blocks besides: of few rows, all keys at once take less time.
// Of many, that is little.
// CHECK-LABEL: func @few(
// CHECK: {attn.exchange = "gather"}
// CHECK-LABEL: func @many(
// CHECK: {attn.exchange = "ring"}
!few = tensor<1x8x512x64xf32>
!many = tensor<1x8x8192x64xf32>
shard.grid @two(shape = 2) {attn.link = #attn.link<latency_ns = 1200, bandwidth_mbs = 5600, shared = true>}
func.func @few(%query: !few, %key: !few, %value: !few, %init: !few) -> !few {
  %s = shard.sharding @two split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !few
  %k = shard.shard %key to %s annotate_for_users : !few
  %v = shard.shard %value to %s annotate_for_users : !few
  %o = attn.attention ins(%q, %k, %v : !few, !few, !few) outs(%init : !few) mask causal
  return %o : !few
}
func.func @many(%query: !many, %key: !many, %value: !many, %init: !many) -> !many {
  %s = shard.sharding @two split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !many
  %k = shard.shard %key to %s annotate_for_users : !many
  %v = shard.shard %value to %s annotate_for_users : !many
  %o = attn.attention ins(%q, %k, %v : !many, !many, !many) outs(%init : !many) mask causal
  return %o : !many
}
