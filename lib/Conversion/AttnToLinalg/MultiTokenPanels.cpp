//===- MultiTokenPanels.cpp - Multi-token attention to panels -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/MaskAnalysis.h"
#include "lib/Conversion/AttnToLinalg/PanelLowering.h"
#include "lib/Conversion/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_MULTITOKENTOPANELS
#include "lib/Conversion/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

SmallVector<Value> PanelLowering::emit() {
  zero = index(0);
  scale = emitScale();
  for (Value *operand :
       {&before.kernel, &before.mixing, &after.kernel, &after.mixing})
    if (*operand)
      *operand = emitConverted(*operand, f32);
  numKeys = dim(op.getKey(), 2);
  numQueries = dim(op.getQuery(), 2);
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
  tile.firstHead = arith::MulIOp::create(b, loc, ivs[1], index(heads));
  tile.first = subtract(add(past, ivs[2]), index(halo));
  tile.position = add(
      op.createFirstPosition(b, tile.batch, numQueries, numKeys), tile.first);
  emitKeys(tile);
  Value count = arith::MinUIOp::create(b, loc, subtract(numRows, ivs[2]),
                                       index(tileRows));
  auto [output, logSumExp] = emitTile(tile);
  ValueRange outs = loop.getRegionIterArgs();
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

void PanelLowering::emitKeys(Tile &tile) {
  tile.begin = zero;
  tile.end = numKeys;
  if (op.hasMask() && op.getMask().getArgument(1).use_empty()) {
    Value last = add(tile.position, index(rows - 1));
    VisibleKeys keys =
        emitVisibleKeys(b, loc, op.getMask(), tile.batch, zero,
                        {tile.position, last}, numKeys, op.getMaskCaptures());
    tile.begin = keys.begin;
    tile.end = keys.end;
  }
  Value count = subtract(tile.end, tile.begin);
  Value blocks = arith::CeilDivUIOp::create(b, loc, count, index(kKeys));
  tile.width = arith::MulIOp::create(b, loc, blocks, index(kKeys));
}

std::pair<Value, Value> PanelLowering::emitTile(const Tile &tile) {
  Value scores = emitScores(tile, emitDots(tile));
  Value panel = scores;
  if (before.kernel || before.mixing)
    panel = emitStages(tile, before, panel, scores, -kInfinity);
  auto [weights, inverse, logSumExp] = emitSoftmax(tile, panel);
  bool scaleLast = !after.kernel && !after.mixing;
  if (!scaleLast) {
    weights = map({weights, inverse}, panelLike(tile), [&](ValueRange x) {
      return arith::MulFOp::create(b, loc, x[0], x[1]).getResult();
    });
    weights = emitStages(tile, after, weights, scores, 0.0);
  }
  Value output = emitOutput(tile, weights, scores);
  Box tail{{b.getIndexAttr(0), b.getIndexAttr(halo)},
           {b.getIndexAttr(heads), b.getIndexAttr(tileRows)}};
  Value factors = extract(inverse, tail);
  output =
      map({output, factors},
          empty(tensor::getMixedSizes(b, loc, output), op.getElementType()),
          [&](ValueRange x) {
            Value sum = x[0];
            if (scaleLast)
              sum = arith::MulFOp::create(b, loc, sum, x[1]);
            return convert(sum, op.getElementType());
          });
  return {output, extract(logSumExp, tail)};
}

void PanelLowering::insertParallel(scf::ForallOp loop, Value source,
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

/// Taps of a kernel per head at most, as there is code for each: those of the
/// paper's for 16 heads are 1056.
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

struct MultiTokenToPanels
    : attn::impl::MultiTokenToPanelsBase<MultiTokenToPanels> {
  using MultiTokenToPanelsBase::MultiTokenToPanelsBase;

  void runOnOperation() override {
    if (tileRows < 1) {
      getOperation()->emitError("expected tiles of at least 1 row, got ")
          << int64_t(tileRows);
      return signalPassFailure();
    }
    SmallVector<MultiTokenAttentionOp> ops;
    getOperation()->walk([&](MultiTokenAttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (MultiTokenAttentionOp op : ops) {
      if (StringRef obstacle = findObstacle(op); !obstacle.empty()) {
        op.emitRemark() << "is lowered by the reference path, because "
                        << obstacle;
        continue;
      }
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, PanelLowering(op, rewriter, tileRows).emit());
    }
  }
};

} // namespace
