// RUN: attn-opt %s --attn-decompose-layer --attn-shard=ranks=2 --canonicalize --split-input-file | FileCheck %s

// From the caches' heads it follows what all others have: columns of the fused
// weight and of its bias, and rows of the one out of heads, whose products are
// summed before the bias.
// CHECK-LABEL: func @layer(
// CHECK-SAME: %[[X:[^:]+]]: tensor<?x?x64xf32>, %[[W:[^:]+]]: tensor<64x64xf32>, %[[B:[^:]+]]: tensor<64xf32>,
// CHECK-SAME: %[[WO:[^:]+]]: tensor<32x64xf32>, %[[BO:[^:]+]]: tensor<64xf32>,
// CHECK-SAME: %[[K:[^:]+]]: tensor<?x1x?x16xf32>
// CHECK-SAME: %[[V:[^:]+]]: tensor<?x1x?x16xf32>
// CHECK-SAME: %[[N:[^:]+]]: tensor<?xi32>)
// CHECK-NOT: attn.all_gather
// CHECK: %[[QKV:.*]]:3 = attn.projection ins(%[[X]], %[[W]] : {{.*}}) outs({{.*}} : tensor<?x2x?x16xf32>, tensor<?x1x?x16xf32>, tensor<?x1x?x16xf32>) bias(%[[B]] : tensor<64xf32>)
// CHECK: %[[KEYS:.*]] = attn.cache_append ins(%[[QKV]]#1 : tensor<?x1x?x16xf32>) outs(%[[K]]
// CHECK-SAME: lengths(%[[N]]
// CHECK: attn.cache_append ins(%[[QKV]]#2 : tensor<?x1x?x16xf32>) outs(%[[V]]
// CHECK: %[[O:.*]] = attn.attention ins(%[[QKV]]#0, {{.*}}) outs({{.*}}) offset(%[[N]] : tensor<?xi32>)
// CHECK: %[[PART:.*]] = attn.projection ins(%[[O]], %[[WO]] : tensor<?x2x?x16xf32>, tensor<32x64xf32>) outs({{.*}} : tensor<?x?x64xf32>)
// CHECK-NOT: bias
// CHECK: %[[SUM:.*]] = attn.all_reduce ins(%[[PART]] : {{.*}}) stride 1 size 2
// CHECK: linalg.generic {{.*}} ins(%[[SUM]], %[[BO]] :
// CHECK-NOT: attn.all_reduce
!tokens = tensor<?x?x64xf32>
!cache = tensor<?x2x?x16xf32>
shard.grid @ranks(shape = ?)
func.func @layer(%x: !tokens, %weight: tensor<64x128xf32>, %bias: tensor<128xf32>,
                 %output_weight: tensor<64x64xf32>, %output_bias: tensor<64xf32>,
                 %key_cache: !cache, %value_cache: !cache, %stored: tensor<?xi32>)
    -> (!tokens, !cache, !cache) {
  %heads = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %kc = shard.shard %key_cache to %heads annotate_for_users : !cache
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %x, %c0 : !tokens
  %length = tensor.dim %x, %c1 : !tokens
  %init = tensor.empty(%batch, %length) : !tokens
  %y, %keys, %values = attn.multi_head_attention heads(4, 2) sizes(16, 16)
      ins(%x : !tokens) outs(%init, %kc, %value_cache : !tokens, !cache, !cache)
      qkv(%weight, %bias : tensor<64x128xf32>, tensor<128xf32>)
      output(%output_weight, %output_bias : tensor<64x64xf32>, tensor<64xf32>)
      lengths(%stored : tensor<?xi32>) mask causal
  return %y, %keys, %values : !tokens, !cache, !cache
}

// -----

// Rows of tokens: only keys and values go around, and rotary positions are those
// of the whole.
// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[X:[^:]+]]: tensor<1x?x32xf32>, %[[W:[^:]+]]: tensor<32x128xf32>,
// CHECK: %[[SIZES:.*]] = attn.all_gather ins(%{{.*}} : tensor<1xi64>)
// CHECK: %[[QKV:.*]]:3 = attn.projection ins(%[[X]], %[[W]]
// CHECK: %[[POSITIONS:.*]] = tensor.generate
// CHECK: attn.rope half_split ins(%[[QKV]]#0, {{.*}} positions(%{{.*}} : tensor<1x?xi64>)
// CHECK: attn.rank_block
// CHECK-NOT: attn.all_reduce
!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = ?)
func.func @rows(%x: !x, %weight: tensor<32x128xf32>, %output: tensor<64x32xf32>,
                %angles: tensor<512x8xf32>) -> !x {
  %rows = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %x_s = shard.shard %x to %rows annotate_for_users : !x
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !x
  %init = tensor.empty(%n) : !x
  %y = attn.multi_head_attention heads(4, 2) sizes(16, 16)
      ins(%x_s : !x) outs(%init : !x) qkv(%weight : tensor<32x128xf32>)
      output(%output : tensor<64x32xf32>)
      rope half_split(%angles, %angles : tensor<512x8xf32>, tensor<512x8xf32>)
      mask causal
  return %y : !x
}

// -----

