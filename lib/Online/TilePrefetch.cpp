//===- TilePrefetch.cpp - Rows fetched for later tiles --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/TilePrefetch.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/CachedRows.h"
#include "lib/Plan/CacheModel.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

/// Fetches rows [first, end), at `at` in the dimensions before theirs.
static PrefetchOp fetch(IndexBuilder &b, Value source,
                        ArrayRef<OpFoldResult> at, Value first, Value end) {
  SmallVector<Value> indices;
  for (OpFoldResult number : at)
    indices.push_back(b.index(number));
  indices.push_back(first);
  return PrefetchOp::create(b, source, indices, end);
}

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

void attn::emitNextRows(OpBuilder &builder, AttentionOp op) {
  int64_t step = getTileStep(op), queries = std::abs(step);
  if (step == 0)
    return;
  auto loop = cast<scf::ForallOp>(op->getParentOp());
  OpFoldResult row = getFirstRow(op);
  IndexBuilder b(op.getLoc(), builder);
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
    Value here = b.index(row);
    at.resize(dim);
    if (step > 0) {
      Value first = b.add(here, queries), end = b.add(first, queries);
      fetch(b, source, at, first, b.min(end, loop.getMixedUpperBound().back()));
    } else {
      fetch(b, source, at, b.max(b.sub(here, queries), 0), here);
    }
    // Stores of a whole tile would wait for one line after the other.
    if (isOutput)
      fetch(b, source, at, here, b.add(here, slice.getMixedSizes()[dim]))
          .setForWrite(true);
  }
}

//===----------------------------------------------------------------------===//
// Keys and values
//===----------------------------------------------------------------------===//

/// Fetches what is beyond the range of keys, in `rows` that have `keysPerRow`.
static void emitBeyond(IndexBuilder &b, OnlineAttentionOp op, Value rows,
                       OpFoldResult low, OpFoldResult count,
                       int64_t keysPerRow) {
  int64_t queries = std::abs(int64_t(op.getNextTile()));
  bool isBackward = int64_t(op.getNextTile()) < 0;
  AffineExpr begin, size, other;
  bindSymbols(op.getContext(), begin, size, other);
  AffineExpr first = begin.floorDiv(keysPerRow),
             last = first + size.ceilDiv(keysPerRow);
  Value distance =
      b.index(b.apply(isBackward ? other - first * keysPerRow
                                 : last * keysPerRow - other - queries,
                      {low, count, op.getPosition()}));
  int64_t farthest = CacheModel(getTarget(op)).getKeysAhead();
  Value ahead = b.bitAnd(distance, b.index(farthest - 1));
  Value from = b.index(
      b.apply(isBackward ? first - (other + queries).floorDiv(keysPerRow)
                         : last + other.floorDiv(keysPerRow),
              {low, count, ahead}));
  OpFoldResult end = b.size(rows, 0);
  if (keysPerRow == 1) {
    Value after = b.add(from, queries);
    fetch(b, rows, {}, b.max(from, 0), b.min(after, end));
    return;
  }
  // One pack, or again one that is there.
  Value pack = b.max(b.min(from, b.sub(end, 1)), 0);
  fetch(b, rows, OpFoldResult(pack), b.index(0), b.index(b.size(rows, 1)));
}

/// Fetches some keys, or values, of the next head.
static void emitOfNextHead(IndexBuilder &b, scf::ForallOp loop, Value rows,
                           int64_t queries) {
  SmallVector<Value> ivs = loop.getInductionVars();
  tensor::ExtractSliceOp head = getHeadSlice(rows);
  if (!head || ivs.size() < 2 ||
      !loop.isDefinedOutsideOfLoop(head.getSource()) ||
      !hasRows(head.getSourceType(), 2))
    return;
  size_t number = ivs.size() - 2;
  SmallVector<OpFoldResult> at = head.getMixedOffsets();
  OpFoldResult length = head.getMixedSizes()[2];
  if (!isZeroInteger(at[2]))
    return;
  int64_t most = CacheModel(getTarget(loop)).getKeysAhead();
  if (at[1] != OpFoldResult(ivs[number]) ||
      getConstantIntValue(length).value_or(0) > most)
    return;
  Value next = b.add(ivs[number], loop.getMixedStep()[number]);
  Value exists = b.isLess(next, loop.getMixedUpperBound()[number]);
  Value first = ivs.back(), end = b.min(b.add(first, queries), length);
  end = b.select(b.bitAnd(exists, b.isAtMost(length, most)), end, first);
  fetch(b, head.getSource(), {at[0], next}, first, end);
}

