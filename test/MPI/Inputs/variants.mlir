// One function for each thing that a rank has to move.
!q = tensor<2x4x?x16xf32>
!k = tensor<2x2x?x16xf32>
!lse = tensor<2x4x?xf32>

func.func @sink(%query: !q, %key: !k, %value: !k, %sink: tensor<4xf32>) -> (!q, !lse) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o, %l : !q, !lse)
      sink(%sink : tensor<4xf32>) score softcap(20.0) mask causal
  return %r#0, %r#1 : !q, !lse
}

func.func @dropout(%query: !q, %key: !k, %value: !k, %seed: i64, %call: i32) -> (!q, !lse) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o, %l : !q, !lse)
      dropout(0.3, %seed, %call) mask sliding_window(100, 20)
  return %r#0, %r#1 : !q, !lse
}

// Weights are equal, so that each that is dropped shows in the output.
func.func @kept(%query: !q, %key: !k, %value: !k, %seed: i64, %call: i32) -> (!q, !lse) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o, %l : !q, !lse)
      dropout(0.3, %seed, %call) score(%s, %b, %h, %p, %j) {
        %zero = arith.constant 0.0 : f32
        attn.yield %zero : f32
      }
  return %r#0, %r#1 : !q, !lse
}

func.func @alibi(%query: !q, %key: !k, %value: !k, %slopes: tensor<4xf32>, %offset: tensor<2xi32>) -> !q {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %r = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o : !q)
      offset(%offset : tensor<2xi32>) score alibi(%slopes : tensor<4xf32>) mask causal
  return %r : !q
}

func.func @bias(%query: !q, %key: !k, %value: !k, %bias: tensor<2x4x?x?xf32>) -> !q {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %r = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o : !q)
      offset(bottom_right) score bias(%bias : tensor<2x4x?x?xf32>) mask causal
  return %r : !q
}

func.func @documents(%query: !q, %key: !k, %value: !k, %of_query: tensor<2x?xi32>, %of_key: tensor<2x?xi32>) -> !q {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %r = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o : !q)
      mask document(%of_query, %of_key : tensor<2x?xi32>, tensor<2x?xi32>)
  return %r : !q
}

func.func @counts(%query: !q, %key: !k, %value: !k, %counts: tensor<2xi32>, %sink: tensor<4xf32>) -> (!q, !lse) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o, %l : !q, !lse)
      offset(bottom_right) sink(%sink : tensor<4xf32>) counts(%counts : tensor<2xi32>) mask causal
  return %r#0, %r#1 : !q, !lse
}

!pq = tensor<1x4x?x16xbf16>
!pk = tensor<1x2x?x16xbf16>
!pl = tensor<1x4x?xf32>
func.func @packed(%query: !pq, %key: !pk, %value: !pk, %of_query: tensor<?xi32>, %of_key: tensor<?xi32>, %sink: tensor<4xf32>) -> (!pq, !pl) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !pq
  %o = tensor.empty(%n) : !pq
  %l = tensor.empty(%n) : !pl
  %r:2 = attn.attention ins(%query, %key, %value : !pq, !pk, !pk) outs(%o, %l : !pq, !pl)
      offset(bottom_right) sink(%sink : tensor<4xf32>)
      sequences(%of_query, %of_key : tensor<?xi32>, tensor<?xi32>) mask causal
  return %r#0, %r#1 : !pq, !pl
}

// Heads along one axis, rows along the other.
shard.grid @grid(shape = 2x?)
func.func @heads_and_rows(%query: !q, %key: !k, %value: !k) -> (!q, !lse) {
  %s = shard.sharding @grid split_axes = [[], [0], [1]] : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !q
  %key_s = shard.shard %key to %s annotate_for_users : !k
  %value_s = shard.shard %value to %s annotate_for_users : !k
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query_s, %key_s, %value_s : !q, !k, !k) outs(%o, %l : !q, !lse)
      mask causal, (%b, %h, %p, %j) {
        %reach = arith.constant 40 : index
        %more = arith.muli %h, %reach : index
        %sum = arith.addi %more, %reach : index
        %distance = arith.subi %p, %j : index
        %keep = arith.cmpi sle, %distance, %sum : index
        attn.yield %keep : i1
      }
  %r_s = shard.shard %r#0 to %s : !q
  return %r_s, %r#1 : !q, !lse
}

