//===- multi_token_attention.h - Multi-token attention in C++ ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MULTI_TOKEN_ATTENTION_H
#define ATTN_MULTI_TOKEN_ATTENTION_H

#include "attn/attention.h"

namespace attn {

/// What is done to scores, or to probabilities, of neighbouring tokens and
/// heads: a convolution, and then a mixing of heads.
struct MultiTokenStages {
  /// Sums over the query itself and `queries - 1` before it, and over the key
  /// itself and `(keys - 1) / 2` on either side; and, with `heads`, over those
  /// of the head's group.
  struct Kernel {
    std::int64_t queries = 1; ///< cq.
    std::int64_t keys = 1;    ///< ck, an odd number.
    /// ch, which divides Hq; each head by itself if absent.
    std::optional<std::int64_t> heads = {};
  };
  std::optional<Kernel> kernel = {};
  /// ch, which divides Hq: each head becomes a sum over its group of so many;
  /// no mixing if absent. Not with a kernel that has heads.
  std::optional<std::int64_t> mixedHeads = {};
};

/// Root mean square normalisation of the output of each head (Zhang and
/// Sennrich, arXiv:1910.07467).
struct HeadNorm {
  double epsilon = 1e-5;
  /// The number l of the layer scales by 1 - (0.8 - 0.6 * exp(-0.3 * l))
  /// (Ye et al., arXiv:2410.05258).
  std::optional<std::int64_t> layer = {};
};

/// Attention whose weights depend on those of neighbouring queries, keys and
/// heads (Golovneva et al., arXiv:2504.00927): what attn.multi_token_attention
/// is. Its kernel takes `query`, `key` and `value` as that of an Attention does
/// and, as far as there are:
///
///   kernel_before   (Hq, cq, ck), or (Hq, ch, cq, ck) with heads
///   mixing_before   (Hq / ch, ch, ch): group, head read, head written
///   kernel_after, mixing_after
///   head_norm       (Dv)
///   gate            (B, Hq, So): its sigmoid multiplies the output of a head
///
/// and after them what `attention` mentions. It gives the output (B, Hq, So,
/// Dv), where So is `past` less than Sq, and the log-sum-exp (B, Hq, So).
///
/// Defaults of the paper, for 16 heads:
///
///     MultiTokenAttention attention{
///         .attention = {.queryHeads = 16, .headSize = 64, .mask = causal()},
///         .before = {.kernel = {{.queries = 6, .keys = 11}}},
///         .after = {.mixedHeads = 2}};
///     Expected<Kernel> kernel = engine.compile(*attention.text());
struct MultiTokenAttention {
  /// Types, heads, sizes, score, mask and the rest of the attention itself,
  /// without sequences. Its tensors and scalars do not have the names above.
  Attention attention = {};
  MultiTokenStages before = {}; ///< On scores, which softmax follows.
  MultiTokenStages after = {};  ///< On probabilities, which are not normalised.
  /// Of kernels, mixing, head_norm and gate: f32, f16 or bf16, or f64 if the
  /// attention is.
  ElementType weights = ElementType::f32;
  /// First rows of the query that only convolutions of later ones read: in a
  /// decoding step, the last queries of the steps before it, as many as
  /// `cq - 1` of both kernels together.
  std::int64_t past = 0;
  std::optional<HeadNorm> headNorm = {};
  bool hasGate = false;

  /// The kernel as IR: a function of the name "attention". An error names the
  /// member that is wrong.
  ATTN_EXPORT Expected<std::string> text() const;
};

} // namespace attn

#endif // ATTN_MULTI_TOKEN_ATTENTION_H
