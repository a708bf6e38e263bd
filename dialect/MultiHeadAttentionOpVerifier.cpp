//===- MultiHeadAttentionOpVerifier.cpp - A layer's operands --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/OperandVerifier.h"
#include "dialect/RegionVerifier.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

static ShapedType getShaped(Value value) {
  return cast<ShapedType>(value.getType());
}

/// A weight from `rows` features to `columns`, with its scales and bias (L2).
static LogicalResult verifyMap(MultiHeadAttentionOp op, OperandRange operands,
                               StringRef name, int64_t rows, int64_t columns) {
  if (operands.empty())
    return success();
  ShapedType type = getPlainShapedType(operands[0].getType());
  auto report = [&]() {
    return op.emitOpError() << "operand '" << name << "': ";
  };
  if (!type || !type.hasStaticShape() || type.getRank() < 2 ||
      type.getRank() > 4)
    return report() << "expected a weight of static shape (K, N), (panels, K, "
                       "P) or (panels, K / 2, P, 2), got "
                    << operands[0].getType();
  Type element = type.getElementType();
  bool isQuantized = element.isInteger(8);
  if (!isQuantized && failed(verifyFloat(op, operands[0], name)))
    return failure();
  if (element.isF64() && !op.getElementType().isF64())
    return report() << "expected a weight of f32, f16, bf16 or i8, got "
                    << element;
  unsigned least = isQuantized ? 2 : 1;
  if (operands.size() < least || operands.size() > least + 1)
    return report() << "expected a weight"
                    << (isQuantized ? " of i8, its scales" : "")
                    << " and perhaps a bias, got " << operands.size()
                    << " operands";
  SmallVector<int64_t> shape = {rows, columns};
  if (type.getRank() > 2) {
    int64_t width = type.getDimSize(2);
    if (width < 1 || (type.getRank() == 4 && rows % 2 != 0))
      return report() << "expected panels of " << rows << " rows, got " << type;
    shape = {int64_t(llvm::divideCeil(uint64_t(columns), uint64_t(width))),
             rows, width};
    if (type.getRank() == 4) {
      shape[1] /= 2;
      shape.push_back(2);
    }
  }
  if (type.getShape() != ArrayRef(shape)) {
    InFlightDiagnostic error = report() << "expected shape (";
    llvm::interleaveComma(shape, error);
    return error << "), from " << rows << " features to " << columns << ", got "
                 << type;
  }
  for (Value vector : operands.drop_front()) {
    Type expected = isQuantized && vector == operands[1]
                        ? Type(Float32Type::get(op.getContext()))
                        : Type();
    if (failed(verifyShaped(op, vector, name, {"N"}, expected)) ||
        (!expected && failed(verifyFloat(op, vector, name))))
      return failure();
    int64_t size = getShaped(vector).getDimSize(0);
    if (!ShapedType::isDynamic(size) && size != columns)
      return report() << "expected " << columns << " scales or biases, got "
                      << size;
  }
  return success();
}

