//===- TilePrefetch.cpp - Rows fetched for later tiles --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/TilePrefetch.h"
#include "lib/Online/CachedRows.h"
#include "lib/Plan/CacheModel.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits prefetches at the place of an op.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc) : b(loc, builder) {}

  Value toValue(OpFoldResult number) {
    return getValueOrCreateConstantIndexOp(b, b.getLoc(), number);
  }
  Value index(int64_t value) { return toValue(b.getIndexAttr(value)); }
  template <typename Op> Value emit(Value lhs, Value rhs) {
    return b.createOrFold<Op>(lhs, rhs);
  }
  Value apply(AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    return toValue(affine::makeComposedFoldedAffineApply(
        b, b.getLoc(), AffineMap::get(0, operands.size(), expr), operands));
  }
  /// Fetches rows [first, end), at `at` in the dimensions before theirs.
  PrefetchOp fetch(Value source, ArrayRef<OpFoldResult> at, Value first,
                   Value end) {
    SmallVector<Value> indices;
    for (OpFoldResult number : at)
      indices.push_back(toValue(number));
    indices.push_back(first);
    return PrefetchOp::create(b, source, indices, end);
  }

  ImplicitLocOpBuilder b;
};

} // namespace

//===----------------------------------------------------------------------===//
// Queries and output
//===----------------------------------------------------------------------===//

/// The first row of the tile in its output; nothing if it is in no slice of it.
static OpFoldResult getFirstRow(AttentionOp op) {
  auto slice = op.getOutput().getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.getSourceType().getRank() == 4
             ? slice.getMixedOffsets()[2]
             : OpFoldResult();
}

int64_t attn::getTileStep(AttentionOp op) {
  auto loop = dyn_cast<scf::ForallOp>(op->getParentOp());
  auto first = dyn_cast_if_present<Value>(getFirstRow(op));
  if (!loop || !first || loop.isDefinedOutsideOfLoop(first))
    return 0;
  std::optional<int64_t> step = getConstantIntValue(loop.getMixedStep().back());
  // From the end where the first tile may be smaller.
  bool isForward = first == loop.getInductionVars().back();
  return isForward ? step.value_or(0) : -step.value_or(0);
}

/// Whether dimension `dim` of a tensor is of rows.
static bool hasRows(RankedTensorType type, unsigned dim) {
  return int64_t(dim) + 2 == type.getRank() &&
         !type.isDynamicDim(type.getRank() - 1) &&
         type.getElementType().isIntOrFloat();
}

