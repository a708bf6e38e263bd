//===- AttentionOp.cpp - attn.attention: types and sizes -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/DestinationStyle.h"
#include "dialect/PointwiseRegionAssembly.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

#include <cmath>

using namespace mlir;
using namespace mlir::attn;

#include "dialect/AttnEnums.cpp.inc"

#define GET_OP_CLASSES
#include "dialect/AttnOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Building and properties
//===----------------------------------------------------------------------===//

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, ValueRange outs) {
  SmallVector<Type> results;
  inferResultTypes(outs, results); // A9
  build(builder, state, results, query, key, value, outs, /*scale=*/Value(),
        /*offset=*/Value(), /*sink=*/Value(), /*cumulative_query=*/Value(),
        /*cumulative_key=*/Value(), /*dropout_seed=*/Value(),
        /*dropout_call=*/Value(), /*score_captures=*/ValueRange(),
        /*mask_captures=*/ValueRange(), /*static_scale=*/FloatAttr(),
        /*bottom_right=*/false, /*dropout_rate=*/FloatAttr());
}

FloatType AttentionOp::getAccumulationType(FloatType elementType) { // A2
  MLIRContext *context = elementType.getContext();
  return elementType.isF64() ? FloatType(Float64Type::get(context))
                             : FloatType(Float32Type::get(context));
}

double AttentionOp::getDefaultScale() { // A4
  return 1.0 / std::sqrt(double(getQueryType().getDimSize(3)));
}

std::optional<double> AttentionOp::getConstantScale() {
  if (getScale())
    return std::nullopt;
  if (FloatAttr scale = getStaticScaleAttr())
    return scale.getValueAsDouble();
  return getDefaultScale();
}

void AttentionOp::getEffects(MemoryEffectList &effects) {
  auto reads = [&](OpOperand &operand) { return readsOperand(operand); };
  getDestinationEffects(*this, reads, effects); // A9
}

Speculation::Speculatability AttentionOp::getSpeculatability() {
  // An undefined value in a region stops the program (A12), and so do sizes
  // that disagree: moving the op to where it did not run could stop it.
  return Speculation::NotSpeculatable;
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
  reifyDestinationShapes(builder, getLoc(), getOuts(), reified); // A9
  return success();
}

void AttentionOp::getAsmBlockArgumentNames(Region &region,
                                           OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  StringRef scoreNames[] = {"s", "b", "h", "p", "j"};
  ArrayRef<StringRef> names(scoreNames);
  if (&region == &getMask())
    names = names.drop_front();
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

Value AttentionOp::createFirstPosition(OpBuilder &builder, Value n,
                                       Value numQueries, Value numKeys) {
  if (getBottomRight())
    return builder.createOrFold<arith::SubIOp>(getLoc(), numKeys, numQueries);
  Value offset = getOffset();
  if (!offset)
    return arith::ConstantIndexOp::create(builder, getLoc(), 0);
  if (isa<RankedTensorType>(offset.getType()))
    offset = tensor::ExtractOp::create(builder, getLoc(), offset, n);
  return builder.createOrFold<arith::IndexCastOp>(
      getLoc(), builder.getIndexType(), offset);
}

Value AttentionOp::getCapture(BlockArgument argument) {
  bool isScore = argument.getOwner()->getParent() == &getScore();
  unsigned leading = isScore ? kNumScoreArguments : kNumMaskArguments;
  OperandRange captures = isScore ? getScoreCaptures() : getMaskCaptures();
  return captures[argument.getArgNumber() - leading];
}

SmallVector<SizeConstraint> AttentionOp::getSizeConstraints() {
  OperandSize query{getQuery(), 0, "query"}, key{getKey(), 0, "key"},
      value{getValue(), 0, "value"}, output{getOutput(), 0, "output"};
  auto dim = [](OperandSize size, int64_t dimension) {
    size.dimension = dimension;
    return size;
  };
  SmallVector<SizeConstraint> result = {
      // A1
      {dim(key, 0), dim(query, 0), "batch size"},
      {dim(key, 3), dim(query, 3), "head size of query and key"},
      {dim(value, 0), dim(query, 0), "batch size"},
      {dim(value, 1), dim(key, 1), "number of key/value heads"},
      {dim(value, 2), dim(key, 2), "key/value length"},
      {dim(output, 0), dim(query, 0), "batch size"},
      {dim(output, 1), dim(query, 1), "number of query heads"},
      {dim(output, 2), dim(query, 2), "query length"},
      {dim(output, 3), dim(value, 3), "head size of value"},
  };
  if (Value lse = getLogSumExp()) {
    OperandSize logSumExp{lse, 0, "log-sum-exp"};
    result.push_back({dim(logSumExp, 0), dim(query, 0), "batch size"});
    result.push_back(
        {dim(logSumExp, 1), dim(query, 1), "number of query heads"});
    result.push_back({dim(logSumExp, 2), dim(query, 2), "query length"});
  }
  if (getSink()) { // A6
    OperandSize sink{getSink(), 0, "sink"};
    result.push_back({sink, dim(query, 1), "number of query heads"});
    if (cast<ShapedType>(getSink().getType()).getRank() == 2)
      result.push_back({dim(sink, 1), dim(query, 2), "query length"});
  }
  bool offsetPerBatch = getOffset() && isa<ShapedType>(getOffset().getType());
  OperandSize offset{getOffset(), 0, "offset"};
  if (isPacked()) { // A7
    OperandSize cumulative{getCumulativeQuery(), 0, "cumulative_query"};
    result.push_back({dim(query, 0), {}, "batch size of packed sequences", 1});
    result.push_back({{getCumulativeKey(), 0, "cumulative_key"},
                      cumulative,
                      "number of sequences + 1"});
    if (offsetPerBatch)
      result.push_back({cumulative, offset, "number of sequences + 1", 1});
  } else if (offsetPerBatch) { // A5
    result.push_back({offset, dim(query, 0), "batch size"});
  }
  return result;
}
