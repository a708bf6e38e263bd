//===- OnlineOps.cpp - Ops of the online softmax --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/PointwiseRegionAssembly.h"
#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"
#include "dialect/Online/MatrixUnits.h"
#include "dialect/Online/OnlinePacks.h"
#include "dialect/Shared/CastFolding.h"
#include "dialect/Shared/OperandVerifier.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Verifies that an operand has a shape, -1 meaning any size, and the element
/// type of all the state.
LogicalResult verifyState(Operation *op, Value operand, StringRef name,
                          ArrayRef<int64_t> shape, Type elementType) {
  auto type = cast<ShapedType>(operand.getType());
  bool matches = type.hasRank() && type.getRank() == int64_t(shape.size()) &&
                 type.getElementType() == elementType;
  if (matches)
    for (auto [size, expected] : llvm::zip(type.getShape(), shape))
      matches &= expected == -1 || size == expected;
  if (matches)
    return success();
  InFlightDiagnostic error = op->emitOpError()
                             << "operand '" << name << "': expected shape (";
  llvm::interleaveComma(shape, error, [&](int64_t size) {
    if (size == -1)
      error << "any";
    else
      error << size;
  });
  return error << ") of " << elementType << ", got " << type;
}

LogicalResult verifyScale(Operation *op, Value scale, Type elementType) {
  if (!scale || scale.getType() == elementType)
    return success();
  return op->emitOpError() << "operand 'scale': expected " << elementType
                           << ", got " << scale.getType();
}

LogicalResult verifyStaticSizes(Operation *op, Value operand, StringRef name,
                                unsigned begin, unsigned end) {
  auto type = cast<ShapedType>(operand.getType());
  for (unsigned dim = begin; dim < end; ++dim)
    if (type.isDynamicDim(dim) || type.getDimSize(dim) < 1)
      return op->emitOpError()
             << "operand '" << name << "': expected dimension " << dim
             << " to be static and at least 1, got " << type;
  for (unsigned dim = begin; dim < end; ++dim)
    if (type.getDimSize(dim) > maxHeadSize)
      return op->emitOpError()
             << "operand '" << name << "': expected dimension " << dim
             << " to be at most " << maxHeadSize << ", got " << type;
  return success();
}

/// Verifies key and value: matrices of one float type, the query's or a
/// narrower one, or of bf16 in pairs.
LogicalResult verifyFactors(OnlineAttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  auto value = cast<RankedTensorType>(op.getValue().getType());
  if (op.isInPairs()) {
    Type bf16 = BFloat16Type::get(op.getContext());
    int64_t rows = query.getDimSize(0), lanes = query.getDimSize(1);
    SmallVector<int64_t> values = {-1, value.getDimSize(1)};
    if (hasPacks(op))
      values.push_back(OnlineAttentionOp::kKeysPerPack);
    return failure(
        failed(
            verifyState(op, op.getQuery(), "query", {rows, lanes, 2}, bf16)) ||
        failed(verifyState(op, op.getKey(), "key", {-1, 2 * rows}, bf16)) ||
        failed(verifyState(op, op.getValue(), "value", values, bf16)));
  }
  Type type = cast<RankedTensorType>(op.getKey().getType()).getElementType();
  if (!isa<FloatType>(type) ||
      (type != query.getElementType() &&
       type.getIntOrFloatBitWidth() >= query.getElementTypeBitWidth()))
    return op.emitOpError()
           << "operand 'key': expected " << query.getElementType()
           << " or a narrower float type, got " << op.getKey().getType();
  int64_t keySize = query.getDimSize(op.getInRows() ? 1 : 0);
  return failure(
      failed(verifyState(op, op.getKey(), "key", {-1, keySize}, type)) ||
      failed(verifyState(op, op.getValue(), "value", {-1, value.getDimSize(1)},
                         type)));
}

template <typename Op>
LogicalResult verifyOnlineRegions(Op op, Type elementType) {
  Type index = IndexType::get(op.getContext());
  if (failed(verifyPointwiseRegion(op, op.getScoreRegion(), "score",
                                   {elementType, index, index, index, index},
                                   op.getScoreCaptures(), elementType)))
    return failure();
  return verifyPointwiseRegion(
      op, op.getMaskRegion(), "mask", {index, index, index, index},
      op.getMaskCaptures(), IntegerType::get(op.getContext(), 1));
}

