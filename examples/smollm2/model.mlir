// SmolLM2-135M: a layer, and the logits of a token. Any number of tokens.
//
// Weights (outputs, inputs) come in panels of 64 outputs, (outputs / 64, inputs,
// 64): those of queries, keys and values are a head each. Arguments of static
// shape have the names of the model file's tensors.

!rows = tensor<?x576xf32>
!vector = tensor<576xf32>
!block = tensor<?x64xf32>
!sums = tensor<?xf32>

!panels = tensor<?x576x64xbf16>
!panel = tensor<576x64xbf16>
!query_panels = tensor<9x576x64xbf16>
!key_panels = tensor<3x576x64xbf16>
!hidden_panels = tensor<24x576x64xbf16>
!down_panels = tensor<9x1536x64xbf16>
!down_panel = tensor<1536x64xbf16>
!logit_panels = tensor<768x576x64xbf16>

!heads = tensor<?x?x64xf32>
!query = tensor<1x9x?x64xf32>
!key = tensor<1x3x?x64xf32>
!angles = tensor<?x32xf32>
!pages = tensor<?x3x16x64xf32>
!lengths = tensor<?xi32>
!hidden = tensor<?x1536xf32>
!logits = tensor<768x64xf32>

// x / sqrt(mean(x^2) + epsilon) * weight, of each row (Zhang and Sennrich, "Root
// Mean Square Layer Normalization", arXiv:1910.07467).
func.func private @rms_norm(%x: !rows, %weight: !vector, %epsilon: f32) -> !rows {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %width = arith.constant 576.0 : f32
  %n = tensor.dim %x, %c0 : !rows
  %sums_init = tensor.empty(%n) : !sums
  %zeros = linalg.fill ins(%zero : f32) outs(%sums_init : !sums) -> !sums
  %sums = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : !rows) outs(%zeros : !sums) {
  ^bb0(%element: f32, %sum: f32):
    %square = arith.mulf %element, %element : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> !sums
  %init = tensor.empty(%n) : !rows
  %normed = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %sums, %weight : !rows, !sums, !vector) outs(%init : !rows) {
  ^bb0(%element: f32, %sum: f32, %scale: f32, %unused: f32):
    %mean = arith.divf %sum, %width : f32
    %shifted = arith.addf %mean, %epsilon : f32
    %root = math.sqrt %shifted : f32
    %unit = arith.divf %element, %root : f32
    %scaled = arith.mulf %unit, %scale : f32
    linalg.yield %scaled : f32
  } -> !rows
  return %normed : !rows
}

// x (n, 576) into heads (panels, n, 64), one panel each.
func.func private @project_heads(%x: !rows, %weight: !panels) -> !heads {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : !rows
  %heads = tensor.dim %weight, %c0 : !panels
  %init = tensor.empty(%heads, %n) : !heads
  %projected = scf.for %h = %c0 to %heads step %c1
      iter_args(%out = %init) -> !heads {
    %panel = tensor.extract_slice %weight[%h, 0, 0] [1, 576, 64] [1, 1, 1]
        : !panels to !panel
    %head = tensor.extract_slice %out[%h, 0, 0] [1, %n, 64] [1, 1, 1]
        : !heads to !block
    %zeros = linalg.fill ins(%zero : f32) outs(%head : !block) -> !block
    %sums = linalg.matmul ins(%x, %panel : !rows, !panel)
        outs(%zeros : !block) -> !block
    %next = tensor.insert_slice %sums into %out[%h, 0, 0] [1, %n, 64] [1, 1, 1]
        : !block into !heads
    scf.yield %next : !heads
  }
  return %projected : !heads
}

// x + attended * weight, where attended (9, n, 64) is 576 features of n tokens.
func.func private @project_output(%x: !rows, %attended: tensor<9x?x64xf32>,
                                  %weight: !query_panels) -> !rows {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %n = tensor.dim %x, %c0 : !rows
  %by_token_init = tensor.empty(%n) : tensor<?x9x64xf32>
  %by_token = linalg.transpose ins(%attended : tensor<9x?x64xf32>)
      outs(%by_token_init : tensor<?x9x64xf32>) permutation = [1, 0, 2]
  %features = tensor.collapse_shape %by_token [[0], [1, 2]]
      : tensor<?x9x64xf32> into !rows
  %init = tensor.empty(%n) : !rows
  %result = scf.for %i = %c0 to %c9 step %c1
      iter_args(%out = %init) -> !rows {
    %column = affine.apply affine_map<(i) -> (i * 64)> (%i)
    %panel = tensor.extract_slice %weight[%i, 0, 0] [1, 576, 64] [1, 1, 1]
        : !query_panels to !panel
    %old = tensor.extract_slice %x[0, %column] [%n, 64] [1, 1] : !rows to !block
    %new = tensor.extract_slice %out[0, %column] [%n, 64] [1, 1] : !rows to !block
    %start = linalg.copy ins(%old : !block) outs(%new : !block) -> !block
    %sums = linalg.matmul ins(%features, %panel : !rows, !panel)
        outs(%start : !block) -> !block
    %next = tensor.insert_slice %sums into %out[0, %column] [%n, 64] [1, 1]
        : !block into !rows
    scf.yield %next : !rows
  }
  return %result : !rows
}

