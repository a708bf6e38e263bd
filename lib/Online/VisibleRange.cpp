//===- VisibleRange.cpp - Keys that a tile of queries may see -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/VisibleRange.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/CachedRows.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/SymbolicNumber.h"
#include "lib/Regions/TableRanges.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

/// The number of rows of a matrix, in terms of what it is a slice of, as far as
/// that is known.
static Value emitNumRows(IndexBuilder &b, Value matrix) {
  OpFoldResult size = b.size(matrix, 0);
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
      : b(op.getLoc(), builder), op(op), positions(positions),
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
    SmallVector<Location> locations(2, b.getLoc());
    auto loop = scf::WhileOp::create(b, types, ValueRange{from, wide});
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, locations);
    Value at = before->getArgument(0), size = before->getArgument(1);
    Step step = getStep(at, size);
    Value isHidden = emitIsHidden(step.begin, step.end);
    Value goesOn =
        b.bitAnd(step.isInside, b.bitOr(isHidden, b.isLess(narrow, size)));
    Value next = b.select(isHidden, step.next, at);
    Value nextSize = b.select(isHidden, size, narrow);
    scf::ConditionOp::create(b, goesOn, ValueRange{next, nextSize});
    Block *after = b.createBlock(&loop.getAfter(), {}, types, locations);
    scf::YieldOp::create(b, after->getArguments());
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
    return emitBlockVerdict(b, b.getLoc(), op.getMaskRegion(), tile).isEmpty;
  }

  IndexBuilder b;
  OnlineAttentionOp op;
  IndexRange positions;
  Value narrow, wide;
};

} // namespace

/// The `count` numbers from `first` on.
static IndexRange emitRange(IndexBuilder &b, Value first,
                            IndexBuilder::Operand count) {
  return {first, b.sub(b.add(first, count), 1)};
}

VisibleRows attn::emitVisibleRange(OpBuilder &builder, OnlineAttentionOp op,
                                   int64_t block) {
  IndexBuilder b(op.getLoc(), builder);
  Value zero = b.index(0);
  Value count = emitNumRows(b, op.getKey());
  if (!op.hasMask())
    return {zero, count};
  IndexRange positions = emitRange(b, op.getPosition(), op.getNumQueries());
  Value numKeys = b.add(op.getFirstKey(), count);
  VisibleKeys keys =
      emitVisibleKeys(b, b.getLoc(), op.getMaskRegion(), op.getBatch(),
                      op.getHead(), positions, numKeys, op.getMaskCaptures());
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
      return b.max(b.sub(key, op.getFirstKey()), zero);
    };
    low = toRow(low);
    high = toRow(high);
  }
  return {low, high, keys.hasGaps};
}

VisibleRows attn::emitVisibleRowsOfBlock(OpBuilder &builder,
                                         OnlineAttentionOp block) {
  IndexBuilder b(block.getLoc(), builder);
  Value count = emitNumRows(b, block.getKey());
  RegionTile tile{block.getBatch(), block.getHead(),
                  emitRange(b, block.getPosition(), block.getNumQueries()),
                  emitRange(b, block.getFirstKey(), count),
                  block.getMaskCaptures()};
  VisibleKeys keys =
      emitVisibleKeys(b, b.getLoc(), block.getMaskRegion(), tile);
  auto toRow = [&](Value key) { return b.sub(key, block.getFirstKey()); };
  return {toRow(keys.begin), toRow(keys.end), keys.hasGaps};
}

std::pair<Value, Value> attn::emitVisibleStoredRange(OpBuilder &builder,
                                                     OnlineAttentionOp op,
                                                     int64_t unit) {
  IndexBuilder b(op.getLoc(), builder);
  auto [begin, end, hasGaps] = emitVisibleRange(b, op, /*block=*/0);
  for (Value rows : {op.getKey(), op.getValue()})
    if (auto cached = CachedRows::match(rows))
      std::tie(begin, end) = cached->clampToStored(b, begin, end);
  return {b.bitAnd(begin, b.index(-unit)), end};
}

//===----------------------------------------------------------------------===//
// What is known of a block
//===----------------------------------------------------------------------===//

/// Emits whether a region has a result everywhere in a tile. Remarks where that
/// is not known of any: vectors are not used then, which have no way to say at
/// which position there is none.
static Value emitIsDefinedOrRemark(OpBuilder &b, Region &region,
                                   const RegionTile &tile) {
  Operation *unproven = nullptr;
  Value isDefined =
      emitIsDefined(b, region.getParentOp()->getLoc(), region, tile, &unproven);
  if (unproven)
    unproven->emitRemark("is evaluated position by position, with all of its "
                         "region, because ")
        << (isa<tensor::ExtractOp>(unproven)
                ? "nothing says that its index is inside the tensor: bound it, "
                  "by a maximum and a minimum, say"
                : "it may have no result at some");
  return isDefined;
}

