//===- VisibleRange.cpp - Keys that a tile of queries may see -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/VisibleRange.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/CachedRows.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/SymbolicNumber.h"
#include "lib/Regions/TableRanges.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

/// The number of rows of a matrix, in terms of what it is a slice of, as far as
/// that is known.
static Value emitNumRows(OpBuilder &builder, Location loc, Value matrix) {
  IndexBuilder b(loc, builder);
  OpFoldResult size = tensor::getMixedSize(b, loc, matrix, 0);
  if (auto result = dyn_cast<OpResult>(matrix); result && isa<Value>(size))
    if (FailureOr<OpFoldResult> reified = reifyDimOfResult(
            b, result.getOwner(), static_cast<int>(result.getResultNumber()),
            /*dim=*/0);
        succeeded(reified))
      size = *reified;
  return b.index(size);
}

namespace {

/// Leaves out what tables hide at both ends of a range of keys. Interval
/// arithmetic knows a table's elements only where it is asked about few of
/// them: several blocks of keys, and one where not all of these are hidden.
class RangeEnds {
public:
  RangeEnds(OpBuilder &builder, OnlineAttentionOp op, IndexRange positions,
            int64_t block)
      : b(op.getLoc(), builder), loc(op.getLoc()), op(op), positions(positions),
        narrow(b.index(block)), wide(b.index(block * kBlocksAtOnce)) {}

  /// The first block of `[begin, end)` that may be visible, `end` if none is.
  /// `begin` is a multiple of the block.
  Value findBegin(Value begin, Value end) {
    return search(begin, [&](Value at, Value step) -> Step {
      Value next = b.min(b.add(at, step), end);
      return {b.isLess(at, end), at, next, next};
    });
  }

  /// The end of the last one.
  Value findEnd(Value begin, Value end) {
    return search(end, [&](Value at, Value step) -> Step {
      Value last = b.sub(at, 1);
      Value rest = b.rem(last, narrow);
      Value after = b.add(b.sub(last, rest), narrow);
      Value next = b.max(b.sub(after, step), begin);
      return {b.isLess(begin, at), next, at, next};
    });
  }

private:
  static constexpr int64_t kBlocksAtOnce = 4;

  /// Whether there are keys left, some of them, and where to go on if they are
  /// hidden.
  struct Step {
    Value isInside, begin, end, next;
  };

  /// From `from` on, in wide steps and then in narrow ones.
  Value search(Value from, function_ref<Step(Value, Value)> getStep) {
    SmallVector<Type> types(2, b.getIndexType());
    SmallVector<Location> locations(2, loc);
    auto loop = scf::WhileOp::create(b, loc, types, ValueRange{from, wide});
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, locations);
    Value at = before->getArgument(0), size = before->getArgument(1);
    Step step = getStep(at, size);
    Value isHidden = emitIsHidden(step.begin, step.end);
    Value goesOn =
        b.bitAnd(step.isInside, b.bitOr(isHidden, b.isLess(narrow, size)));
    Value next = b.select(isHidden, step.next, at);
    Value nextSize = b.select(isHidden, size, narrow);
    scf::ConditionOp::create(b, loc, goesOn, ValueRange{next, nextSize});
    Block *after = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, loc, after->getArguments());
    return loop.getResult(0);
  }

  /// Of no keys, nothing is asked: there is one at least.
  Value emitIsHidden(Value begin, Value end) {
    Value last = b.max(b.sub(end, 1), begin);
    RegionTile tile{op.getBatch(),
                    op.getHead(),
                    positions,
                    {begin, last},
                    op.getMaskCaptures()};
    return emitBlockVerdict(b, loc, op.getMaskRegion(), tile).isEmpty;
  }

  IndexBuilder b;
  Location loc;
  OnlineAttentionOp op;
  IndexRange positions;
  Value narrow, wide;
};

} // namespace

/// The `count` numbers from `first` on.
static IndexRange emitRange(OpBuilder &builder, Location loc, Value first,
                            Value count) {
  IndexBuilder b(loc, builder);
  Value one = b.index(1);
  Value end = b.add(first, count);
  return {first, b.sub(end, one)};
}

VisibleRows attn::emitVisibleRange(OpBuilder &builder, OnlineAttentionOp op,
                                   int64_t block) {
  Location loc = op.getLoc();
  IndexBuilder b(loc, builder);
  Value zero = b.index(0);
  Value count = emitNumRows(b, loc, op.getKey());
  if (!op.hasMask())
    return {zero, count};
  IndexRange positions =
      emitRange(b, loc, op.getPosition(), op.getNumQueries());
  Value numKeys = b.add(op.getFirstKey(), count);
  VisibleKeys keys =
      emitVisibleKeys(b, loc, op.getMaskRegion(), op.getBatch(), op.getHead(),
                      positions, numKeys, op.getMaskCaptures());
  // To rows of the op's own keys, of which the visible ones may be none.
  Value low = keys.begin, high = keys.end;
  if (block > 0 &&
      hasBlocksOfKeys(b, op.getMaskRegion(), op.getMaskCaptures())) {
    Value size = b.index(block);
    Value rest = b.rem(low, size);
    low = b.sub(low, rest);
    RangeEnds ends(b, op, positions, block);
    low = ends.findBegin(b.max(low, op.getFirstKey()), high);
    high = ends.findEnd(low, high);
  }
  if (!matchPattern(op.getFirstKey(), m_Zero())) {
    auto toRow = [&](Value key) {
      Value row = b.sub(key, op.getFirstKey());
      return b.max(row, zero);
    };
    low = toRow(low);
    high = toRow(high);
  }
  return {low, high, keys.hasGaps};
}

bool attn::seesFirstKey(OpBuilder &b, OnlineAttentionOp op) {
  if (!op.hasMask())
    return true;
  if (hasBlocksOfKeys(b, op.getMaskRegion(), op.getMaskCaptures()))
    return false;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  EmittedCode code(b);
  Value begin = emitVisibleRange(b, op, /*block=*/0).begin;
  bool isFirst = matchPattern(begin, m_Zero());
  code.eraseAllBut({});
  return isFirst;
}

VisibleRows attn::emitVisibleRowsOfBlock(OpBuilder &builder,
                                         OnlineAttentionOp block) {
  Location loc = block.getLoc();
  IndexBuilder b(loc, builder);
  Value count = emitNumRows(b, loc, block.getKey());
  RegionTile tile{block.getBatch(), block.getHead(),
                  emitRange(b, loc, block.getPosition(), block.getNumQueries()),
                  emitRange(b, loc, block.getFirstKey(), count),
                  block.getMaskCaptures()};
  VisibleKeys keys = emitVisibleKeys(b, loc, block.getMaskRegion(), tile);
  auto toRow = [&](Value key) { return b.sub(key, block.getFirstKey()); };
  return {toRow(keys.begin), toRow(keys.end), keys.hasGaps};
}

RowRange attn::emitVisibleStoredRange(OpBuilder &builder, OnlineAttentionOp op,
                                      int64_t unit) {
  Location loc = op.getLoc();
  IndexBuilder b(loc, builder);
  auto [begin, end, hasGaps] = emitVisibleRange(b, op, /*block=*/0);
  for (Value rows : {op.getKey(), op.getValue()})
    if (auto cached = CachedRows::match(rows))
      std::tie(begin, end) = cached->clampToStored(b, loc, begin, end);
  begin = b.bitAnd(begin, b.index(-unit));
  return {begin, end};
}