// silu(x * gate) * (x * up), a panel of each at a time.
func.func private @gated(%x: !rows, %gate: !hidden_panels, %up: !hidden_panels)
    -> !hidden {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c24 = arith.constant 24 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %n = tensor.dim %x, %c0 : !rows
  %init = tensor.empty(%n) : !hidden
  %result = scf.for %i = %c0 to %c24 step %c1
      iter_args(%out = %init) -> !hidden {
    %column = affine.apply affine_map<(i) -> (i * 64)> (%i)
    %gate_panel = tensor.extract_slice %gate[%i, 0, 0] [1, 576, 64] [1, 1, 1]
        : !hidden_panels to !panel
    %up_panel = tensor.extract_slice %up[%i, 0, 0] [1, 576, 64] [1, 1, 1]
        : !hidden_panels to !panel
    %block = tensor.extract_slice %out[0, %column] [%n, 64] [1, 1]
        : !hidden to !block
    %gates_init = tensor.empty(%n) : !block
    %gates_zeros = linalg.fill ins(%zero : f32)
        outs(%gates_init : !block) -> !block
    %gates = linalg.matmul ins(%x, %gate_panel : !rows, !panel)
        outs(%gates_zeros : !block) -> !block
    %zeros = linalg.fill ins(%zero : f32) outs(%block : !block) -> !block
    %ups = linalg.matmul ins(%x, %up_panel : !rows, !panel)
        outs(%zeros : !block) -> !block
    %products = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>,
                         affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%gates : !block) outs(%ups : !block) {
    ^bb0(%g: f32, %u: f32):
      %negative = arith.negf %g : f32
      %exp = math.exp %negative : f32
      %denominator = arith.addf %exp, %one : f32
      %silu = arith.divf %g, %denominator : f32
      %product = arith.mulf %silu, %u : f32
      linalg.yield %product : f32
    } -> !block
    %next = tensor.insert_slice %products into %out[0, %column] [%n, 64] [1, 1]
        : !block into !hidden
    scf.yield %next : !hidden
  }
  return %result : !hidden
}

// x + hidden * weight.
func.func private @project_down(%x: !rows, %hidden: !hidden,
                                %weight: !down_panels) -> !rows {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %n = tensor.dim %x, %c0 : !rows
  %init = tensor.empty(%n) : !rows
  %result = scf.for %i = %c0 to %c9 step %c1
      iter_args(%out = %init) -> !rows {
    %column = affine.apply affine_map<(i) -> (i * 64)> (%i)
    %panel = tensor.extract_slice %weight[%i, 0, 0] [1, 1536, 64] [1, 1, 1]
        : !down_panels to !down_panel
    %old = tensor.extract_slice %x[0, %column] [%n, 64] [1, 1] : !rows to !block
    %new = tensor.extract_slice %out[0, %column] [%n, 64] [1, 1] : !rows to !block
    %start = linalg.copy ins(%old : !block) outs(%new : !block) -> !block
    %sums = linalg.matmul ins(%hidden, %panel : !hidden, !down_panel)
        outs(%start : !block) -> !block
    %next = tensor.insert_slice %sums into %out[0, %column] [%n, 64] [1, 1]
        : !block into !rows
    scf.yield %next : !rows
  }
  return %result : !rows
}

// Appends the tokens' keys and values to the pages, which are updated in place,
// and attends to all.
func.func private @attend(
    %query: !query, %key: !key, %value: !key, %cosine: !angles, %sine: !angles,
    %key_pages: !pages, %value_pages: !pages, %table: tensor<?x?xi32>,
    %before: !lengths, %after: !lengths) -> (!query, !pages, !pages) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  %n = tensor.dim %query, %c2 : !query
  %query_init = tensor.empty(%n) : !query
  %key_init = tensor.empty(%n) : !key
  %rotated_query = attn.rope half_split
      ins(%query, %cosine, %sine : !query, !angles, !angles)
      outs(%query_init : !query) offset(%before : !lengths)
  %rotated_key = attn.rope half_split
      ins(%key, %cosine, %sine : !key, !angles, !angles)
      outs(%key_init : !key) offset(%before : !lengths)
  %keys = attn.cache_append ins(%rotated_key : !key) outs(%key_pages : !pages)
      lengths(%before : !lengths) table(%table : tensor<?x?xi32>)
  %values = attn.cache_append ins(%value : !key) outs(%value_pages : !pages)
      lengths(%before : !lengths) table(%table : tensor<?x?xi32>)

  %pages = tensor.dim %table, %c1 : tensor<?x?xi32>
  %size = arith.muli %pages, %c16 : index
  %all_keys = attn.cache_read ins(%keys : !pages) lengths(%after : !lengths)
      table(%table : tensor<?x?xi32>) size(%size) -> !key
  %all_values = attn.cache_read ins(%values : !pages) lengths(%after : !lengths)
      table(%table : tensor<?x?xi32>) size(%size) -> !key
  %init = tensor.empty(%n) : !query
  %attended = attn.attention
      ins(%rotated_query, %all_keys, %all_values : !query, !key, !key)
      outs(%init : !query) offset(%before : !lengths) mask causal
  return %attended, %keys, %values : !query, !pages, !pages
}

