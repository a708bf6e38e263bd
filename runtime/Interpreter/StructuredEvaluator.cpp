//===- StructuredEvaluator.cpp - Evaluates linalg element by element ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/BlockEvaluator.h"
#include "runtime/Interpreter/TensorOperations.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

#include <cmath>
#include <limits>
#include <utility>

using namespace attn;
using namespace attn::interpreter;
using TensorPtr = std::shared_ptr<const Tensor>;
using Sizes = SmallVector<std::int64_t>;

namespace {

/// Runs the body of one operation at every point of its loops.
class StructuredEvaluator {
public:
  StructuredEvaluator(mlir::linalg::LinalgOp op, BlockEvaluator &blocks)
      : op(op), blocks(blocks) {}

  LogicalResult evaluate() {
    if (failed(setBounds()) || failed(setOperands()))
      return failure();
    if (!visitIndices(bounds, [&](ArrayRef<std::int64_t> point) {
          return succeeded(evaluateAt(point));
        }))
      return failure();
    for (auto [result, init, elements] :
         llvm::zip_equal(op->getResults(), op.getDpsInits(), outputs)) {
      const Tensor &tensor = blocks.getTensor(init);
      blocks.define(result, {Tensor::createPartial(tensor.elementType,
                                                   tensor.shape(), elements)});
    }
    return success();
  }

private:
  struct Operand {
    mlir::AffineMap map;
    const Tensor *tensor = nullptr; ///< Null for a scalar.
    Datum scalar;
    std::vector<Datum> *elements = nullptr; ///< Of an output, so far.
  };

  LogicalResult setBounds() {
    Sizes sizes;
    for (Value operand : op->getOperands())
      if (auto *tensor = std::get_if<TensorPtr>(&blocks.get(operand)))
        llvm::append_range(sizes, (*tensor)->shape());
    SmallVector<std::int64_t, 4> loops =
        op.getShapesToLoopsMap().compose(sizes);
    bounds.assign(loops.begin(), loops.end());
    return success();
  }

  LogicalResult setOperands() {
    outputs.reserve(std::size_t(op.getNumDpsInits()));
    for (mlir::OpOperand &operand : op->getOpOperands()) {
      Operand item;
      item.map = op.getMatchingIndexingMap(&operand);
      item.scalar = blocks.get(operand.get());
      if (auto *tensor = std::get_if<TensorPtr>(&item.scalar))
        item.tensor = tensor->get();
      if (item.tensor && failed(checkSizes(operand, item)))
        return failure();
      if (op.isDpsInit(&operand)) {
        auto elements = copyElements(*item.tensor);
        if (!elements)
          return mlir::emitError(op.getLoc())
                 << "cannot evaluate a tensor of so many elements";
        item.elements = &outputs.emplace_back(std::move(*elements));
      }
      operands.push_back(std::move(item));
    }
    return success();
  }

