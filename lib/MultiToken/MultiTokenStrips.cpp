//===- MultiTokenStrips.cpp - Multi-token attention to strips -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/Passes.h"
#include "lib/MultiToken/StripLowering.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_MULTITOKENTOSTRIPS
#include "lib/MultiToken/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

StripLowering::StripLowering(MultiTokenAttentionOp op, OpBuilder &builder,
                             int64_t mostRows)
    : PositionCode(builder, op), op(op), before(op.getStagesBefore()),
      after(op.getStagesAfter()), f32(builder.getF32Type()),
      heads(std::lcm(before.getNumMixedHeads(), after.getNumMixedHeads())),
      halo(op.getHalo()) {
  chooseTile(mostRows);
}

SmallVector<Value> StripLowering::emit() {
  zero = index(0);
  scale = emitScale();
  for (Value *operand :
       {&before.kernel, &before.mixing, &after.kernel, &after.mixing})
    if (*operand)
      *operand = emitConverted(*operand, f32);
  numKeys = dim(op.getKey(), 2);
  numQueries = dim(op.getQuery(), 2);
  keyBlocks = emitKeyBlocks();
  Value numRows = dim(op.getOutput(), 2);
  Value past = subtract(numQueries, numRows); // T2
  SmallVector<OpFoldResult> lower(3, b.getIndexAttr(0)),
      upper = {OpFoldResult(dim(op.getQuery(), 0)),
               b.getIndexAttr(op.getNumQueryHeads() / heads),
               OpFoldResult(numRows)},
      steps = {b.getIndexAttr(1), b.getIndexAttr(1), b.getIndexAttr(tileRows)};
  auto loop = scf::ForallOp::create(b, loc, lower, upper, steps, op.getOuts(),
                                    /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> ivs(loop.getInductionVars());
  Tile tile;
  tile.batch = ivs[0];
  tile.group = ivs[1];
  tile.numHeads = heads;
  tile.firstHead = arith::MulIOp::create(b, loc, ivs[1], index(heads));
  tile.first = subtract(add(past, ivs[2]), index(scoreRows - tileRows));
  tile.position = add(
      op.createFirstPosition(b, tile.batch, numQueries, numKeys), tile.first);
  emitKeys(tile);
  emitQueries(tile);
  Value count = arith::MinUIOp::create(b, loc, subtract(numRows, ivs[2]),
                                       index(tileRows));
  auto [output, logSumExp] = emitTile(tile);
  ValueRange outs = loop.getRegionIterArgs();
  // The rows that the next tile writes first.
  Value next = add(ivs[2], index(tileRows));
  PrefetchOp::create(
      b, loc, outs[0], ValueRange{tile.batch, tile.firstHead, next},
      arith::MinSIOp::create(b, loc, add(next, index(tileRows)), numRows));
  insertParallel(loop, output, outs[0],
                 {tile.batch, tile.firstHead, ivs[2], b.getIndexAttr(0)},
                 {b.getIndexAttr(1), b.getIndexAttr(heads), count,
                  b.getIndexAttr(op.getValueType().getDimSize(3))});
  if (op.getLogSumExp())
    insertParallel(loop, logSumExp, outs[1],
                   {tile.batch, tile.firstHead, ivs[2]},
                   {b.getIndexAttr(1), b.getIndexAttr(heads), count});
  return loop.getResults();
}

Value StripLowering::emitKeyBlocks() {
  auto type = cast<RankedTensorType>(op.getKey().getType());
  int64_t size = type.getDimSize(3);
  // Block n has the keys from n * kKeys on, or `shift` before.
  int64_t shift = leadBlocks * kKeys - lead;
  Value numBlocks =
      add(arith::CeilDivUIOp::create(b, loc, numKeys, index(kKeys)),
          index(leadBlocks));
  SmallVector<OpFoldResult> sizes = {
      OpFoldResult(dim(op.getKey(), 0)), b.getIndexAttr(type.getDimSize(1)),
      OpFoldResult(numBlocks), b.getIndexAttr(size), b.getIndexAttr(kKeys)};
  SmallVector<OpFoldResult> lower(2, b.getIndexAttr(0)),
      upper = {sizes[0], sizes[1]}, steps(2, b.getIndexAttr(1));
  auto forall =
      scf::ForallOp::create(b, loc, lower, upper, steps, empty(sizes, f32),
                            /*mapping=*/std::nullopt);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(forall.getBody());
  SmallVector<OpFoldResult> offsets(5, b.getIndexAttr(0)),
      ones(5, b.getIndexAttr(1));
  SmallVector<Value> ivs(forall.getInductionVars());
  offsets[0] = ivs[0];
  offsets[1] = ivs[1];
  sizes[0] = sizes[1] = b.getIndexAttr(1);
  Value out = forall.getRegionIterArgs().front();
  Value blocks =
      extractBox(out, {offsets, sizes}, {ShapedType::kDynamic, size, kKeys});
  auto emitBlock = [&](Value block, ValueRange blocks) {
    Value begin = subtract(arith::MulIOp::create(b, loc, block, index(kKeys)),
                           index(shift));
    Value first = arith::MaxSIOp::create(b, loc, begin, zero);
    Value end =
        arith::MinSIOp::create(b, loc, add(begin, index(kKeys)), numKeys);
    Value count = arith::MaxSIOp::create(b, loc, subtract(end, first), zero);
    auto emitTransposed = [&](Value rows) {
      Value transposed =
          linalg::TransposeOp::create(
              b, loc, rows,
              empty({b.getIndexAttr(size), b.getIndexAttr(kKeys)}, f32),
              ArrayRef<int64_t>{1, 0})
              ->getResult(0);
      transposed = insert(
          transposed, blocks[0],
          {{block, b.getIndexAttr(0), b.getIndexAttr(0)},
           {b.getIndexAttr(1), b.getIndexAttr(size), b.getIndexAttr(kKeys)}});
      scf::YieldOp::create(b, loc, transposed);
    };
    Value padded = empty({b.getIndexAttr(kKeys), b.getIndexAttr(size)}, f32);
    auto either = scf::IfOp::create(
        b, loc, compare(arith::CmpIPredicate::eq, count, index(kKeys)),
        [&](OpBuilder &, Location) {
          Value rows =
              extractBox(op.getKey(),
                         {{ivs[0], ivs[1], first, b.getIndexAttr(0)},
                          {b.getIndexAttr(1), b.getIndexAttr(1),
                           b.getIndexAttr(kKeys), b.getIndexAttr(size)}},
                         {kKeys, size});
          emitTransposed(emitConverted(rows, f32));
        },
        [&](OpBuilder &, Location) {
          Value rows = emitConverted(
              extractRows(op.getKey(), ivs[0], ivs[1], first, count), f32);
          emitTransposed(insert(rows, fill(padded, 0.0),
                                {{subtract(first, begin), b.getIndexAttr(0)},
                                 {count, b.getIndexAttr(size)}}));
        });
    return SmallVector<Value>{either.getResult(0)};
  };
  blocks = loop(zero, numBlocks, blocks, emitBlock).front();
  b.setInsertionPointToEnd(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, loc, blocks, out, offsets, sizes,
                                        ones);
  return forall.getResult(0);
}

void StripLowering::emitKeys(Tile &tile) {
  Value begin = zero;
  tile.end = numKeys;
  if (canBoundKeys()) {
    Value first = add(tile.position, index(scoreRows - tileRows - halo));
    Value last = add(tile.position, index(scoreRows - 1));
    VisibleKeys keys =
        emitVisibleKeys(b, loc, op.getMask(), tile.batch, zero, {first, last},
                        numKeys, op.getMaskCaptures());
    begin = keys.begin;
    tile.end = keys.end;
  }
  tile.firstBlock = arith::DivUIOp::create(b, loc, begin, index(kKeys));
  tile.numBlocks =
      subtract(arith::CeilDivUIOp::create(b, loc, tile.end, index(kKeys)),
               tile.firstBlock);
}

std::pair<Value, Value> StripLowering::emitTile(const Tile &tile) {
  bool hasAfter = after.kernel || after.mixing;
  TileResult result = chunkBlocks == 0 ? emitWholeTile(tile)
                      : hasAfter       ? emitStoredTile(tile)
                                       : emitChunkedTile(tile);
  Box tail{{b.getIndexAttr(0), b.getIndexAttr(weightRows - tileRows)},
           {b.getIndexAttr(heads), b.getIndexAttr(tileRows)}};
  Value factors = extract(result.normalization.inverse, tail);
  Value output = map(
      {result.sums, factors},
      empty(tensor::getMixedSizes(b, loc, result.sums), op.getElementType()),
      [&](ValueRange x) {
        Value sum = x[0];
        if (!hasAfter)
          sum = arith::MulFOp::create(b, loc, sum, x[1]);
        return convert(sum, op.getElementType());
      });
  return {output, extract(result.normalization.logSumExp, tail)};
}

OpFoldResult StripLowering::getStripWidth(const Tile &tile) {
  // A margin in any case: it keeps rows from being a power of two apart.
  if (chunkBlocks > 0)
    return b.getIndexAttr(firstColumn + chunkBlocks * kKeys + margin);
  return OpFoldResult(add(getColumn(tile.numBlocks), index(margin)));
}

Value StripLowering::fillMargins(const Tile &tile, Value strip) {
  Box box = getKeyColumns(tile);
  OpFoldResult end = getColumn(tile.numBlocks);
  box.sizes.back() = b.getIndexAttr(margin);
  for (OpFoldResult first :
       {OpFoldResult(b.getIndexAttr(firstColumn - margin)), end}) {
    box.offsets.back() = first;
    strip = insert(fill(extract(strip, box), 0.0), strip, box);
  }
  return strip;
}

Value StripLowering::forEachBlock(
    const Tile &tile, Value initial,
    function_ref<Value(Value, Value, Value)> body) {
  return loop(zero, tile.numBlocks, initial,
              [&](Value block, ValueRange carried) {
                return SmallVector<Value>{
                    body(block, getColumn(block), carried[0])};
              })
      .front();
}

void StripLowering::insertParallel(scf::ForallOp loop, Value source,
                                   Value destination,
                                   SmallVector<OpFoldResult> offsets,
                                   SmallVector<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> partOffsets(sizes.size() - 1, b.getIndexAttr(0)),
      partSizes(llvm::drop_begin(sizes)), ones(sizes.size(), b.getIndexAttr(1));
  Value part = extract(source, {partOffsets, partSizes});
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, loc, part, destination, offsets,
                                        sizes, ones);
}

