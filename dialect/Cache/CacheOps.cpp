//===- CacheOps.cpp - Ops of the cache: types and sizes -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/RegionVerifier.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/CastFolding.h"
#include "dialect/Shared/DestinationStyle.h"
#include "dialect/Shared/Float8.h"
#include "dialect/Shared/OperandGroups.h"
#include "dialect/Shared/OperandVerifier.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult attn::verifyPerSequence(Operation *op, Value operand,
                                      StringRef name) {
  if (failed(verifyShaped(op, operand, name, {"B"}, nullptr)))
    return failure();
  Type type = cast<ShapedType>(operand.getType()).getElementType();
  if (type.isSignlessInteger(32) || type.isSignlessInteger(64))
    return success();
  return op->emitOpError() << "operand '" << name
                           << "': expected element type i32 or i64, got "
                           << type;
}

LogicalResult attn::verifyCache(Operation *op, const CacheOperands &operands) {
  const auto &[cache, scales, lengths, table, isRing, name, scalesName] =
      operands;
  if (table && isRing)
    return op->emitOpError("expected 'ring' or 'table', got both");
  SmallVector<StringRef> dims = {"B", "Hkv", "capacity", "D"};
  if (table)
    dims = {"pages", "Hkv", "page_size", "D"};
  if (failed(verifyShaped(op, cache, name, dims, nullptr)))
    return failure();
  auto type = cast<ShapedType>(cache.getType());
  if (failed(verifyStaticSize(op, type, name, 1, "key/value heads")) ||
      failed(verifyStaticSize(op, type, name, 3, "head size")))
    return failure();
  if (table && type.getDimSize(2) == 0)
    return op->emitOpError() << "operand '" << name
                             << "': expected dimension 2 (page size) to be at "
                                "least 1, got 0";

  Type element = type.getElementType(); // C4
  bool isInt8 = element.isSignlessInteger(8);
  if (isInt8 && !scales)
    return op->emitOpError("expected 'scales' with a cache of i8, got none");
  if (!isInt8 && scales)
    return op->emitOpError()
           << "expected 'scales' only with a cache of i8, got " << type;
  if (!isInt8 && !isFloat8(element) && !isComputedFloat(element))
    return op->emitOpError()
           << "operand '" << name
           << "': expected element type f64, f32, f16, bf16, f8E4M3FN, f8E5M2 "
              "or i8, got "
           << element;
  if (scales) {
    dims.pop_back();
    if (failed(verifyShaped(op, scales, scalesName, dims,
                            Float32Type::get(op->getContext()))))
      return failure();
  }
  if (table && // C3
      failed(verifyShaped(op, table, "table", {"B", "max_pages"},
                          IntegerType::get(op->getContext(), 32))))
    return failure();
  return verifyPerSequence(op, lengths, "lengths");
}

LogicalResult attn::verifyCacheRows(Operation *op,
                                    const CacheOperands &operands, Type element,
                                    StringRef name) {
  if (operands.scales) {
    if (!element.isF64())
      return success();
    return op->emitOpError() << "operand '" << name
                             << "': expected element type f32, f16 or bf16 for "
                                "a cache of i8, got "
                             << element;
  }
  Type stored = cast<ShapedType>(operands.cache.getType()).getElementType();
  if (element == stored ||
      element.getIntOrFloatBitWidth() > stored.getIntOrFloatBitWidth())
    return success();
  return op->emitOpError() << "operand '" << name << "': expected element type "
                           << stored << ", which the cache has, or a wider one"
                           << ", got " << element;
}

void attn::addCacheConstraints(const CacheOperands &operands, OperandSize batch,
                               SmallVectorImpl<SizeConstraint> &constraints) {
  OperandSize cache{operands.cache, 0, operands.cacheName};
  bool isPaged = bool(operands.table);
  if (isPaged)
    constraints.push_back({{operands.table, 0, "table"}, batch, "batch size"});
  else
    constraints.push_back({cache, batch, "batch size"});
  if (!operands.scales)
    return;
  OperandSize scales{operands.scales, 0, operands.scalesName};
  constraints.push_back(
      {scales, cache, isPaged ? "number of pages" : "batch size"});
  constraints.push_back(
      {scales.at(1), cache.at(1), "number of key/value heads"});
  constraints.push_back(
      {scales.at(2), cache.at(2), isPaged ? "page size" : "capacity"});
}

/// The operands of an op itself.
template <typename Op> static CacheOperands getCacheOperands(Op op) {
  return {op.getCache(), op.getScales(), op.getLengths(), op.getTable(),
          op.getRing(),  "cache",        "scales"};
}

/// C5, C11: a tensor of rows as the op's `operand`.
template <typename Op>
static LogicalResult verifyRows(Op op, Value rows, StringRef name) {
  if (failed(verifyShaped(op, rows, name, {"B", "Hkv", "n", "D"}, nullptr)))
    return failure();
  auto type = cast<ShapedType>(rows.getType());
  if (failed(verifyFloat(op, rows, name)) ||
      failed(verifyStaticSize(op, type, name, 1, "key/value heads")) ||
      failed(verifyStaticSize(op, type, name, 3, "head size")))
    return failure();
  return verifyCacheRows(op, getCacheOperands(op), type.getElementType(), name);
}

