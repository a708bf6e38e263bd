//===- scores.h - How scores change before the softmax ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SCORES_H
#define ATTN_SCORES_H

#include "attn/export.h"
#include "attn/masks.h"

#include <concepts>
#include <vector>

namespace attn {

/// How the score of a query and a key changes before the softmax: not at all,
/// unless said otherwise. `a | b` is first `a`, then `b`.
class Score {
public:
  Score() = default;
  explicit Score(detail::Item item) : sequence{std::move(item)} {}
  /// Each value is a function of the score that the item before it gives.
  const std::vector<detail::Item> &items() const { return sequence; }

  friend ATTN_EXPORT Score operator|(const Score &a, const Score &b);

private:
  std::vector<detail::Item> sequence;
};

/// What a function makes of the score, batch (or sequence), query head,
/// position of the query and position of the key. The score is the scaled dot
/// product, in natural-log units:
///
///     score([](Expr s, Index b, Index h, Index q, Index k) {
///       return s * exp(-abs(q - k) / 100.0f);
///     })
template <typename Function> Score score(Function &&function) {
  using detail::getPosition, detail::Symbol;
  if constexpr (!std::invocable<Function &, Expr, Index, Index, Index, Index>) {
    static_assert(
        detail::never<Function>,
        "a score takes (s, b, h, q, k), an attn::Expr and four attn::Index");
    return Score();
  } else if constexpr (!std::convertible_to<
                           std::invoke_result_t<Function &, Expr, Index, Index,
                                                Index, Index>,
                           Expr>) {
    static_assert(detail::never<Function>,
                  "a score gives an attn::Expr, such as s - abs(q - k)");
    return Score();
  } else {
    Expr changed =
        function(Expr(detail::getSymbol(Symbol::score)),
                 getPosition(Symbol::batch), getPosition(Symbol::head),
                 getPosition(Symbol::query), getPosition(Symbol::key));
    return Score(detail::Item{changed.node(), {}, {}, {}});
  }
}

/// `cap * tanh(s / cap)`: bounds scores by a positive number, or by a Scalar: a
/// call with one that is not positive and finite is an error.
ATTN_EXPORT Score softcap(const Real &cap);

namespace detail {
ATTN_EXPORT Score createAlibi(const Real &slope, const DeclarationPtr &slopes);
ATTN_EXPORT Score createBias(const DeclarationPtr &bias, Symbol query);
} // namespace detail

/// `s - slopes(h) * abs(q - k)`, with one slope for each query head (Press et
/// al., arXiv:2108.12409).
template <typename T>
  requires std::same_as<detail::ExpressionOf<T>, Real>
Score alibi(const Tensor<T, 1> &slopes) {
  return detail::createAlibi(slopes(detail::getPosition(detail::Symbol::head)),
                             slopes.declaration());
}

/// `s + terms(b, h, q, k)`, with the position `q` of the query, which an offset
/// moves: a tensor of all positions. Leading dimensions may be missing, and a
/// dimension of a size that is known to be 1 stands for any.
template <typename T, int Rank>
  requires(std::same_as<detail::ExpressionOf<T>, Real> && Rank <= 4)
Score bias(const Tensor<T, Rank> &terms) {
  return detail::createBias(terms.declaration(), detail::Symbol::query);
}

/// `s + terms(b, h, i, k)`, with the row `i` of the query (see Rows):
///
///     bias(rows(terms))
template <typename T, int Rank>
  requires(std::same_as<detail::ExpressionOf<T>, Real> && Rank <= 4)
Score bias(const Rows<T, Rank> &terms) {
  return detail::createBias(terms.tensor.declaration(), detail::Symbol::row);
}

} // namespace attn

#endif // ATTN_SCORES_H
