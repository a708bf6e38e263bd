//===- ScoreElements.cpp - Operators on elements of scores ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/ScoreElements.h"

#include <functional>
#include <map>

using namespace attn;
using namespace attn::ort;
using std::string;

static bool isReal(const Element &element) {
  return std::holds_alternative<Real>(element);
}

Real ort::toReal(const Element &element) {
  if (const Index *index = std::get_if<Index>(&element))
    return *index;
  if (const Bool *condition = std::get_if<Bool>(&element))
    return select(*condition, Real(1), Real(0));
  return std::get<Real>(element);
}

static Index toInteger(const Element &element) {
  if (const Real *real = std::get_if<Real>(&element))
    return toIndex(*real);
  if (const Bool *condition = std::get_if<Bool>(&element))
    return select(*condition, Index(1), Index(0));
  return std::get<Index>(element);
}

static Bool toBool(const Element &element) {
  if (const Real *real = std::get_if<Real>(&element))
    return *real != Real(0);
  if (const Index *index = std::get_if<Index>(&element))
    return *index != Index(0);
  return std::get<Bool>(element);
}

void ort::declineNode(const GraphNode &node) {
  decline("score_mod has a node " + node.type + " that cannot be taken over");
}

/// Operators on one number, and those on two.
static const std::map<string, std::function<Real(const Real &)>> unary = {
    {"Neg", [](const Real &a) { return -a; }},
    {"Abs", [](const Real &a) { return abs(a); }},
    {"Exp", [](const Real &a) { return exp(a); }},
    {"Log", [](const Real &a) { return log(a); }},
    {"Sqrt", [](const Real &a) { return sqrt(a); }},
    {"Tanh", [](const Real &a) { return tanh(a); }},
    {"Sin", [](const Real &a) { return sin(a); }},
    {"Cos", [](const Real &a) { return cos(a); }},
    {"Erf", [](const Real &a) { return erf(a); }},
    {"Floor", [](const Real &a) { return floor(a); }},
    {"Ceil", [](const Real &a) { return ceil(a); }},
    {"Reciprocal", [](const Real &a) { return Real(1) / a; }},
    {"Relu", [](const Real &a) { return max(a, Real(0)); }},
    {"Sigmoid", [](const Real &a) { return Real(1) / (Real(1) + exp(-a)); }}};
static const std::map<string, std::function<Real(const Real &, const Real &)>>
    ofReals = {{"Add", [](const Real &a, const Real &b) { return a + b; }},
               {"Sub", [](const Real &a, const Real &b) { return a - b; }},
               {"Mul", [](const Real &a, const Real &b) { return a * b; }},
               {"Div", [](const Real &a, const Real &b) { return a / b; }},
               {"Pow", [](const Real &a, const Real &b) { return pow(a, b); }},
               {"Min", [](const Real &a, const Real &b) { return min(a, b); }},
               {"Max", [](const Real &a, const Real &b) { return max(a, b); }}};
static const std::map<string,
                      std::function<Index(const Index &, const Index &)>>
    ofIntegers = {
        {"Add", [](const Index &a, const Index &b) { return a + b; }},
        {"Sub", [](const Index &a, const Index &b) { return a - b; }},
        {"Mul", [](const Index &a, const Index &b) { return a * b; }},
        {"Mod", [](const Index &a, const Index &b) { return a % b; }},
        {"Min", [](const Index &a, const Index &b) { return min(a, b); }},
        {"Max", [](const Index &a, const Index &b) { return max(a, b); }}};

/// Nothing if the operator is none.
template <typename T>
static std::optional<Bool> compare(const string &type, const T &a, const T &b) {
  if (type == "Equal")
    return a == b;
  if (type == "Less")
    return a < b;
  if (type == "LessOrEqual")
    return a <= b;
  if (type == "Greater")
    return a > b;
  if (type == "GreaterOrEqual")
    return a >= b;
  return std::nullopt;
}

/// The operators on one element, by its type.
Element ort::evaluateUnary(const GraphNode &node, const Element &a) {
  if (node.type == "Cast")
    switch (node.integer("to", abi::dataUndefined)) {
    case abi::dataFloat:
    case abi::dataDouble:
      return toReal(a);
    case abi::dataInt64:
      return toInteger(a);
    case abi::dataBool:
      return toBool(a);
    default:
      declineNode(node);
    }
  if (const Bool *condition = std::get_if<Bool>(&a);
      condition && node.type == "Not")
    return !*condition;
  if (const Index *index = std::get_if<Index>(&a)) {
    if (node.type == "Neg")
      return -*index;
    if (node.type == "Abs")
      return abs(*index);
  }
  auto found = unary.find(node.type);
  if (found == unary.end() || !isReal(a))
    declineNode(node);
  return found->second(std::get<Real>(a));
}

/// Those on two elements of one type.
Element ort::evaluateBinary(const GraphNode &node, const Element &a,
                            const Element &b) {
  if (a.index() != b.index())
    declineNode(node);
  if (const Bool *x = std::get_if<Bool>(&a)) {
    const Bool &y = std::get<Bool>(b);
    if (node.type == "And")
      return *x && y;
    if (node.type == "Or")
      return *x || y;
    if (node.type == "Xor")
      return (*x && !y) || (!*x && y);
    declineNode(node);
  }
  if (const Index *x = std::get_if<Index>(&a)) {
    const Index &y = std::get<Index>(b);
    if (std::optional<Bool> result = compare(node.type, *x, y))
      return *result;
    auto found = ofIntegers.find(node.type);
    if (found == ofIntegers.end() || node.integer("fmod", 0) != 0)
      declineNode(node);
    return found->second(*x, y);
  }
  const Real &x = std::get<Real>(a), &y = std::get<Real>(b);
  if (std::optional<Bool> result = compare(node.type, x, y))
    return *result;
  auto found = ofReals.find(node.type);
  if (found == ofReals.end())
    declineNode(node);
  return found->second(x, y);
}

Element ort::evaluateSelect(const GraphNode &node, const Bool &condition,
                            const Element &a, const Element &b) {
  if (a.index() != b.index())
    declineNode(node);
  if (const Real *x = std::get_if<Real>(&a))
    return select(condition, *x, std::get<Real>(b));
  if (const Index *x = std::get_if<Index>(&a))
    return select(condition, *x, std::get<Index>(b));
  return select(condition, std::get<Bool>(a), std::get<Bool>(b));
}
