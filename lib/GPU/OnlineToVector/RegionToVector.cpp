//===- RegionToVector.cpp - Regions as vector code of a tile --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/OnlineToVector/RegionToVector.h"
#include "lib/Regions/Reciprocal.h"
#include "lib/Regions/RegionDependence.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

Value attn::broadcastTo(ImplicitLocOpBuilder &b, Value value,
                        ArrayRef<int64_t> shape) {
  auto from = dyn_cast<VectorType>(value.getType());
  if (from && from.getShape() == shape)
    return value;
  if (from && from.getRank() == 1 && shape.size() == 2)
    value = vector::ShapeCastOp::create(
        b, VectorType::get({from.getDimSize(0), 1}, from.getElementType()),
        value);
  Type element = getElementTypeOrSelf(value.getType());
  auto type = VectorType::get(shape, element);
  if (value.getType() == type)
    return value;
  return vector::BroadcastOp::create(b, type, value);
}

/// The smallest shape that all vectors of rank 2 in `values` broadcast to;
/// empty for scalars.
static SmallVector<int64_t> joinShapes(ValueRange values) {
  SmallVector<int64_t> shape;
  for (Value value : values) {
    auto type = dyn_cast<VectorType>(value.getType());
    if (!type)
      continue;
    if (shape.empty())
      shape = llvm::to_vector(type.getShape());
    for (auto [size, other] : llvm::zip_equal(shape, type.getShape()))
      size = std::max(size, other);
  }
  return shape;
}

static bool hasVectorForm(Operation &op) {
  return OpTrait::hasElementwiseMappableTraits(&op);
}

/// Whether a quotient of vectors has the same divisor everywhere, and may be
/// rounded in another way. A division takes ten instructions on GPUs.
static bool isByOneNumber(arith::DivFOp division, Value divisor) {
  return !isa<VectorType>(divisor.getType()) && division.getType().isF32() &&
         hasSmoothUses(division);
}

/// A vector divided by a number.
static Value emitProduct(ImplicitLocOpBuilder &b, ValueRange operands) {
  auto [inverse, power] = emitReciprocal(b, operands[1]);
  ArrayRef<int64_t> shape = cast<VectorType>(operands[0].getType()).getShape();
  Value product = operands[0];
  for (Value factor : {inverse, power})
    product =
        b.createOrFold<arith::MulFOp>(product, broadcastTo(b, factor, shape));
  return product;
}

/// Gives the vector of an operation that is not elementwise.
using EmitOther =
    function_ref<FailureOr<Value>(Operation &op, IRMapping &values)>;

static FailureOr<Value> vectorize(ImplicitLocOpBuilder &b, Block &body,
                                  ValueRange arguments, EmitOther emitOther) {
  IRMapping values;
  values.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values.lookupOrDefault(operand));
    SmallVector<int64_t> shape = joinShapes(operands);
    if (!shape.empty() && !hasVectorForm(op)) {
      FailureOr<Value> result = emitOther(op, values);
      if (failed(result))
        return failure();
      values.map(op.getResult(0), *result);
      continue;
    }
    if (auto division = dyn_cast<arith::DivFOp>(op);
        division && !shape.empty() && isByOneNumber(division, operands[1])) {
      values.map(division, emitProduct(b, operands));
      continue;
    }
    if (!shape.empty())
      for (Value &operand : operands)
        operand = broadcastTo(b, operand, shape);
    Operation *copy = b.clone(op, values);
    copy->setOperands(operands);
    if (!shape.empty())
      for (Value result : copy->getResults())
        result.setType(VectorType::get(shape, result.getType()));
    dropPromises(copy);
    values.map(op.getResults(), copy->getResults());
  }
  return values.lookupOrDefault(body.getTerminator()->getOperand(0));
}

