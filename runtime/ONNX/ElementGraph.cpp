//===- ElementGraph.cpp - Graphs of one element at a time -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNX/ElementGraph.h"
#include "runtime/ONNX/Constants.h"
#include "runtime/ONNX/Elementwise.h"
#include "runtime/ONNX/Integers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

using namespace attn;
using namespace attn::onnx;
using mlir::getConstantIntValue;

static bool isOne(OpFoldResult size) { return getConstantIntValue(size) == 1; }

/// More are no function of a score that anyone has written.
static constexpr std::size_t maxNodes = 1000;

Value ElementScope::zero() {
  if (!zeroIndex)
    zeroIndex = mlir::arith::ConstantIndexOp::create(at.builder, at.loc, 0);
  return zeroIndex;
}

Value ElementScope::load(const LazyValue &tensor, ArrayRef<Value> indices) {
  std::pair<const LazyTensor *, std::vector<void *>> key = {tensor.get(), {}};
  for (Value index : indices)
    key.second.push_back(index.getAsOpaquePointer());
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Value element = tensor->load(*this, indices);
  known.emplace(std::move(key), element);
  return element;
}

Value ElementScope::loadBroadcast(const LazyValue &tensor,
                                  ArrayRef<OpFoldResult> shape,
                                  ArrayRef<Value> indices) {
  std::size_t missing = shape.size() - tensor->shape.size();
  SmallVector<Value> own;
  for (auto [dim, size] : llvm::enumerate(tensor->shape))
    own.push_back(isOne(size) && !isOne(shape[missing + dim])
                      ? zero()
                      : indices[missing + dim]);
  return load(tensor, own);
}

namespace {

class ElementGraphReader {
public:
  ElementGraphReader(NodeImport &at, const Graph &graph, StringRef what)
      : outer(at), b(at.b), graph(graph), what(what) {}

  FailureOr<ElementGraph> read(ArrayRef<OpFoldResult> shape, Type type) {
    if (graph.inputs.size() != 1 || graph.outputs.size() != 1)
      return error() << "expected one input and one output, got "
                     << graph.inputs.size() << " and " << graph.outputs.size();
    LazyTensor score = {Sizes(shape), type};
    score.isScore = true;
    score.load = [shape = score.shape](ElementScope &scope,
                                       ArrayRef<Value> indices) -> Value {
      // Only that of its own position; there is but one where a size is 1.
      for (std::size_t dim = 0; dim < shape.size(); ++dim)
        if (indices[dim] != scope.position[dim] && !isOne(shape[dim]))
          return {};
      return scope.score;
    };
    values[graph.inputs[0].name] =
        std::make_shared<const LazyTensor>(std::move(score));
    for (const Tensor &tensor : graph.initializers) {
      FailureOr<Value> constant =
          createConstant(b, tensor, "initializer " + quote(tensor.name));
      if (failed(constant))
        return failure();
      values[tensor.name] = wrap(*constant);
    }
    if (graph.nodes.size() > maxNodes)
      return error() << "expected up to " << maxNodes << " nodes, got "
                     << graph.nodes.size();
    for (const Node &node : graph.nodes) {
      FailureOr<LazyValue> value = readNode(node);
      if (failed(value))
        return failure();
      values[node.outputs[0]] = *value;
    }
    auto found = values.find(graph.outputs[0].name);
    if (found == values.end())
      return error() << "output " << quote(graph.outputs[0].name)
                     << " is computed by no node";
    ElementGraph result = {Sizes(shape), found->second};
    if (result.score->elementType != type || !broadcasts(result.score, shape))
      return error() << "expected an output of the shape and the type " << type
                     << " of its input";
    result.captures = captures;
    splitMask(result, graph.outputs[0].name);
    if (!canWrite(result, result.score, /*readsScore=*/true))
      return error()
             << "expected a graph in which each score depends on itself "
                "alone";
    return result;
  }

private:
  mlir::InFlightDiagnostic error() const {
    return outer.error() << "attribute '" << what << "': ";
  }

  static bool broadcasts(const LazyValue &value, ArrayRef<OpFoldResult> shape) {
    if (value->shape.size() > shape.size())
      return false;
    std::size_t missing = shape.size() - value->shape.size();
    for (auto [dim, size] : llvm::enumerate(value->shape)) {
      auto own = getConstantIntValue(size);
      auto other = getConstantIntValue(shape[missing + dim]);
      if (own && other && *own != 1 && *own != *other)
        return false;
    }
    return true;
  }

