//===- tensor.h - Arguments that masks and scores read ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TENSOR_H
#define ATTN_TENSOR_H

#include "attn/element_type.h"
#include "attn/expression.h"
#include "attn/tensor_view.h"

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace attn {

/// A size that is only known when a kernel is called.
inline constexpr std::int64_t dynamic = -1;

namespace detail {

/// An argument of a kernel. Two of one name must be alike, and are then one.
struct Declaration {
  std::string name;
  ElementType type = ElementType::f32;
  bool isTensor = true;
  std::vector<std::int64_t> shape;
  /// Sizes of the blocks whose ranges are an argument too; none if empty.
  std::vector<std::int64_t> blocks = {};
  /// The kernel updates it in place.
  bool isUpdated = false;
  bool operator==(const Declaration &) const = default;
};

/// Copied, never moved from, so that it always has a declaration.
class DeclarationPtr {
public:
  explicit DeclarationPtr(Declaration declaration)
      : pointer(std::make_shared<const Declaration>(std::move(declaration))) {}
  DeclarationPtr(const DeclarationPtr &) = default;
  DeclarationPtr &operator=(const DeclarationPtr &) = default;
  const Declaration &operator*() const { return *pointer; }
  const Declaration *operator->() const { return pointer.get(); }

private:
  std::shared_ptr<const Declaration> pointer;
};

ATTN_EXPORT NodePtr createScalar(const DeclarationPtr &scalar);
ATTN_EXPORT NodePtr createLoad(const DeclarationPtr &tensor,
                               std::vector<NodePtr> indices);

/// What an element of type T is in expressions.
template <typename T>
using ExpressionOf =
    std::conditional_t<std::same_as<T, bool>, Bool,
                       std::conditional_t<std::integral<T>, Index, Real>>;

} // namespace detail

/// A tensor of `T` (see `elementTypeOf`) with `Rank` dimensions that a kernel
/// takes as an argument called `name`. `slopes(h)` is one of its elements: an
/// Index if `T` is an integer, a Bool if it is `bool`, otherwise a Real. An
/// element outside of it is an error of the call where a visible position
/// depends on it. What is passed for a tensor that a named mask or score reads
/// must have the sizes of the call's batch, heads, queries and keys: that of
/// queries is free where an offset moves their positions, but for tensors that
/// are read by `rows`, and so are those of queries and keys in packed
/// sequences.
template <typename T, int Rank> class Tensor {
  static_assert(Rank >= 1 && Rank <= TensorView::maxRank);

public:
  /// Of any size.
  explicit Tensor(std::string_view name)
      : Tensor(name, std::vector<std::int64_t>(Rank, dynamic)) {}

  /// Of these sizes, some of which may be `dynamic`. A size that is known to be
  /// 1 is broadcast by `bias` and `boolean`.
  template <detail::Integer... Sizes>
    requires(sizeof...(Sizes) == Rank)
  explicit Tensor(std::string_view name, Sizes... sizes)
      : Tensor(name, std::vector<std::int64_t>{std::int64_t(sizes)...}) {}

  template <typename... Indices>
  detail::ExpressionOf<T> operator()(const Indices &...indices) const {
    constexpr bool isElement = sizeof...(Indices) == Rank &&
                               (std::convertible_to<Indices, Index> && ...);
    static_assert(isElement, "an element has as many indices as its tensor has "
                             "dimensions, each an attn::Index");
    if constexpr (isElement)
      return detail::ExpressionOf<T>(
          detail::createLoad(tensor, {Index(indices).node()...}));
    else
      return detail::ExpressionOf<T>(detail::NodePtr());
  }

  /// The same tensor of a kernel that does not compute the ranges of its blocks
  /// in every call: it takes them, as one more argument after the tensor, from
  /// a BlockSummary (see block_summary.h), which many calls of many kernels
  /// share. Sizes of blocks are powers of two: 32 suits a dimension of
  /// positions, 1 any other.
  template <detail::Integer... Sizes>
    requires(sizeof...(Sizes) == Rank && Rank < TensorView::maxRank &&
             !std::same_as<detail::ExpressionOf<T>, Real>)
  Tensor summarized(Sizes... blocks) const {
    detail::Declaration declaration = *tensor;
    declaration.blocks = {std::int64_t(blocks)...};
    return Tensor(std::move(declaration));
  }

  const detail::DeclarationPtr &declaration() const { return tensor; }

private:
  Tensor(std::string_view name, std::vector<std::int64_t> shape)
      : Tensor(detail::Declaration{std::string(name), elementTypeOf<T>, true,
                                   std::move(shape)}) {}
  explicit Tensor(detail::Declaration declaration)
      : tensor(std::move(declaration)) {}

  detail::DeclarationPtr tensor;
};

/// A number that a kernel takes as an argument called `name`: in expressions an
/// Index, a Bool or a Real, as an element of a Tensor is.
template <typename T> class Scalar : public detail::ExpressionOf<T> {
public:
  explicit Scalar(std::string_view name)
      : detail::ExpressionOf<T>(
            detail::createScalar(detail::DeclarationPtr(detail::Declaration{
                std::string(name), elementTypeOf<T>, false, {}}))) {}
};

} // namespace attn

#endif // ATTN_TENSOR_H
