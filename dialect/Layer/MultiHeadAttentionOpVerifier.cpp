//===- MultiHeadAttentionOpVerifier.cpp - A layer's operands --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/OperandGroups.h"
#include "dialect/Shared/OperandVerifier.h"

using namespace mlir;
using namespace mlir::attn;

static ShapedType getShaped(Value value) {
  return cast<ShapedType>(value.getType());
}

/// L1, and sizes whose products do not overflow.
static LogicalResult verifySizes(MultiHeadAttentionOp op) {
  constexpr int64_t largest = int64_t(1) << 30;
  for (auto [size, name] :
       {std::pair<int64_t, StringRef>(op.getQueryHeads(), "query heads"),
        {op.getKeyValueHeads(), "key/value heads"}})
    if (size < 1 || size > largest)
      return op.emitOpError() << "expected the " << name
                              << " to be from 1 to 2^30, got " << size;
  for (auto [size, name] :
       {std::pair<int64_t, StringRef>(op.getKeySize(), "size of keys"),
        {op.getValueSize(), "size of values"}})
    if (size < 1 || size > maxHeadSize)
      return op.emitOpError() << "expected the " << name << " to be from 1 to "
                              << maxHeadSize << ", got " << size;
  if (op.getQueryHeads() % op.getKeyValueHeads() != 0)
    return op.emitOpError()
           << "expected the number of query heads to be a multiple of the "
              "number of key/value heads, got "
           << op.getQueryHeads() << " and " << op.getKeyValueHeads();
  StringRef shape[] = {"B", "S", "M"};
  if (failed(verifyShaped(op, op.getInput(), "input", shape, nullptr)) ||
      failed(verifyFloat(op, op.getInput(), "input")) ||
      failed(
          verifyStaticSize(op, getShaped(op.getInput()), "input", 2, "width")))
    return failure();
  if (op.getOuts().empty())
    return op.emitOpError("expected the output in 'outs'");
  if (failed(verifyShaped(op, op.getOuts()[0], "outs", shape,
                          op.getElementType())) ||
      failed(
          verifyStaticSize(op, getShaped(op.getOuts()[0]), "outs", 2, "width")))
    return failure();
  return success();
}

/// L2, L3 and L7.
static LogicalResult verifyMaps(MultiHeadAttentionOp op) {
  bool hasQuery = !op.getQuery().empty(), hasKey = !op.getKey().empty(),
       hasValue = !op.getValue().empty();
  if (op.isFused()
          ? hasQuery || hasKey || hasValue
          : !hasQuery || hasKey == op.hasMemory() || hasValue == op.hasMemory())
    return op.emitOpError("expected weights 'qkv', or 'query', 'key' and "
                          "'value', or with a 'memory' only 'query'");
  if (op.isFused() && (op.hasMemory() || op.getSource()))
    return op.emitOpError("expected separate weights with a 'source' or a "
                          "'memory', got 'qkv'");
  if (op.getSource() && op.hasMemory())
    return op.emitOpError("expected a 'source' or a 'memory', got both");
  if (op.getOutput().empty())
    return op.emitOpError("expected a weight 'output'");
  if (Value source = op.getSource())
    if (failed(verifyShaped(op, source, "source", {"B", "Skv", "M"},
                            op.getElementType())) ||
        failed(verifyStaticSize(op, getShaped(source), "source", 2, "width")))
      return failure();
  if (op.hasMemory()) {
    if (op.getMemory().size() != 2)
      return op.emitOpError()
             << "expected 2 operands 'memory' (keys and values), got "
             << op.getMemory().size();
    for (Value rows : op.getMemory())
      if (failed(verifyHeadRows(op, rows, "memory", op.getElementType())))
        return failure();
  }
  if (op.getGate().empty() != !op.getGateKind())
    return op.emitOpError("expected 'gate' and 'gate_kind' together");
  for (const MultiHeadAttentionOp::Map &map : op.getMaps()) {
    ProjectionMap operands = op.getMap(map.operands, map.name);
    if (map.operands.size() > (operands.scales ? 3u : 2u))
      return op.emitOpError()
             << "operand '" << map.name
             << "': expected a weight, its scales if it is of i8, and perhaps "
                "a bias, got "
             << map.operands.size() << " operands";
    if (failed(verifyProjectionMap(op, operands, op.getElementType(),
                                   map.features)))
      return failure();
  }
  return success();
}