// Sizes that ranks divide, of f64.
!s = tensor<2x4x96x16xf64>
shard.grid @pair(shape = 2)
func.func @static(%query: !s, %key: !s, %value: !s) -> !s {
  %s = shard.sharding @pair split_axes = [[], [], [0]] : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !s
  %key_s = shard.shard %key to %s annotate_for_users : !s
  %value_s = shard.shard %value to %s annotate_for_users : !s
  %o = tensor.empty() : !s
  %r = attn.attention ins(%query_s, %key_s, %value_s : !s, !s, !s) outs(%o : !s) mask causal
  return %r : !s
}

// The same with heads along another axis, and two pieces of rows of each rank.
!z = tensor<1x2x64x16xf32>
func.func @heads_and_pieces(%query: !z, %key: !z, %value: !z, %sink: tensor<2xf32>) -> !z {
  %s = shard.sharding @grid split_axes = [[], [0], [1]] {attn.zigzag} : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !z
  %key_s = shard.shard %key to %s annotate_for_users : !z
  %value_s = shard.shard %value to %s annotate_for_users : !z
  %o = tensor.empty() : !z
  %r = attn.attention ins(%query_s, %key_s, %value_s : !z, !z, !z) outs(%o : !z)
      sink(%sink : tensor<2xf32>) mask causal, (%b, %h, %p, %j) {
        %reach = arith.constant 40 : index
        %more = arith.muli %h, %reach : index
        %sum = arith.addi %more, %reach : index
        %distance = arith.subi %p, %j : index
        %keep = arith.cmpi sle, %distance, %sum : index
        attn.yield %keep : i1
      }
  return %r : !z
}

// The same where keys are gathered, and where rows become heads: of the four of a
// rank along the one axis, each along the other one gets two.
func.func @gathered_pieces(%query: !z, %key: !z, %value: !z, %sink: tensor<2xf32>) -> !z {
  %s = shard.sharding @grid split_axes = [[], [0], [1]] {attn.zigzag} : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !z
  %key_s = shard.shard %key to %s annotate_for_users : !z
  %value_s = shard.shard %value to %s annotate_for_users : !z
  %o = tensor.empty() : !z
  %r = attn.attention ins(%query_s, %key_s, %value_s : !z, !z, !z) outs(%o : !z)
      sink(%sink : tensor<2xf32>) mask causal, (%b, %h, %p, %j) {
        %reach = arith.constant 40 : index
        %more = arith.muli %h, %reach : index
        %sum = arith.addi %more, %reach : index
        %distance = arith.subi %p, %j : index
        %keep = arith.cmpi sle, %distance, %sum : index
        attn.yield %keep : i1
      } {attn.exchange = "gather"}
  return %r : !z
}

!wide = tensor<1x8x64x16xf32>
func.func @ulysses_of_pieces(%query: !wide, %key: !wide, %value: !wide, %sink: tensor<8xf32>) -> !wide {
  %s = shard.sharding @grid split_axes = [[], [0], [1]] {attn.zigzag} : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !wide
  %key_s = shard.shard %key to %s annotate_for_users : !wide
  %value_s = shard.shard %value to %s annotate_for_users : !wide
  %o = tensor.empty() : !wide
  %r = attn.attention ins(%query_s, %key_s, %value_s : !wide, !wide, !wide) outs(%o : !wide)
      sink(%sink : tensor<8xf32>) mask causal, (%b, %h, %p, %j) {
        %reach = arith.constant 40 : index
        %more = arith.muli %h, %reach : index
        %sum = arith.addi %more, %reach : index
        %distance = arith.subi %p, %j : index
        %keep = arith.cmpi sle, %distance, %sum : index
        attn.yield %keep : i1
      } {attn.exchange = "ulysses"}
  return %r : !wide
}

