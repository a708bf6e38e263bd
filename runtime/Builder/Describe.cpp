//===- Describe.cpp - Expressions as C++ writes them ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/Node.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

using namespace attn;
using namespace attn::detail;

/// More are not written, as a graph may stand for very many.
static constexpr std::size_t maxCharacters = 160;

namespace {
/// How an operator is written: between its operands if it is infix, before them
/// otherwise. Operands that bind less tightly get parentheses.
struct Spelling {
  std::string_view text;
  int precedence;
  bool isInfix;
};
constexpr int tightest = 12;
constexpr int unary = 11;

class Printer {
public:
  void print(const Node &node, int precedence) {
    if (isCut())
      return;
    if (const Operator *op = node.as<Operator>())
      printOperation(node, *op, precedence);
    else
      printLeaf(node);
  }

  /// All of it, or as many whole words as fit.
  std::string takeText() {
    if (isCut()) {
      std::size_t space = result.rfind(' ', maxCharacters);
      result.resize(space == std::string::npos ? maxCharacters : space);
      result += " ...";
    }
    return std::move(result);
  }

private:
  bool isCut() const { return result.size() > maxCharacters; }
  void write(std::string_view text) {
    if (!isCut())
      result += text;
  }
  static Spelling getSpelling(Operator op);
  void printLeaf(const Node &node);
  void printOperation(const Node &node, Operator op, int precedence);
  void printList(const Node &node) {
    write("(");
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      write(i == 0 ? "" : ", ");
      print(*node.operands[i], 0);
    }
    write(")");
  }

  std::string result;
};
} // namespace

Spelling Printer::getSpelling(Operator op) {
  switch (op) {
  case Operator::negate:
    return {"-", unary, false};
  case Operator::logicalNot:
    return {"!", unary, false};
  case Operator::multiply:
    return {"*", 10, true};
  case Operator::divide:
    return {"/", 10, true};
  case Operator::remainder:
    return {"%", 10, true};
  case Operator::add:
    return {"+", 9, true};
  case Operator::subtract:
    return {"-", 9, true};
  case Operator::less:
    return {"<", 7, true};
  case Operator::lessOrEqual:
    return {"<=", 7, true};
  case Operator::equal:
    return {"==", 6, true};
  case Operator::notEqual:
    return {"!=", 6, true};
  case Operator::logicalAnd:
    return {"&&", 2, true};
  case Operator::logicalOr:
    return {"||", 1, true};
  case Operator::select:
    return {"select", tightest, false};
  case Operator::absolute:
    return {"abs", tightest, false};
  case Operator::minimum:
    return {"min", tightest, false};
  case Operator::maximum:
    return {"max", tightest, false};
  case Operator::bitAnd:
    return {"&", 5, true};
  case Operator::bitXor:
    return {"^", 4, true};
  case Operator::bitOr:
    return {"|", 3, true};
  case Operator::shiftLeft:
    return {"<<", 8, true};
  case Operator::shiftRight:
    return {">>", 8, true};
  case Operator::exp:
    return {"exp", tightest, false};
  case Operator::exp2:
    return {"exp2", tightest, false};
  case Operator::log2:
    return {"log2", tightest, false};
  case Operator::power:
    return {"pow", tightest, false};
  case Operator::sin:
    return {"sin", tightest, false};
  case Operator::cos:
    return {"cos", tightest, false};
  case Operator::erf:
    return {"erf", tightest, false};
  case Operator::floor:
    return {"floor", tightest, false};
  case Operator::ceil:
    return {"ceil", tightest, false};
  case Operator::round:
    return {"round", tightest, false};
  case Operator::toIndex:
    return {"toIndex", tightest, false};
  case Operator::log:
    return {"log", tightest, false};
  case Operator::tanh:
    return {"tanh", tightest, false};
  case Operator::sqrt:
    return {"sqrt", tightest, false};
  case Operator::toReal: // Happens by itself.
    return {"", tightest, false};
  }
  return {};
}

void Printer::printLeaf(const Node &node) {
  if (const Symbol *symbol = node.as<Symbol>()) {
    write({&"sbhqki"[std::size_t(*symbol)], 1});
  } else if (const std::int64_t *integer = node.as<std::int64_t>()) {
    write(std::to_string(*integer));
  } else if (const double *real = node.as<double>()) {
    write(writeNumber(*real));
  } else if (const bool *boolean = node.as<bool>()) {
    write(*boolean ? "true" : "false");
  } else if (const detail::Scalar *scalar = node.as<detail::Scalar>()) {
    write(scalar->declaration->name);
  } else if (const Load *load = node.as<Load>()) {
    write(load->declaration->name);
    printList(node);
  } else if (const Invalid *invalid = node.as<Invalid>()) {
    write(invalid->text);
  }
}

void Printer::printOperation(const Node &node, Operator op, int precedence) {
  if (node.operands.empty()) { // Too deep to have any.
    write("...");
    return;
  }
  if (op == Operator::toReal)
    return print(*node.operands[0], precedence);
  Spelling spelling = getSpelling(op);
  bool isNested = spelling.precedence < precedence;
  write(isNested ? "(" : "");
  if (spelling.isInfix) {
    print(*node.operands[0], spelling.precedence);
    write(" " + std::string(spelling.text) + " ");
    print(*node.operands[1], spelling.precedence + 1);
  } else {
    write(spelling.text);
    if (spelling.precedence == unary)
      print(*node.operands[0], unary);
    else
      printList(node);
  }
  write(isNested ? ")" : "");
}

std::string detail::writeNumber(double value) {
  char digits[32];
  auto [end, error] = std::to_chars(digits, std::end(digits), value);
  std::string result(digits, end);
  std::size_t exponent = result.find('e');
  if (result.find('.') == std::string::npos && std::isfinite(value))
    result.insert(std::min(exponent, result.size()), ".0");
  return result;
}

std::string detail::describe(const Node &node) {
  Printer printer;
  printer.print(node, 0);
  return printer.takeText();
}
