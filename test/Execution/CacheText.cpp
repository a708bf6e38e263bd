//===- CacheText.cpp - Caches in the text of kernels ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/CacheText.h"
#include "test/Execution/Random.h"

using namespace attn;
using namespace attn::test;
using std::string;

std::vector<CachedTypes> test::selectCachedTypes() {
  constexpr ElementType f16 = ElementType::f16, bf16 = ElementType::bf16,
                        f32 = ElementType::f32, i8 = ElementType::i8,
                        e4m3 = ElementType::f8e4m3fn,
                        e5m2 = ElementType::f8e5m2;
  std::vector<CachedTypes> types = {{bf16, bf16}, {f16, i8}, {f32, e4m3}};
  if (runsAllCases())
    types.insert(types.end(), {{f16, f16},
                               {f32, f32},
                               {f32, f16},
                               {f32, bf16},
                               {f16, e5m2},
                               {bf16, e4m3},
                               {bf16, i8},
                               {f32, i8}});
  return types;
}

string test::tensorType(const string &dims, ElementType type) {
  return "tensor<" + dims + "x" + string(nameOf(type)) + ">";
}

string CacheText::type() const {
  return tensorType((isPaged() ? "?" : batch) + "x" + std::to_string(heads) +
                        "x" + rows + "x" + std::to_string(size),
                    stored);
}

string CacheText::scalesType() const {
  return tensorType((isPaged() ? "?" : batch) + "x" + std::to_string(heads) +
                        "x" + rows,
                    ElementType::f32);
}

string CacheText::types() const {
  return type() + (hasScales() ? ", " + scalesType() : "");
}

string CacheText::parameters(const string &attributes) const {
  return name + ": " + type() + attributes +
         (hasScales() ? ", " + name + "_scales: " + scalesType() + attributes
                      : "");
}

string CacheText::operands() const {
  return name + (hasScales() ? ", " + name + "_scales" : "");
}

string CacheText::updated() const {
  string result = name + "_new";
  return hasScales() ? result + "#0, " + result + "#1" : result;
}

string CacheText::kindClause() const {
  switch (kind) {
  case CacheKind::contiguous:
    return "";
  case CacheKind::ring:
    return " ring";
  case CacheKind::paged:
    return " table(" + table + " : tensor<" + batch + "x?xi32>)";
  }
  return "";
}

string CacheText::append(const string &rows, const string &clauses) const {
  return name + "_new" + (hasScales() ? ":2" : "") +
         " = attn.cache_append ins(" + rows + ") outs(" + operands() + " : " +
         types() + ") " + clauses + kindClause() + "\n";
}

string CacheText::readFrom(const string &values, const string &result,
                           const string &clauses,
                           const string &resultType) const {
  return result + " = attn.cache_read ins(" + values + " : " + types() + ") " +
         clauses + kindClause() + " size(%n) -> " + resultType + "\n";
}

string CacheText::read(const string &result, const string &clauses,
                       const string &resultType) const {
  return readFrom(operands(), result, clauses, resultType);
}

string CacheText::readUpdated(const string &result, const string &clauses,
                              const string &resultType) const {
  return readFrom(updated(), result, clauses, resultType);
}
