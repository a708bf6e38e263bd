//===- RankOps.cpp - What ranks say to each other -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Sharding/RankOps.h"
#include "dialect/Shared/DestinationStyle.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

/// Checks the shape of keys or values, and of a block of them.
template <typename Op>
static LogicalResult verifyBlock(Op op, Type whole, Type part, StringRef what) {
  auto of = cast<ShapedType>(whole), block = cast<ShapedType>(part);
  if (!of.hasRank() || of.getRank() != 4 || of.isDynamicDim(1) ||
      of.isDynamicDim(3))
    return op.emitOpError("expected ")
           << what << " (B, H, S, D) with static H and D, got " << whole;
  auto expected = llvm::to_vector(of.getShape());
  expected[2] = ShapedType::kDynamic;
  if (!block.hasRank() || block.getShape() != ArrayRef<int64_t>(expected) ||
      block.getElementType() != of.getElementType())
    return op.emitOpError("expected a block like ")
           << what << " with a dynamic number of rows, got " << part << " of "
           << whole;
  return success();
}

template <typename Op> static LogicalResult verifySpans(Op op) {
  auto spans = cast<ShapedType>(op.getSpans().getType());
  if (!spans.hasRank() || spans.getRank() != 2 || !spans.hasStaticShape() ||
      spans.getDimSize(1) < 4 || spans.getDimSize(1) % 4 != 0 ||
      spans.getDimSize(0) < 1 || !spans.getElementType().isIndex())
    return op.emitOpError("expected spans (size, 4 * pieces) of index, got ")
           << spans;
  return success();
}

LogicalResult RankBlockOp::verify() {
  if (failed(verifyBlock(*this, getKey().getType(), getKeys().getType(),
                         "keys")) ||
      failed(verifyBlock(*this, getValue().getType(), getValues().getType(),
                         "values")))
    return failure();
  auto key = cast<ShapedType>(getKey().getType()),
       value = cast<ShapedType>(getValue().getType());
  if (key.getElementType() != value.getElementType() ||
      !key.getElementType().isIntOrFloat() ||
      key.getShape().take_front(3) != value.getShape().take_front(3))
    return emitOpError("expected keys and values of one element type and of "
                       "one B, H and S, got ")
           << key << " and " << value;
  return verifySpans(*this);
}

LogicalResult RankSumsOp::verify() {
  if (getOuts().size() != 2)
    return emitOpError("expected outs for keys and values, got ")
           << getOuts().size();
  for (auto [out, block, what] :
       {std::tuple(getOuts()[0], getKey(), "keys"),
        std::tuple(getOuts()[1], getValue(), "values")})
    if (failed(verifyBlock(*this, out.getType(), block.getType(), what)))
      return failure();
  Type element = getElementTypeOrSelf(getKey().getType());
  if (element != getElementTypeOrSelf(getValue().getType()) ||
      !(element.isF32() || element.isF64()))
    return emitOpError("expected sums of f32 or f64, got ")
           << getKey().getType() << " and " << getValue().getType();
  return verifySpans(*this);
}

void RankSumsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(
      *this, [&](OpOperand &operand) { return readsOperand(operand); },
      effects);
}

LogicalResult LinkAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               int64_t latencyNs, int64_t bandwidthMbs,
                               int64_t stepNs, bool) {
  constexpr int64_t kMost = int64_t(1) << 40;
  if (latencyNs < 0 || latencyNs > kMost)
    return emitError() << "expected latency_ns from 0 to " << kMost << ", got "
                       << latencyNs;
  if (bandwidthMbs < 1 || bandwidthMbs > kMost)
    return emitError() << "expected bandwidth_mbs from 1 to " << kMost
                       << ", got " << bandwidthMbs;
  if (stepNs < 0 || stepNs > kMost)
    return emitError() << "expected step_ns from 0 to " << kMost << ", got "
                       << stepNs;
  return success();
}

