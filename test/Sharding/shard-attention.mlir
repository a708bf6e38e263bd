// RUN: attn-opt %s --attn-shard=ranks=4 --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-drop-shardings --split-input-file | FileCheck %s --check-prefix=DROP

// Blocks go around: each rank has a quarter of the rows, begins with its own keys,
// and computes the first row of what comes from the rank that it comes from. The rows that see any of
// it are merged with what they have seen before.
// CHECK-LABEL: func @ring(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x256x64xf32>, %[[K:.*]]: tensor<1x2x256x64xf32>, %[[V:.*]]: tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
// CHECK: %[[ME:.*]] = attn.rank_index stride 1 size 4
// CHECK: %[[POSITION:.*]] = arith.muli %[[ME]],
// CHECK: %[[SPANS:.*]] = scf.for {{.*}} -> (tensor<4x4xindex>)
// CHECK: attn.rank_block %{{.*}} of(%[[K]], %[[V]]
// CHECK: %[[OWN:.*]]:2 = attn.attention ins(%[[Q]], %[[K]], %[[V]]
// CHECK: scf.for %[[STEP:.*]] = %c1{{.*}} iter_args(%{{.*}} = %[[OWN]]#0, %{{.*}} = %[[OWN]]#1)
// CHECK: %[[FROM:.*]] = arith.remui
// CHECK: %[[ROWS:.*]] = tensor.extract %[[SPANS]][%[[STEP]],
// CHECK: %[[KEYS:.*]], %[[VALUES:.*]] = attn.rank_block %[[STEP]] of(%[[K]], %[[V]]
// CHECK-SAME: spans(%[[SPANS]] : tensor<4x4xindex>) rows(%[[ROWS]]) stride 1
// CHECK: scf.if %{{.*}} -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>) {
// CHECK: %[[SEEING:.*]]:2 = scf.for {{.*}} -> (index, index)
// CHECK: %[[FIRST:.*]] = tensor.extract %[[SPANS]][%[[STEP]],
// CHECK: %[[POSITION:.*]] = arith.addi %{{.*}}, %[[SEEING]]#0
// CHECK: %[[PART:.*]] = arith.muli %[[FROM]],
// CHECK: %[[KEY:.*]] = arith.addi %[[PART]],
// CHECK: %[[STATE:.*]] = tensor.extract_slice %[[O:.*]][0, 0, %[[SEEING]]#0, 0] [1, 8, %[[COUNT:.*]], 64]
// CHECK: %[[QUERIES:.*]] = tensor.extract_slice %[[Q]][0, 0, %[[SEEING]]#0, 0] [1, 8, %[[COUNT]], 64]
// CHECK: %[[SEEN:.*]] = tensor.extract_slice %[[KEYS]]
// CHECK: tensor.extract_slice %[[VALUES]]
// CHECK: attn.attention ins(%[[QUERIES]], %[[SEEN]],
// CHECK-SAME: offset(%[[POSITION]] : index) mask(%{{.*}}, %{{.*}}, %[[P:.*]], %[[J:.*]]) captures(%[[FIRST_KEY:.*]] = %[[KEY]] : index)
// CHECK: %[[MOVED:.*]] = arith.addi %[[J]], %[[FIRST_KEY]]
// CHECK: arith.cmpi sle, %[[MOVED]], %[[P]]
// CHECK: %[[NEXT:.*]]:2 = attn.merge ins(%[[STATE]],
// CHECK: tensor.insert_slice %[[NEXT]]#0 into %[[O]][0, 0, %[[SEEING]]#0, 0] [1, 8, %[[COUNT]], 64]

// DROP-LABEL: func @ring(
// DROP-SAME: tensor<1x8x1024x64xf32>
// DROP-NOT: shard
shard.grid @ranks(shape = ?)
func.func @ring(%query: tensor<1x8x1024x64xf32>, %key: tensor<1x2x1024x64xf32>,
                %value: tensor<1x2x1024x64xf32>) -> tensor<1x8x1024x64xf32> {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : tensor<1x8x1024x64xf32>
  %k = shard.shard %key to %rows annotate_for_users : tensor<1x2x1024x64xf32>
  %v = shard.shard %value to %rows annotate_for_users : tensor<1x2x1024x64xf32>
  %init = tensor.empty() : tensor<1x8x1024x64xf32>
  %o = attn.attention ins(%q, %k, %v : tensor<1x8x1024x64xf32>,
      tensor<1x2x1024x64xf32>, tensor<1x2x1024x64xf32>)
      outs(%init : tensor<1x8x1024x64xf32>) mask causal
  return %o : tensor<1x8x1024x64xf32>
}

