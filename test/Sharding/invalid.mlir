// RUN: attn-opt %s --attn-shard=ranks=4 --split-input-file --verify-diagnostics

!t = tensor<1x4x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @differs(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %heads = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  // expected-error @below {{expected split_axes [[], [0], [0], []], which what it is computed of or with has, got [[], [], [0], []]}}
  %q = shard.shard %query to %rows annotate_for_users : !t
  %k = shard.shard %key to %heads annotate_for_users : !t
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
  %flat = tensor.collapse_shape %q [[0, 1, 2], [3]] : !t into tensor<?x16xf32>
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
  // expected-error @below {{may not use a result of attn.attention, which is split}}
  %flat = tensor.collapse_shape %o [[0, 1, 2], [3]] : !t into tensor<?x16xf32>
  return %o : !t
}

// -----

!t = tensor<1x4x30x16xf32>
shard.grid @ranks(shape = 4)
// expected-error @below {{argument #0: expected dimension 2 to be a multiple of the 4 ranks of axis 0 of @ranks, got 30; a dynamic one (?) may have parts of different sizes}}
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
  // expected-error @below {{expected rows (dimension 2, or 1 of tokens) that are split, which attn.zigzag is of}}
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
  // expected-error @below {{expected split_axes [[], [], [0], []] {attn.zigzag}, which what it is computed of or with has, got [[], [], [0], []]}}
  %v = shard.shard %value to %rows annotate_for_users : !t
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
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  // expected-error @below {{expected split_axes [[], [], [0], []] {attn.zigzag}, which what it is computed of or with has, got [[], [], [0], []]}}
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

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
// expected-error-re @below {{argument #1: expected the columns of each result in dimension 1 to be a multiple of the 4 ranks of axis 0 of @ranks, got 30{{$}}}}
func.func @fused(%x: !x, %weight: tensor<32x62xf32>, %init: !x, %narrow: tensor<1x?x30xf32>) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<32x62xf32>
  %y:2 = attn.projection ins(%x, %w : !x, tensor<32x62xf32>)
      outs(%init, %narrow : !x, tensor<1x?x30xf32>)
  return %y#0 : !x
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @panels(%x: !x, %weight: tensor<2x32x16xf32>, %init: !x) -> !x {
  %columns = shard.sharding @ranks split_axes = [[0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<2x32x16xf32>
  // expected-error @below {{expected features of results in panels of 16 columns that 4 ranks can share evenly, got 32}}
  %y = attn.projection ins(%x, %w : !x, tensor<2x32x16xf32>) outs(%init : !x)
  return %y : !x
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @reduced(%x: !x, %weight: tensor<32x32xf32>, %init: !x, %sums: tensor<1x?xf32>)
    -> tensor<1x?xf32> {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<32x32xf32>
  %y = attn.projection ins(%x, %w : !x, tensor<32x32xf32>) outs(%init : !x)
  // expected-error @below {{expected dimension 2 of operand 0 whole on every rank, since it is reduced, got split_axes [[], [], [0]]}}
  %r = linalg.reduce {arith.addf} ins(%y : !x) outs(%sums : tensor<1x?xf32>) dimensions = [2]
  return %r : tensor<1x?xf32>
}

// -----

!rows = tensor<1x4x?x16xf32>
!cache = tensor<1x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @ring_cache(%new: !rows, %cache: !cache, %stored: tensor<1xi32>) -> !cache {
  %positions = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %c = shard.shard %cache to %positions annotate_for_users : !cache
  // expected-error @below {{with a ring whose positions are split is not covered by attn-shard}}
  %r = attn.cache_append ins(%new : !rows) outs(%c : !cache) lengths(%stored : tensor<1xi32>) ring
  return %r : !cache
}

// -----

!rows = tensor<1x4x?x16xf32>
!cache = tensor<1x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_cache(%new: !rows, %cache: !cache, %stored: tensor<1xi32>) -> !cache {
  %positions = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %c = shard.shard %cache to %positions annotate_for_users : !cache
  // expected-error @below {{expected positions of a cache in their order, got split_axes [[], [], [0], []] {attn.zigzag}}}
  %r = attn.cache_append ins(%new : !rows) outs(%c : !cache) lengths(%stored : tensor<1xi32>)
  return %r : !cache
}

// -----

!rows = tensor<1x4x?x16xf32>
!cache = tensor<2x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @packed_rows(%new: !rows, %cache: !cache, %stored: tensor<2xi32>, %of: tensor<3xi32>) -> !cache {
  %positions = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %c = shard.shard %cache to %positions annotate_for_users : !cache
  // expected-error @below {{of packed rows to a cache whose positions are split is not covered by attn-shard}}
  %r = attn.cache_append ins(%new : !rows) outs(%c : !cache) lengths(%stored : tensor<2xi32>) sequences(%of : tensor<3xi32>)
  return %r : !cache
}

// -----

!new = tensor<1x4x1x16xf32>
!cache = tensor<1x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @new_rows(%new: !new, %cache: !cache, %stored: tensor<1xi32>, %q: tensor<1x4x?x16xf32>) -> !cache {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %n = shard.shard %new to %rows annotate_for_users : !new
  // expected-error @below {{expected dimension 2 of operand 0 whole on every rank}}
  %r = attn.cache_append ins(%n : !new) outs(%cache : !cache) lengths(%stored : tensor<1xi32>)
  return %r : !cache
}

// -----

!q = tensor<1x4x?x16xf32>
!cache = tensor<1x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @other_use(%cache: !cache, %stored: tensor<1xi32>, %n: index) -> !q {
  %positions = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %c = shard.shard %cache to %positions annotate_for_users : !cache
  %keys = attn.cache_read ins(%c : !cache) lengths(%stored : tensor<1xi32>) size(%n) -> !q
  // expected-error @below {{may not use what is read of a cache whose positions are split: attn-shard covers keys and values of attention}}
  %sum = arith.addf %keys, %keys : !q
  return %sum : !q
}

// -----

!q = tensor<1x4x?x16xf32>
!rows = tensor<1x4x32x16xf32>
!cache = tensor<1x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @half(%query: !q, %cache: !cache, %stored: tensor<1xi32>, %init: !q) -> !q {
  %positions = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %c = shard.shard %cache to %positions annotate_for_users : !cache
  // expected-error @below {{expected all positions of a cache whose positions are split, or a size, got 'tensor<1x4x32x16xf32>'}}
  %keys = attn.cache_read ins(%c : !cache) lengths(%stored : tensor<1xi32>) -> !rows
  %o = attn.attention ins(%query, %keys, %keys : !q, !rows, !rows) outs(%init : !q)
  return %o : !q
}

// -----

!q = tensor<1x4x?x16xf32>
!cache = tensor<1x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @one_cache(%query: !q, %value: !q, %cache: !cache, %stored: tensor<1xi32>, %n: index, %init: !q) -> !q {
  %positions = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %c = shard.shard %cache to %positions annotate_for_users : !cache
  %keys = attn.cache_read ins(%c : !cache) lengths(%stored : tensor<1xi32>) size(%n) -> !q
  // expected-error @below {{expected keys and values both of caches, since positions of one are split}}
  %o = attn.attention ins(%query, %keys, %value : !q, !q, !q) outs(%init : !q)
  return %o : !q
}

// -----

!q = tensor<1x4x?x16xf32>
!cache = tensor<1x4x64x16xf32>
shard.grid @ranks(shape = 4)
func.func @queries_too(%query: !q, %cache: !cache, %stored: tensor<1xi32>, %n: index, %init: !q) -> !q {
  %rows = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %rows annotate_for_users : !q
  %keys = attn.cache_read ins(%cache : !cache) lengths(%stored : tensor<1xi32>) size(%n) -> !q
  %k = shard.shard %keys to %rows annotate_for_users : !q
  // expected-error @below {{expected queries that are not split along the axis of the positions of caches, got query with split_axes [[], [], [0], []]}}
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) outs(%init : !q)
  return %o : !q
}

// -----

!rows = tensor<2x4x?x16xf32>
!pages = tensor<?x4x16x16xf32>
shard.grid @ranks(shape = 2x2)
func.func @two_axes(%new: !rows, %pages: !pages, %stored: tensor<2xi32>, %table: tensor<2x?xi32>) -> !pages {
  %first = shard.sharding @ranks split_axes = [[0]] : !shard.sharding
  %columns = shard.sharding @ranks split_axes = [[], [1]] : !shard.sharding
  %p = shard.shard %pages to %first annotate_for_users : !pages
  %t = shard.shard %table to %columns annotate_for_users : tensor<2x?xi32>
  // expected-error @below {{expected pages of a cache and the columns of its table to be split along one axis, got split_axes [[0], [], [], []] and [[], [1]]}}
  %r = attn.cache_append ins(%new : !rows) outs(%p : !pages) lengths(%stored : tensor<2xi32>)
      table(%t : tensor<2x?xi32>)
  return %r : !pages
}

// -----

!rows = tensor<2x4x?x16xf32>
!pages = tensor<?x4x16x16xf32>
shard.grid @ranks(shape = 4)
func.func @pages(%new: !rows, %pages: !pages, %stored: tensor<2xi32>, %table: tensor<2x?xi32>) -> !pages {
  %batch = shard.sharding @ranks split_axes = [[0]] : !shard.sharding
  %n = shard.shard %new to %batch annotate_for_users : !rows
  // expected-error @below {{expected dimension 0 of operand 0 whole on every rank}}
  %r = attn.cache_append ins(%n : !rows) outs(%pages : !pages) lengths(%stored : tensor<2xi32>)
      table(%table : tensor<2x?xi32>)
  return %r : !pages
}

// -----

func.func @sums(%step: index, %key: tensor<1x2x?x64xf16>, %spans: tensor<4x4xindex>) {
  // expected-error @below {{expected sums of f32 or f64, got 'tensor<1x2x?x64xf16>'}}
  %s:2 = attn.rank_sums %step of(%key, %key : tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>)
      spans(%spans : tensor<4x4xindex>)
      outs(%key, %key : tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>) stride 1
      -> tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>
  return
}

// -----

func.func @merge(%output: tensor<1x2x3x16xf32>, %lse: tensor<1x2x3xf64>) {
  // expected-error @below {{expected an output (B, H, S, D) of f32 or f64, with a static D, and a log-sum-exp (B, H, S) of it, got 'tensor<1x2x3x16xf32>' and 'tensor<1x2x3xf64>'}}
  %r:2 = attn.all_merge ins(%output, %lse : tensor<1x2x3x16xf32>, tensor<1x2x3xf64>)
      outs(%output, %lse : tensor<1x2x3x16xf32>, tensor<1x2x3xf64>) stride 1 size 4
      -> tensor<1x2x3x16xf32>, tensor<1x2x3xf64>
  return
}

// -----

func.func @merge_outs(%output: tensor<1x2x3x16xf32>, %lse: tensor<1x2x3xf32>) {
  // expected-error @below {{expected outs for an output and a log-sum-exp, got 1}}
  %r = attn.all_merge ins(%output, %lse : tensor<1x2x3x16xf32>, tensor<1x2x3xf32>)
      outs(%output : tensor<1x2x3x16xf32>) stride 1 size 4 -> tensor<1x2x3x16xf32>
  return
}

// -----

func.func @merge_types(%output: tensor<1x2x3x16xf32>, %lse: tensor<1x2x3xf32>) {
  // expected-error @below {{expected outs like the parts, got 'tensor<1x2x3xf32>' for 'tensor<1x2x3x16xf32>'}}
  %r:2 = attn.all_merge ins(%output, %lse : tensor<1x2x3x16xf32>, tensor<1x2x3xf32>)
      outs(%lse, %lse : tensor<1x2x3xf32>, tensor<1x2x3xf32>) stride 1 size 4
      -> tensor<1x2x3xf32>, tensor<1x2x3xf32>
  return
}

// -----

func.func @sum(%part: tensor<3xi64>, %init: tensor<3xi64>) {
  // expected-error @below {{expected parts of f32 or f64, and outs of the same shape and type, got 'tensor<3xi64>' of 'tensor<3xi64>'}}
  %r = attn.all_reduce ins(%part : tensor<3xi64>) outs(%init : tensor<3xi64>) stride 1 size 4 -> tensor<3xi64>
  return
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @fused_bias(%x: !x, %weight: tensor<32x64xf32>, %init: !x, %b0: tensor<64xf32>, %b1: tensor<64xf32>) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<32x64xf32>
  %b = arith.addf %b0, %b1 : tensor<64xf32>
  // expected-error @below {{expected a weight, scales and a bias of several results, which are split, to be arguments of the function, got a result of arith.addf}}
  %y:2 = attn.projection ins(%x, %w : !x, tensor<32x64xf32>) outs(%init, %init : !x, !x) bias(%b : tensor<64xf32>)
  return %y#0 : !x
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @fused_weight(%x: !x, %weight: tensor<32x64xf32>, %init: !x) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %v = arith.negf %weight : tensor<32x64xf32>
  %w = shard.shard %v to %columns annotate_for_users : tensor<32x64xf32>
  // expected-error @below {{to be arguments of the function, got a result of arith.negf}}
  %y:2 = attn.projection ins(%x, %w : !x, tensor<32x64xf32>) outs(%init, %init : !x, !x)
  return %y#0 : !x
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @fused_and_one(%x: !x, %weight: tensor<32x64xf32>, %init: !x, %wide: tensor<1x?x64xf32>) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<32x64xf32>
  // expected-error @below {{expected argument #1, whose columns are split in parts of 32, 32, to be used by projections to results of these sizes alone}}
  %y:2 = attn.projection ins(%x, %w : !x, tensor<32x64xf32>) outs(%init, %init : !x, !x)
  // expected-note @below {{it is used here, too}}
  %z = attn.projection ins(%x, %w : !x, tensor<32x64xf32>) outs(%wide : tensor<1x?x64xf32>)
  return %y#0 : !x
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @fused_twice(%x: !x, %weight: tensor<32x64xf32>, %init: !x, %a: tensor<1x?x16xf32>, %b: tensor<1x?x48xf32>) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<32x64xf32>
  // expected-error @below {{expected argument #1, whose columns are split in parts of 32, 32, to be used by projections to results of these sizes alone}}
  %y:2 = attn.projection ins(%x, %w : !x, tensor<32x64xf32>) outs(%init, %init : !x, !x)
  // expected-note @below {{it is used here, too}}
  %z:2 = attn.projection ins(%x, %w : !x, tensor<32x64xf32>) outs(%a, %b : tensor<1x?x16xf32>, tensor<1x?x48xf32>)
  return %y#0 : !x
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @fused_and_elements(%x: !x, %weight: tensor<32x64xf32>, %init: !x, %bias: tensor<64xf32>) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<32x64xf32>
  // expected-error @below {{expected argument #3, whose columns are split in parts of 32, 32, to be used by projections to results of these sizes alone}}
  %y:2 = attn.projection ins(%x, %w : !x, tensor<32x64xf32>) outs(%init, %init : !x, !x) bias(%bias : tensor<64xf32>)
  // expected-note @below {{it is used here, too}}
  %b = arith.negf %bias : tensor<64xf32>
  return %y#0 : !x
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @fused_scales(%x: !x, %weight: tensor<32x64xi8>, %init: !x, %scales: tensor<64xf32>) -> !x {
  %columns = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %w = shard.shard %weight to %columns annotate_for_users : tensor<32x64xi8>
  %s = arith.negf %scales : tensor<64xf32>
  // expected-error @below {{to be arguments of the function, got a result of arith.negf}}
  %y:2 = attn.projection ins(%x, %w : !x, tensor<32x64xi8>) outs(%init, %init : !x, !x)
      scales(%s : tensor<64xf32>)
  return %y#0 : !x
}

// -----

// The log-sum-exps of heads look like tokens.
!t = tensor<1x8x?x16xf32>
!lse = tensor<1x8x?xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_lse(%query: !t, %key: !t, %value: !t, %init: !t, %lse: !lse) -> !lse {
  %heads = shard.sharding @ranks split_axes = [[], [0]] {attn.zigzag} : !shard.sharding
  // expected-error @below {{expected attn.zigzag of rows alone, got it of dimension 1 of operand 0 with split_axes [[], [0], [], []] {attn.zigzag}}}
  %o:2 = attn.attention ins(%query, %key, %value : !t, !t, !t) outs(%init, %lse : !t, !lse)
  %r = shard.shard %o#1 to %heads : !lse
  return %r : !lse
}

// -----

!x = tensor<1x?x32xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_features(%x: !x, %weight: tensor<32x64xf32>, %init: !x) -> !x {
  %features = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  // expected-error @below {{expected attn.zigzag of rows alone, got it of dimension 1 of operand 1 with split_axes [[], [0]] {attn.zigzag}}}
  %y:2 = attn.projection ins(%x, %weight : !x, tensor<32x64xf32>) outs(%init, %init : !x, !x)
  %r = shard.shard %y#0 to %features : !x
  return %r : !x
}

// -----

// Those of batch entries, which come to be rows of another tensor.
!rows = tensor<8x2x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @zigzag_batch(%rows: !rows, %angles: tensor<512x8xf32>, %init: !rows,
                        %other: tensor<2x?x8x16xf32>) -> tensor<2x?x8x16xf32> {
  %last = shard.sharding @ranks split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  // expected-error @below {{expected attn.zigzag of rows alone, got it of dimension 0 of operand 0}}
  %y = attn.rope half_split ins(%rows, %angles, %angles : !rows, tensor<512x8xf32>, tensor<512x8xf32>)
      outs(%init : !rows)
  %t = linalg.transpose ins(%y : !rows) outs(%other : tensor<2x?x8x16xf32>) permutation = [1, 2, 0, 3]
  %r = shard.shard %t to %last : tensor<2x?x8x16xf32>
  return %r : tensor<2x?x8x16xf32>
}

// -----

!x = tensor<1x8x32xf32>
!products = tensor<1x8x8xf32>
shard.grid @grid(shape = 2x2)
// expected-error @below {{argument #2: expected attn.zigzag of one dimension, got split_axes [[], [0], [1]] {attn.zigzag}}}
func.func @zigzag_both(%x: !x, %y: !x, %init: !products) -> !products {
  %first = shard.sharding @grid split_axes = [[], [0]] {attn.zigzag} : !shard.sharding
  %second = shard.sharding @grid split_axes = [[], [1]] {attn.zigzag} : !shard.sharding
  %x_s = shard.shard %x to %first annotate_for_users : !x
  %y_s = shard.shard %y to %second annotate_for_users : !x
  %t = tensor.empty() : tensor<1x32x8xf32>
  %z = linalg.transpose ins(%y_s : !x) outs(%t : tensor<1x32x8xf32>) permutation = [0, 2, 1]
  %p = linalg.batch_matmul ins(%x_s, %z : !x, tensor<1x32x8xf32>) outs(%init : !products) -> !products
  return %p : !products
}

// -----

!t = tensor<1x8x?x16xf32>
!kv = tensor<1x2x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @ulysses_of_groups(%query: !t, %key: !kv, %value: !kv, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  %k = shard.shard %key to %s annotate_for_users : !kv
  // expected-error @below {{expected key/value heads that 4 ranks can share evenly for 'attn.exchange' = "ulysses", got 2}}
  %o = attn.attention ins(%q, %k, %value : !t, !kv, !kv) outs(%init : !t) {attn.exchange = "ulysses"}
  return %o : !t
}

// -----

!t = tensor<1x8x?x16xf32>
shard.grid @ranks(shape = 4)
func.func @exchange_of_heads(%query: !t, %key: !t, %value: !t, %init: !t) -> !t {
  %s = shard.sharding @ranks split_axes = [[], [0]] : !shard.sharding
  %q = shard.shard %query to %s annotate_for_users : !t
  // expected-error @below {{expected 'attn.exchange' where rows of query and key are split along one axis, got query with split_axes [[], [0], [], []] and key with [[], [0], [], []]}}
  %o = attn.attention ins(%q, %key, %value : !t, !t, !t) outs(%init : !t) {attn.exchange = "gather"}
  return %o : !t
}

// -----

func.func @exchange_name(%t: tensor<1x8x?x16xf32>) -> tensor<1x8x?x16xf32> {
  // expected-error @below {{expected 'attn.exchange' to be "ring", "gather" or "ulysses", got "heads"}}
  %o = attn.attention ins(%t, %t, %t : tensor<1x8x?x16xf32>, tensor<1x8x?x16xf32>, tensor<1x8x?x16xf32>)
      outs(%t : tensor<1x8x?x16xf32>) {attn.exchange = "heads"}
  return %o : tensor<1x8x?x16xf32>
}

// -----

// expected-error @below {{expected 'attn.exchange' on attention}}
func.func @exchange_place() attributes {attn.exchange = "ring"} { return }

// -----

// expected-error @below {{expected 'attn.link' on shard.grid}}
func.func @link_place() attributes {attn.link = #attn.link<>} { return }

// -----

// expected-error @below {{expected '#attn.link<...>' as 'attn.link', got 5 : i64}}
shard.grid @link_type(shape = 4) {attn.link = 5}

// -----

// expected-error @below {{expected bandwidth_mbs from 1 to 1099511627776, got 0}}
shard.grid @no_bandwidth(shape = 4) {attn.link = #attn.link<bandwidth_mbs = 0>}

// -----

// expected-error @below {{expected step_ns from 0 to 1099511627776, got -1}}
shard.grid @hurried(shape = 4) {attn.link = #attn.link<step_ns = -1>}

// -----

// expected-error @below {{expected latency_ns from 0 to 1099511627776, got -1}}
shard.grid @early(shape = 4) {attn.link = #attn.link<latency_ns = -1>}

// -----

func.func @uneven(%part: tensor<1x6x?x16xf32>, %init: tensor<1x2x?x16xf32>, %bounds: tensor<5xindex>) -> tensor<1x2x?x16xf32> {
  // expected-error @below {{expected heads that 4 ranks share evenly, got 'tensor<1x2x?x16xf32>' of 'tensor<1x6x?x16xf32>'}}
  %r = attn.reshard rows_to_heads ins(%part : tensor<1x6x?x16xf32>) outs(%init : tensor<1x2x?x16xf32>)
      bounds(%bounds : tensor<5xindex>) stride 1 size 4 -> tensor<1x2x?x16xf32>
  return %r : tensor<1x2x?x16xf32>
}

// -----

func.func @no_pieces(%part: tensor<1x8x?x16xf32>, %init: tensor<1x8x?x16xf32>, %bounds: tensor<4xindex>) -> tensor<1x8x?x16xf32> {
  // expected-error @below {{expected bounds of one or two pieces of each of 4 ranks, of index, got 'tensor<4xindex>'}}
  %r = attn.reshard rows_to_whole ins(%part : tensor<1x8x?x16xf32>) outs(%init : tensor<1x8x?x16xf32>)
      bounds(%bounds : tensor<4xindex>) stride 1 size 4 -> tensor<1x8x?x16xf32>
  return %r : tensor<1x8x?x16xf32>
}

// -----

func.func @types(%part: tensor<1x8x?x16xf32>, %init: tensor<1x8x?x16xf16>, %bounds: tensor<5xindex>) -> tensor<1x8x?x16xf16> {
  // expected-error @below {{expected parts (B, H, S, D) with static H and D, of one element type, B and D, got}}
  %r = attn.reshard rows_to_whole ins(%part : tensor<1x8x?x16xf32>) outs(%init : tensor<1x8x?x16xf16>)
      bounds(%bounds : tensor<5xindex>) stride 1 size 4 -> tensor<1x8x?x16xf16>
  return %r : tensor<1x8x?x16xf16>
}

// -----

func.func @narrow_sums(%part: tensor<1x8x?x16xf16>, %init: tensor<1x8x?x16xf16>, %bounds: tensor<5xindex>) -> tensor<1x8x?x16xf16> {
  // expected-error @below {{expected sums of f32 or f64, got 'tensor<1x8x?x16xf16>'}}
  %r = attn.reshard whole_to_rows ins(%part : tensor<1x8x?x16xf16>) outs(%init : tensor<1x8x?x16xf16>)
      bounds(%bounds : tensor<5xindex>) stride 1 size 4 -> tensor<1x8x?x16xf16>
  return %r : tensor<1x8x?x16xf16>
}
