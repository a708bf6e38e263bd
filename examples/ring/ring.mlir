// A prompt whose rows are split among all ranks, in a model with grouped heads:
// each token sees itself and the 4095 before it, and the first four.
!query = tensor<1x8x?x64xf32>
!key = tensor<1x2x?x64xf32>

shard.grid @ranks(shape = ?)

func.func @attention(%query: !query, %key: !key, %value: !key) -> !query {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !query
  %k = shard.shard %key to %rows annotate_for_users : !key
  %v = shard.shard %value to %rows annotate_for_users : !key
  %c2 = arith.constant 2 : index
  %length = tensor.dim %query, %c2 : !query
  %init = tensor.empty(%length) : !query
  %output = attn.attention ins(%q, %k, %v : !query, !key, !key)
      outs(%init : !query) mask causal, (%b, %h, %p, %j) {
    %c4 = arith.constant 4 : index
    %c4096 = arith.constant 4096 : index
    %first = arith.cmpi slt, %j, %c4 : index
    %distance = arith.subi %p, %j : index
    %near = arith.cmpi slt, %distance, %c4096 : index
    %keep = arith.ori %first, %near : i1
    attn.yield %keep : i1
  }
  return %output : !query
}