  unsigned capture(Value value) {
    auto *found = llvm::find(captures, value);
    if (found == captures.end()) {
      captures.push_back(value);
      return unsigned(captures.size() - 1);
    }
    return unsigned(found - captures.begin());
  }

  /// A size where the code of an element is written.
  std::function<Value(ElementScope &)> toIndex(OpFoldResult size) {
    if (std::optional<std::int64_t> number = getConstantIntValue(size))
      return [number = *number](ElementScope &scope) -> Value {
        return mlir::arith::ConstantIndexOp::create(scope.at.builder,
                                                    scope.at.loc, number);
      };
    unsigned index = capture(llvm::cast<Value>(size));
    return
        [index](ElementScope &scope) -> Value { return scope.captures[index]; };
  }

  /// A tensor from outside of the graph, or a constant of it.
  LazyValue wrap(Value tensor) {
    LazyTensor result = {sizesOf(b, tensor), typeOf(tensor).getElementType()};
    result.integers = findIntegers(tensor);
    mlir::DenseElementsAttr elements;
    if (mlir::matchPattern(tensor, mlir::m_Constant(&elements)) &&
        elements.isSplat()) {
      auto number = elements.getSplatValue<mlir::TypedAttr>();
      if (auto real = llvm::dyn_cast<mlir::FloatAttr>(number))
        result.isHidden =
            real.getValue().isInfinity() && real.getValue().isNegative();
      result.load = [number](ElementScope &scope, ArrayRef<Value>) -> Value {
        return mlir::arith::ConstantOp::create(scope.at.builder, scope.at.loc,
                                               number);
      };
    } else {
      unsigned index = capture(tensor);
      result.load = [index](ElementScope &scope,
                            ArrayRef<Value> indices) -> Value {
        return mlir::tensor::ExtractOp::create(scope.at.builder, scope.at.loc,
                                               scope.captures[index], indices);
      };
    }
    return std::make_shared<const LazyTensor>(std::move(result));
  }

  /// A tensor of integers that are known.
  LazyValue wrapIntegers(const Sizes &integers, bool isScalar, Type type) {
    SmallVector<std::int64_t> shape;
    if (!isScalar)
      shape.push_back(std::int64_t(integers.size()));
    return wrap(
        createIntegers(b, integers, RankedTensorType::get(shape, type)));
  }

  FailureOr<LazyValue> find(const NodeImport &at, unsigned input) {
    const std::string &name = at.node.inputs[input];
    if (auto found = values.find(name); found != values.end())
      return found->second;
    if (Value value = outer.findOuter(name)) {
      LazyValue wrapped = wrap(value);
      values[name] = wrapped;
      return wrapped;
    }
    return at.error() << "input " << quote(name)
                      << " is computed by no node before it";
  }

  FailureOr<LazyValue> readNode(const Node &node) {
    NodeImport at(b, node, outer.version, {}, outer.declarations, {});
    if (node.outputs.size() != 1 || node.outputs[0].empty())
      return at.error() << "expected one output in the graph of '" << what
                        << "'";
    SmallVector<LazyValue> inputs;
    for (unsigned i = 0; i < node.inputs.size(); ++i) {
      FailureOr<LazyValue> value = find(at, i);
      if (failed(value))
        return failure();
      inputs.push_back(*value);
    }
    FailureOr<LazyValue> result = readOperator(at, inputs);
    if (failed(result) || failed(at.checkAttributes()))
      return failure();
    return result;
  }

  FailureOr<LazyValue> readOperator(NodeImport &at,
                                    ArrayRef<LazyValue> inputs) {
    StringRef name = at.node.domain.empty() ? StringRef(at.node.opType) : "";
    std::size_t count = inputs.size();
    if (std::optional<Pointwise> pointwise = findPointwise(name))
      return count == pointwise->arity
                 ? readPointwise(at, inputs, *pointwise)
                 : FailureOr<LazyValue>(at.error()
                                        << "expected " << pointwise->arity
                                        << " inputs, got " << count);
    if (name == "Identity" && count == 1)
      return inputs[0];
    if (name == "Cast" && count == 1)
      return readCast(at, inputs[0]);
    if (name == "Constant" && count == 0)
      return readConstant(at);
    if (name == "Shape" && count == 1)
      return wrapIntegers(inputs[0]->shape, /*isScalar=*/false, b.getI64Type());
    if (name == "Gather" && count == 2)
      return readGather(at, inputs[0], inputs[1]);
    if (name == "Range" && count == 3)
      return readRange(at, inputs);
    if ((name == "Reshape" || name == "Unsqueeze" || name == "Squeeze") &&
        count == 2)
      return readReshape(at, inputs[0], inputs[1]);
    return at.error() << "it is not imported with " << count
                      << " inputs in the graph of '" << what << "'";
  }

