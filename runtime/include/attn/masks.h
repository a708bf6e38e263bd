//===- masks.h - Which keys a query attends to ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MASKS_H
#define ATTN_MASKS_H

#include "attn/export.h"
#include "attn/expression.h"
#include "attn/tensor.h"

#include <concepts>
#include <cstdint>
#include <string>
#include <vector>

namespace attn {

namespace detail {

/// What a lambda's arguments are, and the row that a query has in the call.
enum class Symbol : std::uint8_t { score, batch, head, query, key, row };
ATTN_EXPORT NodePtr getSymbol(Symbol symbol);
inline Index getPosition(Symbol symbol) { return Index(getSymbol(symbol)); }

/// One item of a mask or a score: its value, and the name it has in IR.
struct Item {
  /// Lists of more are refused, and do not grow further.
  static constexpr std::size_t maxItems = 1000;

  NodePtr value;
  std::string name; ///< Empty: the value is written out.
  std::string literals;
  std::vector<DeclarationPtr> arguments;
  std::vector<Item> parts = {}; ///< Named ones that `||` and `!` combined.
};

} // namespace detail

/// Which keys a query attends to: all of them, unless said otherwise. Masks are
/// combined with `&&`, `||` and `!`.
class Mask {
public:
  Mask() = default;
  explicit Mask(detail::Item item) : conjunction{std::move(item)} {}
  const std::vector<detail::Item> &items() const { return conjunction; }

  friend ATTN_EXPORT Mask operator&&(const Mask &a, const Mask &b);
  friend ATTN_EXPORT Mask operator||(const Mask &a, const Mask &b);
  friend ATTN_EXPORT Mask operator!(const Mask &a);

private:
  std::vector<detail::Item> conjunction;
};

/// Keeps the positions where a function of batch (or sequence), query head,
/// position of the query and position of the key is true:
///
///     mask([](Index b, Index h, Index q, Index k) { return k % 4 == 0; })
template <typename Function> Mask mask(Function &&function) {
  using detail::getPosition, detail::Symbol;
  if constexpr (!std::invocable<Function &, Index, Index, Index, Index>) {
    static_assert(detail::never<Function>,
                  "a mask takes (b, h, q, k), each an attn::Index");
    return Mask();
  } else if constexpr (!std::convertible_to<
                           std::invoke_result_t<Function &, Index, Index, Index,
                                                Index>,
                           Bool>) {
    static_assert(detail::never<Function>,
                  "a mask gives an attn::Bool, such as k <= q");
    return Mask();
  } else {
    Bool keep = function(getPosition(Symbol::batch), getPosition(Symbol::head),
                         getPosition(Symbol::query), getPosition(Symbol::key));
    return Mask(detail::Item{keep.node(), {}, {}, {}});
  }
}

/// Keys up to the query's position.
ATTN_EXPORT Mask causal();

/// Keys from `left` before to `right` after the query's position; -1 is
/// unbounded on that side, else 0 to 2^61.
ATTN_EXPORT Mask slidingWindow(std::int64_t left, std::int64_t right);

namespace detail {
ATTN_EXPORT Mask createPrefixLM(const Index &length,
                                const DeclarationPtr &lengths);
ATTN_EXPORT Mask createKeyPadding(const Bool &keep,
                                  const DeclarationPtr &padding);
ATTN_EXPORT Mask createDocument(const Bool &keep, const DeclarationPtr &ofQuery,
                                const DeclarationPtr &ofKey);
ATTN_EXPORT Mask createBoolean(const DeclarationPtr &allowed, Symbol query);
} // namespace detail

/// The first `lengths(b)` keys, and those up to the query's position.
template <detail::Integer T> Mask prefixLM(const Tensor<T, 1> &lengths) {
  return detail::createPrefixLM(
      lengths(detail::getPosition(detail::Symbol::batch)),
      lengths.declaration());
}

/// The first `lengths(b)` keys.
template <detail::Integer T> Mask keyPadding(const Tensor<T, 1> &lengths) {
  using detail::getPosition, detail::Symbol;
  return detail::createKeyPadding(getPosition(Symbol::key) <
                                      lengths(getPosition(Symbol::batch)),
                                  lengths.declaration());
}

/// The keys where `present(b, k)`.
inline Mask keyPadding(const Tensor<bool, 2> &present) {
  using detail::getPosition, detail::Symbol;
  return detail::createKeyPadding(
      present(getPosition(Symbol::batch), getPosition(Symbol::key)),
      present.declaration());
}

/// Keys of the query's document: where `ofQuery(b, q) == ofKey(b, k)`.
template <detail::Integer T>
Mask document(const Tensor<T, 2> &ofQuery, const Tensor<T, 2> &ofKey) {
  using detail::getPosition, detail::Symbol;
  Index b = getPosition(Symbol::batch);
  return detail::createDocument(ofQuery(b, getPosition(Symbol::query)) ==
                                    ofKey(b, getPosition(Symbol::key)),
                                ofQuery.declaration(), ofKey.declaration());
}

/// Where `allowed(b, h, q, k)`, with the position `q` of the query, which an
/// offset moves: a tensor of all positions. Leading dimensions may be missing,
/// and a dimension of a size that is known to be 1 stands for any.
template <int Rank>
  requires(Rank <= 4)
Mask boolean(const Tensor<bool, Rank> &allowed) {
  return detail::createBoolean(allowed.declaration(), detail::Symbol::query);
}

/// A tensor that `boolean` and `bias` index by the row of the query in the call
/// (or in its sequence), whatever its position is, as PyTorch and ONNX do: of
/// the sizes of the call.
template <typename T, int Rank> struct Rows {
  Tensor<T, Rank> tensor;
};
template <typename T, int Rank>
Rows<T, Rank> rows(const Tensor<T, Rank> &tensor) {
  return {tensor};
}

/// Where `allowed(b, h, i, k)`, with the row `i` of the query:
///
///     boolean(rows(allowed))
template <int Rank>
  requires(Rank <= 4)
Mask boolean(const Rows<bool, Rank> &allowed) {
  return detail::createBoolean(allowed.tensor.declaration(),
                               detail::Symbol::row);
}

} // namespace attn

#endif // ATTN_MASKS_H
