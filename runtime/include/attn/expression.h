//===- expression.h - What masks and scores are made of ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Symbolic values. Operators on them compute nothing; they write down what a
// kernel is to compute at every pair of a query and a key.
//
//     q - k          an Index           (q - k) % 4 == 0 || k < 16    a Bool
//     abs(q - k) / 100.0f               a Real
//
// An Index becomes a Real where it meets one, and `toIndex` is the way back.
// Nothing else converts: a Real is no Index, and neither is a Bool; such a mix
// does not compile. Functions are those of this header, as in `exp(s)`, and not
// `std::exp`. What only shows
// with the values, such as `q % 0`, is an error of the Attention that uses it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_EXPRESSION_H
#define ATTN_EXPRESSION_H

#include "attn/export.h"

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace attn {

namespace detail {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

enum class Operator : std::uint8_t {
  negate,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  equal,
  notEqual,
  less,
  lessOrEqual,
  logicalNot,
  logicalAnd,
  logicalOr,
  select,
  absolute,
  minimum,
  maximum,
  exp,
  exp2,
  log,
  log2,
  power,
  sin,
  cos,
  tanh,
  erf,
  sqrt,
  floor,
  ceil,
  round,
  bitAnd,
  bitOr,
  bitXor,
  shiftLeft,
  shiftRight,
  toReal,
  toIndex
};

ATTN_EXPORT NodePtr createOperation(Operator op, std::vector<NodePtr> operands);
ATTN_EXPORT NodePtr createIndex(std::int64_t value);
/// Of a value that no Index holds.
ATTN_EXPORT NodePtr createTooLargeIndex(std::uint64_t value);
ATTN_EXPORT NodePtr createReal(double value);
ATTN_EXPORT NodePtr createBool(bool value);

/// Copied, never moved from, so that it always has a node.
class Expression {
public:
  explicit Expression(NodePtr node) : root(std::move(node)) {}
  Expression(const Expression &) = default;
  Expression &operator=(const Expression &) = default;
  const NodePtr &node() const { return root; }

private:
  NodePtr root;
};

/// False; known only where a template is used.
template <typename T> inline constexpr bool never = !std::same_as<T, T>;

template <typename Result, typename... Operands>
Result apply(Operator op, const Operands &...operands) {
  return Result(createOperation(op, {operands.node()...}));
}

template <typename T>
concept Integer = std::integral<T> && !std::same_as<T, bool>;

} // namespace detail

/// An integer of 64 bits: a batch, a head, a position, or what is computed of
/// them. Sums and products wrap around.
class Index : public detail::Expression {
public:
  using Expression::Expression;
  explicit operator bool() const = delete; // Compare it, as in k % 4 == 0.
  Index(detail::Integer auto value)
      : Expression(std::in_range<std::int64_t>(value)
                       ? detail::createIndex(std::int64_t(value))
                       : detail::createTooLargeIndex(std::uint64_t(value))) {}
};

/// A floating-point number in the precision of the scores: f64 if the queries
/// are, f32 otherwise.
class Real : public detail::Expression {
public:
  using Expression::Expression;
  explicit operator bool() const = delete; // Compare it, as in s > 0.
  Real(detail::Integer auto value) : Real(Index(value)) {}
  Real(std::floating_point auto value)
      : Expression(detail::createReal(double(value))) {}
  Real(const Index &value)
      : Expression(detail::createOperation(detail::Operator::toReal,
                                           {value.node()})) {}
  /// Says what is wrong where a function of numbers is called, as std::exp is.
  template <std::same_as<double> T> operator T() const {
    static_assert(detail::never<T>,
                  "Use a function of attn, as in exp(s), and not std::exp.");
    return T();
  }
};

/// The score that a lambda of `score` changes.
using Expr = Real;

/// True or false. It cannot be branched on: C++ runs once, kernels at every
/// position. See `select`.
class Bool : public detail::Expression {
public:
  using Expression::Expression;
  explicit operator bool() const = delete; // Use select(c, a, b) instead of if.
  Bool(std::same_as<bool> auto value) : Expression(detail::createBool(value)) {}
};

namespace detail {

template <typename T>
concept IsReal = std::derived_from<T, Real>;
template <typename T>
concept IsIndex = std::derived_from<T, Index>;

/// Of an operator on two numbers, one of which is a Real, or an Index that
/// meets a number with a fraction.
template <typename A, typename B>
concept RealOperands =
    std::constructible_from<Real, const A &> &&
    std::constructible_from<Real, const B &> &&
    (IsReal<A> || IsReal<B> || (IsIndex<A> && std::floating_point<B>) ||
     (std::floating_point<A> && IsIndex<B>));

} // namespace detail

//===----------------------------------------------------------------------===//
// Index
//===----------------------------------------------------------------------===//

inline Index operator-(const Index &a) {
  return detail::apply<Index>(detail::Operator::negate, a);
}
inline Index operator+(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::add, a, b);
}
inline Index operator-(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::subtract, a, b);
}
inline Index operator*(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::multiply, a, b);
}
/// The quotient, rounded down: -1 / 4 is -1, unlike C++'s on its integers, so
/// that blocks of positions are equally long on both sides of position 0.
/// Division by 0 is an error where a visible position depends on it.
inline Index operator/(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::divide, a, b);
}
/// `a - b * (a / b)`, which has the sign of `b`: -1 % 4 is 3.
inline Index operator%(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::remainder, a, b);
}