// Two pieces of queries, whose log-sum-exps are those of all keys.
func.func @gathered_dropout(%query: !q, %key: !k, %value: !k, %seed: i64, %call: i32) -> (!q, !lse) {
  %s = shard.sharding @all split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !q
  %key_s = shard.shard %key to %s annotate_for_users : !k
  %value_s = shard.shard %value to %s annotate_for_users : !k
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query_s, %key_s, %value_s : !q, !k, !k) outs(%o, %l : !q, !lse)
      dropout(0.3, %seed, %call) mask sliding_window(100, 20) {attn.exchange = "gather"}
  return %r#0, %r#1 : !q, !lse
}

// Gradients of heads along one axis and two pieces of rows along the other, whose
// keys are gathered.
!zl = tensor<1x2x64xf32>
func.func @gradients_of_pieces(%query: !z, %key: !z, %value: !z, %gradient: !z,
    %sink: tensor<2xf32>, %slopes: tensor<2xf32>)
    -> (!z, !z, !z, tensor<2xf32>, tensor<2xf32>) {
  %s = shard.sharding @grid split_axes = [[], [0], [1]] {attn.zigzag} : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !z
  %key_s = shard.shard %key to %s annotate_for_users : !z
  %value_s = shard.shard %value to %s annotate_for_users : !z
  %o = tensor.empty() : !z
  %l = tensor.empty() : !zl
  %r:2 = attn.attention ins(%query_s, %key_s, %value_s : !z, !z, !z) outs(%o, %l : !z, !zl)
      sink(%sink : tensor<2xf32>) score alibi(%slopes : tensor<2xf32>) mask causal
      {attn.exchange = "gather"}
  %t = tensor.empty() : tensor<2xf32>
  %d:5 = attn.attention_backward
      ins(%query_s, %key_s, %value_s, %r#0, %r#1, %gradient : !z, !z, !z, !z, !zl, !z)
      outs(%o, %o, %o, %t, %t : !z, !z, !z, tensor<2xf32>, tensor<2xf32>)
      sink(%sink : tensor<2xf32>) score alibi(%slopes : tensor<2xf32>) mask causal
      gradients(sink, 0) {attn.exchange = "gather"}
  return %d#0, %d#1, %d#2, %d#3, %d#4 : !z, !z, !z, tensor<2xf32>, tensor<2xf32>
}

// Refused: what regions capture is whole.
func.func @captured(%query: !q, %key: !k, %value: !k, %of_query: tensor<2x?xi32>) -> !q {
  %s = shard.sharding @pair split_axes = [[], [], [0]] : !shard.sharding
  %d = shard.sharding @pair split_axes = [[], [0]] : !shard.sharding
  %query_s = shard.shard %query to %s annotate_for_users : !q
  %key_s = shard.shard %key to %s annotate_for_users : !k
  %value_s = shard.shard %value to %s annotate_for_users : !k
  %documents = shard.shard %of_query to %d annotate_for_users : tensor<2x?xi32>
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %o = tensor.empty(%n) : !q
  %r = attn.attention ins(%query_s, %key_s, %value_s : !q, !k, !k) outs(%o : !q)
      mask document(%documents, %documents : tensor<2x?xi32>, tensor<2x?xi32>)
  return %r : !q
}

// A layer with a fused weight and biases, and caches of its heads.
!tokens = tensor<2x?x24xf32>
!cache = tensor<2x2x64x16xf32>
func.func @layer(%x: !tokens, %weight: tensor<24x128xf32>, %bias: tensor<128xf32>,
    %output: tensor<64x24xbf16>, %output_bias: tensor<24xf32>, %norm: tensor<16xf32>,
    %cosine: tensor<64x8xf32>, %sine: tensor<64x8xf32>,
    %keys: !cache {bufferization.writable = true},
    %values: !cache {bufferization.writable = true}, %stored: tensor<2xi32>,
    %counts: tensor<2xi32>) -> (!tokens, !cache, !cache) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !tokens
  %o = tensor.empty(%n) : !tokens
  %y:3 = attn.multi_head_attention heads(4, 2) sizes(16, 16)
      ins(%x : !tokens) outs(%o, %keys, %values : !tokens, !cache, !cache)
      qkv(%weight, %bias : tensor<24x128xf32>, tensor<128xf32>)
      output(%output, %output_bias : tensor<64x24xbf16>, tensor<24xf32>)
      norms(%norm, %norm : tensor<16xf32>, tensor<16xf32>)
      rope half_split(%cosine, %sine : tensor<64x8xf32>, tensor<64x8xf32>)
      lengths(%stored : tensor<2xi32>) counts(%counts : tensor<2xi32>)
      mask causal
  return %y#0, %y#1, %y#2 : !tokens, !cache, !cache
}

