//===- TileAttention.cpp - Parallel tiles of batch, head and queries ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/KnownSizes.h"
#include "lib/Attention/AttentionTile.h"
#include "lib/Attention/Passes.h"
#include "lib/Layer/RowFusion.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TILEATTENTION
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

QueryRows attn::emitQueryRows(OpBuilder &b, Location loc, Value iv,
                              OpFoldResult length, int64_t queries) {
  OpFoldResult size = b.getIndexAttr(queries);
  std::optional<int64_t> constant = getConstantIntValue(length);
  if (constant == queries)
    return {b.getIndexAttr(0), size};
  if (constant && *constant % queries == 0)
    return {iv, size};
  AffineExpr i = b.getAffineDimExpr(0), n = b.getAffineSymbolExpr(0),
             count = b.getAffineSymbolExpr(1);
  AffineMap rest = AffineMap::get(
      1, 1, {b.getAffineConstantExpr(queries), n - i}, b.getContext());
  size = affine::makeComposedFoldedAffineMin(b, loc, rest, {iv, length});
  return {affine::makeComposedFoldedAffineApply(b, loc, n - i - count,
                                                {iv, length, size}),
          size};
}

/// Emits the part of `op` at `offsets`, of its first three dimensions, which
/// writes to `outs`. `insert` gets each of its results with its place in them.
static FailureOr<AttentionOp>
emitPart(OpBuilder &b, AttentionOp op, ValueRange outs,
         ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
         function_ref<void(unsigned, Value, ArrayRef<OpFoldResult> at,
                           ArrayRef<OpFoldResult> extent)>
             insert) {
  auto whole = cast<AttentionOp>(b.clone(*op));
  whole.getOutsMutable().assign(outs);
  FailureOr<TilingResult> tile =
      whole.getTiledImplementation(b, offsets, sizes);
  if (failed(tile))
    return failure();
  for (auto [number, value] : llvm::enumerate(tile->tiledValues)) {
    SmallVector<OpFoldResult> at, extent;
    if (failed(
            whole.getResultTilePosition(b, number, offsets, sizes, at, extent)))
      return failure();
    insert(number, value, at, extent);
  }
  whole.erase();
  return cast<AttentionOp>(tile->tiledOps.front());
}

MergeOp attn::getFusableMerge(AttentionOp op) {
  if (!op.getLogSumExp() || !llvm::all_of(op.getResults(), [](Value result) {
        return result.hasOneUse();
      }))
    return {};
  auto merge = dyn_cast<MergeOp>(*op->getUsers().begin());
  if (!merge || merge->getBlock() != op->getBlock() ||
      merge.getOutput2() != op.getResult(0) ||
      merge.getLse2() != op.getResult(1))
    return {};
  auto isBefore = [&](Value value) {
    Operation *definition = value.getDefiningOp();
    return !definition || definition->getBlock() != op->getBlock() ||
           definition->isBeforeInBlock(op);
  };
  bool areBefore = isBefore(merge.getOutput1()) && isBefore(merge.getLse1()) &&
                   llvm::all_of(merge.getOuts(), isBefore);
  return areBefore ? merge : MergeOp();
}

