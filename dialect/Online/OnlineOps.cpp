//===- OnlineOps.cpp - Ops of the online softmax --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/PointwiseRegionAssembly.h"
#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/CastFolding.h"
#include "dialect/Shared/OperandGroups.h"
#include "dialect/Shared/OperandVerifier.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Verifies that an operand has a shape, -1 meaning any size, and an element
/// type.
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

/// What the query of a layout is.
StringRef describeQuery(OnlineLayout layout) {
  switch (layout) {
  case OnlineLayout::Lanes:
    return "(Dk, L) of a float type";
  case OnlineLayout::Rows:
    return "(n, Dk) of a float type";
  case OnlineLayout::Pairs:
    return "(Dk/2, L, 2) of bf16";
  case OnlineLayout::Mma:
    return "(L, Dk) of f16, bf16 or f32";
  }
  llvm_unreachable("not a layout");
}

bool isQuery(RankedTensorType type, OnlineLayout layout) {
  Type element = type.getElementType();
  switch (layout) {
  case OnlineLayout::Lanes:
  case OnlineLayout::Rows:
    return type.getRank() == 2 && isa<FloatType>(element);
  case OnlineLayout::Pairs:
    return type.getRank() == 3 && type.getDimSize(2) == 2 && element.isBF16();
  case OnlineLayout::Mma:
    return type.getRank() == 2 &&
           (element.isF16() || element.isBF16() || element.isF32());
  }
  llvm_unreachable("not a layout");
}

/// Verifies that query and value have the dimensions of the layout.
LogicalResult verifyLayout(OnlineAttentionOp op) {
  OnlineLayout layout = op.getLayout();
  StringRef name = stringifyOnlineLayout(layout);
  if (op.getPackedValues() && layout != OnlineLayout::Pairs)
    return op.emitOpError()
           << "attribute 'packed_values': expected layout<pairs>, got layout<"
           << name << ">";
  if (op.getKeepsPacks() &&
      (op.getPackedValues() || layout != OnlineLayout::Pairs))
    return op.emitOpError()
           << "attribute 'keeps_packs': expected layout<pairs> "
              "without packed_values, got layout<"
           << name << ">" << (op.getPackedValues() ? " packed_values" : "");
  if (op.getInPages() && layout != OnlineLayout::Pairs)
    return op.emitOpError()
           << "attribute 'in_pages': expected layout<pairs>, got layout<"
           << name << ">";
  if (op.getFirst() && layout != OnlineLayout::Pairs)
    return op.emitOpError()
           << "operand 'first': expected layout<pairs>, got layout<" << name
           << ">";
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  if (!isQuery(query, layout))
    return op.emitOpError()
           << "operand 'query': expected shape " << describeQuery(layout)
           << " in layout<" << name << ">, got " << query;
  auto value = cast<RankedTensorType>(op.getValue().getType());
  if (value.getRank() != (op.getPackedValues() ? 3 : 2))
    return op.emitOpError()
           << "operand 'value': expected shape "
           << (op.getPackedValues() ? "(T, Dv, 32) with packed_values"
                                    : "(Skv, Dv)")
           << ", got " << value;
  return failure(failed(verifyStaticSizes(op, op.getQuery(), "query", 0, 2)) ||
                 failed(verifyStaticSizes(op, op.getValue(), "value", 1, 2)));
}

/// Verifies the key or the value: of the query's type, or of a narrower float
/// type but in pairs; or of i8 with scales, in rows and for matrix units.
LogicalResult verifyFactor(OnlineAttentionOp op, Value factor, StringRef name,
                           Value scales, ArrayRef<int64_t> shape) {
  Type ofQuery = getElementTypeOrSelf(op.getQuery().getType());
  Type type = getElementTypeOrSelf(factor.getType());
  OnlineLayout layout = op.getLayout();
  if (scales) {
    bool takesIntegers =
        layout == OnlineLayout::Rows || layout == OnlineLayout::Mma;
    if (!takesIntegers || !type.isInteger(8))
      return op.emitOpError()
             << "operand '" << name << "_scales': expected a " << name
             << " of i8 in layout<rows> or layout<mma>, got " << type
             << " in layout<" << stringifyOnlineLayout(layout) << ">";
    int64_t rows = cast<ShapedType>(factor.getType()).getDimSize(0);
    if (ShapedType::isDynamic(rows))
      rows = -1;
    if (failed(verifyState(op, scales, (name + "_scales").str(), rows,
                           Float32Type::get(op.getContext()))))
      return failure();
  } else if (type != ofQuery &&
             (layout == OnlineLayout::Pairs || !isa<FloatType>(type) ||
              type.getIntOrFloatBitWidth() >=
                  ofQuery.getIntOrFloatBitWidth())) {
    return op.emitOpError()
           << "operand '" << name << "': expected " << ofQuery
           << (layout == OnlineLayout::Pairs ? "" : " or a narrower float type")
           << ", got " << factor.getType();
  }
  return verifyState(op, factor, name, shape, type);
}

