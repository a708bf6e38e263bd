//===- HeadNormOp.cpp - attn.head_norm ------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"
#include "dialect/Layer/RowTiling.h"
#include "dialect/Shared/DestinationStyle.h"
#include "dialect/Shared/OperandGroups.h"
#include "dialect/Shared/OperandVerifier.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::verifyNormWeight(Operation *op, Value weight,
                                     StringRef name, FloatType rows) {
  ShapedType type = getPlainShapedType(weight.getType());
  if (!type || (type.getRank() != 1 && type.getRank() != 2))
    return op->emitOpError() << "operand '" << name
                             << "': expected a tensor or memref of shape (D) "
                                "or (H, D), got "
                             << weight.getType();
  return verifyNoWiderThanSums(op, weight, name, rows);
}

LogicalResult attn::verifyNormNumbers(Operation *op, FloatAttr epsilon,
                                      IntegerAttr layer, FloatType rows) {
  FloatType sums = AttentionOp::getAccumulationType(rows);
  double number = epsilon.getValueAsDouble(); // N3
  if (!sums.isF64())
    number = float(number);
  if (!(number > 0 && std::isfinite(number)))
    return op->emitOpError()
           << "expected 'epsilon' to be positive and finite in " << sums
           << ", got " << epsilon;
  if (layer && layer.getInt() < 0) // N4
    return op->emitOpError()
           << "expected 'layer' to be at least 0, got " << layer.getInt();
  return success();
}

LogicalResult HeadNormOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"input"})))
    return failure();
  if (getOuts().size() != 1)
    return emitOpError() << "expected 1 operand 'outs', got "
                         << getOuts().size();
  if (failed(verifyHeadRows(*this, getInput(), "input", nullptr))) // N1
    return failure();
  Type elementType = getInputType().getElementType();
  if (failed(verifyHeadRows(*this, getOutput(), "output", elementType)))
    return failure();
  auto rows = cast<FloatType>(elementType);
  if ((getWeight() &&
       failed(verifyNormWeight(*this, getWeight(), "weight", rows))) ||
      failed(verifyNormNumbers(*this, getEpsilonAttr(), getLayerAttr(), rows)))
    return failure();
  return failure(failed(verifyOneKind(*this)) ||
                 failed(verifySizes(*this, getSizeConstraints())));
}

double HeadNormOp::getScale() {
  std::optional<uint64_t> layer = getLayer();
  return layer ? 0.2 + 0.6 * std::exp(-0.3 * double(*layer)) : 1.0;
}

SmallVector<SizeConstraint> HeadNormOp::getSizeConstraints() {
  OperandSize input{getInput(), 0, "input"};
  SmallVector<SizeConstraint> result;
  addSameSizes({getOutput(), 0, "output"}, input, result);
  if (getWeight()) { // N2
    OperandSize weight{getWeight(), 0, "weight"};
    int64_t rank = cast<ShapedType>(getWeight().getType()).getRank();
    if (rank == 2)
      result.push_back({weight, input.at(1), "number of heads"});
    result.push_back({weight.at(rank - 1), input.at(3), "head size"});
  }
  return result;
}

void HeadNormOp::generateRuntimeVerification(
    OpBuilder &builder, Location loc,
    function_ref<std::string(Operation *, StringRef)> describe) {
  OpBuilder::InsertionGuard guard(builder);
  moveBeforeWrites(builder, {}, {getInput(), getWeight(), getOutput()});
  checkSizes(builder, loc, *this, getSizeConstraints(), describe);
}

//===----------------------------------------------------------------------===//
// Tiling
//===----------------------------------------------------------------------===//

FailureOr<TilingResult>
HeadNormOp::getTiledImplementation(OpBuilder &b, ArrayRef<OpFoldResult> offsets,
                                   ArrayRef<OpFoldResult> sizes) {
  // Heads are static.
  if (getNumResults() == 0 || !getConstantIntValue(sizes[1]))
    return failure();
  Location loc = getLoc();
  SmallVector<Operation *> slices;
  SmallVector<OpFoldResult> at, extent;
  getRowPosition(b, getInput(), offsets, sizes, at, extent);
  Value input = createRowSlice(b, loc, getInput(), at, extent, slices);
  Value output = createRowSlice(b, loc, getOutput(), at, extent, slices);
  Value weight = getWeight();
  if (weight && cast<ShapedType>(weight.getType()).getRank() == 2)
    weight = createRowSlice(b, loc, weight, {at[1], at[3]},
                            {extent[1], extent[3]}, slices);
  auto tile = HeadNormOp::create(b, loc, output.getType(), input, weight,
                                 output, getEpsilonAttr(), getLayerAttr());
  return TilingResult{{tile}, {tile->getResult(0)}, slices};
}
