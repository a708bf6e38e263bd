//===- ScoreGraph.cpp - Graphs that change scores -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph is run once, on symbols: every tensor in it is what its element is
// at the position (b, h, q, k) that it is broadcast to. What makes positions,
// such as Range(0, Shape(scores)[2], 1), is a tensor with that dimension.
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/ScoreGraph.h"

#include "runtime/ONNXRuntime/ScoreElements.h"
#include "runtime/ONNXRuntime/Tensors.h"

#include <algorithm>
#include <concepts>
#include <cstring>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>
#include <variant>

using namespace attn;
using namespace attn::ort;
using std::string;

namespace {
/// A size: a number, or that of a dimension of the scores.
struct Size {
  std::int64_t number = 1;
  int axis = -1; ///< 0 to 3 of (B, Hq, Sq, Skv); -1: a number.
  bool operator==(const Size &) const = default;
};
using Sizes = std::vector<Size>;

/// A tensor of the graph.
struct Symbol {
  Sizes shape;
  /// At a position. Nothing for a tensor that is read, which depends on where
  /// its dimensions end up.
  std::optional<Element> element = {};
  std::size_t tensor = 0; ///< Which one is read.
  /// Of integers that are known, or sizes of the scores: all of them.
  std::optional<Sizes> integers = {};
  /// A number that is known.
  std::optional<double> number = {};
  /// The element is -inf where this does not hold.
  std::optional<Bool> keep = {};
  bool dependsOnScore = false;
};

class Interpreter {
public:
  Interpreter(const Api &api, const std::vector<GraphValue> &captured,
              const std::array<Index, 4> &position)
      : api(api), captured(captured), position(position) {}

  Symbol run(const abi::Graph *graph, const Real &score);
  std::vector<CapturedTensor> tensors;

  /// Its element, with -inf where it is hidden.
  Element element(const Symbol &symbol);

private:
  using Arguments = std::vector<const Symbol *>;

  void define(const GraphValue &value, Symbol symbol) {
    symbols.insert_or_assign(value.name, std::move(symbol));
  }
  const Symbol &get(const GraphValue &value);
  Symbol readConstantTensor(const TensorValue &tensor);
  Symbol readCapturedTensor(const GraphValue &value, std::size_t input);
  Symbol addTensor(ElementType type, const Shape &shape,
                   std::vector<std::byte> constant, std::size_t input);

  Symbol evaluate(const GraphNode &node, const Arguments &arguments);
  Symbol evaluateShape(const GraphNode &node, const Arguments &arguments);
  static Symbol reshape(const GraphNode &node, const Arguments &arguments);
  Symbol evaluateElements(const GraphNode &node, const Arguments &arguments);

  const Api &api;
  const std::vector<GraphValue> &captured;
  std::array<Index, 4> position;
  std::map<string, Symbol> symbols;
};
} // namespace

//===----------------------------------------------------------------------===//
// Constants and what is captured
//===----------------------------------------------------------------------===//

static std::int64_t countElements(const Shape &shape) {
  std::int64_t count = 1;
  for (std::int64_t size : shape)
    count *= size;
  return count;
}

static Sizes toSizes(const Shape &shape) {
  Sizes sizes;
  for (std::int64_t size : shape)
    sizes.push_back({.number = size});
  return sizes;
}

