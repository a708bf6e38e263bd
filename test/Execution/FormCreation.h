//===- FormCreation.h - What masks and scores are made of -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments of random forms, how their elements are read, and tables of forms
// by name.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_FORMCREATION_H
#define ATTN_TEST_EXECUTION_FORMCREATION_H

#include "test/Execution/Forms.h"

#include <map>

namespace attn::test {

inline const TestTensor &tensor(const Value &value) {
  return std::get<TestTensor>(value);
}

/// An element of a tensor; none outside of it.
std::optional<Index> integer(const Value &value, const Shape &index);
std::optional<bool> boolean(const Value &value, const Shape &index);
/// A float of any type, as the score's type holds it.
std::optional<double> element(const Value &value, const Shape &index,
                              ElementType accumulation);

/// A dimension of a captured tensor.
enum class Dim { batch, head, position, row, key, one };

/// Dimensions of a tensor that broadcasts to (B, Hq, Sq, Skv): the last ones,
/// some of them of size 1. Queries are counted by position or by row.
std::vector<Dim> broadcastDims(Random &random, Dim query);
/// Where (b, h, p, j) lies in such a tensor, or (b, h, i, j).
Shape broadcastIndex(const std::vector<Dim> &dims, Index b, Index h, Index p,
                     Index j);
bool hasPosition(const std::vector<Dim> &dims);

using ElementFunction = std::function<double(const Extents &, Random &)>;

/// A tensor of the given dimensions, in any layout. One in fifty is too small
/// in a dynamic dimension, so that regions may read outside of it.
ArgumentForm tensorArgument(const FormContext &context, const std::string &name,
                            const std::vector<Dim> &dims,
                            const std::string &elementType,
                            const ElementFunction &element);
ArgumentForm scalarArgument(const FormContext &context, const std::string &name,
                            const std::string &type,
                            const std::function<Value(Random &)> &create);

/// Forms by name.
template <typename Function>
using Creators =
    std::map<std::string, Form<Function> (*)(const FormContext &, Random &)>;

template <typename Function>
std::vector<std::string> getNames(const Creators<Function> &creators) {
  std::vector<std::string> names;
  for (const auto &[name, creator] : creators)
    names.push_back(name);
  return names;
}

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_FORMCREATION_H