/// L1, and sizes whose products do not overflow.
static LogicalResult verifySizes(MultiHeadAttentionOp op) {
  constexpr int64_t largest = int64_t(1) << 30;
  for (auto [size, name] :
       {std::pair<int64_t, StringRef>(op.getQueryHeads(), "query heads"),
        {op.getKeyValueHeads(), "key/value heads"},
        {op.getKeySize(), "size of keys"},
        {op.getValueSize(), "size of values"}})
    if (size < 1 || size > largest)
      return op.emitOpError() << "expected the " << name
                              << " to be from 1 to 2^30, got " << size;
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
  int64_t width = getShaped(op.getInput()).getDimSize(2), from = width;
  if (Value source = op.getSource()) {
    if (failed(verifyShaped(op, source, "source", {"B", "Skv", "M"},
                            op.getElementType())) ||
        failed(verifyStaticSize(op, getShaped(source), "source", 2, "width")))
      return failure();
    from = getShaped(source).getDimSize(2);
  }
  if (op.hasMemory()) {
    if (op.getMemory().size() != 2)
      return op.emitOpError()
             << "expected 2 operands 'memory' (keys and values), got "
             << op.getMemory().size();
    for (Value rows : op.getMemory())
      if (failed(verifyHeadRows(op, rows, "memory", op.getElementType())))
        return failure();
  }
  int64_t queries = op.getQueryHeads() * op.getKeySize(),
          keys = op.getKeyValueHeads() * op.getKeySize(),
          values = op.getKeyValueHeads() * op.getValueSize(),
          outputs = op.getQueryHeads() * op.getValueSize();
  if (failed(
          verifyMap(op, op.getQkv(), "qkv", width, queries + keys + values)) ||
      failed(verifyMap(op, op.getQuery(), "query", width, queries)) ||
      failed(verifyMap(op, op.getKey(), "key", from, keys)) ||
      failed(verifyMap(op, op.getValue(), "value", from, values)) ||
      failed(verifyMap(op, op.getOutput(), "output", outputs,
                       getShaped(op.getOuts()[0]).getDimSize(2))))
    return failure();
  if (op.getGate().empty())
    return success();
  ShapedType gate = getShaped(op.getGate()[0]);
  if (!gate.hasStaticShape() || gate.getRank() < 2 || gate.getRank() > 4 ||
      llvm::is_contained(gate.getShape(), 0))
    return verifyMap(op, op.getGate(), "gate", width, outputs);
  if (gate.getRank() > 2 && op.getValueSize() > 1) {
    auto countPanels = [&](uint64_t columns) {
      return llvm::divideCeil(columns, uint64_t(gate.getDimSize(2)));
    };
    if (countPanels(op.getQueryHeads()) == countPanels(uint64_t(outputs)))
      return op.emitOpError("operand 'gate': expected panels that are not as "
                            "many for heads as for their elements, got ")
             << gate;
  }
  return verifyMap(op, op.getGate(), "gate", width,
                   op.getQueryHeads() * op.getGateSize());
}

/// L4 and L5.
static LogicalResult verifyRowOps(MultiHeadAttentionOp op) {
  if (!op.getNorms().empty()) {
    size_t expected = op.hasMemory() ? 1 : 2;
    if (op.getNorms().size() != expected)
      return op.emitOpError()
             << "expected " << expected << " operands 'norms', got "
             << op.getNorms().size();
    for (auto [number, weight] : llvm::enumerate(op.getNorms())) {
      int64_t rank = getShaped(weight).getRank();
      if (rank != 1 && rank != 2)
        return op.emitOpError() << "operand 'norms': expected a tensor of "
                                   "shape (D) or (H, D), got "
                                << weight.getType();
      int64_t heads = number == 0 ? op.getQueryHeads() : op.getKeyValueHeads();
      if (getShaped(weight).getDimSize(rank - 1) != int64_t(op.getKeySize()) ||
          (rank == 2 && getShaped(weight).getDimSize(0) != heads))
        return op.emitOpError() << "operand 'norms': expected a weight for "
                                << heads << " heads of size " << op.getKeySize()
                                << ", got " << weight.getType();
      if (failed(verifyFloat(op, weight, "norms")))
        return failure();
    }
  }
  if (op.getRope().empty() != !op.getPairing())
    return op.emitOpError("expected 'rope' and 'pairing' together");
  if (op.getRope().empty())
    return success();
  if (op.getRope().size() != 2)
    return op.emitOpError()
           << "expected 2 operands 'rope' (cosine and sine), got "
           << op.getRope().size();
  if (op.getSource() || op.hasMemory())
    return op.emitOpError("expected 'rope' only where keys come from the "
                          "'input'");
  for (Value table : op.getRope())
    if (failed(verifyShaped(op, table, "rope", {"S_max", "R / 2"}, nullptr)) ||
        failed(verifyFloat(op, table, "rope")))
      return failure();
  return success();
}