  FailureOr<LazyValue> readPointwise(NodeImport &at, ArrayRef<LazyValue> inputs,
                                     const Pointwise &pointwise) {
    LazyTensor result;
    for (const LazyValue &input : inputs) {
      if (input->shape.size() > result.shape.size())
        result.shape.insert(result.shape.begin(),
                            input->shape.size() - result.shape.size(),
                            b.getIndexAttr(1));
      std::size_t missing = result.shape.size() - input->shape.size();
      for (auto [dim, size] : llvm::enumerate(input->shape)) {
        OpFoldResult &all = result.shape[missing + dim];
        auto own = getConstantIntValue(size), other = getConstantIntValue(all);
        if (own && other && *own != 1 && *other != 1 && *own != *other)
          return at.error() << "expected inputs that broadcast";
        if (isOne(all) || (!other && own && *own != 1))
          all = size;
      }
    }
    StringRef name = at.node.opType;
    bool isWhere = name == "Where";
    Type type = inputs[isWhere ? 1 : 0]->elementType;
    for (auto [index, input] : llvm::enumerate(inputs)) {
      Type expected = isWhere && index == 0 ? Type(b.getI1Type()) : type;
      if (input->elementType != expected || !takes(pointwise, expected))
        return at.error() << "input " << index
                          << ": expected elements of one type that the "
                             "operator has, got "
                          << input->elementType;
    }
    result.elementType = pointwise.isPredicate ? Type(b.getI1Type()) : type;
    SmallVector<LazyValue> operands(inputs);
    result.load = [name = name.str(), operands, shape = result.shape](
                      ElementScope &scope, ArrayRef<Value> indices) -> Value {
      SmallVector<Value> elements;
      for (const LazyValue &operand : operands) {
        elements.push_back(scope.loadBroadcast(operand, shape, indices));
        if (!elements.back())
          return {};
      }
      return computePointwise(scope.at.builder, scope.at.loc, name, elements);
    };
    auto value = std::make_shared<const LazyTensor>(std::move(result));
    if (isWhere)
      conditions[at.node.outputs[0]] = operands;
    return LazyValue(value);
  }

  /// Whether the code of an operator is written for a type. That of f16 and
  /// bf16 would round each step.
  static bool takes(const Pointwise &pointwise, Type type) {
    if (type.isInteger(1))
      return pointwise.takesBooleans;
    if (type.isInteger())
      return pointwise.takesIntegers;
    return pointwise.takesFloats && (type.isF32() || type.isF64());
  }

  FailureOr<LazyValue> readCast(NodeImport &at, const LazyValue &input) {
    FailureOr<std::int64_t> to = at.integer("to", 0);
    at.ignore("saturate");
    at.ignore("round_mode");
    if (failed(to))
      return failure();
    Type type = convertElementType(b.getContext(), DataType(*to));
    if (!type)
      return at.error() << "attribute 'to': elements of "
                        << formatDataType(DataType(*to)) << " are not imported";
    LazyTensor result = {input->shape, type};
    result.isHidden = input->isHidden;
    result.load = [input, type](ElementScope &scope,
                                ArrayRef<Value> indices) -> Value {
      Value element = scope.load(input, indices);
      return element
                 ? convertElement(scope.at.builder, scope.at.loc, element, type)
                 : Value();
    };
    if (type.isInteger() && !type.isInteger(1))
      result.integers = input->integers;
    return std::make_shared<const LazyTensor>(std::move(result));
  }

  FailureOr<LazyValue> readConstant(NodeImport &at) {
    FailureOr<std::shared_ptr<const Tensor>> tensor = at.tensor("value");
    if (failed(tensor))
      return failure();
    if (!*tensor)
      return at.error() << "expected the attribute 'value'";
    FailureOr<Value> constant = createConstant(
        b, **tensor, "node " + describe(at.node) + ": attribute 'value'");
    if (failed(constant))
      return failure();
    return wrap(*constant);
  }