void attn::emitNextRows(OpBuilder &b, AttentionOp op) {
  int64_t step = getTileStep(op), queries = std::abs(step);
  if (step == 0)
    return;
  auto loop = cast<scf::ForallOp>(op->getParentOp());
  OpFoldResult row = getFirstRow(op);
  Emitter e(b, op.getLoc());
  for (auto slice : op->getBlock()->getOps<tensor::ExtractSliceOp>()) {
    Value source = slice.getSource();
    SmallVector<OpFoldResult> at = slice.getMixedOffsets();
    const OpFoldResult *found = llvm::find(at, row);
    auto dim = unsigned(found - at.begin());
    bool isOutput = llvm::is_contained(loop.getRegionIterArgs(), source);
    if (found == at.end() || !hasRows(slice.getSourceType(), dim) ||
        !(isOutput || loop.isDefinedOutsideOfLoop(source)) ||
        !slice->isBeforeInBlock(op))
      continue;
    Value here = e.toValue(row), size = e.index(queries);
    at.resize(dim);
    if (step > 0) {
      Value first = e.emit<arith::AddIOp>(here, size);
      Value end = e.emit<arith::AddIOp>(first, size);
      Value all = e.toValue(loop.getMixedUpperBound().back());
      e.fetch(source, at, first, e.emit<arith::MinSIOp>(end, all));
    } else {
      Value before = e.emit<arith::SubIOp>(here, size);
      e.fetch(source, at, e.emit<arith::MaxSIOp>(before, e.index(0)), here);
    }
    if (!isOutput)
      continue;
    // Stores of a whole tile would wait for one line after the other.
    Value end =
        e.emit<arith::AddIOp>(here, e.toValue(slice.getMixedSizes()[dim]));
    e.fetch(source, at, here, end).setForWrite(true);
  }
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

/// Fetches what is beyond the range of keys, in `rows` that have `keysPerRow`.
static void emitBeyond(Emitter &e, OnlineAttentionOp op, Value rows,
                       OpFoldResult low, OpFoldResult count,
                       int64_t keysPerRow) {
  int64_t queries = std::abs(int64_t(op.getNextTile()));
  bool isBackward = int64_t(op.getNextTile()) < 0;
  AffineExpr begin, size, other;
  bindSymbols(op.getContext(), begin, size, other);
  AffineExpr first = begin.floorDiv(keysPerRow),
             last = first + size.ceilDiv(keysPerRow);
  Value distance = e.apply(isBackward ? other - first * keysPerRow
                                      : last * keysPerRow - other - queries,
                           {low, count, op.getPosition()});
  int64_t farthest = CacheModel(getTarget(op)).getKeysAhead();
  Value ahead = e.emit<arith::AndIOp>(distance, e.index(farthest - 1));
  Value from =
      e.apply(isBackward ? first - (other + queries).floorDiv(keysPerRow)
                         : last + other.floorDiv(keysPerRow),
              {low, count, ahead});
  Value end = e.b.createOrFold<tensor::DimOp>(rows, 0);
  if (keysPerRow == 1) {
    Value after = e.emit<arith::AddIOp>(from, e.index(queries));
    from = e.emit<arith::MaxSIOp>(from, e.index(0));
    e.fetch(rows, {}, from, e.emit<arith::MinSIOp>(after, end));
    return;
  }
  // One pack, or again one that is there.
  Value pack =
      e.emit<arith::MinSIOp>(from, e.emit<arith::SubIOp>(end, e.index(1)));
  pack = e.emit<arith::MaxSIOp>(pack, e.index(0));
  e.fetch(rows, OpFoldResult(pack), e.index(0),
          e.index(cast<ShapedType>(rows.getType()).getDimSize(1)));
}

/// Fetches some keys, or values, of the next head.
static void emitOfNextHead(Emitter &e, scf::ForallOp loop, Value rows,
                           int64_t queries) {
  SmallVector<Value> ivs = loop.getInductionVars();
  tensor::ExtractSliceOp head = getHeadSlice(rows);
  if (!head || ivs.size() < 2 ||
      !loop.isDefinedOutsideOfLoop(head.getSource()) ||
      !hasRows(head.getSourceType(), 2))
    return;
  size_t number = ivs.size() - 2;
  SmallVector<OpFoldResult> at = head.getMixedOffsets();
  std::optional<int64_t> constant =
      getConstantIntValue(head.getMixedSizes()[2]);
  int64_t most = CacheModel(getTarget(loop)).getKeysAhead();
  if (at[1] != OpFoldResult(ivs[number]) || constant.value_or(0) > most)
    return;
  auto compare = [&](arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return e.b.createOrFold<arith::CmpIOp>(predicate, lhs, rhs);
  };
  Value next = e.emit<arith::AddIOp>(ivs[number],
                                     e.toValue(loop.getMixedStep()[number]));
  Value length = e.toValue(head.getMixedSizes()[2]);
  Value exists = compare(arith::CmpIPredicate::slt, next,
                         e.toValue(loop.getMixedUpperBound()[number]));
  Value isShort = compare(arith::CmpIPredicate::sle, length, e.index(most));
  Value first = ivs.back();
  Value end = e.emit<arith::MinSIOp>(
      e.emit<arith::AddIOp>(first, e.index(queries)), length);
  end = e.b.createOrFold<arith::SelectOp>(
      e.emit<arith::AndIOp>(exists, isShort), end, first);
  e.fetch(head.getSource(), {at[0], next}, first, end);
}

void attn::emitLaterKeys(OpBuilder &b, OnlineAttentionOp op, OpFoldResult low,
                         OpFoldResult count) {
  bool hasKeys = !CachedRows::match(op.getKey()),
       hasValues = !CachedRows::match(op.getValue());
  auto step = int64_t(op.getNextTile());
  if (step == 0)
    return;
  Emitter e(b, op.getLoc());
  // There is nothing before the first key.
  bool movesOn =
      op.hasMask() && (isa<Value>(low) || (step > 0 && isa<Value>(count)));
  if (movesOn) {
    if (hasKeys)
      emitBeyond(e, op, op.getKey(), low, count, /*keysPerRow=*/1);
    if (hasValues)
      emitBeyond(e, op, op.getValue(), low, count,
                 op.getPackedValues() ? OnlineAttentionOp::kKeysPerPack : 1);
    return;
  }
  auto loop = dyn_cast<scf::ForallOp>(op->getParentOp());
  if (loop && hasKeys)
    emitOfNextHead(e, loop, op.getKey(), std::abs(step));
  if (loop && hasValues && !op.getPackedValues())
    emitOfNextHead(e, loop, op.getValue(), std::abs(step));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

SmallVector<PrefetchOp> attn::findPrefetches(Operation *op) {
  SmallVector<PrefetchOp> found;
  for (auto prefetch : op->getBlock()->getOps<PrefetchOp>())
    if (prefetch->isBeforeInBlock(op))
      found.push_back(prefetch);
  return found;
}

/// Fetches rows from `first` up to `end` of what `prefetch` fetches.
static void fetchRows(Emitter &e, PrefetchOp prefetch, Value first, Value end,
                      bool spread = false) {
  SmallVector<Value> indices(prefetch.getIndices());
  indices.back() = first;
  auto part = PrefetchOp::create(e.b, prefetch.getSource(), indices, end);
  part.setForWrite(prefetch.getForWrite());
  part.setSpread(spread);
}

void attn::spreadPrefetches(RewriterBase &rewriter, Operation *rounds,
                            scf::ForOp keys, OpFoldResult count,
                            int64_t block) {
  Location loc = rounds->getLoc();
  OpBuilder::InsertionGuard guard(rewriter);
  Operation *front = &keys.getBody()->front();
  for (PrefetchOp prefetch : findPrefetches(rounds)) {
    if (prefetch.getForWrite()) {
      rewriter.moveOpAfter(prefetch, rounds);
      continue;
    }
    rewriter.setInsertionPoint(rounds);
    Emitter outside(rewriter, loc);
    Value numRows =
        outside.emit<arith::SubIOp>(prefetch.getEnd(), prefetch.getFirst());
    Value blocks = outside.emit<arith::MaxSIOp>(
        outside.emit<arith::CeilDivSIOp>(outside.toValue(count),
                                         outside.index(block)),
        outside.index(1));
    Value share = outside.emit<arith::CeilDivSIOp>(numRows, blocks);
    rewriter.setInsertionPoint(front);
    Emitter e(rewriter, loc);
    Value done =
        e.emit<arith::SubIOp>(keys.getInductionVar(), keys.getLowerBound());
    Value number = e.emit<arith::DivUIOp>(done, keys.getStep());
    Value first = e.emit<arith::AddIOp>(prefetch.getFirst(),
                                        e.emit<arith::MulIOp>(number, share));
    Value end = e.emit<arith::AddIOp>(first, share);
    fetchRows(e, prefetch, first,
              e.emit<arith::MinSIOp>(end, prefetch.getEnd()));
    rewriter.eraseOp(prefetch);
  }
}

void attn::emitPart(OpBuilder &b, PrefetchOp prefetch, bool spread,
                    int64_t part, int64_t numParts) {
  Emitter e(b, prefetch.getLoc());
  Value first = prefetch.getFirst(), end = prefetch.getEnd();
  if (numParts > 1) {
    Value size = e.emit<arith::CeilDivSIOp>(e.emit<arith::SubIOp>(end, first),
                                            e.index(numParts));
    first = e.emit<arith::AddIOp>(first,
                                  e.emit<arith::MulIOp>(size, e.index(part)));
    end = e.emit<arith::MinSIOp>(e.emit<arith::AddIOp>(first, size), end);
  }
  fetchRows(e, prefetch, first, end, spread);
}
