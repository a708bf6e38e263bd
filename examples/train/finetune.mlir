// What trains the layers of a model of the llama kind, in f32. In braces are sizes,
// which the program takes from a model's file. The gradients of @layer and @norm are
// attn-gradient's.
//
// Tokens (batch, length, width); weights (inputs, outputs), which are called as in the
// model file.

!tokens = tensor<{batch}x{length}x{width}xf32>
!one_head = tensor<{batch}x1x{length}x{width}xf32>
!query = tensor<{batch}x{heads}x{length}x{head_size}xf32>
!key = tensor<{batch}x{key_heads}x{length}x{head_size}xf32>
!log_sum_exp = tensor<{batch}x{heads}x{length}xf32>
!hidden = tensor<{batch}x{length}x{hidden}xf32>
!angles = tensor<{length}x{rotary_size/2}xf32>
!vector = tensor<{width}xf32>
!query_weight = tensor<{width}x{query_width}xf32>
!key_weight = tensor<{width}x{key_width}xf32>
!output_weight = tensor<{query_width}x{width}xf32>
!hidden_weight = tensor<{width}x{hidden}xf32>
!down_weight = tensor<{hidden}x{width}xf32>
!queries = tensor<1x1x{tokens}x{width}xf32>
!losses = tensor<1x1x{tokens}xf32>
!embeddings = tensor<1x1x{vocabulary}x{width}xf32>
!list = tensor<?xf32>

// x / sqrt(mean(x^2) + epsilon) * weight, of each row.
func.func @norm(%x: !tokens, %weight: !vector) -> !tokens {
  %init = tensor.empty() : !one_head
  %rows = tensor.expand_shape %x [[0], [1, 2], [3]]
      output_shape [{batch}, 1, {length}, {width}] : !tokens into !one_head
  %normed = attn.head_norm ins(%rows, %weight : !one_head, !vector)
      outs(%init : !one_head) epsilon({epsilon})
  %result = tensor.collapse_shape %normed [[0], [1, 2], [3]]
      : !one_head into !tokens
  return %result : !tokens
}