  FailureOr<LazyValue> readGather(NodeImport &at, const LazyValue &table,
                                  const LazyValue &numbers) {
    FailureOr<std::int64_t> axis =
        at.axis("axis", 0, std::int64_t(table->shape.size()));
    if (failed(axis))
      return failure();
    if (table->integers && numbers->integers) {
      auto known = mlir::getConstantIntValues(*numbers->integers);
      Sizes some;
      for (std::int64_t number : known.value_or(SmallVector<std::int64_t>())) {
        FailureOr<std::int64_t> place =
            at.resolveAxis(number, std::int64_t(table->integers->size()));
        if (failed(place))
          return failure();
        some.push_back((*table->integers)[std::size_t(*place)]);
      }
      if (known)
        return wrapIntegers(some, numbers->shape.empty(), table->elementType);
    }
    if (!numbers->elementType.isInteger(64) &&
        !numbers->elementType.isInteger(32))
      return at.error() << "expected indices of int32 or int64, got "
                        << numbers->elementType;
    auto before = std::size_t(*axis), count = numbers->shape.size();
    LazyTensor result = {{}, table->elementType};
    ArrayRef<OpFoldResult> shape = table->shape;
    result.shape.append(shape.take_front(before).begin(),
                        shape.take_front(before).end());
    result.shape.append(numbers->shape);
    result.shape.append(shape.drop_front(before + 1).begin(),
                        shape.drop_front(before + 1).end());
    auto size = toIndex(shape[before]);
    result.load = [table, numbers, before, count, size](
                      ElementScope &scope, ArrayRef<Value> indices) -> Value {
      OpBuilder &b = scope.at.builder;
      Location loc = scope.at.loc;
      Value number = scope.load(numbers, indices.slice(before, count));
      if (!number)
        return {};
      Value index =
          mlir::arith::IndexCastOp::create(b, loc, b.getIndexType(), number);
      // Negative ones count from the end.
      Value isNegative = mlir::arith::CmpIOp::create(
          b, loc, mlir::arith::CmpIPredicate::slt, index, scope.zero());
      Value fromEnd = mlir::arith::AddIOp::create(b, loc, index, size(scope));
      SmallVector<Value> place(indices.take_front(before));
      place.push_back(
          mlir::arith::SelectOp::create(b, loc, isNegative, fromEnd, index));
      llvm::append_range(place, indices.drop_front(before + count));
      return scope.load(table, place);
    };
    return std::make_shared<const LazyTensor>(std::move(result));
  }

  FailureOr<LazyValue> readRange(NodeImport &at, ArrayRef<LazyValue> inputs) {
    Sizes numbers;
    for (const LazyValue &input : inputs) {
      if (!input->integers || input->integers->size() != 1)
        return at.error() << "expected integers that are known";
      numbers.push_back(input->integers->front());
    }
    auto start = getConstantIntValue(numbers[0]);
    auto limit = getConstantIntValue(numbers[1]);
    auto delta = getConstantIntValue(numbers[2]);
    constexpr std::int64_t far = std::int64_t(1) << 40;
    bool isKnown = start && delta && *delta > 0 && *start > -far &&
                   *start < far && *delta < far;
    if (!isKnown || (!limit && (*start != 0 || *delta != 1)) ||
        (limit && (*limit > far || *limit < -far)))
      return at.error() << "expected a range from a known number in known "
                           "steps above 0, and to a size from 0 in steps of 1";
    OpFoldResult size = numbers[1];
    if (limit)
      size = b.getIndexAttr(
          *limit > *start ? llvm::divideCeil(*limit - *start, *delta) : 0);
    Type type = inputs[0]->elementType;
    LazyTensor result = {{size}, type};
    result.load = [start = *start, delta = *delta, type](
                      ElementScope &scope, ArrayRef<Value> indices) -> Value {
      OpBuilder &b = scope.at.builder;
      Location loc = scope.at.loc;
      Value number = indices[0];
      auto constant = [&](std::int64_t value) {
        return mlir::arith::ConstantIndexOp::create(b, loc, value);
      };
      if (delta != 1)
        number = mlir::arith::MulIOp::create(b, loc, number, constant(delta));
      if (start != 0)
        number = mlir::arith::AddIOp::create(b, loc, number, constant(start));
      return mlir::arith::IndexCastOp::create(b, loc, type, number);
    };
    return std::make_shared<const LazyTensor>(std::move(result));
  }

