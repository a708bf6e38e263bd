// RUN: attn-opt %s --attn-shard=ranks=4 --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-drop-shardings --split-input-file | FileCheck %s --check-prefix=DROP

// How a rank comes to the keys of others, where an op says it.
// DROP-NOT: attn.exchange
// CHECK-NOT: attn.exchange

// All keys and values come first, and are one attention: nothing is merged, and the
// mask has keys as the whole has.
// CHECK-LABEL: func @gather(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x256x64xf32>, %[[K:.*]]: tensor<1x2x256x64xf32>, %[[V:.*]]: tensor<1x2x256x64xf32>, {{.*}})
// CHECK: %[[ME:.*]] = attn.rank_index stride 1 size 4
// CHECK: %[[BOUNDS:.*]] = tensor.generate
// CHECK: %[[KEYS:.*]] = attn.reshard rows_to_whole ins(%[[K]] : tensor<1x2x256x64xf32>)
// CHECK-SAME: bounds(%[[BOUNDS]] : tensor<5xindex>) stride 1 size 4 -> tensor<1x2x1024x64xf32>
// CHECK: %[[VALUES:.*]] = attn.reshard rows_to_whole ins(%[[V]] :
// CHECK: %[[POSITION:.*]] = arith.muli %[[ME]],
// CHECK: %[[O:.*]] = attn.attention ins(%[[Q]], %[[KEYS]], %[[VALUES]]
// CHECK-SAME: offset(%[[POSITION]] : index) mask(
// CHECK-NOT: captures
// CHECK-NOT: attn.merge
// CHECK: return %[[O]]
!t = tensor<1x8x1024x64xf32>
!kv = tensor<1x2x1024x64xf32>
shard.grid @ranks(shape = ?)
func.func @gather(%query: !t, %key: !kv, %value: !kv, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !kv
  %v = shard.shard %value to %s annotate_for_users : !kv
  %o = attn.attention ins(%q, %k, %v : !t, !kv, !kv) outs(%init : !t) mask causal {attn.exchange = "gather"}
  return %o : !t
}

// -----

// Two pieces of queries see the keys of all, one after the other.
// CHECK-LABEL: func @gather_pieces(
// CHECK: attn.reshard rows_to_whole {{.*}} bounds(%{{.*}} : tensor<9xindex>)
// CHECK: attn.reshard rows_to_whole
// CHECK: scf.for {{.*}} -> (tensor<1x8x?x64xf32>) {
// CHECK: tensor.extract_slice
// CHECK: attn.attention
// CHECK: tensor.insert_slice
!t = tensor<1x8x?x64xf32>
shard.grid @ranks(shape = ?)
func.func @gather_pieces(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !t
  %v = shard.shard %value to %s annotate_for_users : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t) mask causal {attn.exchange = "gather"}
  return %o : !t
}

// -----

// Two of eight heads, all of whose rows are here: the mask sees the number of the
// head of the whole, and the sink of these heads. Log-sum-exps go back, too.
// CHECK-LABEL: func @ulysses(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x?x64xf32>, %[[K:.*]]: tensor<1x4x?x64xf32>, %[[V:.*]]: tensor<1x4x?x64xf32>, {{.*}}, %[[SINK:.*]]: tensor<8xf32>)
// CHECK: attn.all_gather
// CHECK: %[[QUERIES:.*]] = attn.reshard rows_to_heads ins(%[[Q]] : tensor<1x8x?x64xf32>)
// CHECK-SAME: -> tensor<1x2x?x64xf32>
// CHECK: %[[KEYS:.*]] = attn.reshard rows_to_heads ins(%[[K]] : tensor<1x4x?x64xf32>)
// CHECK-SAME: -> tensor<1x1x?x64xf32>
// CHECK: %[[VALUES:.*]] = attn.reshard rows_to_heads ins(%[[V]] : tensor<1x4x?x64xf32>)
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[SINK]][%{{.*}}] [2] [1]
// CHECK: %[[O:.*]]:2 = attn.attention ins(%[[QUERIES]], %[[KEYS]], %[[VALUES]]
// CHECK-SAME: sink(%[[SLICE]] :
// CHECK-SAME: mask(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) captures(
// CHECK: attn.reshard heads_to_rows ins(%[[O]]#0 : tensor<1x2x?x64xf32>)
// CHECK-SAME: -> tensor<1x8x?x64xf32>
// CHECK: %[[LSE:.*]] = tensor.expand_shape %[[O]]#1
// CHECK: attn.reshard heads_to_rows ins(%[[LSE]] : tensor<1x2x?x1xf32>)
// CHECK: tensor.collapse_shape
!t = tensor<1x8x?x64xf32>
!kv = tensor<1x4x?x64xf32>
!lse = tensor<1x8x?xf32>
shard.grid @ranks(shape = ?)
func.func @ulysses(%query: !t, %key: !kv, %value: !kv, %init: !t, %lse: !lse, %sink: tensor<8xf32>) -> (!t, !lse) {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !kv
  %v = shard.shard %value to %s annotate_for_users : !kv
  %o:2 = attn.attention ins(%q, %k, %v : !t, !kv, !kv) outs(%init, %lse : !t, !lse)
      sink(%sink : tensor<8xf32>) mask(%b, %h, %p, %j) {
        %far = arith.addi %p, %h : index
        %keep = arith.cmpi sle, %j, %far : index
        attn.yield %keep : i1
      } {attn.exchange = "ulysses"}
  return %o#0, %o#1 : !t, !lse
}

