//===- MultiTokenStrips.cpp - Multi-token attention to strips -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/Passes.h"
#include "lib/MultiToken/StripBackward.h"
#include "lib/Plan/Plan.h"
#include "lib/Reference/StageCode.h"
#include "lib/Regions/RegionDerivative.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_MULTITOKENTOSTRIPS
#include "lib/MultiToken/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

StripLowering::StripLowering(MultiTokenAttentionOp op, OpBuilder &builder)
    : PositionCode(builder, op), before(op.getStagesBefore()),
      after(op.getStagesAfter()), f32(builder.getF32Type()),
      heads(std::lcm(before.getNumMixedHeads(), after.getNumMixedHeads())),
      halo(op.getHalo()) {}

StripLowering::StripLowering(MultiTokenAttentionOp op, OpBuilder &builder,
                             PlanAttr plan)
    : StripLowering(op, builder) {
  setTile(plan);
}

void StripLowering::prepare() {
  zero = index(0);
  scale = emitScale();
  StageCode code(getLoc(), *this);
  before = code.convertElements(before, f32);
  after = code.convertElements(after, f32);
  numKeys = dim(op.getKey(), 2);
  numQueries = dim(op.getQuery(), 2);
  keyBlocks = emitKeyBlocks(op.getKey());
}

SmallVector<Value> StripLowering::emit() {
  prepare();
  Value numRows = dim(op.getOutput(), 2);
  Value past = sub(numQueries, numRows); // T2
  OpBuilder::InsertionGuard guard(*this);
  scf::ForallOp loop = enterForall(
      fold({dim(op.getQuery(), 0), op.getNumQueryHeads() / heads, numRows}),
      op.getOuts(), fold({1, 1, tileRows}));
  SmallVector<Value> ivs(loop.getInductionVars());
  Value firstHead = mul(ivs[1], heads);
  Tile tile = createTile(ivs[0], firstHead, add(past, ivs[2]));
  Value count = minU(sub(numRows, ivs[2]), tileRows);
  auto [output, logSumExp] = emitTile(tile);
  ValueRange outs = loop.getRegionIterArgs();
  // The rows that the next tile writes first.
  Value next = add(ivs[2], tileRows);
  PrefetchOp::create(*this, outs[0],
                     ValueRange{tile.batch, tile.firstHead, next},
                     min(add(next, tileRows), numRows));
  // Those rows that there are.
  int64_t size = op.getValueType().getDimSize(3);
  insertInParallel(
      loop, extract(output, {{0, 0, 0}, {heads, count, size}}), outs[0],
      {{tile.batch, tile.firstHead, ivs[2], 0}, {1, heads, count, size}});
  if (op.getLogSumExp())
    insertInParallel(loop, extract(logSumExp, {{0, 0}, {heads, count}}),
                     outs[1],
                     {{tile.batch, tile.firstHead, ivs[2]}, {1, heads, count}});
  return loop.getResults();
}

StripTile StripLowering::createTile(Value batch, Value firstHead, Value first) {
  Tile tile;
  tile.batch = batch;
  tile.numHeads = heads;
  tile.firstHead = firstHead;
  tile.first = sub(first, scoreRows - tileRows);
  tile.position = add(op.createFirstPosition(*this, batch, numQueries, numKeys),
                      tile.first);
  emitKeys(tile);
  emitQueries(tile);
  return tile;
}

Value StripLowering::emitKeyBlocks(Value keys) {
  auto type = cast<RankedTensorType>(keys.getType());
  int64_t size = type.getDimSize(3);
  // Block n has the keys from n * kKeys on, or `shift` before.
  int64_t shift = leadBlocks * kKeys - lead;
  Value numBlocks = add(ceilDiv(numKeys, kKeys), leadBlocks);
  SmallVector<OpFoldResult> sizes =
      fold({dim(keys, 0), type.getDimSize(1), numBlocks, size, kKeys});
  OpBuilder::InsertionGuard guard(*this);
  scf::ForallOp forall =
      enterForall(ArrayRef(sizes).take_front(2), empty(sizes, f32));
  SmallVector<Value> ivs(forall.getInductionVars());
  Box ofHead{{ivs[0], ivs[1], 0, 0, 0}, {1, 1, numBlocks, size, kKeys}};
  Value out = forall.getRegionIterArgs().front();
  Value blocks = extract(out, ofHead, 3);
  auto emitBlock = [&](Value block, Value blocks) {
    Value begin = sub(mul(block, kKeys), shift);
    Value first = max(begin, zero);
    Value end = min(add(begin, kKeys), numKeys);
    Value count = max(sub(end, first), zero);
    auto emitTransposed = [&](Value rows) {
      Value transposed =
          linalg::TransposeOp::create(*this, rows, empty({size, kKeys}, f32),
                                      ArrayRef<int64_t>{1, 0})
              ->getResult(0);
      return insert(transposed, blocks, {{block, 0, 0}, {1, size, kKeys}});
    };
    Value padded = empty({kKeys, size}, f32);
    return choose(
        compare(arith::CmpIPredicate::eq, count, kKeys),
        [&] {
          Value rows = extract(
              keys, {{ivs[0], ivs[1], first, 0}, {1, 1, kKeys, size}}, 2);
          return emitTransposed(convertElements(rows, f32));
        },
        [&] {
          Value rows = convertElements(
              extractRows(keys, ivs[0], ivs[1], first, count), f32);
          return emitTransposed(
              insert(rows, fill(padded, 0.0),
                     {{sub(first, begin), 0}, {count, size}}));
        });
  };
  blocks = loop(0, numBlocks, blocks, emitBlock);
  insertInParallel(forall, blocks, out, ofHead);
  return forall.getResult(0);
}

