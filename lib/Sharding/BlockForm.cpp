//===- BlockForm.cpp - An attention over a part of its rows ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a part of the rows has of the whole:
//
//   batch b     the first batch entry of the part becomes a capture, added to b
//   head  h     the same
//   row   i     joins the offset, and so the position p
//   key   j     the part's first key becomes a capture, added to j; of a packed
//               batch, one for each sequence
//   sequences,  are cut to the part
//   counts
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/BlockForm.h"
#include "lib/Regions/Philox.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Numbers of the arguments of a mask region; a score has another one before.
enum IndexArgument : unsigned {
  kBatchIndex,
  kHeadIndex,
  kPositionIndex,
  kKeyIndex
};
} // namespace

template <typename Op>
SequenceRows attn::emitSequenceRows(IndexBuilder &b, Op whole,
                                    const AttentionExtents &extents, Value n) {
  Value zero = b.index(0), next = b.add(n, 1);
  SequenceRows rows{zero, extents.queries.total, zero, extents.keys.total, {}};
  if (Value bounds = whole.getCumulativeQuery()) {
    rows.queryBegin = b.loadIndex(bounds, n);
    rows.queryEnd = b.loadIndex(bounds, next);
  }
  if (Value counts = whole.getCounts())
    rows.queryEnd = b.loadIndex(counts, n);
  if (Value bounds = whole.getCumulativeKey()) {
    rows.keyBegin = b.loadIndex(bounds, n);
    rows.keyEnd = b.loadIndex(bounds, next);
  }
  Value numQueries = b.sub(rows.queryEnd, rows.queryBegin),
        numKeys = b.sub(rows.keyEnd, rows.keyBegin);
  rows.position = whole.createFirstPosition(b, n, numQueries, numKeys);
  return rows;
}

/// `(count)` elements of `type`, from their numbers.
static Value generate(IndexBuilder &b, OpFoldResult count, Type type,
                      function_ref<Value(Value)> element) {
  SmallVector<int64_t> shape;
  SmallVector<Value> dynamic;
  dispatchIndexOpFoldResults({count}, dynamic, shape);
  auto generated = tensor::GenerateOp::create(
      b, RankedTensorType::get(shape, type), dynamic);
  OpBuilder::InsertionGuard guard(b);
  b.createBlock(&generated.getBody(), {}, b.getIndexType(), b.getLoc());
  Value number = element(generated.getBody().getArgument(0));
  if (!type.isIndex())
    number = arith::IndexCastOp::create(b, type, number);
  tensor::YieldOp::create(b, number);
  return generated;
}

/// `value` within `[0, most]`.
static Value clamp(IndexBuilder &b, Value value, Value most) {
  return b.min(b.max(value, 0), most);
}

/// Bounds of sequences, cut to a part of the rows.
static Value cutBounds(IndexBuilder &b, Value bounds, RowSpan part) {
  auto type = cast<RankedTensorType>(bounds.getType());
  return generate(b, b.size(bounds, 0), type.getElementType(), [&](Value n) {
    Value row = b.sub(b.loadIndex(bounds, n), part.first);
    return clamp(b, row, part.count);
  });
}

/// Adds to an index of both regions, before all that they compute, what
/// `createFirst` makes of a capture.
template <typename Op>
static void
moveIndex(IndexBuilder &b, Op op, IndexArgument index, Value capture,
          function_ref<Value(Block &, unsigned, Value)> createFirst) {
  auto move = [&](Region &region, unsigned firstIndex,
                  MutableOperandRange captures) {
    if (region.empty())
      return;
    Block &block = region.front();
    BlockArgument local = block.getArgument(firstIndex + index);
    if (local.use_empty())
      return;
    captures.append(capture);
    Value captured = block.addArgument(capture.getType(), b.getLoc());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    Value first = createFirst(block, firstIndex, captured);
    auto sum = arith::AddIOp::create(b, local, first);
    local.replaceAllUsesExcept(sum, sum);
  };
  move(op.getScore(), 1, op.getScoreCapturesMutable());
  move(op.getMask(), 0, op.getMaskCapturesMutable());
}

