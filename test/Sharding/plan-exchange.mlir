// RUN: attn-opt %s --attn-plan-exchange=ranks=4 --split-input-file 2>/dev/null | FileCheck %s
// RUN: attn-opt %s --attn-plan-exchange="ranks=4 explain" --split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN

// What takes the least time is said on the op. The numbers of a link are on the grid.

// Blocks are computed for longer than the next ones take.
// CHECK-LABEL: func @long(
// CHECK: {attn.exchange = "ring"}
!t = tensor<1x8x65536x64xf32>
shard.grid @ranks(shape = ?)
func.func @long(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !t
  %v = shard.shard %value to %s annotate_for_users : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

// Few rows, and a link that is slow to begin: three blocks one after the other take
// longer than keys and values of all ranks at once.
// CHECK-LABEL: func @short(
// CHECK: {attn.exchange = "gather"}
!t = tensor<1x2x64x64xf32>
shard.grid @ranks(shape = ?) {attn.link = #attn.link<latency_ns = 100000, bandwidth_mbs = 4000>}
func.func @short(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !t
  %v = shard.shard %value to %s annotate_for_users : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

// In the order of the rows, the last rank has twice the work; of heads, all have
// the same.
// CHECK-LABEL: func @in_order(
// CHECK: {attn.exchange = "ulysses"}
!t = tensor<1x8x65536x64xf32>
shard.grid @ranks(shape = ?)
func.func @in_order(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !t
  %v = shard.shard %value to %s annotate_for_users : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t) mask causal
  return %o : !t
}

// -----

// Which two key/value heads cannot do for four ranks.
// CHECK-LABEL: func @grouped(
// CHECK: {attn.exchange = "ring"}
// EXPLAIN: remark: exchanges no heads for rows, which would be faster, since 4 ranks cannot share 2 key/value heads evenly
!t = tensor<1x8x65536x64xf32>
!kv = tensor<1x2x65536x64xf32>
shard.grid @ranks(shape = ?)
func.func @grouped(%query: !t, %key: !kv, %value: !kv, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !kv
  %v = shard.shard %value to %s annotate_for_users : !kv
  %o = attn.attention ins(%q, %k, %v : !t, !kv, !kv) outs(%init : !t) mask causal
  return %o : !t
}

// -----

// A slow link, and a window that needs few rows of one neighbour.
// CHECK-LABEL: func @window(
// CHECK: {attn.exchange = "ring"}
!t = tensor<1x8x65536x64xf32>
shard.grid @ranks(shape = ?) {attn.link = #attn.link<latency_ns = 100000, bandwidth_mbs = 100>}
func.func @window(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !t
  %v = shard.shard %value to %s annotate_for_users : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t) mask causal, sliding_window(511, 0)
  return %o : !t
}

// -----

// What is said stays; of what is not known, blocks go around; and what exchanges
// nothing says nothing.
// CHECK-LABEL: func @others(
// CHECK: attn.attention {{.*}} {attn.exchange = "gather"}
// CHECK: attn.attention
// CHECK: {attn.exchange = "ring"}
// CHECK: attn.attention
// CHECK-NOT: attn.exchange
!t = tensor<1x8x65536x64xf32>
!one = tensor<1x8x1x64xf32>
shard.grid @ranks(shape = ?)
func.func @others(%query: !t, %key: !t, %value: !t, %init: !t, %last: !one, %of_last: !one,
                  %documents: tensor<1x65536xi32>) -> (!t, !t, !one) {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !t
  %v = shard.shard %value to %s annotate_for_users : !t
  %0 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t) {attn.exchange = "gather"}
  %1 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask causal, document(%documents, %documents : tensor<1x65536xi32>, tensor<1x65536xi32>)
  %2 = attn.attention ins(%last, %k, %v : !one, !t, !t) outs(%of_last : !one)
  return %0, %1, %2 : !t, !t, !one
}
