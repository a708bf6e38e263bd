// A model of the llama kind: a layer, and the logits after tokens. Any number of
// tokens. After activations.mlir and the weights of one type, whose arguments are
// called as in the model file, and their scales `<name>_scales`.

// Of several processes, each has some of the heads, and of what is within the
// feed-forward network. Alone, the annotations have no effect.
shard.grid @ranks(shape = ?)

// x / sqrt(mean(x^2) + epsilon) * weight, of each row (Zhang and Sennrich, "Root
// Mean Square Layer Normalization", arXiv:1910.07467).
func.func private @rms_norm(%x: !rows, %weight: !vector, %epsilon: f32) -> !factor_rows {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %width = arith.constant {width}.0 : f32
  %n = tensor.dim %x, %c1 : !rows
  %sums_init = tensor.empty(%n) : !sums
  %zeros = linalg.fill ins(%zero : f32) outs(%sums_init : !sums) -> !sums
  %sums = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x : !rows) outs(%zeros : !sums) {
  ^bb0(%element: f32, %sum: f32):
    %square = arith.mulf %element, %element : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> !sums
  %init = tensor.empty(%n) : !factor_rows
  %normed = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i)>,
                       affine_map<(b, i, j) -> (j)>,
                       affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sums, %weight : !rows, !sums, !vector) outs(%init : !factor_rows) {
  ^bb0(%element: f32, %sum: f32, %scale: f32, %unused: !factor):
    %mean = arith.divf %sum, %width : f32
    %shifted = arith.addf %mean, %epsilon : f32
    %root = math.sqrt %shifted : f32
    %reciprocal = arith.divf %one, %root : f32 // One for a row.
    %unit = arith.mulf %element, %reciprocal : f32
    %scaled = arith.mulf %unit, %scale : f32
    %factor = func.call @to_factor(%scaled) : (f32) -> !factor
    linalg.yield %factor : !factor
  } -> !factor_rows
  return %normed : !factor_rows
}

// silu(gate) * up (Shazeer, "GLU Variants Improve Transformer", arXiv:2002.05202).
func.func private @gated(%gate: !factor_hidden, %up: !factor_hidden)
    -> !factor_hidden {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %gate, %c1 : !factor_hidden
  %init = tensor.empty(%n) : !factor_hidden
  %products = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%gate, %up : !factor_hidden, !factor_hidden)
      outs(%init : !factor_hidden) {
  ^bb0(%gate_factor: !factor, %up_factor: !factor, %unused: !factor):
    %g = func.call @from_factor(%gate_factor) : (!factor) -> f32
    %u = func.call @from_factor(%up_factor) : (!factor) -> f32
    %negative = arith.negf %g : f32
    %exp = math.exp %negative fastmath<afn> : f32
    %denominator = arith.addf %exp, %one : f32
    %silu = arith.divf %g, %denominator fastmath<arcp> : f32
    %product = arith.mulf %silu, %u : f32
    %factor = func.call @to_factor(%product) : (f32) -> !factor
    linalg.yield %factor : !factor
  } -> !factor_hidden
  return %products : !factor_hidden
}

// x + y.
func.func private @add(%x: !rows, %y: !rows) -> !rows {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !rows
  %init = tensor.empty(%n) : !rows
  %sum = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : !rows, !rows) outs(%init : !rows) {
  ^bb0(%a: f32, %b: f32, %unused: f32):
    %result = arith.addf %a, %b : f32
    linalg.yield %result : f32
  } -> !rows
  return %sum : !rows
}

// Appends the tokens' keys and values to the pages, which are updated in place,
// and attends to all of each sequence.
func.func private @attend(
    %query: !query, %key: !key, %value: !key, %cosine: !angles, %sine: !angles,
    %key_pages: !pages, %value_pages: !pages, %table: !table, %before: !lengths,
    %after: !lengths, %sequences: !lengths, %positions: !positions)
    -> (!query, !pages, !pages) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %n = tensor.dim %query, %c2 : !query
  %query_init = tensor.empty(%n) : !query
  %key_init = tensor.empty(%n) : !key
  %rotated_query = attn.rope half_split
      ins(%query, %cosine, %sine : !query, !angles, !angles)
      outs(%query_init : !query) positions(%positions : !positions)
  %rotated_key = attn.rope half_split
      ins(%key, %cosine, %sine : !key, !angles, !angles)
      outs(%key_init : !key) positions(%positions : !positions)
  %keys = attn.cache_append ins(%rotated_key : !key) outs(%key_pages : !pages)
      lengths(%before : !lengths) table(%table : !table)
      sequences(%sequences : !lengths)
  %values = attn.cache_append ins(%value : !key) outs(%value_pages : !pages)
      lengths(%before : !lengths) table(%table : !table)
      sequences(%sequences : !lengths)

  %pages = tensor.dim %table, %c1 : !table
  %size = arith.muli %pages, %c16 : index
  %all_keys = attn.cache_read ins(%keys : !pages) lengths(%after : !lengths)
      table(%table : !table) size(%size) -> !stored
  %all_values = attn.cache_read ins(%values : !pages) lengths(%after : !lengths)
      table(%table : !table) size(%size) -> !stored
  %init = tensor.empty(%n) : !query
  %attended = attn.attention
      ins(%rotated_query, %all_keys, %all_values : !query, !stored, !stored)
      outs(%init : !query) offset(%before : !lengths)
      sequences(%sequences : !lengths) mask causal
  return %attended, %keys, %values : !query, !pages, !pages
}