template <typename Op>
static void moveIndex(IndexBuilder &b, Op op, IndexArgument index,
                      Value first) {
  if (getConstantIntValue(first) != 0)
    moveIndex(b, op, index, first,
              [](Block &, unsigned, Value captured) { return captured; });
}

/// The key of row 0 of a part of packed keys, in each sequence.
template <typename Op>
static Value createFirstKeys(IndexBuilder &b, Op whole, RowSpan part) {
  Value bounds = whole.getCumulativeKey();
  Value last = b.sub(b.dim(bounds, 0), 1);
  OpFoldResult count = b.size(whole.getCumulativeQuery(), 0);
  AffineExpr symbol = b.getAffineSymbolExpr(0);
  return generate(b, b.apply(symbol - 1, {count}), b.getIndexType(),
                  [&](Value n) {
                    Value first = b.loadIndex(bounds, b.min(n, last));
                    return b.max(b.sub(part.first, first), 0);
                  });
}

/// The positions of the first rows of a part.
template <typename Op>
static Value createOffset(IndexBuilder &b, Op whole,
                          const AttentionExtents &extents, RowSpan queries) {
  Value offset = whole.getOffset();
  bool differs =
      whole.isRagged() || (offset && isa<RankedTensorType>(offset.getType()));
  if (!differs) {
    Value position = emitSequenceRows(b, whole, extents, b.index(0)).position;
    return b.add(position, queries.first);
  }
  AffineExpr symbol = b.getAffineSymbolExpr(0);
  OpFoldResult count =
      whole.isPacked()
          ? b.apply(symbol - 1, {b.size(whole.getCumulativeQuery(), 0)})
          : OpFoldResult(extents.batch.count(b));
  Value first = extents.batch.first(b);
  return generate(b, count, b.getI64Type(), [&](Value n) {
    Value number = whole.isPacked() ? n : b.add(first, n);
    SequenceRows rows = emitSequenceRows(b, whole, extents, number);
    Value before = b.max(b.sub(queries.first, rows.queryBegin), 0);
    return b.add(rows.position, before);
  });
}

template <typename Op> static void removeDropout(Op op) {
  op.removeDropoutRateAttr();
  op.getDropoutSeedMutable().clear();
  op.getDropoutCallMutable().clear();
}

/// Lets the mask hide what dropout drops, by the numbers of the region's
/// arguments, of so many query heads, and removes the dropout.
template <typename Op>
static void moveDropoutToMask(IndexBuilder &b, Op op, int64_t numHeads) {
  OpBuilder::InsertionGuard guard(b);
  Region &region = op.getMask();
  if (region.empty()) {
    SmallVector<Type> types(Op::kNumMaskArguments, b.getIndexType());
    b.createBlock(&region, {}, types,
                  SmallVector<Location>(types.size(), b.getLoc()));
    YieldOp::create(b, b.boolean(true));
  }
  Block &block = region.front();
  MutableOperandRange captures = op.getMaskCapturesMutable();
  captures.append(op.getDropoutSeed());
  captures.append(op.getDropoutCall());
  Value seed = block.addArgument(b.getI64Type(), b.getLoc()),
        call = block.addArgument(b.getI32Type(), b.getLoc());
  auto yield = cast<YieldOp>(block.getTerminator());
  b.setInsertionPoint(yield);
  Value heads = b.index(numHeads);
  Value line = b.add(b.mul(block.getArgument(kBatchIndex), heads),
                     block.getArgument(kHeadIndex)); // A8
  Value isKept =
      buildIsKept(b, op.getDropoutRateAttr().getValueAsDouble(),
                  buildPhiloxKey(b, seed), block.getArgument(kKeyIndex),
                  block.getArgument(kPositionIndex), line, call);
  yield.getValueMutable().assign(b.bitAnd(yield.getValue(), isKept));
  removeDropout(op);
}

