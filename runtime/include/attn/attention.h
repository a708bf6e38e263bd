//===- attention.h - A variant of attention, in C++ -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_H
#define ATTN_ATTENTION_H

#include "attn/element_type.h"
#include "attn/error.h"
#include "attn/export.h"
#include "attn/masks.h"
#include "attn/scores.h"
#include "attn/tensor.h"

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace attn {

/// The number of tokens before the first query, whose position it is; at most
/// 2^61 in magnitude. A number, an argument with one for all, or an argument of
/// shape (B) with one for each batch, or sequence. `Offset::bottomRight()` is
/// the key length less the query length.
class Offset {
public:
  Offset(detail::Integer auto tokens) : Offset(Index(tokens)) {}
  template <detail::Integer T>
  Offset(const Scalar<T> &tokens) : Offset(Index(tokens)) {}
  template <detail::Integer T>
  Offset(const Tensor<T, 1> &tokens) : choice(tokens.declaration()) {}
  static Offset bottomRight() { return Offset(); }

  /// Nothing for bottomRight, a number or scalar, or a tensor.
  const std::variant<std::monostate, Index, detail::DeclarationPtr> &
  value() const {
    return choice;
  }

private:
  Offset() = default;
  explicit Offset(const Index &tokens) : choice(tokens) {}
  std::variant<std::monostate, Index, detail::DeclarationPtr> choice;
};

/// One logit for each query head, (Hq), that joins the softmax of each row and
/// has no value (Xiao et al., arXiv:2309.17453). No wider than the scores.
class Sink {
public:
  template <typename T>
    requires std::same_as<detail::ExpressionOf<T>, Real>
  Sink(const Tensor<T, 1> &logits) : logits(logits.declaration()) {}
  const detail::DeclarationPtr &declaration() const { return logits; }

private:
  detail::DeclarationPtr logits;
};

/// A packed batch: B is 1, and sequence n has the queries and keys from the
/// n-th cumulative length up to the next; (N + 1) numbers each, which do not
/// decrease and end within the buffers. Batch `b` is then the sequence, and
/// positions count within it.
struct Sequences {
  Tensor<std::int32_t, 1> cumulativeQuery, cumulativeKey;
};

/// Drops probabilities, with the generator Philox. `call` makes calls of one
/// seed differ.
struct Dropout {
  double rate; ///< In [0, 1).
  Scalar<std::int64_t> seed;
  Scalar<std::int32_t> call;
};

/// A variant of attention. Its kernel takes `query` (B, Hq, Sq, Dk), `key`
/// (B, Hkv, Skv, Dk) and `value` (B, Hkv, Skv, Dv); after them every Tensor and
/// Scalar that is mentioned below, once, in the order of the members and, in an
/// expression, from left to right; a summarized Tensor is followed by its
/// BlockSummary. They have other names than these three. It gives the output
/// (B, Hq, Sq, Dv).
///
///     Tensor<float, 1> slopes("slopes", 8);
///     Attention attention{.queryHeads = 8,
///                         .keyValueHeads = 2,
///                         .headSize = 64,
///                         .score = alibi(slopes) | softcap(30.0f),
///                         .mask = causal() && slidingWindow(255, 0)};
///     Expected<Kernel> kernel = engine.compile(attention);
struct Attention {
  /// Of query, key, value and output: f64, f32, f16 or bf16.
  ElementType type = ElementType::f32;
  std::int64_t queryHeads = 1; ///< Hq, a multiple of Hkv.
  /// Hkv; as many as query heads if absent.
  std::optional<std::int64_t> keyValueHeads = {};
  std::int64_t headSize = 64;                     ///< Dk, 1 to 4096.
  std::optional<std::int64_t> valueHeadSize = {}; ///< Dv; Dk if absent.
  std::int64_t batch = dynamic;                   ///< B.
  std::int64_t queryLength = dynamic;             ///< Sq.
  std::int64_t keyLength = dynamic;               ///< Skv.
  /// Of the dot products, a number or a Scalar of the scores' precision;
  /// 1 / sqrt(Dk) if absent.
  std::optional<Real> scale = {};
  std::optional<Offset> offset = {}; ///< 0 if absent.
  std::optional<Sink> sink = {};
  std::optional<Sequences> sequences = {};
  std::optional<Dropout> dropout = {};
  Score score = {}; ///< Is applied before the mask.
  Mask mask = {};
  /// Also gives the log-sum-exp (B, Hq, Sq) of the scores, in their precision.
  bool logSumExp = false;
  /// What a query gets is, to the bit, the same in whatever number they come,
  /// so that a prompt may be cut into any chunks. Few queries are slower with
  /// it (docs/lowering-decode.md); for CPUs, and not in a layer.
  bool isBatchInvariant = false;

  /// The kernel as IR: a function of the name "attention". An error names the
  /// member that is wrong and, in masks and scores, the expression.
  ATTN_EXPORT Expected<std::string> text() const;
};

} // namespace attn

#endif // ATTN_ATTENTION_H
