//===- AttentionOpVerifier.cpp - What attention ops must hold -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/OperandGroups.h"
#include "dialect/Shared/OperandVerifier.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::verifyStaticScale(Operation *op, FloatAttr scale,
                                      FloatType rows) {
  if (!scale)
    return success();
  FloatType sums = AttentionOp::getAccumulationType(rows);
  APFloat rounded = scale.getValue();
  bool losesInfo;
  rounded.convert(sums.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  if (rounded.isFinite())
    return success();
  return op->emitOpError() << "expected a 'scale' that is finite in " << sums
                           << ", got " << scale.getValueAsDouble();
}

LogicalResult attn::verifyNoWiderThanSums(Operation *op, Value operand,
                                          StringRef name, FloatType rows) {
  FloatType sums = AttentionOp::getAccumulationType(rows);
  Type element = cast<ShapedType>(operand.getType()).getElementType();
  if (isa<FloatType>(element) && isSupportedScalar(element) &&
      element.getIntOrFloatBitWidth() <= sums.getWidth())
    return success();
  return op->emitOpError() << "operand '" << name
                           << "': expected element type f64, f32, f16 or "
                              "bf16, no wider than "
                           << sums << ", got " << element;
}

LogicalResult attn::verifyCumulativeLengths(Operation *op, Value operand,
                                            StringRef name) {
  if (failed(verifyShaped(op, operand, name, {"N+1"},
                          IntegerType::get(op->getContext(), 32))))
    return failure();
  if (cast<ShapedType>(operand.getType()).getDimSize(0) == 0)
    return op->emitOpError()
           << "operand '" << name << "': expected at least 1 element, got 0";
  return success();
}

namespace {

template <typename Op> FloatType getRowType(Op op) {
  return cast<FloatType>(op.getQueryType().getElementType());
}

/// `rows` is the name of the output's length.
template <typename Op>
LogicalResult verifyMainOperands(Op op, StringRef rows) { // A1, A2, A3
  constexpr bool areGradients =
      std::is_same_v<Op, MultiTokenAttentionBackwardOp>;
  constexpr bool hasOuts = !std::is_same_v<Op, AttentionBackwardOp> &&
                           !std::is_same_v<Op, AttentionTangentOp> &&
                           !areGradients;
  StringRef outputName = areGradients ? "output_gradient" : "output",
            lseName = areGradients ? "log_sum_exp_gradient" : "log-sum-exp";
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

  if (hasOuts && (op.getOuts().empty() || op.getOuts().size() > 2))
    return op.emitOpError() << "expected 1 or 2 operands 'outs' (output and "
                               "log-sum-exp), got "
                            << op.getOuts().size();
  if (failed(verifyShaped(op, op.getOutput(), outputName,
                          {"B", "Hq", rows, "Dv"}, elementType)))
    return failure();
  if (Value lse = op.getLogSumExp())
    if (failed(verifyShaped(op, lse, lseName, {"B", "Hq", rows},
                            op.getAccumulationType())))
      return failure();

  ShapedType query = op.getQueryType(), key = op.getKeyType(),
             value = op.getValueType(),
             output = cast<ShapedType>(op.getOutput().getType());
  if (failed(verifyStaticSize(op, query, "query", 1, "query heads")) ||
      failed(verifyHeadSize(op, query, "query")) ||
      failed(verifyStaticSize(op, key, "key", 1, "key/value heads")) ||
      failed(verifyHeadSize(op, key, "key")) ||
      failed(verifyStaticSize(op, value, "value", 1, "key/value heads")) ||
      failed(verifyHeadSize(op, value, "value")) ||
      failed(verifyStaticSize(op, output, outputName, 1, "query heads")) ||
      failed(verifyHeadSize(op, output, outputName)))
    return failure();
  if (Value lse = op.getLogSumExp())
    if (failed(verifyStaticSize(op, cast<ShapedType>(lse.getType()), lseName, 1,
                                "query heads")))
      return failure();
  if (query.getDimSize(1) % key.getDimSize(1) != 0) // A3
    return op.emitOpError()
           << "expected the number of query heads to be a multiple of the "
              "number of key/value heads, got "
           << query.getDimSize(1) << " and " << key.getDimSize(1);
  return success();
}

template <typename Op> LogicalResult verifyScale(Op op) { // A4
  if (op.getScale() && op.getStaticScaleAttr())
    return op.emitOpError(
        "expected 'scale' as a constant or as an operand, got both");
  if (failed(verifyStaticScale(op, op.getStaticScaleAttr(), getRowType(op))))
    return failure();
  if (Value scale = op.getScale())
    if (scale.getType() != op.getAccumulationType())
      return op.emitOpError()
             << "operand 'scale': expected " << op.getAccumulationType()
             << ", got " << scale.getType();
  return success();
}

/// `shape` is that of an offset that is a tensor.
template <typename Op>
LogicalResult verifyFirstPosition(Op op, StringRef shape) { // A5
  if (!op.getOffset())
    return success();
  if (op.getBottomRight())
    return op.emitOpError(
        "expected 'offset' as an operand or as bottom_right, got both");
  return verifyOffset(op, op.getOffset(), shape);
}

template <typename Op> LogicalResult verifySink(Op op) { // A6
  Value sink = op.getSink();
  if (!sink)
    return success();
  ShapedType type = getPlainShapedType(sink.getType());
  if (!type || type.getRank() < 1 || type.getRank() > 2)
    return op.emitOpError() << "operand 'sink': expected a tensor or memref "
                               "of shape (Hq) or (Hq, Sq), got "
                            << sink.getType();
  return verifyNoWiderThanSums(op, sink, "sink", getRowType(op));
}

template <typename Op> LogicalResult verifySequences(Op op) { // A7
  if (op.getCumulativeKey() && !op.isPacked())
    return op.emitOpError("expected 'cumulative_key' only beside "
                          "'cumulative_query', got it alone");
  if (op.getCounts() && op.isPacked())
    return op.emitOpError("expected 'counts' or 'sequences', got both");
  for (auto [operand, name] :
       {std::pair(op.getCumulativeQuery(), "cumulative_query"),
        std::pair(op.getCumulativeKey(), "cumulative_key")})
    if (operand && failed(verifyCumulativeLengths(op, operand, name)))
      return failure();
  return op.getCounts() ? verifyPerSequence(op, op.getCounts(), "counts")
                        : success();
}

template <typename Op> LogicalResult verifyDropout(Op op) { // A8
  bool any = op.hasDropout() || op.getDropoutSeed() || op.getDropoutCall();
  bool all = op.hasDropout() && op.getDropoutSeed() && op.getDropoutCall();
  if (any && !all)
    return op.emitOpError(
        "expected 'dropout_rate', 'dropout_seed' and 'dropout_call' together");
  if constexpr (requires { op.getDropoutLine(); }) {
    for (auto [isGiven, name] :
         {std::pair(bool(op.getDropoutLine()), "dropout_line"),
          std::pair(bool(op.getDropoutKey()), "dropout_key"),
          std::pair(bool(op.getDropoutHeadsAttr()), "dropout_heads")})
      if (isGiven && !any)
        return op.emitOpError("expected '")
               << name << "' only beside 'dropout_rate', got it alone";
    if (Value key = op.getDropoutKey(); key && !key.getType().isIndex())
      if (failed(verifyShaped(op, key, "dropout_key",
                              {op.isPacked() ? "N" : "B"},
                              IndexType::get(op.getContext()))))
        return failure();
    if (op.getDropoutHeadsOfWhole() < op.getNumQueryHeads())
      return op.emitOpError("expected 'dropout_heads' of at least the ")
             << op.getNumQueryHeads() << " query heads, got "
             << op.getDropoutHeadsOfWhole();
  }
  return all ? verifyDropoutRate(op, op.getDropoutRateAttr(), "dropout_rate")
             : success();
}

/// T3: the stages on one side of the softmax; `side` is "before" or "after".
template <typename Op>
LogicalResult verifyStages(Op op, MultiTokenStages stages, StringRef side) {
  int64_t heads = op.getNumQueryHeads();
  auto verifyOperand = [&](Value operand, StringRef name,
                           ArrayRef<StringRef> dims) -> LogicalResult {
    if (failed(verifyShaped(op, operand, name, dims, nullptr)))
      return failure();
    auto type = cast<ShapedType>(operand.getType());
    if (failed(verifyNoWiderThanSums(op, operand, name, getRowType(op))))
      return failure();
    for (auto [dimension, meaning] : llvm::enumerate(dims))
      if (failed(verifyStaticSize(op, type, name, int64_t(dimension), meaning)))
        return failure();
    return success();
  };
  auto verifyMixed = [&](int64_t mixed, StringRef name) -> LogicalResult {
    if (heads % mixed == 0)
      return success();
    return op.emitOpError()
           << "operand '" << name << "': expected ch, which is " << mixed
           << ", to divide the " << heads << " query heads";
  };
  if (stages.kernel) {
    std::string name = ("kernel_" + side).str();
    ShapedType type = getPlainShapedType(stages.kernel.getType());
    if (!type || (type.getRank() != 3 && type.getRank() != 4))
      return op.emitOpError()
             << "operand '" << name
             << "': expected a tensor or memref of shape (Hq, cq, ck) or "
                "(Hq, ch, cq, ck), got "
             << stages.kernel.getType();
    bool mixes = type.getRank() == 4;
    if (failed(
            mixes ? verifyOperand(stages.kernel, name, {"Hq", "ch", "cq", "ck"})
                  : verifyOperand(stages.kernel, name, {"Hq", "cq", "ck"})))
      return failure();
    int64_t rank = type.getRank();
    if (mixes && failed(verifyMixed(type.getDimSize(1), name)))
      return failure();
    if (type.getDimSize(unsigned(rank - 1)) % 2 == 0)
      return op.emitOpError()
             << "operand '" << name << "': expected dimension " << rank - 1
             << " (ck) to be odd, got " << type.getDimSize(unsigned(rank - 1));
    if (mixes && stages.mixing)
      return op.emitOpError() << "expected no 'mixing_" << side
                              << "' beside a kernel with heads, got both";
  }
  if (stages.mixing) {
    std::string name = ("mixing_" + side).str();
    if (failed(verifyOperand(stages.mixing, name, {"Hq / ch", "ch", "ch"})))
      return failure();
    auto type = cast<ShapedType>(stages.mixing.getType());
    if (type.getDimSize(1) != type.getDimSize(2))
      return op.emitOpError()
             << "operand '" << name
             << "': expected dimensions 1 and 2 (ch) to be equal, got "
             << type.getDimSize(1) << " and " << type.getDimSize(2);
    if (failed(verifyMixed(type.getDimSize(1), name)))
      return failure();
    if (type.getDimSize(0) != heads / type.getDimSize(1))
      return op.emitOpError() << "operand '" << name << "': dimension 0 (Hq / "
                              << "ch) is " << type.getDimSize(0)
                              << ", expected " << heads / type.getDimSize(1);
  }
  return success();
}

/// What an attention that may have sequences has beside its main operands.
template <typename Op> LogicalResult verifyClauses(Op op) {
  if (failed(verifyScale(op)) ||
      failed(verifyFirstPosition(op, op.isPacked() ? "N" : "B")) ||
      failed(verifySink(op)) || failed(verifySequences(op)) ||
      failed(verifyDropout(op)))
    return failure();
  return verifySizes(op, op.getSizeConstraints());
}

LogicalResult verifyIsOfFloats(Operation *op, Value value, StringRef name,
                               StringRef derivative) {
  if (isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return success();
  return op->emitOpError() << "expected a float, or floats, as '" << name
                           << "', which has a " << derivative << ", got "
                           << value.getType();
}

/// G2: a gradient has the type of what it is of, or elements of the type of
/// `sums` if there is one; a float's is of rank 0.
LogicalResult verifyGradient(Operation *op, Value gradient, Value of,
                             StringRef name, FloatType sums = {}) {
  ShapedType type = getPlainShapedType(gradient.getType());
  Type element = getElementTypeOrSelf(of.getType());
  if (failed(verifyIsOfFloats(op, of, name, "gradient")))
    return failure();
  ArrayRef<int64_t> shape;
  if (auto shaped = dyn_cast<ShapedType>(of.getType()))
    shape = shaped.getShape();
  if (!type ||
      (type.getElementType() != element && type.getElementType() != sums) ||
      failed(verifyCompatibleShape(type.getShape(), shape))) {
    InFlightDiagnostic error = op->emitOpError();
    error << "gradient of '" << name << "': expected the shape and elements of "
          << of.getType();
    if (sums && sums != element)
      error << ", or elements of " << sums;
    return error << ", got " << gradient.getType();
  }
  return success();
}

/// G2, J2: `clause` names captures of the score, in ascending order.
template <typename Op>
LogicalResult verifyNumbersOfCaptures(Op op, StringRef clause) {
  ArrayRef<int64_t> captures = op.getOfCaptures();
  for (auto [position, number] : llvm::enumerate(captures)) {
    if (number < 0 || number >= int64_t(op.getScoreCaptures().size()))
      return op.emitOpError()
             << "expected the number of a capture of the score in '" << clause
             << "', below " << op.getScoreCaptures().size() << ", got "
             << number;
    if (position > 0 && captures[position - 1] >= number)
      return op.emitOpError("expected the captures in '")
             << clause << "' in ascending order";
  }
  return success();
}

/// What is named in `gradients`.
template <typename Op> LogicalResult verifyNamedGradients(Op op) { // G2
  if (op.getOfSink() && !op.getSink())
    return op.emitOpError("expected a 'sink', whose gradient is asked for");
  return verifyNumbersOfCaptures(op, "gradients");
}

LogicalResult verifyGradients(AttentionBackwardOp op) { // G2
  if (failed(verifyNamedGradients(op)))
    return failure();
  ArrayRef<int64_t> captures = op.getOfCaptures();
  size_t expected = 3 + size_t(op.getOfSink()) + captures.size();
  if (op.getOuts().size() != expected)
    return op.emitOpError() << "expected " << expected
                            << " operands 'outs' (gradients of query, key, "
                               "value and what 'gradients' names), got "
                            << op.getOuts().size();
  SmallVector<std::pair<Value, std::string>> of = {
      {op.getQuery(), "query"}, {op.getKey(), "key"}, {op.getValue(), "value"}};
  if (op.getOfSink())
    of.push_back({op.getSink(), "sink"});
  for (int64_t number : captures)
    of.push_back({op.getScoreCaptures()[size_t(number)],
                  "capture " + std::to_string(number)});
  for (auto [number, gradient, pair] : llvm::enumerate(op.getOuts(), of)) {
    FloatType sums = number < 3 ? FloatType() : op.getAccumulationType();
    if (failed(verifyGradient(op, gradient, pair.first, pair.second, sums)))
      return failure();
  }
  return success();
}

LogicalResult verifyTangents(AttentionTangentOp op) { // J2
  if (op.getSinkTangent() && !op.getSink())
    return op.emitOpError("expected a 'sink', whose tangent is given");
  if (op.getCaptureTangents().size() != op.getOfCaptures().size())
    return op.emitOpError(
               "expected as many tangents of captures as 'of_captures' "
               "has numbers, ")
           << op.getOfCaptures().size() << ", got "
           << op.getCaptureTangents().size();
  if (failed(verifyNumbersOfCaptures(op, "tangents")))
    return failure();
  for (const AttentionTangentOp::Tangent &tangent : op.getTangents()) {
    if (failed(verifyIsOfFloats(op, tangent.of, tangent.name, "tangent")))
      return failure();
    Type type = tangent.tangent.getType(), of = tangent.of.getType();
    ShapedType shaped = getPlainShapedType(type);
    bool isLike = type == of;
    if (auto expected = dyn_cast<ShapedType>(of); expected && shaped)
      isLike = shaped.getElementType() == expected.getElementType() &&
               succeeded(verifyCompatibleShape(shaped.getShape(),
                                               expected.getShape()));
    if (!isLike)
      return op.emitOpError() << "tangent of '" << tangent.name
                              << "': expected the shape and elements of " << of
                              << ", got " << type;
  }
  return success();
}

} // namespace

LogicalResult AttentionOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"query", "key", "value"})) ||
      failed(verifyMainOperands(*this, "Sq")) || failed(verifyOneKind(*this)))
    return failure();
  return verifyClauses(*this);
}

