//===- BlockStreams.cpp - Keys and values from memory ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/BlockStreams.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"

using namespace mlir;
using namespace mlir::attn;

/// The rows of a matrix of the block that products read where they lie, others
/// in each iteration of the loop; or null.
static tensor::ExtractSliceOp getRows(OnlineAttentionOp op, Value matrix,
                                      scf::ForOp loop) {
  auto type = cast<RankedTensorType>(matrix.getType());
  auto state = cast<RankedTensorType>(op.getAccumulator().getType());
  // Narrower ones are converted before, but in rows.
  bool isConverted = op.getLayout() == OnlineLayout::Lanes &&
                     type.getElementType() != state.getElementType();
  auto rows = matrix.getDefiningOp<tensor::ExtractSliceOp>();
  bool isOfLoop = rows && rows.getType().getRank() == 2 && !isConverted &&
                  rows->getBlock() == loop.getBody() &&
                  dependsOn(rows, loop.getInductionVar());
  return isOfLoop ? rows : nullptr;
}

/// Whether where rows begin is looked up in each iteration.
static bool areLookedUp(tensor::ExtractSliceOp rows) {
  return llvm::any_of(*rows->getBlock(), [&](Operation &op) {
    return isa<tensor::ExtractOp>(op) && dependsOn(rows, op.getResult(0));
  });
}

static int64_t getRowBytes(tensor::ExtractSliceOp rows) {
  RankedTensorType type = rows.getType();
  int64_t bits = type.getElementTypeBitWidth();
  return std::max<int64_t>(type.getDimSize(1) * bits / 8, 1);
}

/// Fetches where rows of a later iteration, which are in no order, begin in
/// each page. A processor fetches ahead by itself within a page of memory as
/// soon as it is read from.
static void emitBeginnings(OpBuilder &builder, tensor::ExtractSliceOp rows,
                           scf::ForOp loop, int64_t block) {
  TargetAttr target = getTarget(loop);
  IndexBuilder b(rows.getLoc(), builder);
  Value later =
      LaterIteration(b, loop, CacheModel(target).getBlocksLookedUp()).get(rows);
  if (!later)
    return;
  RankedTensorType type = rows.getType();
  int64_t perPage =
              std::max<int64_t>(target.getPageBytes() / getRowBytes(rows), 1),
          line = target.getLineBytes() * 8 / type.getElementTypeBitWidth();
  OpFoldResult count = b.apply(b.getAffineSymbolExpr(0).ceilDiv(perPage),
                               {b.size(later, 0)}),
               width = b.getIndexAttr(std::min(line, type.getDimSize(1)));
  Value beginnings = tensor::ExtractSliceOp::create(
      b, later, b.zeros(2), ArrayRef{count, width},
      ArrayRef<OpFoldResult>{b.getIndexAttr(perPage), b.getIndexAttr(1)});
  PrefetchOp::create(b, beginnings, b.index(0),
                     b.index(int64_t(llvm::divideCeil(block, perPage))));
}

/// How many rows of a block of `numRows`, beyond the block, have to be under
/// way while it is read.
static int64_t getRowsAhead(tensor::ExtractSliceOp rows, int64_t numRows,
                            PlanAttr plan) {
  int64_t ahead = plan ? plan.getAhead() : 0;
  if (ahead == 0)
    ahead = CacheModel(getTarget(rows)).getBytesUnderWay();
  return std::max<int64_t>(ahead / getRowBytes(rows) - numRows, 0);
}

/// Whether tiles wait for keys and values, of which the second-level cache does
/// not hold all. Asking in each call would cost what is gained.
static bool waitForL3(tensor::ExtractSliceOp keys,
                      tensor::ExtractSliceOp values) {
  int64_t bytes = 0;
  for (tensor::ExtractSliceOp rows : {keys, values}) {
    Value whole = rows.getSource();
    while (auto slice = whole.getDefiningOp<tensor::ExtractSliceOp>())
      whole = slice.getSource();
    int64_t count =
        cast<RankedTensorType>(whole.getType()).getShape().end()[-2];
    if (ShapedType::isDynamic(count) || areLookedUp(rows))
      return false;
    bytes += count * getRowBytes(rows);
  }
  return CacheModel(getTarget(keys)).waitsForL3(bytes);
}

/// What a product fetches instead of `rows`, of `blocks` blocks later.
BlockStreams::Rows BlockStreams::getLater(OpBuilder &b,
                                          tensor::ExtractSliceOp rows,
                                          scf::ForOp loop, int64_t blocks,
                                          PlanAttr plan) {
  int64_t numRows = getConstantIntValue(loop.getStep()).value_or(0);
  int64_t ahead = getRowsAhead(rows, numRows, plan);
  // If blocks follow each other in memory, rows of the next ones, else whole
  // blocks.
  if (areLookedUp(rows)) {
    blocks += numRows > 0 ? int64_t(llvm::divideCeil(ahead, numRows)) : 0;
    ahead = 0;
  }
  Value later = rows;
  if (blocks > 0)
    later = LaterIteration(b, loop, blocks).get(rows);
  return {later, ahead};
}

BlockStreams BlockStreams::emit(OpBuilder &b, OnlineAttentionOp block,
                                scf::ForOp loop) {
  BlockStreams streams;
  tensor::ExtractSliceOp keys = getRows(block, block.getKey(), loop),
                         values = getRows(block, block.getValue(), loop);
  PlanAttr plan = getPlan(block);
  bool areBoth = keys && values && keys != values;
  // Of few queries, the first tile reads from memory for all.
  bool isFirstToRead = areBoth && ((plan && plan.getChunk() > 0) ||
                                   (isReadOnce(keys) && isReadOnce(values)));
  // Of a window, tiles share what the second level holds.
  bool areAll = areBoth && isConstantIntValue(loop.getLowerBound(), 0);
  if (areAll && !isFirstToRead && block.getLayout() == OnlineLayout::Lanes &&
      waitForL3(keys, values)) {
    streams.values.rows = values;
    streams.next.rows = LaterIteration(b, loop).get(keys);
  } else if (isFirstToRead) {
    int64_t numRows = getConstantIntValue(loop.getStep()).value_or(0);
    // Before products fetch them.
    if (areLookedUp(keys) && areLookedUp(values) &&
        !CacheModel(getTarget(block)).isMemoryFar() &&
        getRowsAhead(values, numRows, plan) == 0)
      for (tensor::ExtractSliceOp rows : {keys, values})
        emitBeginnings(b, rows, loop, numRows);
    streams.values = getLater(b, values, loop, /*blocks=*/0, plan);
    streams.next = getLater(b, keys, loop, /*blocks=*/1, plan);
  } else if (values && block.getLayout() == OnlineLayout::Rows &&
             CacheModel(getTarget(block)).hasTimeToFetch(block.getNumRows())) {
    streams.next.rows = LaterIteration(b, loop).get(values);
  }
  return streams;
}

void BlockStreams::Rows::fetch(IndexBuilder &b, int64_t numRows) const {
  if (rows)
    PrefetchOp::create(b, rows, b.index(ahead), b.index(ahead + numRows))
        .setSpread(true);
}
