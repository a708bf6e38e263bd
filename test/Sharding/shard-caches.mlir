// RUN: attn-opt %s --attn-shard=ranks=4 --canonicalize --cse --split-input-file | FileCheck %s

// Of 64 positions, each rank has 16. The new rows that are its own move to the
// front; keys count from its first one, and the last rank has those behind all
// positions.
// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<2x4x1x16xf32>, %[[NEW:[^:]*]]: tensor<2x2x?x16xf32>, %[[CACHE:[^:]*]]: tensor<2x2x16x16xf32>, %[[STORED:[^:]*]]: tensor<2xi32>, %[[AFTER:[^:]*]]: tensor<2xi32>, %[[SIZE:[^:]*]]: index
// CHECK: %[[ME:.*]] = attn.rank_index stride 1 size 4
// CHECK: %[[FIRST:.*]] = arith.muli %[[ME]], %c16
// CHECK: cf.assert %{{.*}}, "'attn.cache_append' op expected lengths and counts of rows that the cache has room for, in the parts of all ranks"
// CHECK: %[[LENGTHS:.*]] = tensor.generate
// CHECK: tensor.extract %[[STORED]]
// CHECK: arith.subi %{{.*}}, %[[FIRST]]
// CHECK: %[[COUNTS:.*]] = tensor.generate
// CHECK: cf.assert %{{.*}}, "'attn.cache_read' op expected lengths of rows that the cache has room for, in the parts of all ranks"
// CHECK: %[[LEFT:.*]] = tensor.generate
// CHECK: tensor.extract %[[AFTER]]
// CHECK: arith.select %{{.*}}, %[[SIZE]],
// CHECK: %[[FIRST_KEY:.*]] = arith.select %{{.*}}, %[[SIZE]],
// CHECK: %[[ROWS:.*]] = scf.for
// CHECK: tensor.extract_slice %[[NEW]]
// CHECK: %[[NEXT:.*]] = attn.cache_append ins(%[[ROWS]] : tensor<2x2x?x16xf32>) outs(%[[CACHE]] : tensor<2x2x16x16xf32>) lengths(%[[LENGTHS]] : tensor<2xi32>) counts(%[[COUNTS]] : tensor<2xi32>)
// CHECK: %[[KEYS:.*]] = attn.cache_read ins(%[[NEXT]] : tensor<2x2x16x16xf32>) lengths(%[[LEFT]] : tensor<2xi32>) size(%{{.*}}) -> tensor<2x2x?x16xf32>
// CHECK: attn.attention ins(%[[Q]], %[[KEYS]], %[[KEYS]]
// CHECK-SAME: captures(%{{.*}} = %[[FIRST_KEY]] : index)
// CHECK: attn.all_merge
!new = tensor<2x2x?x16xf32>
!cache = tensor<2x2x64x16xf32>
!q = tensor<2x4x1x16xf32>
shard.grid @ranks(shape = 4)
func.func @rows(%query: !q, %new: !new, %keys: !cache, %stored: tensor<2xi32>,
                %after: tensor<2xi32>, %size: index, %init: !q) -> (!q, !cache) {
  %positions = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %keys_s = shard.shard %keys to %positions annotate_for_users : !cache
  %keys_1 = attn.cache_append ins(%new : !new) outs(%keys_s : !cache) lengths(%stored : tensor<2xi32>)
  %k = attn.cache_read ins(%keys_1 : !cache) lengths(%after : tensor<2xi32>) size(%size) -> !new
  %r = attn.attention ins(%query, %k, %k : !q, !new, !new) outs(%init : !q)
      offset(%stored : tensor<2xi32>) mask causal
  return %r, %keys_1 : !q, !cache
}

// -----

// Pages and the columns of the table are split together, from one annotation on;
// pages get the numbers that they have on the rank. One row needs no moving.
// CHECK-LABEL: func @pages(
// CHECK-SAME: %[[NEW:[^:]*]]: tensor<2x2x1x16xf32>, %[[CACHE:[^:]*]]: tensor<4x2x8x16xf32>, %[[TABLE:[^:]*]]: tensor<2x2xi32>
// CHECK-SAME: -> (tensor<2x4x1x16xf32>, tensor<4x2x8x16xf32>)
// CHECK: %[[ME:.*]] = attn.rank_index stride 1 size 4
// CHECK: %[[FIRST_KEY:.*]] = arith.muli %[[ME]], %c16
// CHECK: %[[PAGE:.*]] = arith.muli %[[ME]], %c4
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[PAGE]] : index to i32
// CHECK: %[[NUMBERS:.*]] = linalg.generic {{.*}} ins(%[[TABLE]] : tensor<2x2xi32>)
// CHECK: arith.subi %{{.*}}, %[[FIRST]]
// CHECK-NOT: tensor.insert_slice
// CHECK: attn.cache_append ins(%[[NEW]] : tensor<2x2x1x16xf32>) outs(%[[CACHE]] : tensor<4x2x8x16xf32>)
// CHECK-SAME: table(%[[NUMBERS]] : tensor<2x2xi32>)
// CHECK: attn.cache_read {{.*}} table(%[[NUMBERS]] : tensor<2x2xi32>) -> tensor<2x2x16x16xf32>
// CHECK: attn.attention {{.*}} captures(%{{.*}} = %[[FIRST_KEY]] : index)
!new = tensor<2x2x1x16xf32>
!rows = tensor<2x2x64x16xf32>
!cache = tensor<16x2x8x16xf32>
!q = tensor<2x4x1x16xf32>
shard.grid @ranks(shape = 4)
func.func @pages(%query: !q, %new: !new, %keys: !cache, %table: tensor<2x8xi32>,
                 %stored: tensor<2xi32>, %after: tensor<2xi32>, %init: !q) -> (!q, !cache) {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %table_s = shard.shard %table to %columns annotate_for_users : tensor<2x8xi32>
  %keys_1 = attn.cache_append ins(%new : !new) outs(%keys : !cache)
      lengths(%stored : tensor<2xi32>) table(%table_s : tensor<2x8xi32>)
  %k = attn.cache_read ins(%keys_1 : !cache) lengths(%after : tensor<2xi32>)
      table(%table_s : tensor<2x8xi32>) -> !rows
  %r = attn.attention ins(%query, %k, %k : !q, !rows, !rows) outs(%init : !q)
      offset(%stored : tensor<2xi32>) mask causal
  return %r, %keys_1 : !q, !cache
}
