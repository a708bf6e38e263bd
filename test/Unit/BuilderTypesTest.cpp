//===- BuilderTypesTest.cpp - Which expressions compile -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"

#include <functional>

namespace {

using namespace attn;

template <typename Operation, typename... Operands>
inline constexpr bool compiles =
    std::is_invocable_v<Operation, const Operands &...>;
template <typename Result, typename Operation, typename... Operands>
inline constexpr bool gives =
    std::is_same_v<Result,
                   std::invoke_result_t<Operation, const Operands &...>>;

using Plus = std::plus<>;
using Times = std::multiplies<>;
using Divide = std::divides<>;
using Remainder = std::modulus<>;
using Less = std::less<>;
using Equal = std::equal_to<>;
using And = std::logical_and<>;
using Or = std::logical_or<>;
using Not = std::logical_not<>;

// What mixes.
static_assert(gives<Index, Plus, Index, Index>);
static_assert(gives<Index, Plus, Index, int>);
static_assert(gives<Index, Times, std::int64_t, Index>);
static_assert(gives<Index, Remainder, Index, unsigned>);
static_assert(gives<Real, Plus, Index, float>);
static_assert(gives<Real, Divide, Index, double>);
static_assert(gives<Real, Times, Real, int>);
static_assert(gives<Real, Times, Real, Index>);
static_assert(gives<Bool, Less, Index, Real>);
static_assert(gives<Bool, Equal, Index, int>);
static_assert(gives<Bool, And, Bool, Bool>);
static_assert(gives<Bool, Or, bool, Bool>);
static_assert(gives<Index, Plus, Scalar<std::int32_t>, Scalar<std::int64_t>>);
static_assert(gives<Real, Times, Scalar<f16>, Index>);
static_assert(gives<Bool, And, Scalar<bool>, Bool>);

// What does not.
static_assert(!compiles<Remainder, Real, Index>);
static_assert(!compiles<Remainder, Index, double>);
static_assert(!compiles<Plus, Bool, Index>);
static_assert(!compiles<Plus, Index, bool>);
static_assert(!compiles<Plus, Bool, Bool>);
static_assert(!compiles<Times, Real, Bool>);
static_assert(!compiles<Less, Bool, Bool>);
static_assert(!compiles<Equal, Bool, Index>);
static_assert(!compiles<And, Index, Bool>);
static_assert(!compiles<And, Real, Real>);
static_assert(!compiles<Not, Index>);
static_assert(!compiles<Plus, Index, const char *>);
static_assert(!std::is_convertible_v<Real, Index>);
static_assert(!std::is_convertible_v<Bool, Index>);
static_assert(!std::is_convertible_v<Bool, Real>);
static_assert(!std::is_convertible_v<Index, Bool>);
static_assert(!std::is_convertible_v<int, Bool>);
static_assert(!std::is_convertible_v<double, Index>);
static_assert(!std::is_constructible_v<bool, Bool>);
static_assert(!std::is_default_constructible_v<Index>);

// Elements of tensors.
static_assert(gives<Real, Tensor<float, 1>, Index>);
static_assert(gives<Real, Tensor<bf16, 2>, Index, int>);
static_assert(gives<Index, Tensor<std::int8_t, 1>, Scalar<std::int32_t>>);
static_assert(gives<Bool, Tensor<bool, 2>, Index, Index>);
static_assert(std::is_constructible_v<Tensor<float, 2>, const char *>);
static_assert(
    std::is_constructible_v<Tensor<float, 2>, const char *, int, int>);
static_assert(!std::is_constructible_v<Tensor<float, 2>, const char *, int>);

// Lambdas; what is none of these is in BuilderMistakes.cpp.
template <typename Function>
inline constexpr bool isMask = requires(Function function) { mask(function); };
template <typename Function>
inline constexpr bool isScore =
    requires(Function function) { score(function); };

using Mask4 = Bool (*)(Index, Index, Index, Index);
static_assert(isMask<Mask4>);
static_assert(isMask<bool (*)(Index, Index, Index, Index)>);
static_assert(isScore<Real (*)(Real, Index, Index, Index, Index)>);
static_assert(isScore<Expr (*)(Expr, Index, Index, Index, Index)>);
static_assert(isScore<Index (*)(Real, Index, Index, Index, Index)>);
static_assert(isScore<float (*)(Real, Index, Index, Index, Index)>);

// Masks and scores.
static_assert(gives<Mask, And, Mask, Mask>);
static_assert(gives<Mask, Or, Mask, Mask>);
static_assert(gives<Mask, Not, Mask>);
static_assert(gives<Score, std::bit_or<>, Score, Score>);
static_assert(!compiles<And, Mask, Bool>);
static_assert(!compiles<And, Mask, Score>);
static_assert(!compiles<std::bit_or<>, Score, Mask>);
template <typename T>
inline constexpr bool isAlibi = requires(T slopes) { alibi(slopes); };
static_assert(isAlibi<Tensor<f16, 1>>);
static_assert(!isAlibi<Tensor<std::int32_t, 1>>);
static_assert(!isAlibi<Tensor<float, 2>>);
template <typename T>
inline constexpr bool isPadding = requires(T padding) { keyPadding(padding); };
static_assert(isPadding<Tensor<std::int64_t, 1>>);
static_assert(isPadding<Tensor<bool, 2>>);
static_assert(!isPadding<Tensor<bool, 1>>);
static_assert(!isPadding<Tensor<float, 1>>);
template <typename T>
inline constexpr bool isBoolean = requires(T allowed) { boolean(allowed); };
static_assert(isBoolean<Tensor<bool, 4>>);
static_assert(!isBoolean<Tensor<bool, 5>>);
static_assert(!isBoolean<Tensor<float, 2>>);
template <typename A, typename B>
inline constexpr bool areDocuments =
    requires(A query, B key) { document(query, key); };
static_assert(areDocuments<Tensor<int, 2>, Tensor<int, 2>>);
static_assert(!areDocuments<Tensor<int, 2>, Tensor<std::int64_t, 2>>);

} // namespace
