//===- multi_head_attention.h - Layers written in C++ -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MULTI_HEAD_ATTENTION_H
#define ATTN_MULTI_HEAD_ATTENTION_H

#include "attn/cached_attention.h"

namespace attn {

/// Rotates queries and keys by their positions (Su et al., arXiv:2104.09864).
/// Tables are (S_max, size / 2) of f32.
struct Rotary {
  std::int64_t size;        ///< Of what is rotated of a head; even.
  bool interleaved = false; ///< Pairs (2k, 2k + 1) rather than halves.
  /// Every token's position is an argument. If not, they count from the
  /// lengths of caches or from the offset. Sequences need it.
  bool hasPositions = false;
};

/// Normalises heads by the root of their mean square (Zhang and Sennrich,
/// arXiv:1910.07467), times weights, of queries and keys or of the attention's
/// output, or of both.
struct HeadNorms {
  double epsilon; ///< Positive.
  bool ofQueriesAndKeys = true;
  bool ofOutput = false;
  /// The output also times 0.2 + 0.6 exp(-0.3 layer), from 0 on (Ye et al.,
  /// arXiv:2410.05258).
  std::optional<std::int64_t> layer = {};
};

/// Weights (rows, columns) as panels of columns, (ceil(columns / width), rows,
/// width), or with pairs of rows side by side, of which there is an even
/// number, (ceil(columns / width), rows / 2, width, 2): as products read them.
struct WeightPanels {
  std::int64_t width;
  bool inPairs = false;
};

/// A layer of multi-head attention (Vaswani et al., arXiv:1706.03762): what
/// attn.multi_head_attention is. Its kernel takes, as far as there are:
///
///   input                    (B, S, width)
///   source                   (B, Skv, sourceWidth), or
///   key, value               (B, Hkv, Skv, Dk) and (B, Hkv, Skv, Dv)
///   qkv_weight, or query_weight, key_weight and value_weight; output_weight;
///   gate_weight              (features, columns), or panels of it
///   query_norm, key_norm     (Dk)
///   output_norm              (Dv)
///   cosine, sine             (S_max, rotary size / 2), f32
///   positions                (B, S), i32
///   key_cache, value_cache   (B, Hkv, capacity, D), updated in place, or
///                            (pages, Hkv, pageSize, D)
///   key_scales, value_scales the same without D, f32
///   lengths                  (B), i32: the rows that are in them
///   counts                   (B), i32: the tokens of each sequence
///   table                    (B, pages of a sequence), i32
///   size                     i64
///
/// and after them what `attention` mentions. A weight of i8 is followed by its
/// scales, f32, such as qkv_weight_scales, and a weight with a bias by that,
/// f32 (f64 if the layer is), such as qkv_weight_bias; both have one number for
/// each column. The kernel gives the output (B, S, outputWidth), and the
/// caches with their scales.
///
///     MultiHeadAttention layer{.attention = {.queryHeads = 9,
///                                            .keyValueHeads = 3,
///                                            .headSize = 64,
///                                            .mask = causal()},
///                              .width = 576,
///                              .weights = ElementType::bf16,
///                              .rotary = Rotary{.size = 64},
///                              .cache = LayerCache{}};
///     Expected<Kernel> kernel = engine.compile(*layer.text());
///
/// On the pages of a PagedCache of i8, with `.cache = LayerCache{.type =
/// ElementType::i8, .pageSize = 16}` and the `lengths` before the step:
///
///     kernel->run({input, qkv, output, cosine, sine, pages.keys(),
///                  pages.values(), pages.keyScales(), pages.valueScales(),
///                  step->lengths(), step->table()},
///                 {result, pages.keys(), pages.values(), pages.keyScales(),
///                  pages.valueScales()});
struct MultiHeadAttention {
  /// Types, heads, sizes, score, mask and the rest of the attention itself.
  /// Heads are at most 2^30. There is no log-sum-exp, the scale is a number,
  /// and an offset is not Offset::bottomRight(). The key length is that of a
  /// source or of finished keys. Its tensors and scalars do not have the names
  /// above.
  Attention attention = {};
  std::int64_t width = 1;                       ///< Of the input, M.
  std::optional<std::int64_t> outputWidth = {}; ///< `width` if absent.
  /// f32, f16, bf16 or i8, or f64 if the layer is.
  ElementType weights = ElementType::f32;
  std::optional<WeightPanels> panels = {};
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
  std::optional<HeadNorms> headNorms = {};
  std::optional<Rotary> rotary = {};
  /// None with sequences.
  std::optional<LayerCache> cache = {};
  /// Rate of the dropout of the output, in [0, 1). It takes seed and call of
  /// the attention's dropout, which may have the rate 0.
  double outputDropout = 0;

  /// The kernel as IR: a function of the name "layer". An error names the
  /// member that is wrong.
  ATTN_EXPORT Expected<std::string> text() const;
};

} // namespace attn

#endif // ATTN_MULTI_HEAD_ATTENTION_H