namespace {

/// Taps of a kernel per head at most, since a strip has rows for those of its
/// queries and margins for those of its keys: those of the paper's for 16 heads
/// are 1056.
constexpr uint64_t kMostTapsOfKernel = 2048;

/// Whether a region has a value everywhere and loads nothing, so that it can be
/// evaluated for vectors.
bool isPlain(Region &region) {
  if (region.empty())
    return true;
  return llvm::all_of(region.front().without_terminator(), [](Operation &op) {
    return isa<arith::ConstantOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
               arith::DivFOp, arith::NegFOp, arith::CmpFOp, arith::CmpIOp,
               arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::AndIOp,
               arith::OrIOp, arith::XOrIOp, arith::SelectOp, arith::IndexCastOp,
               math::TanhOp>(op);
  });
}

/// Numbers of a kernel `(Hq, [ch,] cq, ck)` per head that is written.
uint64_t countTaps(Value kernel) {
  uint64_t taps = 1;
  for (int64_t size :
       cast<ShapedType>(kernel.getType()).getShape().drop_front())
    taps = llvm::SaturatingMultiply(taps, uint64_t(size));
  return taps;
}

/// Why an op is left to the reference lowering; empty if it is not.
StringRef findObstacle(MultiTokenAttentionOp op) {
  if (op->getNumResults() == 0)
    return "it works on memrefs";
  // Upstream has slices of such a dimension invalid.
  for (ShapedType type : {op.getQueryType(), op.getKeyType(),
                          cast<ShapedType>(op.getOutput().getType())})
    if (llvm::is_contained(type.getShape(), 0))
      return "it is empty";
  if (op.getElementType().isF64())
    return "its element type is f64";
  if (op.hasDropout())
    return "it has dropout";
  for (Value kernel : {op.getKernelBefore(), op.getKernelAfter()})
    if (kernel && countTaps(kernel) > kMostTapsOfKernel)
      return "a kernel has more than 2048 taps per head";
  if (!isPlain(op.getScore()) || !isPlain(op.getMask()))
    return "a region loads or may be undefined";
  return "";
}

struct MultiTokenToStrips
    : attn::impl::MultiTokenToStripsBase<MultiTokenToStrips> {
  void runOnOperation() override {
    SmallVector<MultiTokenAttentionOp> ops;
    getOperation()->walk([&](MultiTokenAttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (MultiTokenAttentionOp op : ops) {
      PlanAttr plan = getPlanOrRemark(op, findObstacle(op));
      if (!plan)
        continue;
      if (plan.getRows() == 0) {
        op.emitError(
            "expected an attn.plan with 'rows', as attn-plan attaches");
        return signalPassFailure();
      }
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op,
                         StripLowering(op, rewriter, plan.getRows()).emit());
    }
  }
};

} // namespace