void StripLowering::emitKeys(Tile &tile) {
  Value begin = zero;
  tile.end = numKeys;
  if (canBoundKeys()) {
    Value first = add(tile.position, scoreRows - tileRows - halo);
    Value last = add(tile.position, scoreRows - 1);
    VisibleKeys keys =
        emitVisibleKeys(*this, getLoc(), op.getMask(), tile.batch, zero,
                        {first, last}, numKeys, op.getMaskCaptures());
    begin = keys.begin;
    tile.end = keys.end;
  }
  tile.firstBlock = div(begin, kKeys);
  tile.numBlocks = sub(ceilDiv(tile.end, kKeys), tile.firstBlock);
}

std::pair<Value, Value> StripLowering::emitTile(const Tile &tile) {
  bool hasAfter = after.kernel || after.mixing;
  TileResult result = chunkBlocks == 0 ? emitWholeTile(tile)
                      : hasAfter       ? emitStoredTile(tile)
                                       : emitChunkedTile(tile);
  Box tail{{0, weightRows - tileRows}, {heads, tileRows}};
  Value factors = extract(result.normalization.inverse, tail);
  Value output =
      map({result.sums, factors}, emptyLike(result.sums, op.getElementType()),
          [&](ValueRange x) {
            Value sum = x[0];
            if (!hasAfter)
              sum = mulF(sum, x[1]);
            return convert(sum, op.getElementType());
          });
  return {output, extract(result.normalization.logSumExp, tail)};
}

Number StripLowering::getStripWidth(const Tile &tile) {
  // A margin in any case: it keeps rows from being a power of two apart.
  if (chunkBlocks > 0)
    return firstColumn + chunkBlocks * kKeys + margin;
  return add(getColumn(tile.numBlocks), margin);
}

Value StripLowering::fillMargins(const Tile &tile, Value strip) {
  Box box = getKeyColumns(
      tile, 0, cast<RankedTensorType>(strip.getType()).getDimSize(1));
  box.sizes.back() = margin;
  for (Number first :
       {Number(firstColumn - margin), Number(getColumn(tile.numBlocks))}) {
    box.offsets.back() = first;
    strip = insert(fill(extract(strip, box), 0.0), strip, box);
  }
  return strip;
}

Value StripLowering::forEachBlock(
    const Tile &tile, Value initial,
    function_ref<Value(Value, Value, Value)> body) {
  return loop(0, tile.numBlocks, initial, [&](Value block, Value carried) {
    return body(block, getColumn(block), carried);
  });
}

namespace {

/// Why gradients are left to the reference lowering, by the derivative of the
/// score; empty if they are not.
StringRef findObstacleOfGradients(MultiTokenAttentionBackwardOp op,
                                  Region &slope) {
  if (!op.getOfCaptures().empty())
    return "it has the gradient of a capture";
  if (StringRef obstacle = findObstacle(op); !obstacle.empty())
    return obstacle;
  return isPlainRegion(slope)
             ? ""
             : "the derivative of the score loads or may be undefined";
}

struct MultiTokenToStrips
    : attn::impl::MultiTokenToStripsBase<MultiTokenToStrips> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<MultiTokenAttentionOp, MultiTokenAttentionBackwardOp>(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      rewriter.setInsertionPoint(op);
      auto attention = dyn_cast<MultiTokenAttentionOp>(op);
      if (failed(attention ? lower(attention, rewriter)
                           : lower(cast<MultiTokenAttentionBackwardOp>(op),
                                   rewriter)))
        return signalPassFailure();
    }
  }

  LogicalResult lower(MultiTokenAttentionOp op, IRRewriter &rewriter) {
    FailureOr<PlanAttr> plan = getWholePlan(op, findObstacle(op));
    if (failed(plan) || !*plan)
      return success(succeeded(plan));
    // Without a convolution after the softmax, strips have some of the keys.
    if (!op.getStagesAfter().kernel && (*plan).getKeys() < kKeys)
      return op->emitError("expected an attn.plan with 'keys', as attn-plan "
                           "attaches");
    rewriter.replaceOp(op, StripLowering(op, rewriter, *plan).emit());
    return success();
  }

  LogicalResult lower(MultiTokenAttentionBackwardOp op, IRRewriter &rewriter) {
    Region slope;
    if (op.hasScore() &&
        failed(differentiateRegion(op.getScore(), op.getScore().getArgument(0),
                                   slope)))
      return failure();
    FailureOr<PlanAttr> plan =
        getWholePlan(op, findObstacleOfGradients(op, slope));
    if (failed(plan) || !*plan)
      return success(succeeded(plan));
    // Only for what it says.
    MultiTokenAttentionOp attention = op.createAttention(rewriter);
    rewriter.replaceOp(
        op, StripBackward(op, attention, slope, rewriter, *plan).emit());
    rewriter.eraseOp(attention);
    return success();
  }

  /// The plan, with rows; null, with a remark, if there is none.
  FailureOr<PlanAttr> getWholePlan(Operation *op, StringRef obstacle) {
    PlanAttr plan = getPlanOrRemark(op, obstacle);
    if (plan && plan.getRows() == 0)
      return op->emitError(
          "expected an attn.plan with 'rows', as attn-plan attaches");
    return plan;
  }
};

} // namespace