LogicalResult AttentionOp::verifyRegions() {
  return verifyScoreAndMask(*this, getScore(), getScoreCaptures(), getMask(),
                            getMaskCaptures(), getAccumulationType());
}

LogicalResult AttentionBackwardOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"query", "key", "value", "output", "log_sum_exp",
                             "output_gradient"})) ||
      failed(verifyMainOperands(*this, "Sq")) || failed(verifyOneKind(*this)))
    return failure();
  if (failed(verifyShaped(*this, getOutputGradient(), "output_gradient",
                          {"B", "Hq", "Sq", "Dv"}, getElementType())))
    return failure();
  if (Value gradient = getLogSumExpGradient())
    if (failed(verifyShaped(*this, gradient, "log_sum_exp_gradient",
                            {"B", "Hq", "Sq"}, getAccumulationType())))
      return failure();
  if (failed(verifyGradients(*this)))
    return failure();
  return verifyClauses(*this);
}

LogicalResult AttentionBackwardOp::verifyRegions() {
  return verifyScoreAndMask(*this, getScore(), getScoreCaptures(), getMask(),
                            getMaskCaptures(), getAccumulationType());
}

LogicalResult AttentionTangentOp::verify() {
  if (failed(
          verifySegments(*this, getProperties().operandSegmentSizes,
                         {"query", "key", "value", "output", "log_sum_exp"})) ||
      failed(verifyMainOperands(*this, "Sq")) || failed(verifyOneKind(*this)))
    return failure();
  if (getOuts().empty() || getOuts().size() > 2)
    return emitOpError() << "expected 1 or 2 operands 'outs' (tangents of "
                            "output and log-sum-exp), got "
                         << getOuts().size();
  if (failed(verifyShaped(*this, getOutputTangent(), "tangent of 'output'",
                          {"B", "Hq", "Sq", "Dv"}, getElementType())))
    return failure();
  if (Value tangent = getLogSumExpTangent())
    if (failed(verifyShaped(*this, tangent, "tangent of 'log-sum-exp'",
                            {"B", "Hq", "Sq"}, getAccumulationType())))
      return failure();
  if (failed(verifyTangents(*this)))
    return failure();
  return verifyClauses(*this);
}