// Batch entries: what is said of each is cut.
// CHECK-LABEL: func @batch(
// CHECK-SAME: %[[ROWS:[^:]+]]: tensor<2x2x?x16xbf16>, %[[CACHE:[^:]+]]: tensor<2x2x64x16xbf16>
// CHECK: %[[ME:.*]] = attn.rank_index stride 1 size 2
// CHECK: %[[LENGTHS:.*]] = tensor.extract_slice %{{.*}}[%{{.*}}] [2] [1] : tensor<4xi32> to tensor<2xi32>
// CHECK: attn.cache_append ins(%[[ROWS]] : {{.*}}) outs(%[[CACHE]] : {{.*}}) lengths(%[[LENGTHS]] : tensor<2xi32>)
!new = tensor<4x2x?x16xbf16>
!stored = tensor<4x2x64x16xbf16>
shard.grid @ranks(shape = ?)
func.func @batch(%rows: !new, %cache: !stored, %lengths: tensor<4xi32>) -> !stored {
  %batch = shard.sharding @ranks split_axes = [[0]] : !shard.sharding
  %rows_s = shard.shard %rows to %batch annotate_for_users : !new
  %c = attn.cache_append ins(%rows_s : !new) outs(%cache : !stored)
      lengths(%lengths : tensor<4xi32>)
  return %c : !stored
}

// -----

// What numbers columns counts those of the whole, and a sum of bf16 is one of f32
// until all ranks have added to it.
// CHECK-LABEL: func @network(
// CHECK-SAME: %[[UP:[^:]+]]: tensor<2x32x16xbf16>, %[[DOWN:[^:]+]]: tensor<2x16x16x2xbf16>
// CHECK: %[[H:.*]] = attn.projection ins(%{{.*}}, %[[UP]] : {{.*}}) outs({{.*}} : tensor<1x?x32xbf16>)
// CHECK: linalg.index 2
// CHECK: arith.addi
// CHECK: %[[PART:.*]] = attn.projection {{.*}} outs({{.*}} : tensor<1x?x32xf32>)
// CHECK: attn.all_reduce ins(%[[PART]] :
// CHECK: arith.truncf
!x = tensor<1x?x32xbf16>
!hidden = tensor<1x?x64xbf16>
shard.grid @ranks(shape = ?)
func.func @network(%x: !x, %up: tensor<4x32x16xbf16>, %down: tensor<2x32x16x2xbf16>) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %down_s = shard.shard %down to %columns annotate_for_users : tensor<2x32x16x2xbf16>
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !x
  %h_init = tensor.empty(%n) : !hidden
  %h = attn.projection ins(%x, %up : !x, tensor<4x32x16xbf16>) outs(%h_init : !hidden)
  %g = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%h : !hidden) outs(%h_init : !hidden) {
  ^bb0(%a: bf16, %unused: bf16):
    %j = linalg.index 2 : index
    %k = arith.index_cast %j : index to i32
    %l = arith.sitofp %k : i32 to bf16
    %c = arith.mulf %a, %l : bf16
    linalg.yield %c : bf16
  } -> !hidden
  %init = tensor.empty(%n) : !x
  %y = attn.projection ins(%g, %down_s : !hidden, tensor<2x32x16x2xbf16>) outs(%init : !x)
  return %y : !x
}

// -----

// Without attention: rows that are split count those of the whole, and batch
// entries that are not, as many as the rank's tensor has.
// CHECK-LABEL: func @rotated(
// CHECK-SAME: %[[ROWS:[^:]+]]: tensor<?x2x?x16xf32>
// CHECK: attn.all_gather ins(%{{.*}} : tensor<1xi64>)
// CHECK: %[[BATCH:.*]] = tensor.dim %[[ROWS]], %c0
// CHECK: %[[P:.*]] = tensor.generate %[[BATCH]], %{{.*}} {
// CHECK: attn.rope half_split ins(%[[ROWS]], {{.*}} positions(%[[P]] : tensor<?x?xi64>)
!heads = tensor<?x2x?x16xf32>
shard.grid @ranks(shape = ?)
func.func @rotated(%rows: !heads, %angles: tensor<512x8xf32>, %init: !heads) -> !heads {
  %split = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %rows_s = shard.shard %rows to %split annotate_for_users : !heads
  %r = attn.rope half_split ins(%rows_s, %angles, %angles : !heads, tensor<512x8xf32>, tensor<512x8xf32>)
      outs(%init : !heads)
  return %r : !heads
}

// -----

// Batch entries with their own offsets, and rows of any number, which are whole.
// CHECK-LABEL: func @offsets(
// CHECK-SAME: %[[ROWS:[^:]+]]: tensor<2x2x?x16xf32>
// CHECK-NOT: attn.all_gather
// CHECK: %[[N:.*]] = tensor.dim %[[ROWS]], %c2
// CHECK: %[[P:.*]] = tensor.generate %[[N]] {
// CHECK: attn.rope half_split ins(%[[ROWS]], {{.*}} positions(%[[P]] : tensor<2x?xi64>)
!heads = tensor<4x2x?x16xf32>
shard.grid @ranks(shape = ?)
func.func @offsets(%rows: !heads, %angles: tensor<512x8xf32>, %offset: tensor<4xi32>,
                   %init: !heads) -> !heads {
  %split = shard.sharding @ranks split_axes = [[0]] : !shard.sharding
  %rows_s = shard.shard %rows to %split annotate_for_users : !heads
  %r = attn.rope half_split ins(%rows_s, %angles, %angles : !heads, tensor<512x8xf32>, tensor<512x8xf32>)
      outs(%init : !heads) offset(%offset : tensor<4xi32>)
  return %r : !heads
}