template <typename Op>
Op attn::emitBlock(IndexBuilder &b, Op whole, const AttentionExtents &extents,
                   const BlockOperands &part, Value key, Value value,
                   RowSpan keys, ValueRange outs, bool keepsAll) {
  // Whole rows of a batch are where they were: what says so stays.
  bool hasAllRows = extents.batch.isWhole() && extents.numQueryRanks == 1 &&
                    extents.numKeyRanks == 1;
  Value offset;
  if (!hasAllRows)
    offset = createOffset(b, whole, extents, part.queries);
  auto op = cast<Op>(b.clone(*whole));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  op.getQueryMutable().assign(part.query);
  op.getKeyMutable().assign(key);
  op.getValueMutable().assign(value);
  op.getSinkMutable().clear();
  if constexpr (std::is_same_v<Op, AttentionBackwardOp>) {
    op.setOfSink(false);
    op.getOutputMutable().assign(part.ofRows[0]);
    op.getLogSumExpMutable().assign(part.ofRows[1]);
    op.getOutputGradientMutable().assign(part.ofRows[2]);
    if (op.getLogSumExpGradient())
      op.getLogSumExpGradientMutable().assign(part.ofRows[3]);
  }
  if (!hasAllRows) {
    op.setBottomRight(false);
    op.getOffsetMutable().assign(offset);
  }
  if (op.getCumulativeQuery() && !hasAllRows)
    op.getCumulativeQueryMutable().assign(
        cutBounds(b, whole.getCumulativeQuery(), part.queries));
  if (Value counts = whole.getCounts(); counts && !hasAllRows) {
    auto type = cast<RankedTensorType>(counts.getType());
    Value first = extents.batch.first(b);
    op.getCountsMutable().assign(generate(
        b, extents.batch.count(b), type.getElementType(), [&](Value n) {
          Value count = b.loadIndex(counts, b.add(first, n));
          return clamp(b, b.sub(count, part.queries.first), part.queries.count);
        }));
  }
  if (op.hasDropout() && keepsAll)
    removeDropout(op);
  else if (op.hasDropout())
    moveDropoutToMask(b, op, *getConstantIntValue(extents.heads.total));
  if (hasAllRows) {
    // So are keys.
  } else if (op.getCumulativeKey()) {
    op.getCumulativeKeyMutable().assign(
        cutBounds(b, whole.getCumulativeKey(), keys));
    moveIndex(b, op, kKeyIndex, createFirstKeys(b, whole, keys),
              [&](Block &block, unsigned firstIndex, Value firstKeys) -> Value {
                return b.load(firstKeys,
                              block.getArgument(firstIndex + kBatchIndex));
              });
  } else {
    moveIndex(b, op, kKeyIndex, keys.first);
  }
  if (!op.isPacked())
    moveIndex(b, op, kBatchIndex, extents.batch.first(b));
  moveIndex(b, op, kHeadIndex, extents.heads.first(b));

  // Results follow the destinations, of which there may be another number.
  OperationState state(op.getLoc(), op->getName());
  op.getOutsMutable().assign(outs);
  state.addOperands(op->getOperands());
  state.addTypes(llvm::to_vector(outs.getTypes()));
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  auto result = cast<Op>(b.create(state));
  op.erase();
  return result;
}

#define ATTN_INSTANTIATE_BLOCK_FORM(Op)                                        \
  template SequenceRows attn::emitSequenceRows(                                \
      IndexBuilder &, Op, const AttentionExtents &, Value);                    \
  template Op attn::emitBlock(IndexBuilder &, Op, const AttentionExtents &,    \
                              const BlockOperands &, Value, Value, RowSpan,    \
                              ValueRange, bool);
ATTN_INSTANTIATE_BLOCK_FORM(AttentionOp)
ATTN_INSTANTIATE_BLOCK_FORM(AttentionBackwardOp)
#undef ATTN_INSTANTIATE_BLOCK_FORM