/// L4 and L5.
static LogicalResult verifyRowOps(MultiHeadAttentionOp op) {
  FloatType rows = op.getElementType();
  size_t numNorms = op.hasMemory() ? 1 : 2;
  if (!op.getNorms().empty() && op.getNorms().size() != numNorms)
    return op.emitOpError()
           << "expected " << numNorms << " operands 'norms', got "
           << op.getNorms().size();
  for (Value weight : op.getNorms())
    if (failed(verifyNormWeight(op, weight, "norms", rows)))
      return failure();
  if (op.getLayer() && !op.getOutputNorm())
    return op.emitOpError("expected 'layer' only with 'output_norm'");
  if (op.getOutputNorm() &&
      failed(verifyNormWeight(op, op.getOutputNorm(), "output_norm", rows)))
    return failure();
  if (failed(
          verifyNormNumbers(op, op.getEpsilonAttr(), op.getLayerAttr(), rows)))
    return failure();

  if (op.getRope().empty() != !op.getPairing())
    return op.emitOpError("expected 'rope' and 'pairing' together");
  if (op.getRope().empty())
    return op.getPositions()
               ? op.emitOpError("expected 'positions' only with 'rope'")
               : success();
  if (op.getRope().size() != 2)
    return op.emitOpError()
           << "expected 2 operands 'rope' (cosine and sine), got "
           << op.getRope().size();
  if (op.getSource() || op.hasMemory())
    return op.emitOpError("expected 'rope' only where keys come from the "
                          "'input'");
  if (op.getPositions() && failed(verifyPositions(op, op.getPositions())))
    return failure();
  return verifyRopeTables(op,
                          {op.getRope()[0], op.getRope()[1], "rope", "rope"},
                          rows, int64_t(op.getKeySize()));
}

/// L6
static LogicalResult verifyCaches(MultiHeadAttentionOp op) {
  if (!op.hasCache()) {
    if (op.getCounts() || op.getTable() || op.getRing() || op.getSize())
      return op.emitOpError("expected 'counts', 'ring', 'table' and 'size' "
                            "only with 'lengths'");
    if (op.getOuts().size() != 1)
      return op.emitOpError()
             << "expected 1 operand 'outs' without 'lengths', got "
             << op.getOuts().size();
    return success();
  }
  if (op.getSource() || op.hasMemory())
    return op.emitOpError("expected 'lengths' only where keys and values come "
                          "from the 'input'");
  if (op.getOffset())
    return op.emitOpError("expected 'offset' or 'lengths', got both");
  if (op.getRing() && !op.getSize())
    return op.emitOpError("expected a 'size' with 'ring'");
  if (op.getOuts().size() != 3 && op.getOuts().size() != 5)
    return op.emitOpError()
           << "expected the caches of keys and values behind the output in "
              "'outs', and the scales of both if they are of i8, got "
           << op.getOuts().size() << " operands";
  for (unsigned number : {0, 1}) {
    CacheOperands cache = op.getCache(number);
    if (failed(verifyCache(op, cache)) ||
        failed(verifyCacheRows(op, cache, op.getElementType(), "input")))
      return failure();
  }
  if (op.getCounts())
    return verifyPerSequence(op, op.getCounts(), "counts");
  return success();
}

/// L5, L8 and L9: what the attention does not say itself.
static LogicalResult verifyAttention(MultiHeadAttentionOp op) {
  if (op.isPacked()) {
    if (op.getSequences().size() != 2)
      return op.emitOpError()
             << "expected 2 operands 'sequences' (of queries and of keys), got "
             << op.getSequences().size();
    for (Value lengths : op.getSequences())
      if (failed(verifyCumulativeLengths(op, lengths, "sequences")))
        return failure();
    if (op.hasCache())
      return op.emitOpError("expected 'sequences' or 'lengths', got both");
    if (!op.getRope().empty() && !op.getPositions())
      return op.emitOpError("expected 'positions' for a 'rope' of 'sequences'");
  }
  if (op.getOffset() &&
      failed(verifyOffset(op, op.getOffset(), op.isPacked() ? "N" : "B")))
    return failure();
  if (op.getSink() &&
      (failed(verifyShaped(op, op.getSink(), "sink", {"Hq"}, nullptr)) ||
       failed(verifyNoWiderThanSums(op, op.getSink(), "sink",
                                    op.getElementType()))))
    return failure();
  if (failed(
          verifyStaticScale(op, op.getStaticScaleAttr(), op.getElementType())))
    return failure();
  bool any = op.getProbabilityRate() || op.getOutputRate() ||
             op.getDropoutSeed() || op.getDropoutCall();
  bool all = op.getProbabilityRate() && op.getOutputRate() &&
             op.getDropoutSeed() && op.getDropoutCall();
  if (any && !all)
    return op.emitOpError("expected both rates, the seed and the call of "
                          "'dropout' together");
  if (!all)
    return success();
  return failure(
      failed(verifyDropoutRate(op, op.getProbabilityRateAttr(),
                               "probability_rate")) ||
      failed(verifyDropoutRate(op, op.getOutputRateAttr(), "output_rate")));
}

LogicalResult MultiHeadAttentionOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"input"})) ||
      failed(::verifySizes(*this)) || failed(verifyMaps(*this)) ||
      failed(verifyRowOps(*this)) || failed(verifyCaches(*this)) ||
      failed(verifyAttention(*this)))
    return failure();
  return attn::verifySizes(*this, getSizeConstraints());
}

LogicalResult MultiHeadAttentionOp::verifyRegions() { // L8
  auto rows = dyn_cast<FloatType>(getShaped(getInput()).getElementType());
  if (!rows)
    return success(); // What verify has said.
  return verifyScoreAndMask(*this, getScore(), getScoreCaptures(), getMask(),
                            getMaskCaptures(),
                            AttentionOp::getAccumulationType(rows));
}
