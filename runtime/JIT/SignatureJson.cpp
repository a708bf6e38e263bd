//===- SignatureJson.cpp - Signatures in files ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/SignatureJson.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

// LLVM finds these by the namespace of what they convert.
namespace attn {

static json::Value toJSON(ElementType type) { return int64_t(type); }

static json::Value toJSON(const SizeExpr::Term &term) {
  return json::Array{term.coefficient, term.argument, term.dimension};
}

static json::Value toJSON(const SizeExpr &expr) {
  return json::Object{{"constant", expr.constant},
                      {"terms", json::Array(expr.terms)}};
}

static json::Value toJSON(const Parameter &parameter) {
  return json::Object{{"name", parameter.name},
                      {"isTensor", parameter.isTensor},
                      {"type", toJSON(parameter.type)},
                      {"shape", json::Array(parameter.shape)}};
}

static json::Value toJSON(const Signature::Constraint &constraint) {
  return json::Object{{"lhs", constraint.lhs},
                      {"rhs", constraint.rhs},
                      {"text", constraint.text}};
}

static bool fromJSON(const json::Value &value, ElementType &type,
                     json::Path path) {
  int64_t number;
  if (!json::fromJSON(value, number, path))
    return false;
  if (number < 0 || number > int64_t(ElementType::i1)) {
    path.report("no element type");
    return false;
  }
  type = ElementType(number);
  return true;
}

static bool fromJSON(const json::Value &value, SizeExpr::Term &term,
                     json::Path path) {
  std::vector<int64_t> numbers;
  if (!json::fromJSON(value, numbers, path))
    return false;
  if (numbers.size() != 3) {
    path.report("expected three numbers");
    return false;
  }
  term = {numbers[0], int(numbers[1]), int(numbers[2])};
  return true;
}

static bool fromJSON(const json::Value &value, SizeExpr &expr,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("constant", expr.constant) &&
         map.map("terms", expr.terms);
}

static bool fromJSON(const json::Value &value, Parameter &parameter,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("name", parameter.name) &&
         map.map("isTensor", parameter.isTensor) &&
         map.map("type", parameter.type) && map.map("shape", parameter.shape);
}

static bool fromJSON(const json::Value &value,
                     Signature::Constraint &constraint, json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("lhs", constraint.lhs) &&
         map.map("rhs", constraint.rhs) && map.map("text", constraint.text);
}

static bool fromJSON(const json::Value &value, Signature &signature,
                     json::Path path) {
  json::ObjectMapper map(value, path);
  return map && map.map("entry", signature.entry) &&
         map.map("arguments", signature.arguments) &&
         map.map("results", signature.results) &&
         map.map("resultSizes", signature.resultSizes) &&
         map.map("constraints", signature.constraints);
}

std::string jit::writeSignature(const Signature &signature) {
  std::string text;
  raw_string_ostream(text) << json::Value(
      json::Object{{"entry", signature.entry},
                   {"arguments", json::Array(signature.arguments)},
                   {"results", json::Array(signature.results)},
                   {"resultSizes", json::Array(signature.resultSizes)},
                   {"constraints", json::Array(signature.constraints)}});
  return text;
}

std::optional<Signature> jit::readSignature(StringRef text) {
  llvm::Expected<Signature> signature = json::parse<Signature>(text);
  if (signature)
    return std::move(*signature);
  consumeError(signature.takeError());
  return std::nullopt;
}

} // namespace attn
