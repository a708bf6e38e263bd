//===- DelayProducts.cpp - Products of the block before -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/KeyLoops.h"
#include "lib/GPU/Passes.h"
#include "lib/Memory/LaterIteration.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DELAYPRODUCTS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether a block may be computed without its own product: in the exact round,
/// products are not of matrices, and dropout is of the keys at hand.
static bool mayDelay(scf::ForOp loop, OnlineAttentionOp block) {
  PlanAttr plan = getPlan(block);
  return plan && plan.getWarpgroups() &&
         matchPattern(block.getExact(), m_Zero()) && !block.isDelayed() &&
         !block.getValueScales() && !block.hasDropout() &&
         getBlockKeys(block) &&
         findCarried(loop, block.getAccumulator(), block.getResult(0));
}

/// Weights of 0, which the first iteration finds, and each without keys leaves.
static Value createNoWeights(IndexBuilder &b, OnlineAttentionOp block) {
  auto query = cast<RankedTensorType>(block.getQuery().getType());
  Value empty = tensor::EmptyOp::create(
      b, {query.getDimSize(0), *getBlockKeys(block)}, query.getElementType());
  Value zero =
      arith::ConstantOp::create(b, b.getZeroAttr(query.getElementType()));
  return linalg::FillOp::create(b, zero, empty).getResult(0);
}

static void delayProduct(scf::ForOp loop, OnlineAttentionOp block) {
  IndexBuilder b(loop.getLoc(), OpBuilder(loop));
  // Leaves operations without users.
  if (!LaterIteration(b, loop, loop.getLowerBound()).get(block.getValue()))
    return;
  Value end = loop.getUpperBound(), begin = loop.getLowerBound();
  Value later = b.select(b.isLess(begin, end), b.add(end, loop.getStep()), end);
  Value last = b.max(b.sub(end, 1), begin);
  last = b.add(
      begin, b.mul(b.div(b.sub(last, begin), loop.getStep()), loop.getStep()));
  IRRewriter rewriter(b.getContext());
  auto interface = cast<LoopLikeOpInterface>(*loop);
  loop = cast<scf::ForOp>(*interface.replaceWithAdditionalIterOperands(
      rewriter, createNoWeights(b, block),
      /*replaceInitOperandUsesInLoop=*/false));
  loop.setUpperBound(later);
  // What the added iteration knows of its block, it knows of the last one.
  Value iv = loop.getInductionVar();
  b.setInsertionPointToStart(loop.getBody());
  Value known = b.min(iv, last);
  iv.replaceAllUsesExcept(known, known.getDefiningOp());
  b.setInsertionPoint(block);
  LaterIteration before(b, loop, b.max(b.sub(iv, loop.getStep()), begin));
  Value values = before.get(block.getValue());
  OpFoldResult rows = b.size(values, 0), columns = b.size(values, 1),
               zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  rows = b.select(b.isEqual(iv, begin), 0, b.index(rows));
  values = tensor::ExtractSliceOp::create(
      b, values, ArrayRef<OpFoldResult>{zero, zero},
      ArrayRef<OpFoldResult>{rows, columns}, ArrayRef<OpFoldResult>{one, one});
  Value only = b.compare(arith::CmpIPredicate::sge, iv, end);

  // One result more.
  Value weights = loop.getRegionIterArgs().back();
  block.getDelayedValuesMutable().assign(values);
  block.getDelayedOnlyMutable().assign(only);
  block.getOutsMutable().append(weights);
  OperationState state(block.getLoc(), block->getName(), block->getOperands(),
                       TypeRange(block.getOuts()),
                       llvm::to_vector(block->getDiscardableAttrs()));
  state.propertiesAttr = block->getPropertiesAsAttribute();
  for (Region &region : block->getRegions())
    state.addRegion()->takeBody(region);
  Operation *delayed = b.create(state);
  block->replaceAllUsesWith(delayed->getResults().drop_back());
  loop.getTiedLoopYieldedValue(cast<BlockArgument>(weights))
      ->set(delayed->getResults().back());
  block.erase();
}

namespace {
struct DelayProducts : attn::impl::DelayProductsBase<DelayProducts> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation()->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      OnlineAttentionOp block = findOnlyBlock(loop);
      if (!block)
        continue;
      foldWholeInsertions(loop);
      if (mayDelay(loop, block))
        delayProduct(loop, block);
    }
  }
};
} // namespace