// The same of a whole prompt, with a gate, of bf16.
!prompt = tensor<1x?x32xbf16>
func.func @prompt(%x: !prompt, %weight: tensor<32x128xbf16>,
    %gate: tensor<32x4xbf16>, %output: tensor<64x32xbf16>,
    %output_bias: tensor<32xf32>, %cosine: tensor<512x8xf32>,
    %sine: tensor<512x8xf32>) -> !prompt {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !prompt
  %o = tensor.empty(%n) : !prompt
  %y = attn.multi_head_attention heads(4, 2) sizes(16, 16)
      ins(%x : !prompt) outs(%o : !prompt) qkv(%weight : tensor<32x128xbf16>)
      gate heads(%gate : tensor<32x4xbf16>)
      output(%output, %output_bias : tensor<64x32xbf16>, tensor<32xf32>)
      rope interleaved(%cosine, %sine : tensor<512x8xf32>, tensor<512x8xf32>)
      mask causal
  return %y : !prompt
}

// A network of two products, of which the first has the columns of a rank, in
// panels, and the second one the rows. What is between them is in a function.
!hidden = tensor<2x?x64xf32>
shard.grid @all(shape = ?)
func.func private @gated(%x: !hidden, %y: !hidden) -> !hidden {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !hidden
  %o = tensor.empty(%n) : !hidden
  %z = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : !hidden, !hidden) outs(%o : !hidden) {
  ^bb0(%a: f32, %b: f32, %unused: f32):
    // What numbers columns counts those of the whole.
    %j = linalg.index 2 : index
    %k = arith.index_cast %j : index to i32
    %l = arith.sitofp %k : i32 to f32
    %c = arith.mulf %a, %b : f32
    %d = arith.mulf %c, %l : f32
    linalg.yield %d : f32
  } -> !hidden
  %doubled = arith.addf %z, %z : !hidden
  return %doubled : !hidden
}
func.func @network(%x: !tokens, %up: tensor<8x24x16xf32>,
    %down: tensor<3x32x8x2xbf16>) -> !tokens {
  %columns = shard.sharding @all split_axes = [[0]] : !shard.sharding
  %up_s = shard.shard %up to %columns annotate_for_users : tensor<8x24x16xf32>
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !tokens
  %h0 = tensor.empty(%n) : !hidden
  %h:2 = attn.projection ins(%x, %up_s : !tokens, tensor<8x24x16xf32>)
      outs(%h0, %h0 : !hidden, !hidden)
  %g = call @gated(%h#0, %h#1) : (!hidden, !hidden) -> !hidden
  %o = tensor.empty(%n) : !tokens
  %y = attn.projection ins(%g, %down : !hidden, tensor<3x32x8x2xbf16>)
      outs(%o : !tokens)
  return %y : !tokens
}

// Rotary positions alone: rows of ranks count those of the whole.
!rotated = tensor<?x2x?x16xf32>
func.func @rotated(%rows: !rotated, %cosine: tensor<512x8xf32>,
    %sine: tensor<512x8xf32>) -> !rotated {
  %split = shard.sharding @all split_axes = [[], [], [0]] {attn.zigzag} : !shard.sharding
  %rows_s = shard.shard %rows to %split annotate_for_users : !rotated
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %rows, %c0 : !rotated
  %n = tensor.dim %rows, %c2 : !rotated
  %o = tensor.empty(%b, %n) : !rotated
  %r = attn.rope half_split
      ins(%rows_s, %cosine, %sine : !rotated, tensor<512x8xf32>, tensor<512x8xf32>)
      outs(%o : !rotated)
  return %r : !rotated
}

// A step of decoding on caches of which each rank has some positions, of sizes
// that ranks do not divide: the new key is of one of them.
!new = tensor<2x2x1x16xf32>
!rows = tensor<2x4x1x16xf32>
!contiguous = tensor<2x2x?x16xf32>
func.func @step(%query: !rows, %new_key: !new, %new_value: !new,
    %keys: !contiguous {bufferization.writable = true},
    %values: !contiguous {bufferization.writable = true},
    %stored: tensor<2xi32>, %sink: tensor<4xf32>, %cosine: tensor<512x8xf32>,
    %sine: tensor<512x8xf32>) -> (!rows, !contiguous, !contiguous) {
  %positions = shard.sharding @all split_axes = [[], [], [0]] : !shard.sharding
  %keys_s = shard.shard %keys to %positions annotate_for_users : !contiguous
  %values_s = shard.shard %values to %positions annotate_for_users : !contiguous
  %k0 = tensor.empty() : !new
  %k1 = attn.rope half_split
      ins(%new_key, %cosine, %sine : !new, tensor<512x8xf32>, tensor<512x8xf32>)
      outs(%k0 : !new) offset(%stored : tensor<2xi32>)
  %keys_1 = attn.cache_append ins(%k1 : !new) outs(%keys_s : !contiguous)
      lengths(%stored : tensor<2xi32>)
  %values_1 = attn.cache_append ins(%new_value : !new) outs(%values_s : !contiguous)
      lengths(%stored : tensor<2xi32>)
  %one = arith.constant dense<1> : tensor<2xi32>
  %after = arith.addi %stored, %one : tensor<2xi32>
  %c2 = arith.constant 2 : index
  %n = tensor.dim %keys, %c2 : !contiguous
  %k = attn.cache_read ins(%keys_1 : !contiguous) lengths(%after : tensor<2xi32>)
      size(%n) -> !contiguous
  %v = attn.cache_read ins(%values_1 : !contiguous) lengths(%after : tensor<2xi32>)
      size(%n) -> !contiguous
  %o = tensor.empty() : !rows
  %r = attn.attention ins(%query, %k, %v : !rows, !contiguous, !contiguous)
      outs(%o : !rows) offset(%stored : tensor<2xi32>) sink(%sink : tensor<4xf32>)
      mask causal, sliding_window(60, 0)
  return %r, %keys_1, %values_1 : !rows, !contiguous, !contiguous
}

// The same in pages of int8 that each rank has some of, and of several rows.
!several = tensor<2x2x?x16xf32>
!queries = tensor<2x4x?x16xf32>
!pages = tensor<?x2x8x16xi8>
!scales = tensor<?x2x8xf32>
func.func @paged(%query: !queries, %new_key: !several, %new_value: !several,
    %keys: !pages {bufferization.writable = true},
    %values: !pages {bufferization.writable = true},
    %key_scales: !scales {bufferization.writable = true},
    %value_scales: !scales {bufferization.writable = true},
    %table: tensor<2x?xi32>, %stored: tensor<2xi32>, %counts: tensor<2xi32>,
    %size: index) -> (!queries, !pages, !pages, !scales, !scales) {
  %columns = shard.sharding @all split_axes = [[], [0]] : !shard.sharding
  %table_s = shard.shard %table to %columns annotate_for_users : tensor<2x?xi32>
  %keys_1:2 = attn.cache_append ins(%new_key : !several)
      outs(%keys, %key_scales : !pages, !scales) lengths(%stored : tensor<2xi32>)
      counts(%counts : tensor<2xi32>) table(%table_s : tensor<2x?xi32>)
  %values_1:2 = attn.cache_append ins(%new_value : !several)
      outs(%values, %value_scales : !pages, !scales) lengths(%stored : tensor<2xi32>)
      counts(%counts : tensor<2xi32>) table(%table_s : tensor<2x?xi32>)
  %after = arith.addi %stored, %counts : tensor<2xi32>
  %k = attn.cache_read ins(%keys_1#0, %keys_1#1 : !pages, !scales)
      lengths(%after : tensor<2xi32>) table(%table_s : tensor<2x?xi32>)
      size(%size) -> !several
  %v = attn.cache_read ins(%values_1#0, %values_1#1 : !pages, !scales)
      lengths(%after : tensor<2xi32>) table(%table_s : tensor<2x?xi32>)
      size(%size) -> !several
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !queries
  %o = tensor.empty(%n) : !queries
  %r = attn.attention ins(%query, %k, %v : !queries, !several, !several)
      outs(%o : !queries) offset(%stored : tensor<2xi32>)
      counts(%counts : tensor<2xi32>) mask causal
  return %r, %keys_1#0, %values_1#0, %keys_1#1, %values_1#1
      : !queries, !pages, !pages, !scales, !scales
}

// Gradients of all that has some, with those of what is whole.
func.func @gradients(%query: !q, %key: !k, %value: !k, %gradient: !q,
    %lse_gradient: !lse, %sink: tensor<4xf32>, %slopes: tensor<4xf32>)
    -> (!q, !k, !k, tensor<4xf32>, tensor<4xf32>) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %m = tensor.dim %key, %c2 : !k
  %o = tensor.empty(%n) : !q
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query, %key, %value : !q, !k, !k) outs(%o, %l : !q, !lse)
      sink(%sink : tensor<4xf32>) score alibi(%slopes : tensor<4xf32>) mask causal
  %k = tensor.empty(%m) : !k
  %s = tensor.empty() : tensor<4xf32>
  %d:5 = attn.attention_backward
      ins(%query, %key, %value, %r#0, %r#1, %gradient, %lse_gradient
          : !q, !k, !k, !q, !lse, !q, !lse)
      outs(%o, %k, %k, %s, %s : !q, !k, !k, tensor<4xf32>, tensor<4xf32>)
      sink(%sink : tensor<4xf32>) score alibi(%slopes : tensor<4xf32>) mask causal
      gradients(sink, 0)
  return %d#0, %d#1, %d#2, %d#3, %d#4 : !q, !k, !k, tensor<4xf32>, tensor<4xf32>
}

// With dropout, of bf16.
!dq = tensor<2x4x?x16xbf16>
!dk = tensor<2x2x?x16xbf16>
func.func @dropout_gradients(%query: !dq, %key: !dk, %value: !dk, %gradient: !dq,
    %seed: i64, %call: i32) -> (!dq, !lse, !dq, !dk, !dk) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !dq
  %m = tensor.dim %key, %c2 : !dk
  %o = tensor.empty(%n) : !dq
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query, %key, %value : !dq, !dk, !dk) outs(%o, %l : !dq, !lse)
      dropout(0.3, %seed, %call) mask causal
  %k = tensor.empty(%m) : !dk
  %d:3 = attn.attention_backward
      ins(%query, %key, %value, %r#0, %r#1, %gradient : !dq, !dk, !dk, !dq, !lse, !dq)
      outs(%o, %k, %k : !dq, !dk, !dk) dropout(0.3, %seed, %call) mask causal
  return %r#0, %r#1, %d#0, %d#1, %d#2 : !dq, !lse, !dq, !dk, !dk
}