inline Bool operator==(const Index &a, const Index &b) {
  return detail::apply<Bool>(detail::Operator::equal, a, b);
}
inline Bool operator!=(const Index &a, const Index &b) {
  return detail::apply<Bool>(detail::Operator::notEqual, a, b);
}
inline Bool operator<(const Index &a, const Index &b) {
  return detail::apply<Bool>(detail::Operator::less, a, b);
}
inline Bool operator<=(const Index &a, const Index &b) {
  return detail::apply<Bool>(detail::Operator::lessOrEqual, a, b);
}
inline Bool operator>(const Index &a, const Index &b) { return b < a; }
inline Bool operator>=(const Index &a, const Index &b) { return b <= a; }

/// The bits of both, of either, of one of them; of -1, all are set.
inline Index operator&(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::bitAnd, a, b);
}
inline Index operator|(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::bitOr, a, b);
}
inline Index operator^(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::bitXor, a, b);
}
/// Shifts by 0 to 63 bits; to the right the sign is repeated. By more, or less,
/// it is an error where a visible position depends on it.
inline Index operator<<(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::shiftLeft, a, b);
}
inline Index operator>>(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::shiftRight, a, b);
}

inline Index abs(const Index &a) {
  return detail::apply<Index>(detail::Operator::absolute, a);
}
inline Index min(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::minimum, a, b);
}
inline Index max(const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::maximum, a, b);
}
/// `a` where `condition` holds, otherwise `b`.
inline Index select(const Bool &condition, const Index &a, const Index &b) {
  return detail::apply<Index>(detail::Operator::select, condition, a, b);
}

//===----------------------------------------------------------------------===//
// Real
//===----------------------------------------------------------------------===//

inline Real operator-(const Real &a) {
  return detail::apply<Real>(detail::Operator::negate, a);
}
// Templates match exactly, which the operators on numbers then do not.
template <typename A, detail::RealOperands<A> B>
Real operator+(const A &a, const B &b) {
  return detail::apply<Real>(detail::Operator::add, Real(a), Real(b));
}
template <typename A, detail::RealOperands<A> B>
Real operator-(const A &a, const B &b) {
  return detail::apply<Real>(detail::Operator::subtract, Real(a), Real(b));
}
template <typename A, detail::RealOperands<A> B>
Real operator*(const A &a, const B &b) {
  return detail::apply<Real>(detail::Operator::multiply, Real(a), Real(b));
}
template <typename A, detail::RealOperands<A> B>
Real operator/(const A &a, const B &b) {
  return detail::apply<Real>(detail::Operator::divide, Real(a), Real(b));
}

/// Comparisons with NaN are false, but for `!=`.
template <typename A, detail::RealOperands<A> B>
Bool operator==(const A &a, const B &b) {
  return detail::apply<Bool>(detail::Operator::equal, Real(a), Real(b));
}
template <typename A, detail::RealOperands<A> B>
Bool operator!=(const A &a, const B &b) {
  return detail::apply<Bool>(detail::Operator::notEqual, Real(a), Real(b));
}
template <typename A, detail::RealOperands<A> B>
Bool operator<(const A &a, const B &b) {
  return detail::apply<Bool>(detail::Operator::less, Real(a), Real(b));
}
template <typename A, detail::RealOperands<A> B>
Bool operator<=(const A &a, const B &b) {
  return detail::apply<Bool>(detail::Operator::lessOrEqual, Real(a), Real(b));
}
template <typename A, detail::RealOperands<A> B>
Bool operator>(const A &a, const B &b) {
  return b < a;
}
template <typename A, detail::RealOperands<A> B>
Bool operator>=(const A &a, const B &b) {
  return b <= a;
}

