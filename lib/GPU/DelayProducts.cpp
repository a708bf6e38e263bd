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
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DELAYPRODUCTS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether an iteration may leave its product to the next one: which runs once
/// more than there are blocks, and so may change nothing but the state. Exact
/// products are not of matrices. Scales and dropout would have to be those of
/// the block before, too.
static bool mayDelay(scf::ForOp loop, OnlineAttentionOp block) {
  if (!matchPattern(block.getExact(), m_Zero()) || block.isDelayed() ||
      block.getValueScales() || block.hasDropout() || !getBlockKeys(block) ||
      loop.getNumRegionIterArgs() != block.getOuts().size() ||
      !llvm::all_of(loop.getBody()->without_terminator(),
                    [](Operation &op) { return isMemoryEffectFree(&op); }))
    return false;
  return llvm::all_of(
      llvm::zip_equal(block.getOuts(), block.getResults()), [&](auto part) {
        return findCarried(loop, std::get<0>(part), std::get<1>(part));
      });
}

/// What the first iteration finds as the weights of the block before.
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
  // Whether values can be found ahead; what it leaves has no users.
  if (!LaterIteration(b, loop, loop.getLowerBound()).get(block.getValue()))
    return;
  Value end = loop.getUpperBound(), begin = loop.getLowerBound();
  Value newEnd =
      b.select(b.isLess(begin, end), b.add(end, loop.getStep()), end);
  Value last = b.max(b.sub(end, 1), begin);
  last = b.add(
      begin, b.mul(b.div(b.sub(last, begin), loop.getStep()), loop.getStep()));
  IRRewriter rewriter(b.getContext());
  auto interface = cast<LoopLikeOpInterface>(*loop);
  loop = cast<scf::ForOp>(*interface.replaceWithAdditionalIterOperands(
      rewriter, createNoWeights(b, block),
      /*replaceInitOperandUsesInLoop=*/false));
  loop.setUpperBound(newEnd);
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
      PlanAttr plan = block ? getPlan(block) : PlanAttr();
      if (!plan || !plan.getWarpgroups())
        continue;
      foldWholeInsertions(loop);
      if (mayDelay(loop, block))
        delayProduct(loop, block);
    }
  }
};
} // namespace