// Of a packed batch with dropout, whose keys and lines are those of sequences.
func.func @packed_dropout(%query: !pq, %key: !pk, %value: !pk, %gradient: !pq,
    %of_query: tensor<?xi32>, %of_key: tensor<?xi32>, %seed: i64, %call: i32)
    -> (!pq, !pq, !pk, !pk) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !pq
  %m = tensor.dim %key, %c2 : !pk
  %o = tensor.empty(%n) : !pq
  %l = tensor.empty(%n) : !pl
  %r:2 = attn.attention ins(%query, %key, %value : !pq, !pk, !pk) outs(%o, %l : !pq, !pl)
      sequences(%of_query, %of_key : tensor<?xi32>, tensor<?xi32>)
      dropout(0.3, %seed, %call) mask sliding_window(30, 20)
  %k = tensor.empty(%m) : !pk
  %d:3 = attn.attention_backward
      ins(%query, %key, %value, %r#0, %r#1, %gradient : !pq, !pk, !pk, !pq, !pl, !pq)
      outs(%o, %k, %k : !pq, !pk, !pk)
      sequences(%of_query, %of_key : tensor<?xi32>, tensor<?xi32>)
      dropout(0.3, %seed, %call) mask sliding_window(30, 20)
  return %r#0, %d#0, %d#1, %d#2 : !pq, !pq, !pk, !pk
}

