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
//   dropout     says which batch entry, head and key are the part's first ones
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/BlockForm.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Numbers of the arguments of a mask region; a score has another one before.
enum IndexArgument : unsigned {
  kBatchIndex = 0,
  kHeadIndex = 1,
  kKeyIndex = 3
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

/// How many batch entries or sequences a part has.
template <typename Op>
static OpFoldResult countSequences(IndexBuilder &b, Op whole,
                                   const Extent &batch) {
  if (!whole.isPacked())
    return batch.count(b);
  OpFoldResult bounds = b.size(whole.getCumulativeQuery(), 0);
  return b.apply(b.getAffineSymbolExpr(0) - 1, {bounds});
}

/// The key of row 0 of a part of packed keys, in each sequence.
template <typename Op>
static Value createFirstKeys(IndexBuilder &b, Op whole, RowSpan part) {
  Value bounds = whole.getCumulativeKey();
  Value last = b.sub(b.dim(bounds, 0), 1);
  return generate(b, countSequences(b, whole, {}), b.getIndexType(),
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
  OpFoldResult count = countSequences(b, whole, extents.batch);
  Value first = extents.batch.first(b);
  return generate(b, count, b.getI64Type(), [&](Value n) {
    Value number = whole.isPacked() ? n : b.add(first, n);
    SequenceRows rows = emitSequenceRows(b, whole, extents, number);
    Value before = b.max(b.sub(queries.first, rows.queryBegin), 0);
    return b.add(rows.position, before);
  });
}

/// Gives the dropout of a part the counters of the whole (A8). `firstKeys` are
/// those of the part, one number or one of each sequence; null if it has all.
template <typename Op>
static void moveDropout(IndexBuilder &b, Op op, Op whole,
                        const AttentionExtents &extents, Value firstKeys) {
  int64_t heads = int64_t(whole.getDropoutHeads().value_or(
      uint64_t(*getConstantIntValue(extents.heads.total))));
  Value line =
      b.add(b.mul(extents.batch.first(b), heads), extents.heads.first(b));
  if (Value ofWhole = whole.getDropoutLine())
    line = b.add(ofWhole, line);
  if (getConstantIntValue(line) != 0)
    op.getDropoutLineMutable().assign(line);
  if (heads != op.getNumQueryHeads())
    op.setDropoutHeads(uint64_t(heads));
  if (!firstKeys || getConstantIntValue(firstKeys) == 0)
    return;
  auto isOfEach = [](Value keys) {
    return keys && isa<RankedTensorType>(keys.getType());
  };
  Value keys;
  if (isOfEach(firstKeys) || isOfEach(whole.getDropoutKey())) {
    Value first = whole.isPacked() ? b.index(0) : extents.batch.first(b);
    keys = generate(b, countSequences(b, whole, extents.batch),
                    b.getIndexType(), [&](Value n) {
                      Value key = isOfEach(firstKeys) ? b.load(firstKeys, n)
                                                      : firstKeys;
                      return whole.createDropoutKey(b, b.add(first, n), key);
                    });
  } else {
    keys = whole.createDropoutKey(b, b.index(0), firstKeys);
  }
  op.getDropoutKeyMutable().assign(keys);
}

template <typename Op>
Op attn::emitBlock(IndexBuilder &b, Op whole, const AttentionExtents &extents,
                   const BlockOperands &part, Value key, Value value,
                   RowSpan keys, ValueRange outs) {
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
  Value firstKeys; // One number, or one of each sequence.
  if (!hasAllRows)
    firstKeys =
        op.getCumulativeKey() ? createFirstKeys(b, whole, keys) : keys.first;
  if (op.hasDropout())
    moveDropout(b, op, whole, extents, firstKeys);
  if (hasAllRows) {
    // So are keys.
  } else if (op.getCumulativeKey()) {
    op.getCumulativeKeyMutable().assign(
        cutBounds(b, whole.getCumulativeKey(), keys));
    moveIndex(b, op, kKeyIndex, firstKeys,
              [&](Block &block, unsigned firstIndex, Value firstKeys) -> Value {
                return b.load(firstKeys,
                              block.getArgument(firstIndex + kBatchIndex));
              });
  } else {
    moveIndex(b, op, kKeyIndex, firstKeys);
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
                              ValueRange);
ATTN_INSTANTIATE_BLOCK_FORM(AttentionOp)
ATTN_INSTANTIATE_BLOCK_FORM(AttentionBackwardOp)
#undef ATTN_INSTANTIATE_BLOCK_FORM
