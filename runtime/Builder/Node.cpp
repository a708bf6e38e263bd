//===- Node.cpp - Expressions as graphs -----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Builder/Node.h"

#include <algorithm>
#include <array>

using namespace attn;
using namespace attn::detail;

static NodePtr create(NodeType type, Node::Kind kind,
                      std::vector<NodePtr> operands = {}) {
  unsigned depth = 0;
  for (const NodePtr &operand : operands)
    depth = std::max(depth, operand->depth + 1);
  // Whatever uses it is refused for its depth, which needs no operands; so that
  // not even destroying it recurses deeper.
  if (depth > Node::maxDepth)
    operands.clear();
  return std::make_shared<const Node>(
      Node{type, std::move(kind), std::move(operands), depth});
}

NodePtr detail::createIndex(std::int64_t value) {
  return create(NodeType::index, value);
}
NodePtr detail::createTooLargeIndex(std::uint64_t value) {
  return createInvalid(NodeType::index, std::to_string(value),
                       "expected an integer below 2^63");
}
NodePtr detail::createInvalid(NodeType type, std::string text,
                              std::string problem) {
  return create(type, Invalid{std::move(text), std::move(problem)});
}
NodePtr detail::createReal(double value) {
  return create(NodeType::real, value);
}
NodePtr detail::createBool(bool value) {
  return create(NodeType::boolean, value);
}

static NodeType getType(ElementType type) {
  if (type == ElementType::i1)
    return NodeType::boolean;
  return isFloat(type) ? NodeType::real : NodeType::index;
}

NodePtr detail::createScalar(const DeclarationPtr &scalar) {
  NodeType type = getType(scalar->type);
  return create(type, Scalar{scalar});
}

NodePtr detail::createLoad(const DeclarationPtr &tensor,
                           std::vector<NodePtr> indices) {
  NodeType type = getType(tensor->type);
  return create(type, Load{tensor}, std::move(indices));
}

NodePtr detail::getSymbol(Symbol symbol) {
  // One node for each, so that expressions that share it compute it once.
  static const std::array<NodePtr, 6> symbols = {
      create(NodeType::real, Symbol::score),
      create(NodeType::index, Symbol::batch),
      create(NodeType::index, Symbol::head),
      create(NodeType::index, Symbol::query),
      create(NodeType::index, Symbol::key),
      create(NodeType::index, Symbol::row)};
  return symbols[std::size_t(symbol)];
}

NodePtr detail::createOperation(Operator op, std::vector<NodePtr> operands) {
  NodeType type = operands.back()->type;
  switch (op) {
  case Operator::equal:
  case Operator::notEqual:
  case Operator::less:
  case Operator::lessOrEqual:
    type = NodeType::boolean;
    break;
  case Operator::toReal:
    // A number is written as such, also where an operation would hide it from
    // passes.
    if (const std::int64_t *number = operands.front()->as<std::int64_t>())
      return createReal(double(*number));
    type = NodeType::real;
    break;
  case Operator::toIndex:
    type = NodeType::index;
    break;
  case Operator::negate:
    if (const double *number = operands.front()->as<double>())
      return createReal(-*number);
    break;
  default:
    break;
  }
  return create(type, op, std::move(operands));
}