// Activations (1, n, width) of n tokens, those of each sequence after those of the
// one before: `sequences` are where they begin, and the end. Angles (positions, pairs);
// pages, table and lengths as attn::PagedCache gives them.
func.func @layer(
    %x: !rows, %attn_norm: !vector,
    %attn_q: !query_panels, %attn_q_scales: !query_scales,
    %attn_k: !key_panels, %attn_k_scales: !key_scales,
    %attn_v: !key_panels, %attn_v_scales: !key_scales,
    %attn_output: !output_panels, %attn_output_scales: !output_scales,
    %ffn_norm: !vector,
    %ffn_gate: !hidden_panels, %ffn_gate_scales: !hidden_scales,
    %ffn_up: !hidden_panels, %ffn_up_scales: !hidden_scales,
    %ffn_down: !down_panels, %ffn_down_scales: !down_scales,
    %epsilon: f32, %cosine: !angles, %sine: !angles,
    %key_pages: !pages {bufferization.writable = true},
    %value_pages: !pages {bufferization.writable = true},
    %table: !table, %before: !lengths, %after: !lengths, %sequences: !lengths,
    %positions: !positions) -> (!rows, !pages, !pages) {
  %outputs = shard.sharding @ranks split_axes = [[0]] : !shard.sharding
  %query_weight = shard.shard %attn_q to %outputs annotate_for_users
      : !query_panels
  %gate_weight = shard.shard %ffn_gate to %outputs annotate_for_users
      : !hidden_panels
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !rows
  %normed = call @rms_norm(%x, %attn_norm, %epsilon)
      : (!rows, !vector, f32) -> !factor_rows
  %query_init = tensor.empty(%n) : !query
  %key_init = tensor.empty(%n) : !key
  %query = call @project_query(
      %normed, %query_weight, %attn_q_scales, %query_init)
      : (!factor_rows, !query_panels, !query_scales, !query) -> !query
  %key = call @project_key(
      %normed, %attn_k, %attn_k_scales, %key_init)
      : (!factor_rows, !key_panels, !key_scales, !key) -> !key
  %value = call @project_key(
      %normed, %attn_v, %attn_v_scales, %key_init)
      : (!factor_rows, !key_panels, !key_scales, !key) -> !key
  %attended, %keys, %values = call @attend(
      %query, %key, %value, %cosine, %sine, %key_pages, %value_pages, %table,
      %before, %after, %sequences, %positions)
      : (!query, !key, !key, !angles, !angles, !pages, !pages, !table, !lengths,
      !lengths, !lengths, !positions) -> (!query, !pages, !pages)
  %rows_init = tensor.empty(%n) : !rows
  %y = call @project_heads(
      %attended, %attn_output, %attn_output_scales, %rows_init)
      : (!query, !output_panels, !output_scales, !rows) -> !rows
  %x1 = call @add(%x, %y) : (!rows, !rows) -> !rows

  %normed1 = call @rms_norm(%x1, %ffn_norm, %epsilon)
      : (!rows, !vector, f32) -> !factor_rows
  %hidden_init = tensor.empty(%n) : !factor_hidden
  %gate = call @project_hidden(
      %normed1, %gate_weight, %ffn_gate_scales, %hidden_init)
      : (!factor_rows, !hidden_panels, !hidden_scales, !factor_hidden)
      -> !factor_hidden
  %up = call @project_hidden(
      %normed1, %ffn_up, %ffn_up_scales, %hidden_init)
      : (!factor_rows, !hidden_panels, !hidden_scales, !factor_hidden)
      -> !factor_hidden
  %hidden = call @gated(%gate, %up)
      : (!factor_hidden, !factor_hidden) -> !factor_hidden
  %y1 = call @project_down(
      %hidden, %ffn_down, %ffn_down_scales, %rows_init)
      : (!factor_hidden, !down_panels, !down_scales, !rows) -> !rows
  %x2 = call @add(%x1, %y1) : (!rows, !rows) -> !rows
  return %x2, %keys, %values : !rows, !pages, !pages
}

// The logits of what comes after each of the tokens with activations (1, n, width).
func.func @logits(%x: !rows, %output_norm: !vector, %output: !logit_panels,
                  %output_scales: !logit_scales, %epsilon: f32) -> !logits {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : !rows
  %normed = call @rms_norm(%x, %output_norm, %epsilon)
      : (!rows, !vector, f32) -> !factor_rows
  %init = tensor.empty(%n) : !logits
  %logits = call @project_logits(%normed, %output, %output_scales, %init)
      : (!factor_rows, !logit_panels, !logit_scales, !logits) -> !logits
  return %logits : !logits
}