LogicalResult AttentionTangentOp::verifyRegions() {
  return verifyScoreAndMask(*this, getScore(), getScoreCaptures(), getMask(),
                            getMaskCaptures(), getAccumulationType());
}

/// What multi-token attention has beside its main operands; `output` is the
/// name of the operand of the output's type.
template <typename Op>
static LogicalResult verifyMultiTokenClauses(Op op, StringRef output) {
  if (failed(verifyScale(op)) || failed(verifyFirstPosition(op, "B")))
    return failure();
  if (Value sink = op.getSink()) // T1
    if (failed(verifyShaped(op, sink, "sink", {"Hq"}, nullptr)) ||
        failed(verifyNoWiderThanSums(op, sink, "sink", getRowType(op))))
      return failure();
  if (failed(verifyDropout(op)) ||
      failed(verifyStages(op, op.getStagesBefore(), "before")) ||
      failed(verifyStages(op, op.getStagesAfter(), "after")) ||
      failed(verifySizes(op, op.getSizeConstraints())))
    return failure();
  int64_t queries = op.getQueryType().getDimSize(2); // T2
  int64_t rows = cast<ShapedType>(op.getOutput().getType()).getDimSize(2);
  if (!ShapedType::isDynamic(queries) && rows > queries)
    return op.emitOpError()
           << "operand '" << output << "': dimension 2 (output length) is "
           << rows << ", expected at most " << queries << ", the query length";
  return success();
}