LogicalResult ReshardOp::verify() {
  auto part = cast<ShapedType>(getPart().getType()),
       outs = cast<ShapedType>(getOuts().getType()),
       bounds = cast<ShapedType>(getBounds().getType());
  auto isStatic = [](ShapedType type) {
    return type.hasRank() && type.getRank() == 4 && !type.isDynamicDim(1) &&
           !type.isDynamicDim(3);
  };
  if (!isStatic(part) || !isStatic(outs) ||
      part.getDimSize(0) != outs.getDimSize(0) ||
      part.getDimSize(3) != outs.getDimSize(3) ||
      part.getElementType() != outs.getElementType() ||
      !part.getElementType().isIntOrFloat())
    return emitOpError(
               "expected parts (B, H, S, D) with static H and D, of one "
               "element type, B and D, got ")
           << outs << " of " << part;
  Type element = part.getElementType();
  if (getKind() == Reshard::WholeToRows && !element.isF32() && !element.isF64())
    return emitOpError("expected sums of f32 or f64, got ") << part;
  auto ranks = int64_t(getSize());
  int64_t before = part.getDimSize(1), after = outs.getDimSize(1);
  if (getKind() == Reshard::RowsToHeads)
    after *= ranks;
  if (getKind() == Reshard::HeadsToRows)
    before *= ranks;
  if (before != after)
    return emitOpError("expected heads that ")
           << ranks << " ranks share evenly, got " << outs << " of " << part;
  if (!bounds.hasRank() || bounds.getRank() != 1 ||
      !bounds.getElementType().isIndex() ||
      (bounds.getDimSize(0) != ranks + 1 &&
       bounds.getDimSize(0) != 2 * ranks + 1))
    return emitOpError("expected bounds of one or two pieces of each of ")
           << ranks << " ranks, of index, got " << bounds;
  return success();
}

void ReshardOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(
      *this, [&](OpOperand &operand) { return readsOperand(operand); },
      effects);
}

LogicalResult AllGatherOp::verify() {
  auto part = cast<ShapedType>(getPart().getType()),
       outs = cast<ShapedType>(getOuts().getType());
  if (!part.hasRank() || !outs.hasRank() || outs.getRank() < 1 ||
      outs.isDynamicDim(0) || outs.getDimSize(0) < 1 ||
      outs.getShape().drop_front() != part.getShape() ||
      outs.getElementType() != part.getElementType() ||
      !part.getElementType().isIntOrFloat())
    return emitOpError("expected outs (size, ...) of parts (...), got ")
           << outs << " of " << part;
  return success();
}

void AllGatherOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(
      *this, [&](OpOperand &operand) { return readsOperand(operand); },
      effects);
}

LogicalResult AllReduceOp::verify() {
  auto part = cast<ShapedType>(getPart().getType()),
       outs = cast<ShapedType>(getOuts().getType());
  if (!part.hasRank() || !outs.hasRank() ||
      outs.getShape() != part.getShape() ||
      outs.getElementType() != part.getElementType() ||
      !(part.getElementType().isF32() || part.getElementType().isF64()))
    return emitOpError("expected parts of f32 or f64, and outs of the same "
                       "shape and type, got ")
           << outs << " of " << part;
  return success();
}

void AllReduceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(
      *this, [&](OpOperand &operand) { return readsOperand(operand); },
      effects);
}

LogicalResult AllMergeOp::verify() {
  auto output = cast<ShapedType>(getOutput().getType()),
       lse = cast<ShapedType>(getLse().getType());
  if (!output.hasRank() || !lse.hasRank() || output.getRank() != 4 ||
      output.getShape().drop_back() != lse.getShape() ||
      output.isDynamicDim(3) ||
      lse.getElementType() != output.getElementType() ||
      !(lse.getElementType().isF32() || lse.getElementType().isF64()))
    return emitOpError("expected an output (B, H, S, D) of f32 or f64, with a "
                       "static D, and a log-sum-exp (B, H, S) of it, got ")
           << output << " and " << lse;
  if (getOuts().size() != 2)
    return emitOpError("expected outs for an output and a log-sum-exp, got ")
           << getOuts().size();
  ShapedType parts[] = {output, lse};
  for (auto [out, part] : llvm::zip_equal(getOuts(), parts)) {
    auto type = cast<ShapedType>(out.getType());
    if (!type.hasRank() || type.getShape() != part.getShape() ||
        type.getElementType() != part.getElementType())
      return emitOpError("expected outs like the parts, got ")
             << type << " for " << part;
  }
  return success();
}

void AllMergeOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getDestinationEffects(
      *this, [&](OpOperand &operand) { return readsOperand(operand); },
      effects);
}

#define GET_OP_CLASSES
#include "dialect/Sharding/RankOps.cpp.inc"