  /// Sizes that belong to one loop must be equal.
  LogicalResult checkSizes(mlir::OpOperand &operand, const Operand &item) {
    for (auto [dim, expr] : llvm::enumerate(item.map.getResults()))
      if (auto loop = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
        if (std::int64_t size = item.tensor->shape()[dim],
            expected = bounds[loop.getPosition()];
            size != expected)
          return mlir::emitError(op.getLoc())
                 << "operand " << operand.getOperandNumber() << ": dimension "
                 << dim << " is " << size << ", expected " << expected;
    return success();
  }

  LogicalResult evaluateAt(ArrayRef<std::int64_t> point) {
    llvm::SaveAndRestore save(blocks.iteration, point);
    mlir::Block &body = *op.getBlock();
    std::vector<Datum> arguments(body.getNumArguments());
    std::vector<std::size_t> positions;
    for (auto [operand, item] :
         llvm::zip_equal(op->getOpOperands(), operands)) {
      Datum datum = item.scalar;
      if (item.tensor) {
        Sizes index = locate(item.map, point);
        for (auto [position, size] :
             llvm::zip_equal(index, item.tensor->shape()))
          if (position < 0 || position >= size)
            return mlir::emitError(op.getLoc())
                   << "operand " << operand.getOperandNumber()
                   << " is too small for the others";
        if (item.elements) {
          positions.push_back(numberOf(index, item.tensor->shape()));
          datum = (*item.elements)[positions.back()];
        } else {
          datum = item.tensor->load(index);
        }
      }
      if (auto argument = op.getMatchingBlockArgument(&operand))
        arguments[argument.getArgNumber()] = std::move(datum);
    }
    FailureOr<std::vector<Datum>> yielded =
        blocks.yield(op->getRegion(0), arguments);
    if (failed(yielded))
      return failure();
    for (auto [elements, position, datum] :
         llvm::zip_equal(outputs, positions, *yielded))
      elements[position] = std::move(datum);
    return success();
  }

  static Sizes locate(mlir::AffineMap map, ArrayRef<std::int64_t> point) {
    Sizes index;
    for (mlir::AffineExpr expr : map.getResults()) {
      auto loop = llvm::dyn_cast<mlir::AffineDimExpr>(expr);
      index.push_back(loop ? point[loop.getPosition()]
                           : mlir::AffineMap::get(map.getNumDims(), 0, expr)
                                 .compose(point)
                                 .front());
    }
    return index;
  }

  mlir::linalg::LinalgOp op;
  BlockEvaluator &blocks;
  Sizes bounds;
  std::vector<Operand> operands;
  std::vector<std::vector<Datum>> outputs;
};

} // namespace

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// Replaces numbers by their softmax. What kernels compute one after the other
/// is rounded to `type`.
static void applySoftmax(std::vector<double> &row, Type type) {
  auto round = [&](double number) {
    return type.isF16() || type.isBF16()
               ? roundTo(type, number).convertToDouble()
               : number;
  };
  double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
  for (double number : row)
    maximum = std::fmax(maximum, number);
  for (double &number : row) {
    number = round(std::exp(round(number - maximum)));
    sum = round(sum + number);
  }
  for (double &number : row)
    number = round(number / sum);
}

static LogicalResult evaluateSoftmax(mlir::linalg::SoftmaxOp op,
                                     BlockEvaluator &blocks) {
  const Tensor &input = blocks.getTensor(op.getInput());
  Sizes rows(input.shape());
  std::int64_t size = std::exchange(rows[op.getDimension()], 1);
  auto elements = copyElements(input);
  if (!elements || input.shape() != blocks.getTensor(op.getOutput()).shape())
    return mlir::emitError(op.getLoc())
           << "'" << op->getName() << "' has no result for its operands";
  visitIndices(rows, [&](ArrayRef<std::int64_t> start) {
    std::vector<Datum *> places;
    Sizes index(start);
    for (std::int64_t &i = index[op.getDimension()]; i < size; ++i)
      places.push_back(&(*elements)[numberOf(index, input.shape())]);
    std::vector<double> row;
    for (Datum *place : places)
      if (auto *number = std::get_if<double>(place))
        row.push_back(*number);
    bool isKnown = row.size() == places.size();
    applySoftmax(row, input.elementType);
    for (auto [i, place] : llvm::enumerate(places))
      *place = isKnown ? Datum(row[i]) : Datum(Undefined());
    return true;
  });
  blocks.define(
      op->getResult(0),
      {Tensor::createPartial(input.elementType, input.shape(), *elements)});
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

/// The sizes of a result, with the values of those that are dynamic.
static std::optional<Sizes> resolveSizes(ArrayRef<std::int64_t> sizes,
                                         mlir::ValueRange dynamic,
                                         const BlockEvaluator &blocks) {
  std::vector<Datum> given = blocks.get(dynamic);
  ArrayRef<Datum> rest = given;
  return resolveDynamic(sizes, rest);
}

/// A tensor of what `region` yields for its indices, but where `get` gives an
/// element.
static LogicalResult
generate(Operation *op, ArrayRef<std::int64_t> sizes, BlockEvaluator &blocks,
         llvm::function_ref<std::optional<Datum>(ArrayRef<std::int64_t>)> get) {
  bool isGood = countElements(sizes).has_value();
  if (!isGood)
    return mlir::emitError(op->getLoc())
           << "'" << op->getName() << "' has no result for its operands";
  Datum result = computeTensor(
      mlir::getElementTypeOrSelf(op->getResult(0)), sizes,
      [&](ArrayRef<std::int64_t> index) -> Datum {
        if (std::optional<Datum> element = get(index); element || !isGood)
          return element.value_or(Undefined());
        FailureOr<std::vector<Datum>> yielded = blocks.yield(
            op->getRegion(0), llvm::map_to_vector(index, makeIndex));
        isGood = succeeded(yielded);
        return isGood ? yielded->front() : Datum(Undefined());
      });
  blocks.define(op->getResult(0), result);
  return success(isGood);
}

static LogicalResult evaluateGenerate(mlir::tensor::GenerateOp op,
                                      BlockEvaluator &blocks) {
  std::optional<Sizes> sizes =
      resolveSizes(op.getType().getShape(), op.getDynamicExtents(), blocks);
  return generate(op, *sizes, blocks,
                  [](ArrayRef<std::int64_t>) { return std::nullopt; });
}

static LogicalResult evaluatePad(mlir::tensor::PadOp op,
                                 BlockEvaluator &blocks) {
  const Tensor source = blocks.getTensor(op.getSource());
  Sizes low = *resolveSizes(op.getStaticLow(), op.getLow(), blocks);
  Sizes high = *resolveSizes(op.getStaticHigh(), op.getHigh(), blocks);
  Sizes sizes;
  for (auto [size, before, after] : llvm::zip_equal(source.shape(), low, high))
    sizes.push_back(before < 0 || after < 0 ? -1 : size + before + after);
  return generate(op, sizes, blocks,
                  [&](ArrayRef<std::int64_t> index) -> std::optional<Datum> {
                    Sizes inner;
                    for (auto [position, before, size] :
                         llvm::zip_equal(index, low, source.shape())) {
                      inner.push_back(position - before);
                      if (inner.back() < 0 || inner.back() >= size)
                        return std::nullopt;
                    }
                    return source.load(inner);
                  });
}

/// Where an element of a plain tensor lies in the packed one. `packed` are that
/// one's sizes.
template <typename Op>
static Sizes findPacked(Op op, ArrayRef<std::int64_t> index,
                        ArrayRef<std::int64_t> packed) {
  Sizes outer(index), inner;
  for (auto [number, dim] : llvm::enumerate(op.getInnerDimsPos())) {
    std::int64_t tile = packed[index.size() + number];
    inner.push_back(tile > 0 ? index[std::size_t(dim)] % tile : -1);
    outer[std::size_t(dim)] = tile > 0 ? index[std::size_t(dim)] / tile : -1;
  }
  Sizes place = outer;
  for (auto [number, dim] : llvm::enumerate(op.getOuterDimsPerm()))
    place[number] = outer[std::size_t(dim)];
  place.append(inner);
  return place;
}

static bool isIndexOf(ArrayRef<std::int64_t> index, const Tensor &tensor) {
  return llvm::all_of_zip(index, tensor.shape(),
                          [](std::int64_t position, std::int64_t size) {
                            return position >= 0 && position < size;
                          });
}

static LogicalResult evaluatePack(mlir::linalg::PackOp op,
                                  BlockEvaluator &blocks) {
  const Tensor source = blocks.getTensor(op.getSource());
  const Tensor dest = blocks.getTensor(op.getDest());
  auto elements = copyElements(dest);
  if (!elements)
    return mlir::emitError(op.getLoc())
           << "'" << op->getName() << "' has no result for its operands";
  Datum padding = Undefined();
  if (Value value = op.getPaddingValue())
    padding = blocks.get(value);
  llvm::fill(*elements, padding);
  bool fits = visitIndices(source.shape(), [&](ArrayRef<std::int64_t> index) {
    Sizes place = findPacked(op, index, dest.shape());
    bool isInside = isIndexOf(place, dest);
    if (isInside)
      (*elements)[numberOf(place, dest.shape())] = source.load(index);
    return isInside;
  });
  if (!fits)
    return mlir::emitError(op.getLoc())
           << "'" << op->getName() << "' has no result for its operands";
  blocks.define(
      op->getResult(0),
      {Tensor::createPartial(source.elementType, dest.shape(), *elements)});
  return success();
}

static LogicalResult evaluateUnPack(mlir::linalg::UnPackOp op,
                                    BlockEvaluator &blocks) {
  const Tensor source = blocks.getTensor(op.getSource());
  const Tensor dest = blocks.getTensor(op.getDest());
  blocks.define(op->getResult(0),
                computeTensor(source.elementType, dest.shape(),
                              [&](ArrayRef<std::int64_t> index) -> Datum {
                                Sizes place =
                                    findPacked(op, index, source.shape());
                                return isIndexOf(place, source)
                                           ? source.load(place)
                                           : Datum(Undefined());
                              }));
  return success();
}

std::optional<LogicalResult>
interpreter::evaluateStructured(Operation *op, BlockEvaluator &blocks) {
  using mlir::linalg::LinalgOp;
  return llvm::TypeSwitch<Operation *, std::optional<LogicalResult>>(op)
      .Case([&](LinalgOp linalg) {
        return StructuredEvaluator(linalg, blocks).evaluate();
      })
      .Case([&](mlir::linalg::SoftmaxOp softmax) {
        return evaluateSoftmax(softmax, blocks);
      })
      .Case(
          [&](mlir::linalg::PackOp pack) { return evaluatePack(pack, blocks); })
      .Case([&](mlir::linalg::UnPackOp unpack) {
        return evaluateUnPack(unpack, blocks);
      })
      .Case([&](mlir::linalg::IndexOp index) {
        blocks.define(index.getResult(),
                      {makeIndex(blocks.iteration[index.getDim()])});
        return success();
      })
      .Case([&](mlir::tensor::GenerateOp generate) {
        return evaluateGenerate(generate, blocks);
      })
      .Case([&](mlir::tensor::PadOp pad) { return evaluatePad(pad, blocks); })
      .Default(std::nullopt);
}
