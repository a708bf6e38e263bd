// RUN: attn-opt %s --attn-shard=ranks=4 --split-input-file --verify-diagnostics

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @differs(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %heads = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  %k = shard.shard %key to %heads annotate_for_users : !t
  // expected-error @below {{expected key with split_axes [[], [], [], []], as query and key have them, got [[], [0], [], []]}}
  %o = attn.attention ins(%q, %k, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @again(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %heads = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  // expected-error @below {{nothing is distributed again}}
  %r = shard.shard %q to %heads annotate_for_users : !t
  %o = attn.attention ins(%r, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @computed(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  // expected-error @below {{may not use argument #0, which is split}}
  %twice = arith.addf %q, %q : !t
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @used(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t)
  // expected-error @below {{may not use a result of attention that is split}}
  %twice = arith.addf %o, %o : !t
  return %twice : !t
}

// -----

!t = tensor<1x4x30x16xf32>
shard.grid @ranks(shape = 4)
// expected-error @below {{argument #0: expected dimension 2 to be a multiple of the 4 ranks of axis 0 of @ranks, got 30}}
func.func @divides(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
// expected-error @below {{expected 3 ranks, got 4}}
shard.grid @ranks(shape = 3)
func.func @ranks_differ(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @halo(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  // expected-error @below {{with halos or with offsets is not covered by attn-shard}}
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] halo_sizes = [1, 1] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

func.func @spans(%step: index, %key: tensor<1x2x?x64xf32>, %spans: tensor<4x3xindex>) {
  // expected-error @below {{expected spans (size, 4 * pieces) of index, got 'tensor<4x3xindex>'}}
  %k, %v = attn.rank_block %step of(%key, %key : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      spans(%spans : tensor<4x3xindex>) rows(%step) stride 1
      -> tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>
  return
}

// -----

func.func @block(%step: index, %key: tensor<1x2x?x64xf32>, %spans: tensor<4x4xindex>) {
  // expected-error @below {{expected a block like values with a dynamic number of rows, got 'tensor<1x2x?x32xf32>' of 'tensor<1x2x?x64xf32>'}}
  %k, %v = attn.rank_block %step of(%key, %key : tensor<1x2x?x64xf32>, tensor<1x2x?x64xf32>)
      spans(%spans : tensor<4x4xindex>) rows(%step) stride 1
      -> tensor<1x2x?x64xf32>, tensor<1x2x?x32xf32>
  return
}

// -----

func.func @gather(%part: tensor<3xi64>, %all: tensor<4x2xi64>) {
  // expected-error @below {{expected outs (size, ...) of parts (...), got 'tensor<4x2xi64>' of 'tensor<3xi64>'}}
  %r = attn.all_gather ins(%part : tensor<3xi64>) outs(%all : tensor<4x2xi64>) stride 1 -> tensor<4x2xi64>
  return
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_value(%query: !t) -> !t {
  // expected-error @below {{expected 'attn.zigzag' without a value, got true}}
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag = true} : !shard.sharding
  return %query : !t
}

// -----

// expected-error @below {{expected 'attn.zigzag' on shard.sharding}}
func.func @zigzag_place() attributes {attn.zigzag} {
  return
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_heads(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  // expected-error @below {{expected rows (dimension 2) that are split, which attn.zigzag is of}}
  %heads = shard.sharding @ranks split_axes = [[], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %heads annotate_for_users : !t
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_queries(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  // expected-error @below {{expected attn.zigzag of rows of query, key and value along one axis, got query with split_axes [[], [], [0], []] {attn.zigzag} and key with [[], [], [], []]}}
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_differs(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %zigzag = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %zigzag annotate_for_users : !t
  %k = shard.shard %key to %zigzag annotate_for_users : !t
  %v = shard.shard %value to %rows annotate_for_users : !t
  // expected-error @below {{expected value with split_axes [[], [], [0], []] {attn.zigzag}, as query and key have them, got [[], [], [0], []]}}
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}

// -----

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_result(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %zigzag = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %zigzag annotate_for_users : !t
  %k = shard.shard %key to %zigzag annotate_for_users : !t
  %v = shard.shard %value to %zigzag annotate_for_users : !t
  // expected-error @below {{expected result 0 with split_axes [[], [], [0], []] {attn.zigzag}, got [[], [], [0], []]}}
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  %r = shard.shard %o to %rows : !t
  return %r : !t
}

// -----

!t = tensor<1x4x20x16xf32>
shard.grid @ranks(shape = 4)
// expected-error @below {{argument #0: expected dimension 2 to be a multiple of the 4 ranks, with two pieces each, of axis 0 of @ranks, got 20}}
func.func @zigzag_divides(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !t
  %k = shard.shard %key to %rows annotate_for_users : !t
  %v = shard.shard %value to %rows annotate_for_users : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