// Of bf16, with those of a sink and of slopes of it.
func.func @narrow_gradients(%query: !dq, %key: !dk, %value: !dk, %gradient: !dq,
    %sink: tensor<4xbf16>, %slopes: tensor<4xf16>)
    -> (!dq, !dk, !dk, tensor<4xbf16>, tensor<4xf16>) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !dq
  %m = tensor.dim %key, %c2 : !dk
  %o = tensor.empty(%n) : !dq
  %l = tensor.empty(%n) : !lse
  %r:2 = attn.attention ins(%query, %key, %value : !dq, !dk, !dk) outs(%o, %l : !dq, !lse)
      sink(%sink : tensor<4xbf16>) score alibi(%slopes : tensor<4xf16>) mask causal
  %k = tensor.empty(%m) : !dk
  %s = tensor.empty() : tensor<4xbf16>
  %t = tensor.empty() : tensor<4xf16>
  %d:5 = attn.attention_backward
      ins(%query, %key, %value, %r#0, %r#1, %gradient : !dq, !dk, !dk, !dq, !lse, !dq)
      outs(%o, %k, %k, %s, %t : !dq, !dk, !dk, tensor<4xbf16>, tensor<4xf16>)
      sink(%sink : tensor<4xbf16>) score alibi(%slopes : tensor<4xf16>) mask causal
      gradients(sink, 0)
  return %d#0, %d#1, %d#2, %d#3, %d#4 : !dq, !dk, !dk, tensor<4xbf16>, tensor<4xf16>
}