/// Emits the part of `merge` that a tile of its second attention has, at
/// `places` in the states that `outs` are. The tile has at most `queries` rows,
/// and its own results are kept in tensors of that size.
static MergeOp emitMerge(IndexBuilder &b, MergeOp merge, AttentionOp tile,
                         ArrayRef<IndexBuilder::Box> places, ValueRange outs,
                         int64_t queries) {
  b.setInsertionPoint(tile);
  SmallVector<Value> own;
  for (auto [out, place] : llvm::zip(tile.getOuts(), places)) {
    IndexBuilder::Box all = place, first = place;
    all.sizes[2] = queries;
    llvm::fill(first.offsets, 0);
    Value rows = b.empty(b.fold(all.sizes), getElementTypeOrSelf(out));
    own.push_back(b.extract(rows, first));
  }
  tile.getOutsMutable().assign(own);
  b.setInsertionPointAfter(tile);
  // What is read and written is one slice, so that nothing is copied.
  IRMapping slices;
  SmallVector<Value> into;
  for (auto [out, state, place] : llvm::zip(merge.getOuts(), outs, places)) {
    into.push_back(b.extract(state, place));
    slices.map(out, into.back());
  }
  auto slice = [&](Value state, const IndexBuilder::Box &place) {
    Value known = slices.lookupOrNull(state);
    return known ? known : b.extract(state, place);
  };
  return MergeOp::create(b, ValueRange(into).getTypes(),
                         slice(merge.getOutput1(), places[0]),
                         slice(merge.getLse1(), places[1]), tile.getResult(0),
                         tile.getResult(1), into);
}

/// Emits a tile within `loop`, merged by `merge` if that is not null, and what
/// it inserts into the loop's results.
static FailureOr<AttentionOp> emitTile(IndexBuilder &b, AttentionOp op,
                                       MergeOp merge, scf::ForallOp loop,
                                       OpFoldResult length, int64_t queries) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  OpFoldResult one = b.getIndexAttr(1);
  SmallVector<Value> ivs(loop.getInductionVars());
  bool isOnlyTile =
      getConstantIntValue(loop.getMixedUpperBound()[2]) == queries;
  QueryRows rows = isOnlyTile
                       ? QueryRows{b.getIndexAttr(0), length}
                       : emitQueryRows(b, b.getLoc(), ivs[2], length, queries);
  ValueRange states = loop.getRegionIterArgs();
  SmallVector<Value> results;
  SmallVector<IndexBuilder::Box> places;
  FailureOr<AttentionOp> tile =
      emitPart(b, op, merge ? op.getOuts() : states,
               {ivs[0], ivs[1], rows.first}, {one, one, rows.count},
               [&](unsigned, Value value, ArrayRef<OpFoldResult> at,
                   ArrayRef<OpFoldResult> extent) {
                 results.push_back(value);
                 places.push_back({SmallVector<IndexBuilder::Operand>(at),
                                   SmallVector<IndexBuilder::Operand>(extent)});
               });
  if (failed(tile))
    return failure();
  if (merge)
    results = emitMerge(b, merge, *tile, places, states, queries)->getResults();
  for (auto [result, state, place] : llvm::zip(results, states, places))
    b.insertInParallel(loop, result, state, place);
  return tile;
}

/// Tiles batch, query heads and query rows by 1, 1 and `queries` into parallel
/// tiles, which are merged where an attn.merge alone reads them. Fails, without
/// a change, if the op can not be tiled.
static LogicalResult tileAttention(RewriterBase &rewriter, AttentionOp op,
                                   int64_t queries) {
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return rewriter.notifyMatchFailure(op, obstacle);
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  SmallVector<OpFoldResult> ends =
      tensor::getMixedSizes(rewriter, loc, op.getQuery());
  ends.resize(3);
  OpFoldResult length = ends[2];
  MergeOp merge = getFusableMerge(op);
  // One tile of all queries has their number.
  if (std::optional<int64_t> known = getConstantIntValue(length))
    queries = std::min(queries, *known);
  else if (auto most = getKnownMost(op.getQuery(), 2); most && *most <= queries)
    ends[2] = rewriter.getIndexAttr(queries);
  auto loop = scf::ForallOp::create(
      rewriter, loc, SmallVector<OpFoldResult>(3, zero), ends,
      {one, one, rewriter.getIndexAttr(queries)},
      merge ? merge.getOuts() : op.getOuts(), /*mapping=*/std::nullopt);
  SmallVector<TilingInterface> rows = getFusableRows(op.getQuery());
  IndexBuilder b(loc, rewriter);
  FailureOr<AttentionOp> tile = emitTile(b, op, merge, loop, length, queries);
  if (failed(tile)) {
    rewriter.eraseOp(loop);
    return failure();
  }
  rewriter.replaceOp(merge ? merge : op, loop.getResults());
  if (merge)
    rewriter.eraseOp(op);
  if (rows.empty())
    return success();
  auto slice = tile->getQuery().getDefiningOp<tensor::ExtractSliceOp>();
  if (succeeded(fuseRows(rewriter, rows, slice)))
    // Only their sizes are asked for.
    for (TilingInterface producer : rows)
      if (llvm::all_of(producer->getUsers(), llvm::IsaPred<tensor::DimOp>))
        rewriter.replaceOp(
            producer,
            cast<DestinationStyleOpInterface>(*producer).getDpsInits());
  return success();
}

