//===- multi_head_attention.h - Layers written in C++ -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MULTI_HEAD_ATTENTION_H
#define ATTN_MULTI_HEAD_ATTENTION_H

#include "attn/attention.h"

namespace attn {

/// Rotates queries and keys by their positions (Su et al., arXiv:2104.09864).
/// Tables are (S_max, size / 2) of f32.
struct Rotary {
  std::int64_t size;        ///< Of what is rotated of a head; even.
  bool interleaved = false; ///< Pairs (2k, 2k + 1) rather than halves.
};

/// A layer of multi-head attention (Vaswani et al., arXiv:1706.03762): what
/// attn.multi_head_attention is. Its kernel takes, as far as there are:
///
///   input                    (B, S, width)
///   source                   (B, Skv, sourceWidth), or
///   key, value               (B, Hkv, Skv, Dk) and (B, Hkv, Skv, Dv)
///   qkv_weight, or query_weight, key_weight and value_weight; output_weight;
///   gate_weight              (features, columns)
///   query_norm, key_norm     (Dk)
///   cosine, sine             (S_max, rotary size / 2), f32
///   key_cache, value_cache   (B, Hkv, capacity, D), updated in place
///   lengths                  (B), i32: the rows that are in them
///
/// and after them what `attention` mentions. A weight of i8 is followed by its
/// scales, f32, such as qkv_weight_scales, and a weight with a bias by that,
/// f32 (f64 if the layer is), such as qkv_weight_bias; both have one number for
/// each column. The kernel gives the output (B, S, outputWidth), and the
/// caches.
///
///     MultiHeadAttention layer{.attention = {.queryHeads = 9,
///                                            .keyValueHeads = 3,
///                                            .headSize = 64,
///                                            .mask = causal()},
///                              .width = 576,
///                              .weights = ElementType::bf16,
///                              .rotary = Rotary{.size = 64},
///                              .isCached = true};
///     Expected<Kernel> kernel = engine.compile(*layer.text());
struct MultiHeadAttention {
  /// Types, heads, sizes, score, mask and the rest of the attention itself.
  /// Heads and their sizes are at most 2^30. There are no sequences and no
  /// log-sum-exp, the scale is a number, and an offset is not
  /// Offset::bottomRight(). The key length is that of a source or of finished
  /// keys. Its tensors and scalars do not have the names above.
  Attention attention = {};
  std::int64_t width = 1;                       ///< Of the input, M.
  std::optional<std::int64_t> outputWidth = {}; ///< `width` if absent.
  /// f32, f16, bf16 or i8, or f64 if the layer is.
  ElementType weights = ElementType::f32;
  /// One weight of queries, keys and values, which they have if absent; not
  /// where keys do not come from the input.
  std::optional<bool> isFused = {};
  bool hasBias = false;       ///< Of queries, keys and values.
  bool hasOutputBias = false; ///< Of the output.
  /// Keys and values are projected from a `source` of this width, by weights of
  /// their own.
  std::optional<std::int64_t> sourceWidth = {};
  /// Keys and values are finished arguments.
  bool hasMemory = false;
  /// Sigmoids that heads, or all their elements, are multiplied by (Qiu et al.,
  /// arXiv:2505.06708).
  enum class Gate { none, ofHeads, ofElements } gate = Gate::none;
  /// Normalises queries and keys, with this epsilon.
  std::optional<double> normEpsilon = {};
  std::optional<Rotary> rotary = {};
  /// Appends to caches, and attends to all that they have.
  bool isCached = false;
  /// Rate of the dropout of the output, in [0, 1). It takes seed and call of
  /// the attention's dropout, which may have the rate 0.
  double outputDropout = 0;

  /// The kernel as IR: a function of the name "layer". An error names the
  /// member that is wrong.
  ATTN_EXPORT Expected<std::string> text() const;
};

} // namespace attn

#endif // ATTN_MULTI_HEAD_ATTENTION_H