// -----

// Two pieces of 128 rows: each of the queries sees both of a block of keys, where
// anything is visible.
// CHECK-LABEL: func @zigzag(
// CHECK-SAME: %[[Q:.*]]: tensor<1x8x256x64xf32>, %[[K:.*]]: tensor<1x2x256x64xf32>, %[[V:.*]]: tensor<1x2x256x64xf32>) -> tensor<1x8x256x64xf32>
// CHECK: %[[ME:.*]] = attn.rank_index stride 1 size 4
// CHECK: %[[SPANS:.*]] = scf.for {{.*}} -> (tensor<4x8xindex>)
// CHECK: scf.for %[[STEP:.*]] = %{{.*}} iter_args({{.*}}) -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>)
// CHECK: %[[KEYS:.*]], %[[VALUES:.*]] = attn.rank_block %[[STEP]] of(%[[K]], %[[V]]
// CHECK: scf.for %[[PAIR:.*]] = %{{.*}} iter_args(%[[O:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}) -> (tensor<1x8x256x64xf32>, tensor<1x8x256xf32>)
// CHECK: %[[SLOT:.*]] = arith.divui %[[PAIR]],
// CHECK: %[[MIRRORED:.*]] = arith.subi %{{.*}}, %[[ME]]
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[SLOT]],
// CHECK: %[[PIECE:.*]] = arith.select %[[IS_FIRST]], %[[ME]], %[[MIRRORED]]
// CHECK: scf.if
// CHECK: %[[POSITION:.*]] = arith.muli %[[PIECE]],
// CHECK: tensor.extract_slice %[[O]][0, 0, %[[AT:.*]], 0] [1, 8, 128, 64]
// CHECK: %[[QUERIES:.*]] = tensor.extract_slice %[[Q]][0, 0, %[[AT]], 0] [1, 8, 128, 64]
// CHECK: tensor.extract_slice %[[KEYS]]
// CHECK: tensor.extract_slice %[[VALUES]]
// CHECK: attn.attention ins(%[[QUERIES]], {{.*}} offset(%[[POSITION]] : index)
// CHECK: attn.merge
// CHECK: tensor.insert_slice {{.*}} into %[[O]][0, 0, %[[AT]], 0] [1, 8, 128, 64]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[O]], %[[L]]

// DROP-LABEL: func @zigzag(
// DROP-NOT: shard
shard.grid @ranks(shape = ?)
func.func @zigzag(%query: tensor<1x8x1024x64xf32>, %key: tensor<1x2x1024x64xf32>,
                  %value: tensor<1x2x1024x64xf32>) -> tensor<1x8x1024x64xf32> {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : tensor<1x8x1024x64xf32>
  %k = shard.shard %key to %rows annotate_for_users : tensor<1x2x1024x64xf32>
  %v = shard.shard %value to %rows annotate_for_users : tensor<1x2x1024x64xf32>
  %init = tensor.empty() : tensor<1x8x1024x64xf32>
  %o = attn.attention ins(%q, %k, %v : tensor<1x8x1024x64xf32>,
      tensor<1x2x1024x64xf32>, tensor<1x2x1024x64xf32>)
      outs(%init : tensor<1x8x1024x64xf32>) mask causal
  return %o : tensor<1x8x1024x64xf32>
}

// -----

// Heads are moved in regions, the sink is sliced, and nothing is exchanged.
// CHECK-LABEL: func @heads(
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x?x64xf32>, %{{.*}}, %{{.*}}, %[[SINK:.*]]: tensor<8xf32>, %{{.*}}: tensor<8xf32>) -> tensor<?x2x?x64xf32>
// CHECK: %[[ME:.*]] = attn.rank_index stride 1 size 4
// CHECK: %[[HEAD:.*]] = arith.muli %[[ME]],
// CHECK: tensor.extract_slice %[[SINK]]
// CHECK-NOT: attn.rank_block
// CHECK: attn.attention ins(%[[Q]],
// CHECK-NOT: attn.merge
shard.grid @ranks(shape = 4)
func.func @heads(%query: tensor<?x8x?x64xf32>, %key: tensor<?x4x?x64xf32>,
                 %value: tensor<?x4x?x64xf32>, %sink: tensor<8xf32>,
                 %slopes: tensor<8xf32>) -> tensor<?x8x?x64xf32> {
  %heads = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %q = shard.shard %query to %heads annotate_for_users : tensor<?x8x?x64xf32>
  %k = shard.shard %key to %heads annotate_for_users : tensor<?x4x?x64xf32>
  %v = shard.shard %value to %heads annotate_for_users : tensor<?x4x?x64xf32>
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %query, %c0 : tensor<?x8x?x64xf32>
  %n = tensor.dim %query, %c2 : tensor<?x8x?x64xf32>
  %init = tensor.empty(%b, %n) : tensor<?x8x?x64xf32>
  %o = attn.attention ins(%q, %k, %v : tensor<?x8x?x64xf32>,
      tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>)
      outs(%init : tensor<?x8x?x64xf32>) sink(%sink : tensor<8xf32>)
      score alibi(%slopes : tensor<8xf32>)
  return %o : tensor<?x8x?x64xf32>
}

