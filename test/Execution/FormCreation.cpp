//===- FormCreation.cpp - What masks and scores are made of ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/FormCreation.h"

#include <algorithm>

using namespace attn;
using namespace attn::test;
using std::nullopt;
using std::optional;
using std::string;

optional<Index> attn::test::integer(const Value &value, const Shape &index) {
  optional<double> element = tensor(value).get(index);
  return element ? optional<Index>(Index(*element)) : nullopt;
}

optional<bool> attn::test::boolean(const Value &value, const Shape &index) {
  optional<double> element = tensor(value).get(index);
  return element ? optional(*element != 0) : nullopt;
}

/// A float of any type as the score's type holds it.
static double toAccumulation(double value, ElementType accumulation) {
  return accumulation == ElementType::f64 ? value : double(float(value));
}

optional<double> attn::test::element(const Value &value, const Shape &index,
                                     ElementType accumulation) {
  optional<double> result = tensor(value).get(index);
  return result ? optional(toAccumulation(*result, accumulation)) : nullopt;
}

static string writeType(const std::vector<Dim> &dims, Index heads,
                        const string &element) {
  string result = "tensor<";
  for (Dim dim : dims)
    result += dim == Dim::one    ? "1x"
              : dim == Dim::head ? std::to_string(heads) + "x"
                                 : "?x";
  return result + element + ">";
}

static ElementType elementOf(const string &name) {
  for (ElementType type :
       {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16,
        ElementType::i64, ElementType::i32, ElementType::i16, ElementType::i8,
        ElementType::i1})
    if (nameOf(type) == name)
      return type;
  return ElementType::i64; // index
}

ArgumentForm attn::test::tensorArgument(const FormContext &context,
                                        const string &name,
                                        const std::vector<Dim> &dims,
                                        const string &elementType,
                                        const ElementFunction &element) {
  Index heads = context.queryHeads;
  auto create = [=](const Extents &extents, Random &random) -> Value {
    Shape shape;
    for (Dim dim : dims) {
      Index size = dim == Dim::batch      ? extents.batches
                   : dim == Dim::head     ? heads
                   : dim == Dim::position ? extents.positions
                   : dim == Dim::row      ? extents.rows
                   : dim == Dim::key      ? extents.keyLength
                                          : 1;
      bool isDynamic = dim != Dim::head && dim != Dim::one;
      if (isDynamic && size > 0 && random.chance(0.02))
        --size;
      shape.push_back(size);
    }
    Layout layout;
    if (shape.size() > 1 && random.chance(0.3))
      layout.rowPadding = random.between(1, 3);
    if (shape.size() > 1 && random.chance(0.2))
      layout.broadcast = {0};
    TestTensor result(elementOf(elementType), shape, layout);
    result.fill([&] { return element(extents, random); });
    return result;
  };
  return {context.prefix + name, writeType(dims, heads, elementType), create};
}

ArgumentForm
attn::test::scalarArgument(const FormContext &context, const string &name,
                           const string &type,
                           const std::function<Value(Random &)> &create) {
  return {context.prefix + name, type,
          [create](const Extents &, Random &random) { return create(random); }};
}

std::vector<Dim> attn::test::broadcastDims(Random &random, Dim query) {
  std::vector<Dim> dims = {Dim::batch, Dim::head, query, Dim::key};
  dims.erase(dims.begin(), dims.begin() + random.between(0, 4));
  for (Dim &dim : dims)
    if (random.chance(0.3))
      dim = Dim::one;
  return dims;
}

Shape attn::test::broadcastIndex(const std::vector<Dim> &dims, Index b, Index h,
                                 Index p, Index j) {
  Shape all = {b, h, p, j};
  Shape result(all.end() - std::ptrdiff_t(dims.size()), all.end());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] == Dim::one)
      result[i] = 0;
  return result;
}

bool attn::test::hasPosition(const std::vector<Dim> &dims) {
  return std::find(dims.begin(), dims.end(), Dim::position) != dims.end();
}