LogicalResult MultiTokenAttentionOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"query", "key", "value"})) ||
      failed(verifyMainOperands(*this, "So")) || failed(verifyOneKind(*this)))
    return failure();
  return verifyMultiTokenClauses(*this, "output");
}

LogicalResult MultiTokenAttentionBackwardOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"query", "key", "value", "output_gradient"})) ||
      failed(verifyMainOperands(*this, "So")) || failed(verifyOneKind(*this)) ||
      failed(verifyNamedGradients(*this)))
    return failure();
  SmallVector<std::pair<Value, std::string>> of = getDifferentiated(); // B2
  if (getOuts().size() != of.size())
    return emitOpError() << "expected " << of.size()
                         << " operands 'outs' (gradients of query, key, value, "
                            "the stages and what 'gradients' names), got "
                         << getOuts().size();
  for (auto [gradient, pair] : llvm::zip_equal(getOuts(), of))
    if (failed(verifyGradient(*this, gradient, pair.first, pair.second)))
      return failure();
  return verifyMultiTokenClauses(*this, "output_gradient");
}

LogicalResult MultiTokenAttentionBackwardOp::verifyRegions() {
  return verifyScoreAndMask(*this, getScore(), getScoreCaptures(), getMask(),
                            getMaskCaptures(), getAccumulationType());
}

LogicalResult MultiTokenAttentionOp::verifyRegions() {
  return verifyScoreAndMask(*this, getScore(), getScoreCaptures(), getMask(),
                            getMaskCaptures(), getAccumulationType());
}