LogicalResult verifyFactors(OnlineAttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  int64_t keySize = query.getDimSize(op.hasRowPerQuery() ? 1 : 0);
  if (op.getLayout() == OnlineLayout::Pairs)
    keySize *= 2;
  SmallVector<int64_t> value = {
      -1, cast<ShapedType>(op.getValue().getType()).getDimSize(1)};
  if (op.getPackedValues())
    value.push_back(OnlineAttentionOp::kKeysPerPack);
  return failure(failed(verifyFactor(op, op.getKey(), "key", op.getKeyScales(),
                                     {-1, keySize})) ||
                 failed(verifyFactor(op, op.getValue(), "value",
                                     op.getValueScales(), value)));
}

/// Verifies the accumulator, maximum, sum and scale.
LogicalResult verifyOnlineState(OnlineAttentionOp op) {
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  OnlineLayout layout = op.getLayout();
  int64_t numQueries = query.getDimSize(op.hasRowPerQuery() ? 0 : 1);
  int64_t lanes = numQueries;
  if (layout == OnlineLayout::Rows) {
    auto maximum = cast<ShapedType>(op.getMaximum().getType());
    if (maximum.getRank() != 1 || maximum.getDimSize(0) < numQueries)
      return op.emitOpError() << "operand 'maximum': expected at least "
                              << numQueries << " queries, got " << maximum;
    lanes = maximum.getDimSize(0);
  }
  Type type = query.getElementType();
  if (layout == OnlineLayout::Pairs || layout == OnlineLayout::Mma)
    type = Float32Type::get(op.getContext());
  SmallVector<int64_t> accumulator = {
      cast<ShapedType>(op.getValue().getType()).getDimSize(1), numQueries};
  if (op.hasRowPerQuery())
    std::swap(accumulator[0], accumulator[1]);
  return failure(
      failed(verifyState(op, op.getAccumulator(), "accumulator", accumulator,
                         type)) ||
      failed(verifyState(op, op.getMaximum(), "maximum", {lanes}, type)) ||
      failed(verifyState(op, op.getSum(), "sum", {lanes}, type)) ||
      failed(verifyScale(op, op.getScale(), type)));
}

LogicalResult verifyDropout(OnlineAttentionOp op) {
  Value operands[] = {op.getDropoutSeed(), op.getDropoutCall(),
                      op.getDropoutLine()};
  auto given =
      llvm::count_if(operands, [](Value operand) { return bool(operand); }) +
      op.hasDropout();
  if (given == 0 && !op.getDropoutKey())
    return success();
  if (given < 4)
    return op.emitOpError("expected 'dropout_rate', 'dropout_seed', "
                          "'dropout_call' and 'dropout_line' together");
  return verifyDropoutRate(op, op.getDropoutRateAttr(), "dropout_rate");
}

LogicalResult verifyDelayed(OnlineAttentionOp op) {
  if (op.isDelayed() != bool(op.getDelayedOnly()))
    return op.emitOpError(
        "expected 'delayed_values' and 'delayed_only' together");
  if (!op.isDelayed())
    return success();
  if (op.getLayout() != OnlineLayout::Mma || op.getValueScales() ||
      op.hasDropout())
    return op.emitOpError("operand 'delayed_values': expected layout<mma> "
                          "without value_scales and dropout");
  auto value = cast<RankedTensorType>(op.getValue().getType());
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  if (failed(verifyState(op, op.getDelayedValues(), "delayed_values",
                         {-1, value.getDimSize(1)}, value.getElementType())) ||
      failed(verifyState(op, op.getDelayedWeights(), "weights",
                         {query.getDimSize(0), -1}, query.getElementType())) ||
      failed(verifyStaticSizes(op, op.getDelayedWeights(), "weights", 1, 2)))
    return failure();
  int64_t most =
      cast<ShapedType>(op.getDelayedWeights().getType()).getDimSize(1);
  for (auto [rows, name] : {std::pair(op.getKey(), "key"),
                            std::pair(op.getDelayedValues(), "delayed_values")})
    if (auto type = cast<ShapedType>(rows.getType());
        !type.isDynamicDim(0) && type.getDimSize(0) > most)
      return op.emitOpError() << "operand '" << name << "': expected at most "
                              << most << " rows as 'weights', got " << type;
  return success();
}

template <typename Op>
LogicalResult verifyOnlineRegions(Op op, Type elementType) {
  return verifyScoreAndMask(op, op.getScoreRegion(), op.getScoreCaptures(),
                            op.getMaskRegion(), op.getMaskCaptures(),
                            elementType);
}

} // namespace