void attn::emitLaterKeys(OpBuilder &builder, OnlineAttentionOp op,
                         OpFoldResult low, OpFoldResult count) {
  bool hasKeys = !CachedRows::match(op.getKey()),
       hasValues = !CachedRows::match(op.getValue());
  auto step = int64_t(op.getNextTile());
  if (step == 0)
    return;
  IndexBuilder b(op.getLoc(), builder);
  // There is nothing before the first key.
  bool movesOn =
      op.hasMask() && (isa<Value>(low) || (step > 0 && isa<Value>(count)));
  if (movesOn) {
    if (hasKeys)
      emitBeyond(b, op, op.getKey(), low, count, /*keysPerRow=*/1);
    if (hasValues)
      emitBeyond(b, op, op.getValue(), low, count,
                 op.getPackedValues() ? OnlineAttentionOp::kKeysPerPack : 1);
    return;
  }
  auto loop = dyn_cast<scf::ForallOp>(op->getParentOp());
  if (loop && hasKeys)
    emitOfNextHead(b, loop, op.getKey(), std::abs(step));
  if (loop && hasValues && !op.getPackedValues())
    emitOfNextHead(b, loop, op.getValue(), std::abs(step));
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
static void fetchRows(IndexBuilder &b, PrefetchOp prefetch, Value first,
                      Value end, bool spread = false) {
  SmallVector<Value> indices(prefetch.getIndices());
  indices.back() = first;
  auto part = PrefetchOp::create(b, prefetch.getSource(), indices, end);
  part.setForWrite(prefetch.getForWrite());
  part.setSpread(spread);
}

void attn::spreadPrefetches(RewriterBase &rewriter, Operation *rounds,
                            scf::ForOp keys, OpFoldResult count,
                            int64_t block) {
  OpBuilder::InsertionGuard guard(rewriter);
  Operation *front = &keys.getBody()->front();
  IndexBuilder b(rounds->getLoc(), rewriter);
  for (PrefetchOp prefetch : findPrefetches(rounds)) {
    if (prefetch.getForWrite()) {
      rewriter.moveOpAfter(prefetch, rounds);
      continue;
    }
    b.setInsertionPoint(rounds);
    Value numRows = b.sub(prefetch.getEnd(), prefetch.getFirst());
    Value blocks = b.max(b.emit<arith::CeilDivSIOp>(count, block), 1);
    Value share = b.emit<arith::CeilDivSIOp>(numRows, blocks);
    b.setInsertionPoint(front);
    Value done = b.sub(keys.getInductionVar(), keys.getLowerBound());
    Value number = b.div(done, keys.getStep());
    Value first = b.add(prefetch.getFirst(), b.mul(number, share));
    fetchRows(b, prefetch, first,
              b.min(b.add(first, share), prefetch.getEnd()));
    rewriter.eraseOp(prefetch);
  }
}

void attn::emitPart(OpBuilder &builder, PrefetchOp prefetch, bool spread,
                    int64_t part, int64_t numParts) {
  IndexBuilder b(prefetch.getLoc(), builder);
  Value first = prefetch.getFirst(), end = prefetch.getEnd();
  if (numParts > 1) {
    Value size = b.emit<arith::CeilDivSIOp>(b.sub(end, first), numParts);
    first = b.add(first, b.mul(size, part));
    end = b.min(b.add(first, size), end);
  }
  fetchRows(b, prefetch, first, end, spread);
}
