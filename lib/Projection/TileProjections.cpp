//===- TileProjections.cpp - attn.projection by tiles, in parallel --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Rows are tokens. Few rows are multiplied by the weight as it lies, once
// through. Many rows are packed. A weight is converted if it is not what is
// multiplied: to pairs of bf16 as a whole, to f32 in each tile.
//
// Upstream's scf::tileConsumerAndFuseProducersUsingSCF on the same products
// falls short where the weight leaves the caches, as it neither packs rows nor
// fetches what comes next, and in bf16, which it does not multiply in pairs. On
// one thread of a Zen 4, 512 tokens: 1024 x 1024 in f32 10.5 to 11.6 ms where
// this takes 10.2, 4096 x 4096 169 to 193 where it takes 158, 1024 x 1024 in
// bf16 676 where it takes 10.4. linalg::blockPackMatmul packs the weight in
// every call: 6.5 ms of 4096^2, which a model that packs once does not pay.
//
//===----------------------------------------------------------------------===//

#include "lib/Plan/CacheModel.h"
#include "lib/Projection/Passes.h"
#include "lib/Projection/ProjectionTiles.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TILEPROJECTIONS
#include "lib/Projection/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The rows of an input: of a number that is not static, few rows and many, of
/// which one has none. An scf.if would give its results buffers.
static SmallVector<ProjectionRows, 2>
prepareRows(IndexBuilder &b, ProjectionTiles &tiles, int64_t mostFewRows) {
  OpFoldResult numRows = tiles.getNumRows();
  if (std::optional<int64_t> rows = getConstantIntValue(numRows))
    return {tiles.prepare(numRows, *rows <= mostFewRows ? mostFewRows : 0)};
  auto all = cast<Value>(numRows);
  Value isFew = b.compare(arith::CmpIPredicate::ule, all, mostFewRows);
  Value few = b.select(isFew, all, 0), many = b.select(isFew, 0, all);
  return {tiles.prepare(few, mostFewRows), tiles.prepare(many, 0)};
}

void attn::tileProjection(RewriterBase &rewriter, ProjectionOp op,
                          PreparedRows &prepared,
                          const ProjectionEpilogue *epilogue) {
  rewriter.setInsertionPoint(op);
  IndexBuilder b(op.getLoc(), rewriter);
  ProjectionTiles tiles(b, op, epilogue);
  SmallVector<ProjectionRows, 2> &ofInput =
      prepared[{op->getBlock(), op.getInput(), tiles.getForm()}];
  if (ofInput.empty())
    ofInput = prepareRows(b, tiles, CacheModel(getTarget(op)).getFewRows());
  SmallVector<Value> results(op.getOuts());
  linalg::GenericOp followed = epilogue ? epilogue->op : nullptr;
  if (followed)
    results.assign({followed.getDpsInits()[0]});
  for (const ProjectionRows &rows : ofInput)
    results = tiles.emit(rows, results);
  if (!followed)
    return rewriter.replaceOp(op, results);
  SmallVector<Operation *> replaced = {op};
  for (OpOperand *operand : epilogue->others)
    replaced.push_back(epilogue->getProjection(operand));
  rewriter.replaceOp(followed, results);
  for (Operation *projection : replaced)
    rewriter.eraseOp(projection);
}

namespace {
struct TileProjections : attn::impl::TileProjectionsBase<TileProjections> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    PreparedRows prepared;
    SmallVector<ProjectionOp> ops;
    bool isComplete = true;
    getOperation()->walk([&](ProjectionOp op) {
      PlanAttr plan = getPlanOrRemark(op, findObstacle(op));
      if (!plan)
        return;
      if (!plan.getLayout() || plan.getRows() == 0 || plan.getColumns() == 0 ||
          plan.getFeatures() < kFeaturesPerTile ||
          plan.getLanes() != getTarget(op).getLanes()) {
        op.emitError("expected an attn.plan as attn-plan completes it, got ")
            << plan;
        isComplete = false;
      }
      ops.push_back(op);
    });
    if (!isComplete)
      return signalPassFailure();
    llvm::MapVector<Operation *, ProjectionEpilogue> epilogues;
    for (ProjectionOp op : ops)
      if (auto epilogue = ProjectionEpilogue::find(op))
        epilogues[op] = *epilogue;
    llvm::DenseSet<Operation *> others;
    for (auto &[op, epilogue] : epilogues) {
      epilogue.moveProjections(rewriter);
      for (OpOperand *operand : epilogue.others)
        others.insert(epilogue.getProjection(operand));
    }
    // In the order in which they are now, because of the rows that they share.
    ops.clear();
    getOperation()->walk([&](ProjectionOp op) {
      if (getPlan(op) && findObstacle(op).empty() && !others.contains(op))
        ops.push_back(op);
    });
    for (ProjectionOp op : ops) {
      auto epilogue = epilogues.find(op);
      tileProjection(rewriter, op, prepared,
                     epilogue == epilogues.end() ? nullptr : &epilogue->second);
    }
  }
};
} // namespace