//===----------------------------------------------------------------------===//
// Regions: [name [(captures : types)] region]
//===----------------------------------------------------------------------===//

void attn::nameRegionArguments(Region &region, bool isMask,
                               OpAsmSetValueNameFn setName) {
  if (region.empty())
    return;
  StringRef names[] = {"s", "b", "h", "p", "j"};
  for (auto [argument, name] : llvm::zip(
           region.getArguments(), ArrayRef(names).drop_front(isMask ? 1 : 0)))
    setName(argument, name);
}

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
  size_t expectedOuts = isDelayed() ? 4 : 3;
  if (getOuts().size() != expectedOuts)
    return emitOpError() << "expected " << expectedOuts
                         << " operands 'outs' (accumulator, maximum"
                         << (isDelayed() ? ", sum and weights), got "
                                         : " and sum), got ")
                         << getOuts().size();
  if (failed(verifyLayout(*this)) || failed(verifyFactors(*this)) ||
      failed(verifyOnlineState(*this)) || failed(verifyDropout(*this)) ||
      failed(verifyDelayed(*this)))
    return failure();
  int64_t keys = cast<ShapedType>(getKey().getType()).getDimSize(0);
  int64_t rows = cast<ShapedType>(getValue().getType()).getDimSize(0);
  if (ShapedType::isDynamic(keys) || ShapedType::isDynamic(rows))
    return success();
  int64_t expected =
      getPackedValues() ? llvm::divideCeil(keys, kKeysPerPack) : keys;
  if (rows != expected)
    return emitOpError() << "operand 'value': expected " << expected
                         << (getPackedValues() ? " packs of the keys"
                                               : " rows as 'key'")
                         << ", got " << rows;
  return success();
}

LogicalResult OnlineAttentionOp::verifyRegions() {
  return verifyOnlineRegions(
      *this, cast<ShapedType>(getAccumulator().getType()).getElementType());
}

void OnlineAttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {
  patterns.add<FoldCasts<OnlineAttentionOp>>(context);
}

//===----------------------------------------------------------------------===//
// attn.online_softmax
//===----------------------------------------------------------------------===//

LogicalResult OnlineSoftmaxOp::verify() {
  bool hasState = getOuts().size() == 4 || hasPairs();
  if (!hasState && !hasFixedMaximum() && !hasOnlyScores())
    return emitOpError() << "expected 5 operands 'outs' (scores, maximum, sum, "
                            "rescale factor and pairs), or the first 1, 2 or "
                            "4, got "
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
  if (!hasOnlyScores() &&
      failed(verifyState(*this, getMaximum(), "maximum", {lanes}, elementType)))
    return failure();
  if (hasState &&
      (failed(verifyState(*this, getSum(), "sum", {lanes}, elementType)) ||
       failed(verifyState(*this, getRescaleFactor(), "rescale factor", {lanes},
                          elementType))))
    return failure();
  if (hasPairs()) {
    auto pairs = cast<ShapedType>(getPairs().getType());
    int64_t keys = scores.getDimSize(0);
    if (!elementType.isF32() || keys % OnlineAttentionOp::kKeysPerPack != 0 ||
        !pairs.hasRank() || !pairs.getElementType().isBF16() ||
        pairs.getShape() != ArrayRef<int64_t>{keys / 2, lanes, 2})
      return emitOpError() << "operand 'pairs': expected shape (K/2, L, 2) of "
                              "bf16 with scores (K, L) of f32, K a multiple "
                              "of 32, got "
                           << pairs << " with " << scores;
  }
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

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

Value OnlineAttentionOp::createDropoutKey(OpBuilder &builder, Value key) {
  if (!getDropoutKey())
    return key;
  return builder.createOrFold<arith::AddIOp>(getLoc(), getDropoutKey(), key);
}

LogicalResult OnlineDropoutOp::verify() {
  if (getOuts().size() != 1)
    return emitOpError() << "expected 1 operand 'outs' (weights), got "
                         << getOuts().size();
  auto weights = cast<ShapedType>(getWeights().getType());
  if (!weights.hasRank() || weights.getRank() != 2 ||
      !isa<FloatType>(weights.getElementType()))
    return emitOpError() << "operand 'weights': expected shape (K, L) of a "
                            "float type, got "
                         << weights;
  return failure(
      failed(verifyStaticSizes(*this, getWeights(), "weights", 0, 2)) ||
      failed(verifyDropoutRate(*this, getRateAttr(), "rate")));
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

void AllFiniteOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(getSource().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable(),
                         /*stage=*/0, /*effectOnFullRegion=*/true,
                         SideEffects::DefaultResource::get());
}
