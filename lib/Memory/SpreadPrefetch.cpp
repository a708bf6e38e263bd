//===- SpreadPrefetch.cpp - Rows fetched in the blocks of a tile ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/SpreadPrefetch.h"
#include "lib/Plan/CacheLine.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

void attn::emitPrefetch(OpBuilder &b, Location loc, Value source,
                        ArrayRef<OpFoldResult> at, unsigned dim, RowRange range,
                        bool isWrite) {
  OpBuilder::InsertionGuard guard(b);
  auto type = cast<MemRefType>(source.getType());
  SmallVector<Value> indices;
  for (OpFoldResult index : at)
    indices.push_back(getValueOrCreateConstantIndexOp(b, loc, index));
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto rows = scf::ForOp::create(b, loc, range.first, range.last, one);
  b.setInsertionPointToStart(rows.getBody());
  indices[dim] = rows.getInductionVar();
  int64_t perLine = kCacheLineBytes * 8 / type.getElementTypeBitWidth();
  for (int64_t column = 0; column < type.getShape().back(); column += perLine) {
    indices.back() = arith::ConstantIndexOp::create(b, loc, column);
    memref::PrefetchOp::create(b, loc, source, indices, isWrite,
                               /*localityHint=*/isWrite ? 3 : 2,
                               /*isDataCache=*/true);
  }
}

/// Whether a contraction sums pairs, the last dimension of both its factors.
static bool contractsPairs(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 2)
    return false;
  auto getLast = [&](int64_t number) {
    OpOperand *factor = op.getDpsInputOperand(number);
    ArrayRef<AffineExpr> dims = op.getMatchingIndexingMap(factor).getResults();
    bool isPair = !dims.empty() && op.getShape(factor).back() == 2;
    return isPair ? dims.back() : AffineExpr();
  };
  auto pair = dyn_cast_or_null<AffineDimExpr>(getLast(0));
  return pair && pair == getLast(1) &&
         op.getIteratorTypesArray()[pair.getPosition()] ==
             utils::IteratorType::reduction;
}

SpreadPrefetch::SpreadPrefetch(OnlineSoftmaxOp softmax)
    : keys(softmax->getParentOfType<scf::ForOp>()), softmax(softmax),
      loc(softmax.getLoc()), front(&keys.getBody()->front()) {
  Operation *after = softmax->getNextNode(), *product = after;
  SmallVector<linalg::LinalgOp> steps;
  for (Operation *op = after; op; op = op->getNextNode())
    op->walk([&](linalg::LinalgOp step) { steps.push_back(step); });
  // In pairs, the softmax and the product with values fetch what comes before
  // them as they go: few lines of each tensor at a time, so that the processor
  // is ahead of them. Otherwise each tensor has one place: before the softmax,
  // after it, before the product, which begins with the output's correction,
  // or at first.
  isShared = !steps.empty() && contractsPairs(steps.back());
  if (isShared) {
    places = {softmax, steps.back()};
  } else {
    if (!steps.empty())
      product = steps[steps.size() - (steps.size() == 1 ? 1 : 2)];
    places = {softmax, after, product, front};
  }
  // What a block that is skipped has no steps for is fetched instead of them.
  if (auto choice = dyn_cast<scf::IfOp>(softmax->getParentOp());
      choice && choice->getBlock() == keys.getBody() &&
      choice.elseBlock() == softmax->getBlock())
    skipped = choice.thenBlock()->getTerminator();
}

