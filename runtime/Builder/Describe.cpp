//===- Describe.cpp - Expressions as C++ writes them ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/Node.h"
#include "runtime/Builder/Operators.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string_view>

using namespace attn;
using namespace attn::builder;
using namespace attn::detail;

/// More are not written, as a graph may stand for very many.
static constexpr std::size_t maxCharacters = 160;

namespace {
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
  const OperatorNames &names = getNames(op);
  bool isNested = names.precedence < precedence;
  write(isNested ? "(" : "");
  if (names.precedence < unary) {
    print(*node.operands[0], names.precedence);
    write(" " + std::string(names.text) + " ");
    print(*node.operands[1], names.precedence + 1);
  } else {
    write(names.text);
    if (names.precedence == unary)
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
