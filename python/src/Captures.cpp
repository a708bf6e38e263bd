//===- Captures.cpp - Tensors and scalars in Python -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "python/src/Captures.h"

#include "python/src/Types.h"
#include "python/src/Values.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;
using namespace attn;
using namespace attn::python;
using detail::Declaration, detail::DeclarationPtr;
using std::string;

using Sizes = std::vector<std::optional<std::int64_t>>;

static string countDimensions(std::size_t rank) {
  return std::to_string(rank) + (rank == 1 ? " dimension" : " dimensions");
}

string python::describe(const Declaration &tensor) {
  return "'" + tensor.name + "' of " + countDimensions(tensor.shape.size()) +
         " of " + string(nameOf(tensor.type));
}

void python::checkTensor(const char *what, const Declaration &tensor,
                         std::size_t rank, bool (*isRight)(ElementType),
                         const char *types) {
  if (tensor.shape.size() != rank || !isRight(tensor.type))
    throwTypeError(string(what) + ": expected a Tensor of " +
                   countDimensions(rank) + " of " + types + ", got " +
                   describe(tensor));
}

bool python::isBoolean(ElementType type) { return type == ElementType::i1; }
bool python::isReal(ElementType type) { return isFloat(type); }
bool python::isInteger(ElementType type) {
  return !isFloat(type) && !isFloat8(type) && !isBoolean(type);
}

/// A value that an argument of the kernel, or an element of one, has.
static nb::object castNode(ElementType type, detail::NodePtr node) {
  if (isBoolean(type))
    return nb::cast(Bool(std::move(node)));
  if (isFloat(type))
    return nb::cast(Real(std::move(node)));
  return nb::cast(Index(std::move(node)));
}

static Captured createTensor(const string &name, const string &type,
                             const Sizes &shape) {
  Declaration declaration{name, parseType("Tensor", type), true, {}};
  for (std::optional<std::int64_t> size : shape)
    declaration.shape.push_back(size.value_or(dynamic));
  if (shape.empty() || shape.size() > TensorView::maxRank)
    throwTypeError("Tensor: expected 1 to " +
                   std::to_string(TensorView::maxRank) + " dimensions, got " +
                   std::to_string(shape.size()));
  return {DeclarationPtr(std::move(declaration))};
}

static nb::object createScalar(const string &name, const string &type) {
  DeclarationPtr declaration(
      Declaration{name, parseType("scalar", type), false, {}});
  detail::NodePtr node = detail::createScalar(declaration);
  if (isInteger(declaration->type))
    return nb::cast(IndexScalar{Index(node), declaration});
  return castNode(declaration->type, node);
}

static nb::object load(const Captured &tensor, nb::handle indices) {
  const Declaration &declaration = *tensor.declaration;
  nb::tuple all = nb::isinstance<nb::tuple>(indices)
                      ? nb::borrow<nb::tuple>(indices)
                      : nb::make_tuple(indices);
  if (all.size() != declaration.shape.size())
    throwTypeError("'" + declaration.name +
                   "': expected an index for each of " +
                   std::to_string(declaration.shape.size()) +
                   " dimensions, got " + std::to_string(all.size()));
  std::vector<detail::NodePtr> nodes;
  for (nb::handle index : all) {
    std::optional<Value> value = toValue(index);
    const Index *number = value ? std::get_if<Index>(&*value) : nullptr;
    if (!number)
      throwTypeError("'" + declaration.name +
                     "': expected indices that are an Index or an int, got " +
                     typeName(index));
    nodes.push_back(number->node());
  }
  return castNode(declaration.type,
                  detail::createLoad(tensor.declaration, std::move(nodes)));
}

static Captured summarize(const Captured &tensor, const nb::args &blocks) {
  Declaration declaration = *tensor.declaration;
  if (isReal(declaration.type))
    throwTypeError("'" + declaration.name +
                   "': expected a tensor of integers or i1 to summarize");
  if (blocks.size() != declaration.shape.size())
    throwTypeError("'" + declaration.name +
                   "': expected a size of blocks for " + "each of " +
                   std::to_string(declaration.shape.size()) +
                   " dimensions, got " + std::to_string(blocks.size()));
  declaration.blocks.clear(); // Of a tensor that is summarized already.
  for (nb::handle block : blocks)
    declaration.blocks.push_back(
        toInteger(block, "'" + declaration.name +
                             "': expected sizes of blocks that are ints"));
  return {DeclarationPtr(std::move(declaration))};
}

void python::bindCaptures(nb::module_ &module) {
  nb::class_<Captured> tensor(module, "Tensor",
                              R"(A tensor that masks and scores read.

It becomes an argument of the kernel, after query, key and value, in the order in
which tensors are mentioned. ``tensor[b, k]`` is one of its elements: an Index if
the type is an integer, a Bool if it is i1, otherwise a Real.)");
  tensor.def(
      "__init__",
      [](Captured *self, const string &name, const string &type,
         const Sizes &shape) {
        new (self) Captured(createTensor(name, type, shape));
      },
      "name"_a, "type"_a, "shape"_a,
      R"(``type`` is f64, f32, f16, bf16, i64, i32, i16, i8 or i1; sizes in ``shape``
are None where only a call knows them.)");
  tensor.def("__getitem__", &load, "indices"_a,
             "An element, at an Index or an int for each dimension.");
  tensor.def(
      "summarized", &summarize, "blocks"_a,
      R"(The same tensor of a kernel that does not compute the ranges of its blocks in
every call: it takes them as one more argument after the tensor, from
``attn.summarize``. Sizes of blocks, one for each dimension, are powers of two: 32
suits a dimension of positions, 1 any other.)");
  tensor.attr("__iter__") = nb::none(); // Else Python would try all indices.

  nb::class_<CapturedRows> rows(module, "Rows",
                                "A tensor that is read by the row of a query.");
  module.def(
      "rows",
      [](const Captured &self) { return CapturedRows{self.declaration}; },
      "tensor"_a,
      R"(The tensor, as ``boolean`` and ``bias`` read it by the row of the query in the
call, whatever its position is: as PyTorch and ONNX do.)");

  nb::class_<IndexScalar, Index> scalar(
      module, "IndexScalar", "An Index that is an argument of the kernel.");
  module.def(
      "scalar", &createScalar, "name"_a, "type"_a,
      R"(A number that a kernel takes as an argument called ``name``: an Index, a Bool or
a Real, as an element of a Tensor is.)");
}