template <typename Op>
void nameRegionArguments(Op op, Region &region, OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  StringRef scoreNames[] = {"s", "b", "h", "p", "j"};
  ArrayRef<StringRef> names(scoreNames);
  if (&region == &op.getMaskRegion())
    names = names.drop_front();
  for (auto [argument, name] : llvm::zip(region.getArguments(), names))
    setName(argument, name);
}

using Effects =
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

void addEffect(Effects &effects, MemoryEffects::Effect *effect,
               OpOperand &operand, int stage) {
  effects.emplace_back(effect, &operand, stage, /*effectOnFullRegion=*/true,
                       SideEffects::DefaultResource::get());
}

} // namespace

//===----------------------------------------------------------------------===//
// Regions: [name [(captures : types)] region]
//===----------------------------------------------------------------------===//

ParseResult attn::parsePointwiseRegion(
    OpAsmParser &parser, StringRef name, Region &region,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &captures,
    SmallVectorImpl<Type> &types) {
  if (failed(parser.parseOptionalKeyword(name)))
    return success();
  if (succeeded(parser.parseOptionalLParen()) &&
      (parser.parseOperandList(captures) || parser.parseColonTypeList(types) ||
       parser.parseRParen()))
    return failure();
  return parser.parseRegion(region);
}

void attn::printPointwiseRegion(OpAsmPrinter &printer, Operation *,
                                StringRef name, Region &region,
                                OperandRange captures, TypeRange types) {
  if (region.empty())
    return;
  printer << name << ' ';
  if (!captures.empty())
    printer << '(' << captures << " : " << types << ") ";
  printer.printRegion(region);
}

//===----------------------------------------------------------------------===//
// attn.online_attention
//===----------------------------------------------------------------------===//

LogicalResult OnlineAttentionOp::verify() {
  if (getOuts().size() != 3)
    return emitOpError() << "expected 3 operands 'outs' (accumulator, maximum "
                            "and sum), got "
                         << getOuts().size();
  auto query = cast<RankedTensorType>(getQuery().getType());
  Type type =
      isInPairs() ? Float32Type::get(getContext()) : query.getElementType();
  // Narrower queries in rows are for matrix units.
  if (isForMatrixUnits(*this) && (type.isF16() || type.isBF16()))
    type = Float32Type::get(getContext());
  if ((query.getRank() != 2 && (!isInPairs() || getInRows())) ||
      !isa<FloatType>(type))
    return emitOpError() << "operand 'query': expected shape "
                         << (getInRows() ? "(n, Dk) of a float type"
                                         : "(Dk, L) of a float type or "
                                           "(Dk/2, L, 2) of bf16")
                         << ", got " << query;
  auto value = cast<RankedTensorType>(getValue().getType());
  if (value.getRank() != 2 && !(isInPairs() && hasPacks(*this)))
    return emitOpError() << "operand 'value': expected shape (Skv, Dv)"
                         << (isInPairs() ? " or (T, Dv, 32)" : "") << ", got "
                         << value;
  if (failed(verifyStaticSizes(*this, getQuery(), "query", 0, 2)) ||
      failed(verifyStaticSizes(*this, getValue(), "value", 1, 2)))
    return failure();
  if (getInRows())
    if (auto maximum = cast<ShapedType>(getMaximum().getType());
        maximum.getRank() != 1 || maximum.getDimSize(0) < getNumRows())
      return emitOpError() << "operand 'maximum': expected at least "
                           << getNumRows() << " queries, got " << maximum;
  int64_t lanes = getInRows() ? getNumLanes() : query.getDimSize(1);
  int64_t valueSize = value.getDimSize(1);
  SmallVector<int64_t> accumulator = {valueSize, lanes};
  if (getInRows())
    accumulator = {getNumRows(), valueSize};
  if (failed(verifyFactors(*this)) ||
      failed(verifyState(*this, getAccumulator(), "accumulator", accumulator,
                         type)) ||
      failed(verifyState(*this, getMaximum(), "maximum", {lanes}, type)) ||
      failed(verifyState(*this, getSum(), "sum", {lanes}, type)) ||
      failed(verifyScale(*this, getScale(), type)))
    return failure();
  int64_t keys = cast<ShapedType>(getKey().getType()).getDimSize(0);
  int64_t rows = value.getDimSize(0);
  if (ShapedType::isDynamic(keys) || ShapedType::isDynamic(rows))
    return success();
  int64_t expected =
      hasPacks(*this) ? llvm::divideCeil(keys, kKeysPerPack) : keys;
  if (rows != expected)
    return emitOpError() << "operand 'value': expected " << expected
                         << (hasPacks(*this) ? " packs of the keys"
                                             : " rows as 'key'")
                         << ", got " << rows;
  return success();
}