  /// Dimensions of 1 come and go; the others stay in their order.
  FailureOr<LazyValue> readReshape(NodeImport &at, const LazyValue &input,
                                   const LazyValue &shape) {
    auto numbers = shape->integers
                       ? mlir::getConstantIntValues(*shape->integers)
                       : std::optional<SmallVector<std::int64_t>>();
    at.ignore("allowzero"); // Sizes of 0 are not taken at all.
    if (!numbers)
      return at.error() << "expected a constant shape, or constant axes";
    SmallVector<std::size_t> kept; // Of the input.
    for (auto [dim, size] : llvm::enumerate(input->shape))
      if (!isOne(size))
        kept.push_back(dim);
    Sizes result;
    SmallVector<std::size_t> from; // Where each dimension's index goes.
    constexpr std::size_t none = ~std::size_t(0);
    auto add = [&](bool isUnit) {
      std::size_t next = std::size_t(
          llvm::count_if(from, [&](std::size_t d) { return d != none; }));
      bool fits = isUnit || next < kept.size();
      from.push_back(isUnit || !fits ? none : kept[next]);
      result.push_back(from.back() == none ? OpFoldResult(b.getIndexAttr(1))
                                           : input->shape[from.back()]);
      return fits;
    };
    bool fits = true;
    auto rank = std::int64_t(input->shape.size());
    bool adds = at.node.opType == "Unsqueeze";
    if (at.node.opType == "Reshape") {
      for (std::int64_t size : *numbers) {
        fits = fits && add(size == 1) && size != 0;
        if (fits && from.back() != none && size != -1)
          fits = getConstantIntValue(result.back()) == size;
      }
    } else {
      std::int64_t all = adds ? rank + std::int64_t(numbers->size()) : rank;
      llvm::SmallDenseSet<std::int64_t> axes;
      for (std::int64_t axis : *numbers) {
        FailureOr<std::int64_t> resolved = at.resolveAxis(axis, all);
        if (failed(resolved))
          return failure();
        fits = fits && axes.insert(*resolved).second;
      }
      std::int64_t next = 0;
      for (std::int64_t dim = 0; fits && dim < all; ++dim) {
        if (adds && axes.contains(dim)) {
          add(/*isUnit=*/true);
          continue;
        }
        bool isUnit = isOne(input->shape[std::size_t(next++)]);
        if (!adds && axes.contains(dim))
          fits = isUnit;
        else
          fits = add(isUnit);
      }
    }
    std::size_t taken = std::size_t(
        llvm::count_if(from, [&](std::size_t d) { return d != none; }));
    if (!fits || taken != kept.size())
      return at.error() << "in the graph of '" << what
                        << "', only dimensions of 1 may come and go";
    LazyTensor value = {result, input->elementType};
    value.isHidden = input->isHidden;
    if (result.size() <= 1)
      value.integers = input->integers;
    value.load = [input, from, count = input->shape.size()](
                     ElementScope &scope, ArrayRef<Value> indices) -> Value {
      SmallVector<Value> own(count);
      for (auto [dim, source] : llvm::enumerate(from))
        if (source != none)
          own[source] = indices[dim];
      for (Value &index : own)
        if (!index)
          index = scope.zero();
      return scope.load(input, own);
    };
    return std::make_shared<const LazyTensor>(std::move(value));
  }

  /// Takes a condition with -inf on its other side off the score.
  void splitMask(ElementGraph &result, const std::string &output) {
    auto found = conditions.find(output);
    if (found == conditions.end() || !found->second[2]->isHidden ||
        !broadcasts(found->second[0], result.shape) ||
        !broadcasts(found->second[1], result.shape) ||
        !canWrite(result, found->second[0], /*readsScore=*/false))
      return;
    result.keep = found->second[0];
    result.score = found->second[1];
  }

  /// Whether an element can be written, found out by writing it.
  bool canWrite(const ElementGraph &result, const LazyValue &value,
                bool readsScore) {
    mlir::Region region;
    mlir::Block &block = region.emplaceBlock();
    Location loc = b.getLoc();
    mlir::attn::Position position;
    for (Value *index : {&position.b, &position.h, &position.p, &position.j})
      *index = block.addArgument(b.getIndexType(), loc);
    SmallVector<Value> arguments;
    for (Value outside : result.captures)
      arguments.push_back(block.addArgument(outside.getType(), loc));
    Value score;
    if (readsScore)
      score = block.addArgument(value->elementType, loc);
    OpBuilder builder(b.getContext());
    builder.setInsertionPointToEnd(&block);
    ElementScope scope({builder, loc}, score, position, arguments);
    return static_cast<bool>(
        scope.loadBroadcast(value, result.shape, scope.position));
  }

  NodeImport &outer;
  Builder &b;
  const Graph &graph;
  StringRef what;
  llvm::StringMap<LazyValue> values;
  /// Inputs of each Where.
  llvm::StringMap<SmallVector<LazyValue>> conditions;
  SmallVector<Value> captures;
};

} // namespace

FailureOr<ElementGraph>
attn::onnx::readElementGraph(NodeImport &at, const Graph &graph, StringRef what,
                             ArrayRef<OpFoldResult> shape, Type type) {
  return ElementGraphReader(at, graph, what).read(shape, type);
}