// Of a packed batch, of bf16.
func.func @packed_gradients(%query: !pq, %key: !pk, %value: !pk, %gradient: !pq,
    %of_query: tensor<?xi32>, %of_key: tensor<?xi32>) -> (!pq, !pk, !pk) {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !pq
  %m = tensor.dim %key, %c2 : !pk
  %o = tensor.empty(%n) : !pq
  %l = tensor.empty(%n) : !pl
  %r:2 = attn.attention ins(%query, %key, %value : !pq, !pk, !pk) outs(%o, %l : !pq, !pl)
      sequences(%of_query, %of_key : tensor<?xi32>, tensor<?xi32>)
      mask causal, sliding_window(30, 0)
  %k = tensor.empty(%m) : !pk
  %d:3 = attn.attention_backward
      ins(%query, %key, %value, %r#0, %r#1, %gradient : !pq, !pk, !pk, !pq, !pl, !pq)
      outs(%o, %k, %k : !pq, !pk, !pk)
      sequences(%of_query, %of_key : tensor<?xi32>, tensor<?xi32>)
      mask causal, sliding_window(30, 0)
  return %d#0, %d#1, %d#2 : !pq, !pk, !pk
}

// Rows of queries alone: the gradients of keys are sums over ranks.
func.func @gradients_of_rows(%query: !q, %key: !k, %value: !k, %output: !q,
    %lse: !lse, %gradient: !q) -> (!q, !k, !k) {
  %split = shard.sharding @all split_axes = [[], [], [0]] : !shard.sharding
  %query_s = shard.shard %query to %split annotate_for_users : !q
  %c2 = arith.constant 2 : index
  %n = tensor.dim %query, %c2 : !q
  %m = tensor.dim %key, %c2 : !k
  %o = tensor.empty(%n) : !q
  %k = tensor.empty(%m) : !k
  %d:3 = attn.attention_backward
      ins(%query_s, %key, %value, %output, %lse, %gradient : !q, !k, !k, !q, !lse, !q)
      outs(%o, %k, %k : !q, !k, !k) mask sliding_window(40, 3)
  return %d#0, %d#1, %d#2 : !q, !k, !k
}