// -----

// Sizes that are not known are exchanged first, and what all ranks computed of
// their keys is merged on each. Dropout has the numbers that keys have in the whole.
// CHECK-LABEL: func @decode(
// CHECK: %[[ME:.*]] = attn.rank_index
// CHECK: %[[SIZES:.*]] = attn.all_gather ins(%{{.*}} : tensor<1xi64>)
// CHECK: %[[BOUNDS:.*]] = tensor.generate
// CHECK: %[[FIRST:.*]] = tensor.extract %[[BOUNDS]][%[[ME]]]
// CHECK: %[[PART:.*]]:2 = attn.attention
// CHECK-SAME: dropout(1.000000e-01, %{{.*}}, %{{.*}}, key = %[[FIRST]] : index)
// CHECK: attn.all_merge ins(%[[PART]]#0, %[[PART]]#1 : tensor<1x8x1x64xf32>, tensor<1x8x1xf32>)
// CHECK-SAME: stride 1 size 4
// CHECK-NOT: attn.merge
shard.grid @ranks(shape = 4)
func.func @decode(%query: tensor<1x8x1x64xf32>, %key: tensor<1x8x?x64xf32>,
                  %value: tensor<1x8x?x64xf32>, %seed: i64, %call: i32)
    -> tensor<1x8x1x64xf32> {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %k = shard.shard %key to %rows annotate_for_users : tensor<1x8x?x64xf32>
  %v = shard.shard %value to %rows annotate_for_users : tensor<1x8x?x64xf32>
  %init = tensor.empty() : tensor<1x8x1x64xf32>
  %o = attn.attention ins(%query, %k, %v : tensor<1x8x1x64xf32>,
      tensor<1x8x?x64xf32>, tensor<1x8x?x64xf32>)
      outs(%init : tensor<1x8x1x64xf32>) dropout(0.1, %seed, %call)
  return %o : tensor<1x8x1x64xf32>
}

// -----

// What is exchanged is asked of tables, too, a few keys at a time.
// CHECK-LABEL: func @documents(
// CHECK-SAME: %[[OF:[^:]*]]: tensor<1x1024xi32>
// CHECK: %[[RANGE:.*]]:2 = attn.block_range ins(%[[OF]] : tensor<1x1024xi32>) {{.*}} blocks [1, 256]
// CHECK: scf.for {{.*}} -> (tensor<4x4xindex>)
// CHECK: tensor.extract %[[RANGE]]#0
// CHECK: attn.rank_block
shard.grid @ranks(shape = 4)
func.func @documents(%query: tensor<1x8x1024x64xf32>, %key: tensor<1x8x1024x64xf32>,
                     %value: tensor<1x8x1024x64xf32>, %of: tensor<1x1024xi32>)
    -> tensor<1x8x1024x64xf32> {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : tensor<1x8x1024x64xf32>
  %k = shard.shard %key to %rows annotate_for_users : tensor<1x8x1024x64xf32>
  %v = shard.shard %value to %rows annotate_for_users : tensor<1x8x1024x64xf32>
  %init = tensor.empty() : tensor<1x8x1024x64xf32>
  %o = attn.attention ins(%q, %k, %v : tensor<1x8x1024x64xf32>,
      tensor<1x8x1024x64xf32>, tensor<1x8x1024x64xf32>)
      outs(%init : tensor<1x8x1024x64xf32>)
      mask causal, document(%of, %of : tensor<1x1024xi32>, tensor<1x1024xi32>)
  return %o : tensor<1x8x1024x64xf32>
}