/// Makes the last `rest` rows an op of their own. The plan of the others has
/// none left.
static FailureOr<AttentionOp> splitRest(RewriterBase &rewriter, AttentionOp op,
                                        PlanAttr plan) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  PlanAttr rest = plan.getRest();
  int64_t numRows = op.getQueryType().getDimSize(2) - rest.getRows();
  SmallVector<OpFoldResult> ends =
      tensor::getMixedSizes(rewriter, loc, op.getQuery());
  ends.resize(3);
  SmallVector<OpFoldResult> offsets(3, rewriter.getIndexAttr(0));
  SmallVector<Value> results(op.getOuts());
  AttentionOp parts[2];
  PlanFields ofWhole = plan.getFields();
  ofWhole.rest = PlanAttr();
  PlanAttr plans[] = {PlanAttr::get(op.getContext(), ofWhole), rest};
  for (auto [number, part] : llvm::enumerate(parts)) {
    offsets[2] = rewriter.getIndexAttr(number == 0 ? 0 : numRows);
    ends[2] = rewriter.getIndexAttr(number == 0 ? numRows : rest.getRows());
    FailureOr<AttentionOp> emitted =
        emitPart(rewriter, op, results, offsets, ends,
                 [&](unsigned result, Value value, ArrayRef<OpFoldResult> at,
                     ArrayRef<OpFoldResult> extent) {
                   results[result] =
                       IndexBuilder(loc, rewriter)
                           .insert(value, results[result], at, extent);
                 });
    if (failed(emitted))
      return failure();
    part = *emitted;
    part->setAttr(PlanAttr::kName, plans[number]);
  }
  rewriter.replaceOp(op, results);
  if (failed(tileAttention(rewriter, parts[1], rest.getRows())))
    return failure();
  return parts[0];
}

namespace {
struct TileAttention : attn::impl::TileAttentionBase<TileAttention> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      PlanAttr plan = getPlanOrRemark(op, findObstacle(op));
      if (!plan)
        continue;
      if (plan.getRows() == 0) {
        op.emitError(
            "expected an attn.plan with 'rows', as attn-plan attaches");
        return signalPassFailure();
      }
      if (isTile(op, plan.getRows(), plan.getChunk()))
        continue;
      if (PlanAttr rest = plan.getRest()) {
        int64_t numRows = op.getQueryType().getDimSize(2);
        if (numRows <= rest.getRows()) { // Or dynamic.
          auto error = op.emitError("expected more rows than the ")
                       << rest.getRows() << " of the 'rest' of its attn.plan";
          if (!ShapedType::isDynamic(numRows))
            error << ", got " << numRows;
          return signalPassFailure();
        }
        FailureOr<AttentionOp> others = splitRest(rewriter, op, plan);
        if (failed(others)) {
          op.emitError("could not be tiled");
          return signalPassFailure();
        }
        op = *others;
      }
      int64_t rows = plan.getRows();
      if (failed(op.isRagged()
                     ? tileSequences(rewriter, op, {{/*heads=*/1, rows}})
                     : tileAttention(rewriter, op, rows))) {
        op.emitError("could not be tiled");
        return signalPassFailure();
      }
    }
  }
};
} // namespace