template <typename T> static T load(const void *data, std::int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

static double loadNumber(ElementType type, const void *data,
                         std::int64_t index) {
  return visitElementType(type, [&]<typename T>(std::type_identity<T>) {
    using Stored = std::conditional_t<std::same_as<T, bool>, std::int8_t, T>;
    return double(load<Stored>(data, index));
  });
}

static std::int64_t loadInteger(ElementType type, const void *data,
                                std::int64_t index) {
  return type == ElementType::i64 ? load<std::int64_t>(data, index)
                                  : std::int64_t(loadNumber(type, data, index));
}

Symbol Interpreter::addTensor(ElementType type, const Shape &shape,
                              std::vector<std::byte> constant,
                              std::size_t input) {
  tensors.push_back({.name = "captured" + std::to_string(tensors.size()),
                     .type = type,
                     .sizes = toRank4(shape),
                     .constant = std::move(constant),
                     .input = input});
  return {.shape = toSizes(shape), .tensor = tensors.size() - 1};
}

Symbol Interpreter::readConstantTensor(const TensorValue &tensor) {
  if (!tensor.type)
    decline("score_mod has a constant of a type that kernels do not have");
  ElementType type = *tensor.type;
  std::int64_t count = countElements(tensor.shape);
  Symbol symbol;
  if (count == 1) {
    symbol.shape = toSizes(tensor.shape);
    symbol.number = loadNumber(type, tensor.data, 0);
    if (isFloat(type))
      symbol.element = Real(*symbol.number);
    else if (type == ElementType::i1)
      symbol.element = Bool(*symbol.number != 0);
    else
      symbol.element = Index(loadInteger(type, tensor.data, 0));
  } else {
    const auto *bytes = static_cast<const std::byte *>(tensor.data);
    symbol =
        addTensor(type, tensor.shape, {bytes, bytes + count * sizeOf(type)}, 0);
  }
  // Shapes and axes are short.
  constexpr std::int64_t maxIntegers = 8;
  if (!isFloat(type) && type != ElementType::i1 && count <= maxIntegers) {
    symbol.integers.emplace();
    for (std::int64_t i = 0; i < count; ++i)
      symbol.integers->push_back({.number = loadInteger(type, tensor.data, i)});
  }
  return symbol;
}

Symbol Interpreter::readCapturedTensor(const GraphValue &value,
                                       std::size_t input) {
  if (const abi::Value *constant = readConstant(api, value))
    return readConstantTensor(readTensor(api, constant));
  if (!value.type)
    decline("score_mod reads '" + value.name +
            "', whose type is none that kernels have");
  if (std::ranges::count(value.shape, dynamic))
    decline("score_mod reads '" + value.name + "', whose shape " +
            describe(value.shape) + " is not known");
  return addTensor(*value.type, value.shape, {}, input);
}

const Symbol &Interpreter::get(const GraphValue &value) {
  auto found = symbols.find(value.name);
  if (found != symbols.end())
    return found->second;
  for (std::size_t i = 0; i < captured.size(); ++i)
    if (captured[i].name == value.name)
      return symbols.emplace(value.name, readCapturedTensor(captured[i], i))
          .first->second;
  decline("score_mod reads '" + value.name + "', which is not known");
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

static Element loadElement(const CapturedTensor &tensor,
                           const std::array<Index, 4> &indices) {
  return visitElementType(
      tensor.type, [&]<typename T>(std::type_identity<T>) -> Element {
        const std::array<std::int64_t, 4> &sizes = tensor.sizes;
        return Tensor<T, 4>(tensor.name, sizes[0], sizes[1], sizes[2],
                            sizes[3])(indices[0], indices[1], indices[2],
                                      indices[3]);
      });
}

Element Interpreter::element(const Symbol &symbol) {
  if (symbol.element) {
    if (!symbol.keep)
      return *symbol.element;
    return select(*symbol.keep, std::get<Real>(*symbol.element),
                  Real(-std::numeric_limits<double>::infinity()));
  }
  // Its dimensions, from the last one, are those of the scores. Those that it
  // has not got, or only once, are read at 0.
  CapturedTensor &tensor = tensors[symbol.tensor];
  std::array<Index, 4> indices = {0, 0, 0, 0};
  std::size_t rank = symbol.shape.size();
  if (rank > 4)
    decline("score_mod has a tensor of a rank above 4");
  // The tensor may have been reshaped to have other leading ones.
  Shape sizes, ofTensor;
  for (std::size_t dim = 0; dim < rank; ++dim)
    if (symbol.shape[dim] != Size())
      sizes.push_back(symbol.shape[dim].number);
  for (std::int64_t size : tensor.sizes)
    if (size != 1)
      ofTensor.push_back(size);
  if (sizes != ofTensor)
    decline("score_mod reads a tensor in another shape");
  std::size_t next = 0;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    if (symbol.shape[dim] == Size())
      continue;
    while (tensor.sizes[next] == 1)
      ++next;
    int axis = int(4 - rank + dim);
    tensor.axes.emplace_back(next, axis);
    indices[next++] = position[axis];
  }
  return loadElement(tensor, indices);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

/// The shape of what is computed of two, element by element.
static Sizes broadcast(const GraphNode &node, const Sizes &a, const Sizes &b) {
  Sizes shape(std::max(a.size(), b.size()));
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    auto get = [&](const Sizes &sizes) {
      std::size_t missing = shape.size() - sizes.size();
      return dim < missing ? Size() : sizes[dim - missing];
    };
    Size x = get(a), y = get(b);
    // A number that is not that of the scores ends in an error of the call.
    bool isAxis = x.axis >= 0 && y.axis < 0 && y != Size();
    if (x == Size() || (y.axis >= 0 && x.axis < 0))
      shape[dim] = y;
    else if (y == Size() || x == y || isAxis)
      shape[dim] = x;
    else
      declineNode(node);
  }
  return shape;
}

/// What makes positions: sizes of the scores, and tensors of one dimension.
Symbol Interpreter::evaluateShape(const GraphNode &node,
                                  const Arguments &arguments) {
  auto integers = [&](std::size_t index) -> const Sizes & {
    if (index >= arguments.size() || !arguments[index] ||
        !arguments[index]->integers)
      declineNode(node);
    return *arguments[index]->integers;
  };
  auto fromIntegers = [](Sizes values, bool isScalar) {
    Symbol symbol;
    if (!isScalar)
      symbol.shape = {{.number = std::int64_t(values.size())}};
    // As numbers they are only known if they do not depend on the call.
    if (values.size() == 1 && values[0].axis < 0)
      symbol.element = Index(values[0].number);
    symbol.integers = std::move(values);
    return symbol;
  };
  const Symbol &first = *arguments.at(0);
  if (node.type == "Shape") {
    std::int64_t rank = first.shape.size();
    auto clamp = [&](std::int64_t end) {
      return std::clamp<std::int64_t>(end < 0 ? end + rank : end, 0, rank);
    };
    std::int64_t begin = clamp(node.integer("start", 0));
    std::int64_t end = std::max(begin, clamp(node.integer("end", rank)));
    return fromIntegers(
        {first.shape.begin() + begin, first.shape.begin() + end},
        /*isScalar=*/false);
  }
  if (node.type == "Gather") {
    const Sizes &from = integers(0), &which = integers(1);
    if (node.integer("axis", 0) != 0 || arguments[0]->shape.size() != 1)
      declineNode(node);
    Sizes values;
    for (const Size &index : which) {
      std::int64_t at =
          index.number < 0 ? index.number + from.size() : index.number;
      if (index.axis >= 0 || at < 0 || at >= std::int64_t(from.size()))
        declineNode(node);
      values.push_back(from[at]);
    }
    return fromIntegers(std::move(values), arguments[1]->shape.empty());
  }
  if (node.type == "Range") {
    const Sizes &start = integers(0), &limit = integers(1), &step = integers(2);
    if (start != Sizes{{.number = 0}} || step != Sizes{{.number = 1}} ||
        limit.size() != 1 || limit[0].axis < 0)
      declineNode(node);
    return {.shape = limit, .element = position[limit[0].axis]};
  }

  declineNode(node);
}

/// The same elements in another shape, with other dimensions of size 1.
Symbol Interpreter::reshape(const GraphNode &node, const Arguments &arguments) {
  const Symbol &first = *arguments[0];
  Symbol symbol = first;
  auto isOne = [](const Size &size) { return size == Size(); };
  Sizes sizes;
  std::ranges::remove_copy_if(first.shape, std::back_inserter(sizes), isOne);
  // An element that was computed stands at dimensions of the scores already.
  if (first.element && std::ranges::count(sizes, -1, &Size::axis))
    declineNode(node);
  if (node.type == "Squeeze" && arguments.size() == 1) {
    symbol.shape = sizes;
    return symbol;
  }
  if (node.type == "Squeeze" || arguments.size() != 2 ||
      !arguments[1]->integers)
    declineNode(node);

  const Sizes &given = *arguments[1]->integers;
  if (node.type == "Reshape") {
    // One dimension at most, so that it is clear which one is which.
    auto isRest = [&](const Size &size) {
      return size == Size{.number = -1} || (!sizes.empty() && size == sizes[0]);
    };
    auto isKnown = [&](const Size &size) {
      return isOne(size) || isRest(size);
    };
    if (sizes.size() > 1 || !std::ranges::all_of(given, isKnown) ||
        std::ranges::count_if(given, isRest) > 1)
      declineNode(node);
    symbol.shape = given;
    for (Size &size : symbol.shape)
      if (!isOne(size))
        size = sizes.empty() ? Size() : sizes[0];
    return symbol;
  }
  std::int64_t rank = first.shape.size() + given.size();
  std::vector<bool> isNew(rank);
  for (const Size &axis : given) {
    std::int64_t at = axis.number < 0 ? axis.number + rank : axis.number;
    if (axis.axis >= 0 || at < 0 || at >= rank || isNew[at])
      declineNode(node);
    isNew[at] = true;
  }
  symbol.shape.clear();
  auto next = first.shape.begin();
  for (bool added : isNew)
    symbol.shape.push_back(added ? Size() : *next++);
  return symbol;
}

static Bool conjoin(const std::optional<Bool> &a,
                    const std::optional<Bool> &b) {
  if (!a || !b)
    return a ? *a : *b;
  return *a && *b;
}

Symbol Interpreter::evaluateElements(const GraphNode &node,
                                     const Arguments &arguments) {
  Symbol result;
  for (const Symbol *argument : arguments) {
    result.shape = broadcast(node, result.shape, argument->shape);
    result.dependsOnScore |= argument->dependsOnScore;
  }
  if (arguments.size() == 1) {
    result.element = evaluateUnary(node, element(*arguments[0]));
    return result;
  }
  if (arguments.size() == 2) {
    const Symbol &a = *arguments[0], &b = *arguments[1];
    // What is added to -inf stays it, unless that is infinite itself.
    if (node.type == "Add" && (a.keep || b.keep)) {
      auto visible = [&](const Symbol &symbol) {
        return symbol.keep ? *symbol.element : element(symbol);
      };
      result.element = evaluateBinary(node, visible(a), visible(b));
      result.keep = conjoin(a.keep, b.keep);
      return result;
    }
    result.element = evaluateBinary(node, element(a), element(b));
    return result;
  }
  if (arguments.size() != 3 || node.type != "Where")
    declineNode(node);

  Element condition = element(*arguments[0]);
  if (!std::holds_alternative<Bool>(condition))
    declineNode(node);
  Bool holds = std::get<Bool>(condition);
  const Symbol &a = *arguments[1], &b = *arguments[2];
  auto isHidden = [](const Symbol &symbol) {
    return symbol.number &&
           *symbol.number == -std::numeric_limits<double>::infinity();
  };
  // A mask, if scores do not decide it.
  if (!arguments[0]->dependsOnScore && (isHidden(a) || isHidden(b))) {
    const Symbol &kept = isHidden(a) ? b : a;
    result.element = kept.keep ? *kept.element : element(kept);
    result.keep = conjoin(isHidden(a) ? !holds : holds, kept.keep);
    return result;
  }
  result.element = evaluateSelect(node, holds, element(a), element(b));
  return result;
}

Symbol Interpreter::evaluate(const GraphNode &node,
                             const Arguments &arguments) {
  static constexpr std::array shapes = {"Shape", "Gather", "Range"};
  static constexpr std::array reshapes = {"Reshape", "Squeeze", "Unsqueeze"};
  if (!node.domain.empty() && node.domain != "ai.onnx")
    declineNode(node);
  if (arguments.empty() || std::ranges::count(arguments, nullptr))
    declineNode(node);
  if (std::ranges::count(shapes, node.type))
    return evaluateShape(node, arguments);
  if (std::ranges::count(reshapes, node.type))
    return reshape(node, arguments);
  if (node.type == "Identity")
    return *arguments[0];
  return evaluateElements(node, arguments);
}

Symbol Interpreter::run(const abi::Graph *graph, const Real &score) {
  for (const GraphValue &value : readInitializers(api, graph))
    if (const abi::Value *constant = readConstant(api, value))
      define(value, readConstantTensor(readTensor(api, constant)));
  std::vector<GraphValue> inputs = readInputs(api, graph);
  std::vector<GraphValue> outputs = readOutputs(api, graph);
  if (inputs.size() != 1 || outputs.size() != 1)
    decline("score_mod does not take and give one tensor");
  Sizes scores;
  for (int axis = 0; axis < 4; ++axis)
    scores.push_back({.axis = axis});
  define(inputs[0],
         {.shape = scores, .element = score, .dependsOnScore = true});
  for (const abi::Node *node : readNodes(api, graph)) {
    GraphNode read(api, node);
    Arguments arguments;
    for (const GraphValue &input : read.inputs)
      arguments.push_back(input ? &get(input) : nullptr);
    define(read.output(0), evaluate(read, arguments));
  }
  Symbol result = get(outputs[0]);
  if (result.shape != scores)
    decline("score_mod does not give a tensor of the scores' shape");
  return result;
}

ScoreChange ort::readScoreGraph(const Api &api, const abi::Graph *graph,
                                const std::vector<GraphValue> &captured) {
  ScoreChange change;
  std::optional<Bool> keep;
  change.score = score([&](const Expr &s, const Index &b, const Index &h,
                           const Index &q, const Index &k) {
    Interpreter interpreter(api, captured, {b, h, q, k});
    Symbol result = interpreter.run(graph, s);
    keep = std::exchange(result.keep, std::nullopt);
    Real changed = toReal(interpreter.element(result));
    change.captured = std::move(interpreter.tensors);
    return changed;
  });
  if (keep)
    change.mask = mask([&](const Index &, const Index &, const Index &,
                           const Index &) { return *keep; });
  return change;
}
