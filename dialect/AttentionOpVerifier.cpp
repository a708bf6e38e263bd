//===- AttentionOpVerifier.cpp - attn.attention: verifier -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/OperandVerifier.h"
#include "dialect/RegionVerifier.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

LogicalResult verifyMainOperands(AttentionOp op) { // A1, A2, A3
  Type elementType;
  if (ShapedType query = getPlainShapedType(op.getQuery().getType()))
    elementType = query.getElementType();
  if (failed(verifyShaped(op, op.getQuery(), "query", {"B", "Hq", "Sq", "Dk"},
                          nullptr)))
    return failure();
  if (failed(verifyFloat(op, op.getQuery(), "query")) ||
      failed(verifyShaped(op, op.getKey(), "key", {"B", "Hkv", "Skv", "Dk"},
                          elementType)) ||
      failed(verifyShaped(op, op.getValue(), "value", {"B", "Hkv", "Skv", "Dv"},
                          elementType)))
    return failure();

  if (op.getOuts().empty() || op.getOuts().size() > 2)
    return op.emitOpError() << "expected 1 or 2 operands 'outs' (output and "
                               "log-sum-exp), got "
                            << op.getOuts().size();
  if (failed(verifyShaped(op, op.getOutput(), "output", {"B", "Hq", "Sq", "Dv"},
                          elementType)))
    return failure();
  if (Value lse = op.getLogSumExp())
    if (failed(verifyShaped(op, lse, "log-sum-exp", {"B", "Hq", "Sq"},
                            op.getAccumulationType())))
      return failure();

  ShapedType query = op.getQueryType(), key = op.getKeyType(),
             value = op.getValueType(),
             output = cast<ShapedType>(op.getOutput().getType());
  if (failed(verifyStaticSize(op, query, "query", 1, "query heads")) ||
      failed(verifyStaticSize(op, query, "query", 3, "head size")) ||
      failed(verifyStaticSize(op, key, "key", 1, "key/value heads")) ||
      failed(verifyStaticSize(op, key, "key", 3, "head size")) ||
      failed(verifyStaticSize(op, value, "value", 1, "key/value heads")) ||
      failed(verifyStaticSize(op, value, "value", 3, "head size")) ||
      failed(verifyStaticSize(op, output, "output", 1, "query heads")) ||
      failed(verifyStaticSize(op, output, "output", 3, "head size")))
    return failure();
  if (Value lse = op.getLogSumExp())
    if (failed(verifyStaticSize(op, cast<ShapedType>(lse.getType()),
                                "log-sum-exp", 1, "query heads")))
      return failure();
  if (query.getDimSize(1) % key.getDimSize(1) != 0) // A3
    return op.emitOpError()
           << "expected the number of query heads to be a multiple of the "
              "number of key/value heads, got "
           << query.getDimSize(1) << " and " << key.getDimSize(1);
  return success();
}

LogicalResult verifyOptionalOperands(AttentionOp op) {
  // A4
  if (op.getScale() && op.getStaticScaleAttr())
    return op.emitOpError(
        "expected 'scale' as a constant or as an operand, got both");
  if (FloatAttr scale = op.getStaticScaleAttr()) {
    APFloat rounded = scale.getValue();
    bool losesInfo;
    rounded.convert(op.getAccumulationType().getFloatSemantics(),
                    APFloat::rmNearestTiesToEven, &losesInfo);
    if (!rounded.isFinite())
      return op.emitOpError() << "expected a 'scale' that is finite in "
                              << op.getAccumulationType() << ", got "
                              << scale.getValueAsDouble();
  }
  if (Value scale = op.getScale())
    if (scale.getType() != op.getAccumulationType())
      return op.emitOpError()
             << "operand 'scale': expected " << op.getAccumulationType()
             << ", got " << scale.getType();

  // A5
  auto isOffsetInteger = [](Type type) {
    return type.isIndex() || type.isSignlessInteger(32) ||
           type.isSignlessInteger(64);
  };
  if (Value offset = op.getOffset()) {
    if (op.getBottomRight())
      return op.emitOpError(
          "expected 'offset' as an operand or as bottom_right, got both");
    ShapedType type = getPlainShapedType(offset.getType());
    bool valid =
        type ? type.getRank() == 1 && isOffsetInteger(type.getElementType())
             : isOffsetInteger(offset.getType());
    if (!valid)
      return op.emitOpError()
             << "operand 'offset': expected index, i32 or i64, or a tensor of "
                "them of shape ("
             << (op.isPacked() ? "N" : "B") << "), got " << offset.getType();
  }

  // A6
  if (Value sink = op.getSink()) {
    ShapedType type = getPlainShapedType(sink.getType());
    if (!type || type.getRank() < 1 || type.getRank() > 2)
      return op.emitOpError() << "operand 'sink': expected a tensor or memref "
                                 "of shape (Hq) or (Hq, Sq), got "
                              << sink.getType();
    Type elementType = type.getElementType();
    FloatType accumulation = op.getAccumulationType();
    if (!isSupportedScalar(elementType) || !isa<FloatType>(elementType) ||
        elementType.getIntOrFloatBitWidth() > accumulation.getWidth())
      return op.emitOpError()
             << "operand 'sink': expected element type f64, f32, f16 or bf16, "
                "no wider than "
             << accumulation << ", got " << elementType;
  }

  // A7
  if (!op.getCumulativeQuery() != !op.getCumulativeKey())
    return op.emitOpError("expected 'cumulative_query' and 'cumulative_key' "
                          "together, got only one");
  if (op.isPacked()) {
    Type i32 = IntegerType::get(op.getContext(), 32);
    for (auto [operand, name] :
         {std::pair(op.getCumulativeQuery(), "cumulative_query"),
          std::pair(op.getCumulativeKey(), "cumulative_key")}) {
      if (failed(verifyShaped(op, operand, name, {"N+1"}, i32)))
        return failure();
      if (cast<ShapedType>(operand.getType()).getDimSize(0) == 0)
        return op.emitOpError() << "operand '" << name
                                << "': expected at least 1 element, got 0";
    }
  }

  // A8
  bool any = op.hasDropout() || op.getDropoutSeed() || op.getDropoutCall();
  bool all = op.hasDropout() && op.getDropoutSeed() && op.getDropoutCall();
  if (any && !all)
    return op.emitOpError(
        "expected 'dropout_rate', 'dropout_seed' and 'dropout_call' together");
  if (all) {
    double rate = op.getDropoutRate()->convertToDouble();
    if (!(rate >= 0.0 && rate < 1.0))
      return op.emitOpError()
             << "expected 'dropout_rate' in [0, 1), got " << rate;
  }
  return success();
}

} // namespace

LogicalResult AttentionOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"query", "key", "value"})) ||
      failed(verifyMainOperands(*this)) || failed(verifyOneKind(*this)))
    return failure();
  if (failed(verifyOptionalOperands(*this)))
    return failure();
  return verifySizes(*this, getSizeConstraints());
}

LogicalResult AttentionOp::verifyRegions() { // A10, A11
  Type index = IndexType::get(getContext());
  Type i1 = IntegerType::get(getContext(), 1);
  Type accumulation = getAccumulationType();
  if (failed(verifyPointwiseRegion(*this, getScore(), "score",
                                   {accumulation, index, index, index, index},
                                   getScoreCaptures(), accumulation)))
    return failure();
  return verifyPointwiseRegion(*this, getMask(), "mask",
                               {index, index, index, index}, getMaskCaptures(),
                               i1);
}