// -----

// CHECK-LABEL: func @ring(
// CHECK-NOT: attn.reshard
// CHECK: attn.rank_block
!t = tensor<1x8x1024x64xf32>
shard.grid @ranks(shape = ?)
func.func @ring(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !t
  %v = shard.shard %value to %s annotate_for_users : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t) {attn.exchange = "ring"}
  return %o : !t
}

// -----

// Gradients: what ranks computed of all keys is added where the keys are from.
// CHECK-LABEL: func @gradients(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x256x64xf32>, %[[K:.*]]: tensor<1x2x256x64xf32>, %[[V:.*]]: tensor<1x2x256x64xf32>, {{.*}})
// CHECK: %[[KEYS:.*]] = attn.reshard rows_to_whole ins(%[[K]] : tensor<1x2x256x64xf32>)
// CHECK: %[[VALUES:.*]] = attn.reshard rows_to_whole ins(%[[V]] :
// CHECK: %[[ALL:.*]]:3 = scf.for
// CHECK: attn.attention_backward ins(%{{.*}}, %[[KEYS]], %[[VALUES]],
// CHECK: %[[DK:.*]] = attn.reshard whole_to_rows ins(%[[ALL]]#1 : tensor<1x2x1024x64xf32>)
// CHECK-SAME: stride 1 size 4 -> tensor<1x2x256x64xf32>
// CHECK: %[[DV:.*]] = attn.reshard whole_to_rows ins(%[[ALL]]#2 :
// CHECK: return %[[ALL]]#0, %[[DK]], %[[DV]]
!t = tensor<1x8x1024x64xf32>
!kv = tensor<1x2x1024x64xf32>
!l = tensor<1x8x1024xf32>
shard.grid @ranks(shape = ?)
func.func @gradients(%query: !t, %key: !kv, %value: !kv, %output: !t, %lse: !l, %gradient: !t,
                     %dq: !t, %dk: !kv) -> (!t, !kv, !kv) {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !kv
  %v = shard.shard %value to %s annotate_for_users : !kv
  %d:3 = attn.attention_backward ins(%q, %k, %v, %output, %lse, %gradient : !t, !kv, !kv, !t, !l, !t)
      outs(%dq, %dk, %dk : !t, !kv, !kv) mask causal {attn.exchange = "gather"}
  return %d#0, %d#1, %d#2 : !t, !kv, !kv
}

// -----

// Rows of all become heads, as do log-sum-exps, and gradients rows again.
// CHECK-LABEL: func @gradients_of_heads(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x256x64xf32>, {{.*}}, %[[LSE:.*]]: tensor<1x8x256xf32>,
// CHECK: %[[QUERIES:.*]] = attn.reshard rows_to_heads ins(%[[Q]] : tensor<1x8x256x64xf32>)
// CHECK: attn.reshard rows_to_heads {{.*}} -> tensor<1x2x1024x1xf32>
// CHECK: %[[ALL:.*]]:3 = attn.attention_backward ins(%[[QUERIES]],
// CHECK-SAME: tensor<1x2x1024x64xf32>, tensor<1x1x1024x64xf32>,
// CHECK: attn.reshard heads_to_rows ins(%[[ALL]]#0 :
// CHECK: attn.reshard heads_to_rows ins(%[[ALL]]#1 :
// CHECK: attn.reshard heads_to_rows ins(%[[ALL]]#2 :
!t = tensor<1x8x1024x64xf32>
!kv = tensor<1x4x1024x64xf32>
!l = tensor<1x8x1024xf32>
shard.grid @ranks(shape = ?)
func.func @gradients_of_heads(%query: !t, %key: !kv, %value: !kv, %output: !t, %lse: !l, %gradient: !t,
                              %dq: !t, %dk: !kv) -> (!t, !kv, !kv) {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !kv
  %v = shard.shard %value to %s annotate_for_users : !kv
  %d:3 = attn.attention_backward ins(%q, %k, %v, %output, %lse, %gradient : !t, !kv, !kv, !t, !l, !t)
      outs(%dq, %dk, %dk : !t, !kv, !kv) mask causal {attn.exchange = "ulysses"}
  return %d#0, %d#1, %d#2 : !t, !kv, !kv
}