BlockFacts attn::emitBlockFacts(OpBuilder &builder, OnlineAttentionOp op) {
  IndexBuilder b(op.getLoc(), builder);
  Value no = b.boolean(false), yes = b.boolean(true);
  BlockFacts facts = {Value(), no, yes};
  if (!op.hasMask() && !op.hasScore())
    return facts;
  RegionTile tile{op.getBatch(),
                  op.getHead(),
                  emitRange(b, op.getPosition(), op.getNumQueries()),
                  emitRange(b, op.getFirstKey(), b.size(op.getKey(), 0)),
                  {}};
  if (op.hasMask()) {
    tile.captures = op.getMaskCaptures();
    BlockVerdict verdict =
        emitBlockVerdict(b, b.getLoc(), op.getMaskRegion(), tile);
    if (!matchPattern(verdict.isEmpty, m_Zero()))
      facts.isEmpty = verdict.isEmpty;
    facts.isPartial = b.createOrFold<arith::XOrIOp>(verdict.isFull, yes);
    facts.isDefined = emitIsDefinedOrRemark(b, op.getMaskRegion(), tile);
  }
  if (op.hasScore()) {
    tile.captures = op.getScoreCaptures();
    facts.isDefined = b.bitAnd(
        facts.isDefined, emitIsDefinedOrRemark(b, op.getScoreRegion(), tile));
  }
  return facts;
}

//===----------------------------------------------------------------------===//
// Blocks without what the mask hides at their ends
//===----------------------------------------------------------------------===//

/// Rows of keys that products take at a time.
static constexpr int64_t kLeastKeys = 16;

bool attn::canTrimBlocks(OnlineAttentionOp op) {
  return op.hasMask() && !op.hasRowPerQuery();
}

FailureOr<TrimmedBlock> attn::emitTrimmedBlock(OpBuilder &builder,
                                               OnlineAttentionOp block,
                                               Value isPartial,
                                               int64_t maximumKeys) {
  if (!canTrimBlocks(block))
    return failure();
  IndexBuilder b(block.getLoc(), builder);
  Value all = b.index(b.size(block.getKey(), 0));
  bool hasGaps = false;
  SmallVector<Value> range = b.choose(
      isPartial,
      [&]() -> SmallVector<Value> {
        VisibleRows rows = emitVisibleRowsOfBlock(b, block);
        hasGaps = rows.hasGaps;
        return {rows.begin, rows.end};
      },
      [&]() -> SmallVector<Value> { return {b.index(0), all}; });
  if (!hasGaps) {
    range[0].getDefiningOp()->erase();
    return failure();
  }
  AffineExpr s0 = b.getAffineSymbolExpr(0), s1 = b.getAffineSymbolExpr(1),
             s2 = b.getAffineSymbolExpr(2);
  // Where the range is empty, the last keys are left.
  Value first = affine::AffineMinOp::create(
      b, AffineMap::get(0, 2, {s0, s1 - 1}, b.getContext()),
      ValueRange{range[0], all});
  bool isInPairs = block.getLayout() == OnlineLayout::Pairs;
  int64_t unit = isInPairs ? OnlineAttentionOp::kKeysPerPack : kLeastKeys;
  Value begin = b.bitAnd(first, b.index(-unit));
  Value wanted = affine::AffineMaxOp::create(
      b,
      AffineMap::get(0, 2, {s1 - s0, b.getAffineConstantExpr(kLeastKeys)},
                     b.getContext()),
      ValueRange{begin, range[1]});
  Value size = affine::AffineMinOp::create(
      b,
      AffineMap::get(0, 3, {s1 - s0, s2, b.getAffineConstantExpr(maximumKeys)},
                     b.getContext()),
      ValueRange{begin, all, wanted});
  FailureOr<TilingResult> trimmed = block.getTiledImplementation(
      b, {OpFoldResult(begin)}, {OpFoldResult(size)});
  if (failed(trimmed))
    return failure();
  TrimmedBlock result = {cast<OnlineAttentionOp>(trimmed->tiledOps.front()),
                         Value()};
  if (!isInPairs)
    return result;
  // Of that, products of keys begin with any.
  Value most = affine::AffineMaxOp::create(
      b,
      AffineMap::get(0, 1, {s0 - kLeastKeys, b.getAffineConstantExpr(0)},
                     b.getContext()),
      size);
  result.lead = affine::AffineMinOp::create(
      b, AffineMap::get(0, 3, {s0 - s1, s2}, b.getContext()),
      ValueRange{first, begin, most});
  return result;
}