FailureOr<Value> attn::vectorizeBody(ImplicitLocOpBuilder &b, Block &body,
                                     ValueRange arguments) {
  return vectorize(
      b, body, arguments, [](Operation &op, IRMapping &) -> FailureOr<Value> {
        return op.emitOpError("has no form for vectors of a tile on a GPU");
      });
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Elements that are not observable divide too, which a CPU that emulates a GPU
/// traps.
static bool mayTrap(Operation &op) {
  if (!isa<arith::DivSIOp, arith::DivUIOp, arith::CeilDivSIOp,
           arith::CeilDivUIOp, arith::FloorDivSIOp, arith::RemSIOp,
           arith::RemUIOp>(op))
    return false;
  APInt divisor;
  return !matchPattern(op.getOperand(1), m_ConstantInt(&divisor)) ||
         divisor.isZero() || divisor.isAllOnes();
}

namespace {
/// The dimensions of a tensor along which a load moves with positions and keys.
struct LoadDims {
  std::optional<unsigned> position, key;

  /// None if it is not a rectangle of the tensor.
  static std::optional<LoadDims> find(tensor::ExtractOp load,
                                      const RegionDependence &dependence) {
    LoadDims dims;
    for (auto [dim, index] : llvm::enumerate(load.getIndices())) {
      auto linear = dependence.getLinear(index);
      if (!linear)
        return std::nullopt;
      if (linear->position == 0 && linear->key == 0)
        continue;
      bool ofPosition = linear->position == 1 && linear->key == 0;
      bool ofKey = linear->position == 0 && linear->key == 1;
      std::optional<unsigned> &own = ofPosition ? dims.position : dims.key;
      if (own || (!ofPosition && !ofKey))
        return std::nullopt;
      own = dim;
    }
    return dims;
  }
};
} // namespace

static bool isVarying(Value value, const RegionDependence &dependence) {
  return dependence.onLane(value) || dependence.onRow(value);
}

/// Whether a load is of one row of its tensor everywhere.
static bool isOfOneRow(tensor::ExtractOp load,
                       const RegionDependence &dependence) {
  return llvm::none_of(load.getIndices().drop_back(), [&](Value index) {
    return isVarying(index, dependence);
  });
}

bool attn::isVectorizable(Region &region, bool isScore) {
  RegionDependence dependence(region, isScore);
  for (Operation &op : region.front().without_terminator()) {
    if (llvm::none_of(op.getOperands(), [&](Value value) {
          return isVarying(value, dependence);
        }))
      continue;
    auto load = dyn_cast<tensor::ExtractOp>(op);
    if (load
            ? !LoadDims::find(load, dependence) && !isOfOneRow(load, dependence)
            : !hasVectorForm(op) || mayTrap(op))
      return false;
  }
  return true;
}

namespace {
/// Emits reads of captured tensors.
class TableReads {
public:
  TableReads(ImplicitLocOpBuilder &builder, const PositionTile &tile,
             const RegionDependence &dependence)
      : b(builder), tile(tile), dependence(dependence) {}

  FailureOr<Value> emit(Operation &op, IRMapping &values) {
    auto load = cast<tensor::ExtractOp>(op);
    std::optional<LoadDims> dims = LoadDims::find(load, dependence);
    return dims ? emitRectangle(load, *dims, values) : emitGather(load, values);
  }

private:
  Value emitRectangle(tensor::ExtractOp load, const LoadDims &dims,
                      IRMapping &values) {
    SmallVector<Value> begin;
    for (Value index : load.getIndices())
      begin.push_back(emitAtOrigin(index, values));
    auto type = cast<RankedTensorType>(load.getTensor().getType());
    auto along = [&](std::optional<unsigned> dim) {
      return dim ? b.getAffineDimExpr(*dim) : b.getAffineConstantExpr(0);
    };
    auto map =
        AffineMap::get(unsigned(type.getRank()), 0,
                       {along(dims.position), along(dims.key)}, b.getContext());
    auto vector = VectorType::get(
        {dims.position ? tile.rows : 1, dims.key ? tile.keys : 1},
        type.getElementType());
    Value padding =
        arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
    std::array inBounds = {!dims.position, !dims.key};
    return vector::TransferReadOp::create(b, vector,
                                          values.lookup(load.getTensor()),
                                          begin, padding, map, inBounds);
  }

  Value emitGather(tensor::ExtractOp load, IRMapping &values) {
    Value table = values.lookup(load.getTensor());
    Value indices = values.lookup(load.getIndices().back());
    auto shape = cast<VectorType>(indices.getType()).getShape();
    SmallVector<Value> begin;
    for (Value index : load.getIndices().drop_back())
      begin.push_back(values.lookupOrDefault(index));
    begin.push_back(arith::ConstantIndexOp::create(b, 0));
    // Where no query or key is, an index may be outside.
    Value size = b.createOrFold<tensor::DimOp>(
        table, int64_t(load.getIndices().size()) - 1);
    Value isInside = arith::CmpIOp::create(
        b, arith::CmpIPredicate::ult, indices, broadcastTo(b, size, shape));
    auto type = VectorType::get(shape, load.getType());
    Value none = arith::ConstantOp::create(b, b.getZeroAttr(type));
    return vector::GatherOp::create(b, type, table, begin, indices, isInside,
                                    none);
  }

  /// What an index is at the first position and key.
  Value emitAtOrigin(Value value, IRMapping &values) {
    if (value == dependence.getArguments().position)
      return tile.position;
    if (value == dependence.getArguments().key)
      return tile.firstKey;
    if (!isVarying(value, dependence))
      return values.lookupOrDefault(value);
    Operation *op = value.getDefiningOp();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(emitAtOrigin(operand, values));
    Operation *copy = b.clone(*op);
    copy->setOperands(operands);
    dropPromises(copy);
    return copy->getResult(0);
  }

  ImplicitLocOpBuilder &b;
  const PositionTile &tile;
  const RegionDependence &dependence;
};
} // namespace

/// A vector of the indices from `first` on.
static Value emitIndices(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape,
                         Value first) {
  auto type = VectorType::get(shape, b.getIndexType());
  Value steps = vector::StepOp::create(
      b, VectorType::get(type.getNumElements(), b.getIndexType()));
  return arith::AddIOp::create(b, vector::ShapeCastOp::create(b, type, steps),
                               broadcastTo(b, first, shape),
                               arith::IntegerOverflowFlags::nsw);
}

Value attn::emitPositions(ImplicitLocOpBuilder &b, const PositionTile &tile) {
  return emitIndices(b, {tile.rows, 1}, tile.position);
}

Value attn::emitKeys(ImplicitLocOpBuilder &b, const PositionTile &tile) {
  return emitIndices(b, {1, tile.keys}, tile.firstKey);
}

FailureOr<Value> attn::vectorizeRegion(ImplicitLocOpBuilder &b, Region &region,
                                       const PositionTile &tile, Value score,
                                       ValueRange captures) {
  SmallVector<Value> arguments;
  if (score)
    arguments.push_back(score);
  llvm::append_values(arguments, tile.batch, tile.head, emitPositions(b, tile),
                      emitKeys(b, tile));
  llvm::append_range(arguments, captures);
  RegionDependence dependence(region, /*isScore=*/score != nullptr);
  TableReads reads(b, tile, dependence);
  return vectorize(
      b, region.front(), arguments,
      [&](Operation &op, IRMapping &values) { return reads.emit(op, values); });
}