// silu(gate) * up.
func.func private @gated(%gate: !hidden, %up: !hidden) -> !hidden {
  %one = arith.constant 1.0 : f32
  %init = tensor.empty() : !hidden
  %products = linalg.generic {
      indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>,
                       affine_map<(b, i, j) -> (b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%gate, %up : !hidden, !hidden) outs(%init : !hidden) {
  ^bb0(%g: f32, %u: f32, %unused: f32):
    %negative = arith.negf %g : f32
    %exp = math.exp %negative : f32
    %denominator = arith.addf %exp, %one : f32
    %silu = arith.divf %g, %denominator : f32
    %product = arith.mulf %silu, %u : f32
    linalg.yield %product : f32
  } -> !hidden
  return %products : !hidden
}

// Beside the tokens after the layer, what its gradient takes and does not compute
// again: products and the attention.
func.func @layer(
    %x: !tokens, %attn_norm: !vector, %attn_q: !query_weight,
    %attn_k: !key_weight, %attn_v: !key_weight, %attn_output: !output_weight,
    %ffn_norm: !vector, %ffn_gate: !hidden_weight, %ffn_up: !hidden_weight,
    %ffn_down: !down_weight, %cosine: !angles, %sine: !angles)
    -> (!tokens, !query, !key, !key, !query, !log_sum_exp, !tokens, !hidden,
        !hidden) {
  %tokens = tensor.empty() : !tokens
  %query_init = tensor.empty() : !query
  %key_init = tensor.empty() : !key
  %sums = tensor.empty() : !log_sum_exp
  %hidden_init = tensor.empty() : !hidden
  %normed = call @norm(%x, %attn_norm) : (!tokens, !vector) -> !tokens
  %q = attn.projection ins(%normed, %attn_q : !tokens, !query_weight)
      outs(%query_init : !query)
  %k = attn.projection ins(%normed, %attn_k : !tokens, !key_weight)
      outs(%key_init : !key)
  %value = attn.projection ins(%normed, %attn_v : !tokens, !key_weight)
      outs(%key_init : !key)
  %query = attn.rope interleaved
      ins(%q, %cosine, %sine : !query, !angles, !angles)
      outs(%query_init : !query)
  %key = attn.rope interleaved ins(%k, %cosine, %sine : !key, !angles, !angles)
      outs(%key_init : !key)
  %attended, %log_sum_exp = attn.attention
      ins(%query, %key, %value : !query, !key, !key)
      outs(%query_init, %sums : !query, !log_sum_exp) mask causal
  %y = attn.projection ins(%attended, %attn_output : !query, !output_weight)
      outs(%tokens : !tokens)
  %x1 = arith.addf %x, %y : !tokens

  %normed1 = call @norm(%x1, %ffn_norm) : (!tokens, !vector) -> !tokens
  %gate = attn.projection ins(%normed1, %ffn_gate : !tokens, !hidden_weight)
      outs(%hidden_init : !hidden)
  %up = attn.projection ins(%normed1, %ffn_up : !tokens, !hidden_weight)
      outs(%hidden_init : !hidden)
  %hidden = call @gated(%gate, %up) : (!hidden, !hidden) -> !hidden
  %y1 = attn.projection ins(%hidden, %ffn_down : !hidden, !down_weight)
      outs(%tokens : !tokens)
  %x2 = arith.addf %x1, %y1 : !tokens
  return %x2, %query, %key, %value, %attended, %log_sum_exp, %x1, %gate, %up
      : !tokens, !query, !key, !key, !query, !log_sum_exp, !tokens, !hidden,
      !hidden
}

// The cross entropy of each token, normed, with the embedding of the one that follows,
// and the gradient of the mean. Logits l[j] = x . e[j] are never in memory: attention
// to the embeddings gives log(sum of exp(l[j])), and, with them as the values, its
// gradient, which is the sum of softmax(l)[j] * e[j].
func.func @loss(%x: !tokens, %embeddings: !embeddings, %following: !queries)
    -> (!losses, !tokens) {
  %one = arith.constant 1.0 : f32
  %count = arith.constant {tokens}.0 : f32
  %zero = arith.constant 0.0 : f32
  %losses_init = tensor.empty() : !losses
  %queries_init = tensor.empty() : !queries
  %rows = tensor.collapse_shape %x [[0, 1], [2]]
      : !tokens into tensor<{tokens}x{width}xf32>
  %queries = tensor.expand_shape %rows [[0, 1, 2], [3]]
      output_shape [1, 1, {tokens}, {width}]
      : tensor<{tokens}x{width}xf32> into !queries
  %expected, %log_sum_exp = attn.attention
      ins(%queries, %embeddings, %embeddings
          : !queries, !embeddings, !embeddings)
      outs(%queries_init, %losses_init : !queries, !losses) scale(%one : f32)
  %losses = linalg.generic {
      indexing_maps = [affine_map<(a, b, i, j) -> (a, b, i, j)>,
                       affine_map<(a, b, i, j) -> (a, b, i, j)>,
                       affine_map<(a, b, i, j) -> (a, b, i)>],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%queries, %following : !queries, !queries)
      outs(%log_sum_exp : !losses) {
  ^bb0(%a: f32, %e: f32, %rest: f32):
    %product = arith.mulf %a, %e : f32
    %difference = arith.subf %rest, %product : f32
    linalg.yield %difference : f32
  } -> !losses
  %gradient = linalg.generic {
      indexing_maps = [affine_map<(a, b, i, j) -> (a, b, i, j)>,
                       affine_map<(a, b, i, j) -> (a, b, i, j)>,
                       affine_map<(a, b, i, j) -> (a, b, i, j)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%expected, %following : !queries, !queries)
      outs(%queries_init : !queries) {
  ^bb0(%mean: f32, %e: f32, %unused: f32):
    %difference = arith.subf %mean, %e : f32
    %share = arith.divf %difference, %count : f32
    linalg.yield %share : f32
  } -> !queries
  %gradient_rows = tensor.collapse_shape %gradient [[0, 1, 2], [3]]
      : !queries into tensor<{tokens}x{width}xf32>
  %of_x = tensor.expand_shape %gradient_rows [[0, 1], [2]]
      output_shape [{batch}, {length}, {width}]
      : tensor<{tokens}x{width}xf32> into !tokens
  return %losses, %of_x : !losses, !tokens
}

// AdamW (Loshchilov and Hutter, arXiv:1711.05101), in place. `of_mean` and `of_square`
// are 1 - beta^step of both averages.
func.func @update(%weights: !list {bufferization.writable = true},
                  %means: !list {bufferization.writable = true},
                  %squares: !list {bufferization.writable = true},
                  %gradients: !list, %rate: f32, %of_mean: f32, %of_square: f32)
    -> (!list, !list, !list) {
  %beta1 = arith.constant 0.9 : f32
  %beta2 = arith.constant 0.999 : f32
  %rest1 = arith.constant 0.1 : f32
  %rest2 = arith.constant 0.001 : f32
  %epsilon = arith.constant 1.0e-8 : f32
  %decay = arith.constant 0.01 : f32
  %updated:3 = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                       affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%gradients : !list)
      outs(%weights, %means, %squares : !list, !list, !list) {
  ^bb0(%g: f32, %w: f32, %m: f32, %s: f32):
    %m0 = arith.mulf %m, %beta1 : f32
    %m1 = arith.mulf %g, %rest1 : f32
    %mean = arith.addf %m0, %m1 : f32
    %g2 = arith.mulf %g, %g : f32
    %s0 = arith.mulf %s, %beta2 : f32
    %s1 = arith.mulf %g2, %rest2 : f32
    %square = arith.addf %s0, %s1 : f32
    %unbiased = arith.divf %square, %of_square : f32
    %root = math.sqrt %unbiased : f32
    %denominator = arith.addf %root, %epsilon : f32
    %scaled = arith.mulf %of_mean, %denominator : f32
    %direction = arith.divf %mean, %scaled : f32
    %decayed = arith.mulf %decay, %w : f32
    %change = arith.addf %direction, %decayed : f32
    %step = arith.mulf %rate, %change : f32
    %weight = arith.subf %w, %step : f32
    linalg.yield %weight, %mean, %square : f32, f32, f32
  } -> (!list, !list, !list)
  return %updated#0, %updated#1, %updated#2 : !list, !list, !list
}