//===----------------------------------------------------------------------===//
// attn.cache_append
//===----------------------------------------------------------------------===//

LogicalResult CacheAppendOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"rows", "", "lengths"})))
    return failure();
  if (getOuts().empty() || getOuts().size() > 2)
    return emitOpError()
           << "expected 1 or 2 operands 'outs' (cache and scales), got "
           << getOuts().size();
  if (failed(verifyCache(*this, getCacheOperands(*this))) ||
      failed(verifyRows(*this, getRows(), "rows")))
    return failure();
  if (Value counts = getCounts()) // C6
    if (failed(verifyPerSequence(*this, counts, "counts")))
      return failure();
  if (getCounts() && getSequences())
    return emitOpError("expected 'counts' or 'sequences', got both");
  if (getSequences() &&
      failed(verifyCumulativeLengths(*this, getSequences(), "sequences")))
    return failure();
  return failure(failed(verifyOneKind(*this)) ||
                 failed(verifySizes(*this, getSizeConstraints())));
}

SmallVector<SizeConstraint> CacheAppendOp::getSizeConstraints() {
  OperandSize rows{getRows(), 0, "rows"}, cache{getCache(), 0, "cache"};
  SmallVector<SizeConstraint> result;
  result.push_back({cache.at(1), rows.at(1), "number of key/value heads"});
  result.push_back({cache.at(3), rows.at(3), "head size"});
  OperandSize lengths{getLengths(), 0, "lengths"};
  if (getSequences()) {
    result.push_back({rows, {}, "batch size of packed sequences", 1});
    result.push_back({{getSequences(), 0, "sequences"},
                      lengths,
                      "number of sequences + 1",
                      1});
    addCacheConstraints(getCacheOperands(*this), lengths, result);
    return result;
  }
  addCacheConstraints(getCacheOperands(*this), rows, result);
  result.push_back({lengths, rows, "batch size"});
  if (getCounts())
    result.push_back({{getCounts(), 0, "counts"}, rows, "batch size"});
  return result;
}

//===----------------------------------------------------------------------===//
// attn.cache_read
//===----------------------------------------------------------------------===//

LogicalResult CacheReadOp::verify() {
  if (failed(verifySegments(*this, getProperties().operandSegmentSizes,
                            {"cache", "", "lengths"})))
    return failure();
  for (Type type : getOperandTypes())
    if (isa<BaseMemRefType>(type))
      return emitOpError() << "expected tensors, got " << type;
  if (failed(verifyCache(*this, getCacheOperands(*this))) ||
      failed(verifyRows(*this, getResult(), "result")))
    return failure();
  auto result = getResultType();
  if (result.isDynamicDim(2) != bool(getSize())) // C10
    return emitOpError() << "expected 'size' " << (getSize() ? "only " : "")
                         << "where dimension 2 of the result is dynamic, got "
                         << result;
  return verifySizes(*this, getSizeConstraints());
}

SmallVector<SizeConstraint> CacheReadOp::getSizeConstraints() {
  OperandSize cache{getCache(), 0, "cache"},
      lengths{getLengths(), 0, "lengths"}, result{getResult(), 0, "result"};
  SmallVector<SizeConstraint> constraints;
  addCacheConstraints(getCacheOperands(*this), lengths, constraints);
  constraints.push_back({result, lengths, "batch size"});
  constraints.push_back(
      {result.at(1), cache.at(1), "number of key/value heads"});
  constraints.push_back({result.at(3), cache.at(3), "head size"});
  return constraints;
}

OpFoldResult CacheReadOp::getMixedSize() {
  if (getSize())
    return getSize();
  return Builder(getContext()).getIndexAttr(getResultType().getDimSize(2));
}

LogicalResult
CacheReadOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &reified) {
  auto type = getResultType();
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(getContext(), type.getShape());
  if (type.isDynamicDim(0))
    sizes[0] = tensor::getMixedSize(builder, getLoc(), getLengths(), 0);
  sizes[2] = getMixedSize();
  reified.push_back(std::move(sizes));
  return success();
}

void CacheReadOp::populateBoundsForShapedValueDim(
    Value value, int64_t dim, ValueBoundsConstraintSet &bounds) {
  if (dim == 0)
    bounds.bound(value)[dim] == bounds.getExpr(getLengths(), 0);
  if (dim == 2)
    bounds.bound(value)[dim] == bounds.getExpr(getMixedSize());
}

namespace {
/// A constant size goes into the result's type.
struct FoldReadSize : OpRewritePattern<CacheReadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(CacheReadOp op,
                                PatternRewriter &rewriter) const override {
    APInt size;
    if (!op.getSize() || !matchPattern(op.getSize(), m_ConstantInt(&size)) ||
        size.isNegative())
      return failure();
    RankedTensorType type = op.getResultType();
    SmallVector<int64_t> shape(type.getShape());
    shape[2] = size.getSExtValue();
    auto read = CacheReadOp::create(
        rewriter, op.getLoc(), type.clone(shape), op.getCache(), op.getScales(),
        op.getLengths(), op.getTable(), /*size=*/Value(), op.getRing());
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, type, read);
    return success();
  }
};
} // namespace

void CacheReadOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<FoldCasts<CacheReadOp>, FoldReadSize>(context);
}