LogicalResult OnlineAttentionOp::verifyRegions() {
  return verifyOnlineRegions(
      *this, cast<ShapedType>(getAccumulator().getType()).getElementType());
}

void OnlineAttentionOp::getEffects(Effects &) {}

void OnlineAttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {
  patterns.add<FoldCasts<OnlineAttentionOp>>(context);
}

void OnlineAttentionOp::getAsmBlockArgumentNames(Region &region,
                                                 OpAsmSetValueNameFn setName) {
  nameRegionArguments(*this, region, setName);
}

//===----------------------------------------------------------------------===//
// attn.online_softmax
//===----------------------------------------------------------------------===//

LogicalResult OnlineSoftmaxOp::verify() {
  if (getOuts().size() != 4)
    return emitOpError() << "expected 4 operands 'outs' (scores, maximum, sum "
                            "and correction), got "
                         << getOuts().size();
  auto scores = cast<ShapedType>(getScores().getType());
  if (!scores.hasRank() || scores.getRank() != 2 ||
      !isa<FloatType>(scores.getElementType()))
    return emitOpError() << "operand 'scores': expected shape (K, L) of a "
                            "float type, got "
                         << scores;
  if (failed(verifyStaticSizes(*this, getScores(), "scores", 0, 2)))
    return failure();
  Type elementType = scores.getElementType();
  int64_t lanes = scores.getDimSize(1);
  if (failed(
          verifyState(*this, getMaximum(), "maximum", {lanes}, elementType)) ||
      failed(verifyState(*this, getSum(), "sum", {lanes}, elementType)) ||
      failed(verifyState(*this, getCorrection(), "correction", {lanes},
                         elementType)))
    return failure();
  return verifyScale(*this, getScale(), elementType);
}

LogicalResult OnlineSoftmaxOp::verifyRegions() {
  return verifyOnlineRegions(
      *this, cast<ShapedType>(getScores().getType()).getElementType());
}

void OnlineSoftmaxOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  patterns.add<FoldCasts<OnlineSoftmaxOp>>(context);
}

Value OnlineSoftmaxOp::getCapture(BlockArgument argument) {
  bool isScore = argument.getOwner()->getParent() == &getScoreRegion();
  unsigned leading = isScore ? AttentionOp::kNumScoreArguments
                             : AttentionOp::kNumMaskArguments;
  OperandRange captures = isScore ? getScoreCaptures() : getMaskCaptures();
  return captures[argument.getArgNumber() - leading];
}

void OnlineSoftmaxOp::getEffects(Effects &effects) {
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    if (readsOperand(operand))
      addEffect(effects, MemoryEffects::Read::get(), operand, 0);
    if (isDpsInit(&operand))
      addEffect(effects, MemoryEffects::Write::get(), operand, 1);
  }
}

void OnlineSoftmaxOp::getAsmBlockArgumentNames(Region &region,
                                               OpAsmSetValueNameFn setName) {
  nameRegionArguments(*this, region, setName);
}

//===----------------------------------------------------------------------===//
// attn.all_finite
//===----------------------------------------------------------------------===//

LogicalResult AllFiniteOp::verify() {
  auto type = cast<ShapedType>(getSource().getType());
  if (!type.hasRank() || !isa<FloatType>(type.getElementType()))
    return emitOpError() << "operand 'source': expected a ranked tensor or "
                            "memref of a float type, got "
                         << type;
  return success();
}

void AllFiniteOp::getEffects(Effects &effects) {
  if (isa<MemRefType>(getSource().getType()))
    addEffect(effects, MemoryEffects::Read::get(), getSourceMutable(), 0);
}
