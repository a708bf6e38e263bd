//===- Operators.h - What operators of expressions are called ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BUILDER_OPERATORS_H
#define ATTN_RUNTIME_BUILDER_OPERATORS_H

#include "attn/expression.h"

#include <algorithm>
#include <string_view>

namespace attn::builder {

/// Of calls, and of what stands before its operand. Operators between operands
/// have less; those of them that bind less tightly get parentheses.
inline constexpr int tightest = 12, unary = 11;

struct OperatorNames {
  detail::Operator op;
  std::string_view text; ///< In C++.
  int precedence = tightest;
  /// The operation, where it is one, on integers and on floats.
  std::string_view ofIntegers = {}, ofReals = {};
};

inline const OperatorNames &getNames(detail::Operator op) {
  using enum detail::Operator;
  static constexpr OperatorNames names[] = {
      {negate, "-", unary},
      {add, "+", 9, "arith.addi", "arith.addf"},
      {subtract, "-", 9, "arith.subi", "arith.subf"},
      {multiply, "*", 10, "arith.muli", "arith.mulf"},
      {divide, "/", 10, {}, "arith.divf"},
      {remainder, "%", 10},
      {equal, "==", 6, "arith.cmpi eq,", "arith.cmpf oeq,"},
      {notEqual, "!=", 6, "arith.cmpi ne,", "arith.cmpf une,"},
      {less, "<", 7, "arith.cmpi slt,", "arith.cmpf olt,"},
      {lessOrEqual, "<=", 7, "arith.cmpi sle,", "arith.cmpf ole,"},
      {logicalNot, "!", unary},
      {logicalAnd, "&&", 2, "arith.andi"},
      {logicalOr, "||", 1, "arith.ori"},
      {select, "select"},
      {absolute, "abs", tightest, "math.absi", "math.absf"},
      {minimum, "min", tightest, "arith.minsi", "arith.minimumf"},
      {maximum, "max", tightest, "arith.maxsi", "arith.maximumf"},
      {exp, "exp", tightest, {}, "math.exp"},
      {exp2, "exp2", tightest, {}, "math.exp2"},
      {log, "log", tightest, {}, "math.log"},
      {log2, "log2", tightest, {}, "math.log2"},
      {power, "pow", tightest, {}, "math.powf"},
      {sin, "sin", tightest, {}, "math.sin"},
      {cos, "cos", tightest, {}, "math.cos"},
      {tanh, "tanh", tightest, {}, "math.tanh"},
      {erf, "erf", tightest, {}, "math.erf"},
      {sqrt, "sqrt", tightest, {}, "math.sqrt"},
      {floor, "floor", tightest, {}, "math.floor"},
      {ceil, "ceil", tightest, {}, "math.ceil"},
      {round, "round", tightest, {}, "math.round"},
      {bitAnd, "&", 5, "arith.andi"},
      {bitOr, "|", 3, "arith.ori"},
      {bitXor, "^", 4, "arith.xori"},
      {shiftLeft, "<<", 8, "arith.shli"},
      {shiftRight, ">>", 8, "arith.shrsi"},
      {toReal, ""}, // Happens by itself.
      {toIndex, "toIndex"}};
  return *std::ranges::find(names, op, &OperatorNames::op);
}

} // namespace attn::builder

#endif // ATTN_RUNTIME_BUILDER_OPERATORS_H