inline Real abs(const Real &a) {
  return detail::apply<Real>(detail::Operator::absolute, a);
}
/// The smaller; NaN if either is.
inline Real min(const Real &a, const Real &b) {
  return detail::apply<Real>(detail::Operator::minimum, a, b);
}
/// The larger; NaN if either is.
inline Real max(const Real &a, const Real &b) {
  return detail::apply<Real>(detail::Operator::maximum, a, b);
}
inline Real exp(const Real &a) {
  return detail::apply<Real>(detail::Operator::exp, a);
}
/// Natural logarithm.
inline Real log(const Real &a) {
  return detail::apply<Real>(detail::Operator::log, a);
}
/// 2 to the power of `a`.
inline Real exp2(const Real &a) {
  return detail::apply<Real>(detail::Operator::exp2, a);
}
inline Real log2(const Real &a) {
  return detail::apply<Real>(detail::Operator::log2, a);
}
/// `a` to the power of `b`.
inline Real pow(const Real &a, const Real &b) {
  return detail::apply<Real>(detail::Operator::power, a, b);
}
/// The same of a Real and a number, which C's pow would take otherwise.
template <typename A, detail::RealOperands<A> B>
Real pow(const A &a, const B &b) {
  return pow(Real(a), Real(b));
}
inline Real sin(const Real &a) {
  return detail::apply<Real>(detail::Operator::sin, a);
}
inline Real cos(const Real &a) {
  return detail::apply<Real>(detail::Operator::cos, a);
}
/// The error function.
inline Real erf(const Real &a) {
  return detail::apply<Real>(detail::Operator::erf, a);
}
/// The next integer down, up, and the nearest one, away from 0 if it is
/// halfway.
inline Real floor(const Real &a) {
  return detail::apply<Real>(detail::Operator::floor, a);
}
inline Real ceil(const Real &a) {
  return detail::apply<Real>(detail::Operator::ceil, a);
}
inline Real round(const Real &a) {
  return detail::apply<Real>(detail::Operator::round, a);
}
/// The number without its fraction: of -1.5, -1. NaN, and what 64 bits do not
/// hold, is an error where a visible position depends on it.
inline Index toIndex(const Real &a) {
  return detail::apply<Index>(detail::Operator::toIndex, a);
}
inline Real tanh(const Real &a) {
  return detail::apply<Real>(detail::Operator::tanh, a);
}
inline Real sqrt(const Real &a) {
  return detail::apply<Real>(detail::Operator::sqrt, a);
}
inline Real select(const Bool &condition, const Real &a, const Real &b) {
  return detail::apply<Real>(detail::Operator::select, condition, a, b);
}

//===----------------------------------------------------------------------===//
// Bool
//===----------------------------------------------------------------------===//

inline Bool operator!(const Bool &a) {
  return detail::apply<Bool>(detail::Operator::logicalNot, a);
}
inline Bool operator&&(const Bool &a, const Bool &b) {
  return detail::apply<Bool>(detail::Operator::logicalAnd, a, b);
}
inline Bool operator||(const Bool &a, const Bool &b) {
  return detail::apply<Bool>(detail::Operator::logicalOr, a, b);
}
// Not by the operators of C++, for which a Bool would have to be a bool.
inline Bool operator&&(std::same_as<bool> auto a, const Bool &b) {
  return Bool(a) && b;
}
inline Bool operator&&(const Bool &a, std::same_as<bool> auto b) {
  return a && Bool(b);
}
inline Bool operator||(std::same_as<bool> auto a, const Bool &b) {
  return Bool(a) || b;
}
inline Bool operator||(const Bool &a, std::same_as<bool> auto b) {
  return a || Bool(b);
}
inline Bool select(const Bool &condition, const Bool &a, const Bool &b) {
  return detail::apply<Bool>(detail::Operator::select, condition, a, b);
}

namespace detail {
template <typename T>
concept Number = std::derived_from<T, Index> || std::derived_from<T, Real>;
} // namespace detail

// Numbers are no conditions.
template <typename A, typename B>
  requires(detail::Number<A> || detail::Number<B>)
Bool operator&&(const A &a, const B &b) = delete; // Compare: k % 4 == 0 && ...
template <typename A, typename B>
  requires(detail::Number<A> || detail::Number<B>)
Bool operator||(const A &a, const B &b) = delete; // Compare: k % 4 == 0 || ...

} // namespace attn

#endif // ATTN_EXPRESSION_H