void SpreadPrefetch::emit(OpBuilder &b, Value source, ArrayRef<OpFoldResult> at,
                          unsigned dim, RowRange range, Value count) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(keys);
  SmallVector<Operation *, 4> where(places);
  if (!isShared)
    where = {places[numEmitted++ % places.size()]};
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value perBlock = arith::ConstantIndexOp::create(b, loc, where.size());
  Value numKeys =
      arith::SubIOp::create(b, loc, keys.getUpperBound(), keys.getLowerBound());
  Value blocks = arith::MaxSIOp::create(
      b, loc, arith::CeilDivSIOp::create(b, loc, numKeys, keys.getStep()), one);
  Value share = arith::CeilDivSIOp::create(
      b, loc, count, b.createOrFold<arith::MulIOp>(loc, blocks, perBlock));
  b.setInsertionPoint(front);
  Value done = arith::SubIOp::create(b, loc, keys.getInductionVar(),
                                     keys.getLowerBound());
  Value block = arith::DivUIOp::create(b, loc, done, keys.getStep());
  Value number = b.createOrFold<arith::MulIOp>(loc, block, perBlock);
  Value next = arith::AddIOp::create(
      b, loc, range.first, arith::MulIOp::create(b, loc, number, share));
  RowRange all = {next, next};
  bool isSkipped = false;
  for (Operation *place : where) {
    b.setInsertionPoint(front);
    Value first = next;
    next = arith::AddIOp::create(b, loc, first, share);
    all.last = arith::MinSIOp::create(b, loc, next, range.last);
    b.setInsertionPoint(place);
    emitPrefetch(b, loc, source, at, dim, {first, all.last});
    isSkipped |= place->getBlock() != keys.getBody();
  }
  if (!skipped || !isSkipped)
    return;
  b.setInsertionPoint(skipped);
  emitPrefetch(b, loc, source, at, dim, all);
}

void SpreadPrefetch::emitBeyond(OpBuilder &b, memref::SubViewOp range,
                                bool isBackward, int64_t queries) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(keys);
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value).getResult();
  };
  MemRefType type = range.getSourceType();
  int64_t keysPerRow = type.getRank() == 2 ? 1 : type.getShape().back();
  SmallVector<OpFoldResult> at = range.getMixedOffsets();
  auto apply = [&](AffineExpr expression, OpFoldResult last) {
    return getValueOrCreateConstantIndexOp(
        b, loc,
        affine::makeComposedFoldedAffineApply(
            b, loc, expression, {at[0], range.getMixedSizes()[0], last}));
  };
  AffineExpr first = b.getAffineSymbolExpr(0), size = b.getAffineSymbolExpr(1),
             other = b.getAffineSymbolExpr(2);
  Value distance =
      apply(isBackward ? other - first * keysPerRow
                       : (first + size) * keysPerRow - other - queries,
            softmax.getPosition());
  Value ahead =
      arith::AndIOp::create(b, loc, distance, index(kFarthestKey - 1));
  Value begin =
      apply(isBackward ? first - (other + queries).floorDiv(keysPerRow)
                       : first + size + other.floorDiv(keysPerRow),
            ahead);
  Value end = memref::DimOp::create(b, loc, range.getSource(), 0);
  if (keysPerRow == 1) {
    Value rows = index(queries);
    Value after = arith::AddIOp::create(b, loc, begin, rows);
    begin = arith::MaxSIOp::create(b, loc, begin, index(0));
    emit(b, range.getSource(), at, 0,
         {begin, arith::MinSIOp::create(b, loc, after, end)}, rows);
    return;
  }
  // One pack, or again one that is there.
  Value lastPack = arith::SubIOp::create(b, loc, end, index(1));
  Value pack = arith::MinSIOp::create(b, loc, begin, lastPack);
  at[0] = arith::MaxSIOp::create(b, loc, pack, index(0)).getResult();
  Value rows = index(type.getDimSize(1));
  emit(b, range.getSource(), at, 1, {index(0), rows}, rows);
}

bool SpreadPrefetch::reads(memref::SubViewOp view) {
  return llvm::any_of(view->getUsers(), [&](Operation *user) {
    auto part = dyn_cast<memref::SubViewOp>(user);
    return part && (part->getBlock() == keys.getBody() || reads(part));
  });
}

SmallVector<memref::SubViewOp> SpreadPrefetch::findRanges() {
  SmallVector<memref::SubViewOp> ranges;
  if (!isAfter(softmax.getPosition()))
    return ranges;
  for (auto block : keys.getBody()->getOps<memref::SubViewOp>()) {
    auto range = block.getSource().getDefiningOp<memref::SubViewOp>();
    if (!range || !keys.isDefinedOutsideOfLoop(range) ||
        range.getDroppedDims().any())
      continue;
    MemRefType type = range.getSourceType();
    bool isDynamic = isa<Value>(range.getMixedOffsets()[0]) ||
                     isa<Value>(range.getMixedSizes()[0]);
    if (isDynamic && (type.getRank() == 2 || type.getRank() == 3) &&
        type.isLastDimUnitStride() && type.getElementType().isIntOrFloat() &&
        llvm::none_of(type.getShape().drop_front(), ShapedType::isDynamic))
      ranges.push_back(range);
  }
  return ranges;
}