// Activations (n, 576) of n tokens of one sequence; angles (positions, 32); pages
// as attn::PagedCache gives them.
func.func @layer(
    %x: !rows, %attn_norm: !vector, %attn_q: !query_panels, %attn_k: !key_panels,
    %attn_v: !key_panels, %attn_output: !query_panels, %ffn_norm: !vector,
    %ffn_gate: !hidden_panels, %ffn_up: !hidden_panels, %ffn_down: !down_panels,
    %epsilon: f32, %cosine: !angles, %sine: !angles,
    %key_pages: !pages {bufferization.writable = true},
    %value_pages: !pages {bufferization.writable = true},
    %table: tensor<?x?xi32>, %before: !lengths, %after: !lengths)
    -> (!rows, !pages, !pages) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : !rows
  %normed = call @rms_norm(%x, %attn_norm, %epsilon)
      : (!rows, !vector, f32) -> !rows
  %q_panels = tensor.cast %attn_q : !query_panels to !panels
  %k_panels = tensor.cast %attn_k : !key_panels to !panels
  %v_panels = tensor.cast %attn_v : !key_panels to !panels
  %q = call @project_heads(%normed, %q_panels) : (!rows, !panels) -> !heads
  %k = call @project_heads(%normed, %k_panels) : (!rows, !panels) -> !heads
  %v = call @project_heads(%normed, %v_panels) : (!rows, !panels) -> !heads
  %q9 = tensor.cast %q : !heads to tensor<9x?x64xf32>
  %k3 = tensor.cast %k : !heads to tensor<3x?x64xf32>
  %v3 = tensor.cast %v : !heads to tensor<3x?x64xf32>
  %query = tensor.expand_shape %q9 [[0, 1], [2], [3]] output_shape [1, 9, %n, 64]
      : tensor<9x?x64xf32> into !query
  %key = tensor.expand_shape %k3 [[0, 1], [2], [3]] output_shape [1, 3, %n, 64]
      : tensor<3x?x64xf32> into !key
  %value = tensor.expand_shape %v3 [[0, 1], [2], [3]] output_shape [1, 3, %n, 64]
      : tensor<3x?x64xf32> into !key
  %attended, %keys, %values = call @attend(
      %query, %key, %value, %cosine, %sine, %key_pages, %value_pages, %table,
      %before, %after) : (!query, !key, !key, !angles, !angles, !pages, !pages,
      tensor<?x?xi32>, !lengths, !lengths) -> (!query, !pages, !pages)
  %by_head = tensor.collapse_shape %attended [[0, 1], [2], [3]]
      : !query into tensor<9x?x64xf32>
  %x1 = call @project_output(%x, %by_head, %attn_output)
      : (!rows, tensor<9x?x64xf32>, !query_panels) -> !rows

  %normed1 = call @rms_norm(%x1, %ffn_norm, %epsilon)
      : (!rows, !vector, f32) -> !rows
  %hidden = call @gated(%normed1, %ffn_gate, %ffn_up)
      : (!rows, !hidden_panels, !hidden_panels) -> !hidden
  %x2 = call @project_down(%x1, %hidden, %ffn_down)
      : (!rows, !hidden, !down_panels) -> !rows
  return %x2, %keys, %values : !rows, !pages, !pages
}

// The logits of the token after the one of activations (1, 576).
func.func @logits(%x: !rows, %output_norm: !vector, %token_embd: !logit_panels,
                  %epsilon: f32) -> !logits {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c768 = arith.constant 768 : index
  %zero = arith.constant 0.0 : f32
  %normed = call @rms_norm(%x, %output_norm, %epsilon)
      : (!rows, !vector, f32) -> !rows
  %one_row = tensor.cast %normed : !rows to tensor<1x576xf32>
  %init = tensor.empty() : !logits
  %logits = scf.for %i = %c0 to %c768 step %c1
      iter_args(%out = %init) -> !logits {
    %panel = tensor.extract_slice %token_embd[%i, 0, 0] [1, 576, 64] [1, 1, 1]
        : !logit_panels to !panel
    %row = tensor.extract_slice %out[%i, 0] [1, 64] [1, 1]
        : !logits to tensor<1x64xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%row : tensor<1x64xf32>)
        -> tensor<1x64xf32>
    %sums = linalg.matmul ins(%one_row, %panel : tensor<1x576xf32>, !panel)
        outs(%zeros : tensor<1x64xf32>) -> tensor<1x64xf32>
    %next = tensor.insert_slice %sums into %out[%i, 0] [1, 64] [1, 1]
        : tensor<1x64xf32> into !logits
    scf.yield %next : !logits
  }
  return %logits : !logits
}