/// L6
static LogicalResult verifyCache(MultiHeadAttentionOp op) {
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
  if (op.getOuts().size() < 3)
    return op.emitOpError()
           << "expected the caches of keys and values behind the output in "
              "'outs', got "
           << op.getOuts().size() << " operands";
  bool isQuantized = getShaped(op.getOuts()[1]).getElementType().isInteger(8);
  size_t expected = isQuantized ? 5 : 3;
  if (op.getOuts().size() != expected)
    return op.emitOpError() << "expected " << expected
                            << " operands 'outs' with caches of this type, got "
                            << op.getOuts().size();
  for (auto [number, cache] :
       llvm::enumerate(op.getOuts().drop_front().take_front(2))) {
    if (failed(verifyShaped(op, cache, "outs", {"B", "Hkv", "capacity", "D"},
                            getShaped(op.getOuts()[1]).getElementType())))
      return failure();
    if (!isQuantized && failed(verifyFloat(op, cache, "outs")))
      return failure();
    int64_t size = number == 0 ? op.getKeySize() : op.getValueSize();
    if (getShaped(cache).getDimSize(1) != int64_t(op.getKeyValueHeads()) ||
        getShaped(cache).getDimSize(3) != size)
      return op.emitOpError()
             << "operand 'outs': expected a cache of " << op.getKeyValueHeads()
             << " heads of size " << size << ", got " << cache.getType();
  }
  for (Value scales : op.getOuts().drop_front(3))
    if (failed(verifyShaped(op, scales, "outs", {"B", "Hkv", "capacity"},
                            Float32Type::get(op.getContext()))))
      return failure();
  auto verifyCounts = [&](Value counts, StringRef name) -> LogicalResult {
    if (!counts)
      return success();
    if (failed(verifyShaped(op, counts, name, {"B"}, nullptr)))
      return failure();
    Type element = getShaped(counts).getElementType();
    if (element.isSignlessInteger(32) || element.isSignlessInteger(64))
      return success();
    return op.emitOpError()
           << "operand '" << name << "': expected element type i32 or i64, got "
           << element;
  };
  if (failed(verifyCounts(op.getLengths(), "lengths")) ||
      failed(verifyCounts(op.getCounts(), "counts")))
    return failure();
  if (op.getTable())
    return verifyShaped(op, op.getTable(), "table", {"B", "max_pages"},
                        IntegerType::get(op.getContext(), 32));
  return success();
}

/// L5, L8 and L9: what the attention does not say itself.
static LogicalResult verifyAttention(MultiHeadAttentionOp op) {
  if (Value offset = op.getOffset()) {
    ShapedType type = getPlainShapedType(offset.getType());
    Type integer = type ? type.getElementType() : offset.getType();
    if ((type && type.getRank() != 1) ||
        !(integer.isIndex() || integer.isSignlessInteger(32) ||
          integer.isSignlessInteger(64)))
      return op.emitOpError()
             << "operand 'offset': expected index, i32 or i64, "
                "or a tensor of them of shape (B), got "
             << offset.getType();
  }
  if (op.getSink() &&
      (failed(verifyShaped(op, op.getSink(), "sink", {"Hq"}, nullptr)) ||
       failed(verifyFloat(op, op.getSink(), "sink"))))
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
  for (FloatAttr rate : {op.getProbabilityRateAttr(), op.getOutputRateAttr()})
    if (!(rate.getValueAsDouble() >= 0 && rate.getValueAsDouble() < 1))
      return op.emitOpError() << "expected rates of 'dropout' in [0, 1), got "
                              << rate.getValueAsDouble();
  return success();
}

LogicalResult MultiHeadAttentionOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"input"})) ||
      failed(::verifySizes(*this)) || failed(verifyMaps(*this)) ||
      failed(verifyRowOps(*this)) || failed(verifyCache(*this)) ||
      failed(verifyAttention(*this)))
    return failure();
  return attn::verifySizes(*this, getSizeConstraints());
}

LogicalResult MultiHeadAttentionOp::verifyRegions() { // L8
  Type index = IndexType::get(getContext()),
       i1 = IntegerType::get(getContext(), 1);
  auto rows = dyn_cast<FloatType>(getShaped(getInput()).getElementType());
  if (!rows)
    return success(); // What verify has said.
  Type s = AttentionOp::getAccumulationType(rows);
  if (failed(verifyPointwiseRegion(*this, getScore(), "score",
                                   {s, index, index, index, index},
                                   getScoreCaptures(), s)))
    return failure();
  return verifyPointwiseRegion(*this, getMask(), "mask",
                               {index, index, index, index}, getMaskCaptures(),
                               i1);
}
