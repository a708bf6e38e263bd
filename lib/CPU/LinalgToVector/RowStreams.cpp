//===- RowStreams.cpp - Operands of vectors on their way ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/RowStreams.h"
#include "dialect/Plan/Target.h"
#include "lib/CPU/LinalgToVector/StepsView.h"
#include "lib/Memory/LaterIteration.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::attn;

/// The same steps of the next panel, or after the last one what the first
/// begins the next steps with.
static Value getNextPanel(OpBuilder &b, Value panel, scf::ForOp panels) {
  std::optional<StepsView> steps = StepsView::of(panel);
  bool goesOn = steps && !steps->areLast();
  Location loc = panel.getLoc();
  Value here = panels.getInductionVar();
  Value next = arith::AddIOp::create(b, loc, here, panels.getStep());
  Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, next,
                                       panels.getUpperBound());
  Value other = goesOn ? panels.getLowerBound() : here;
  Value later =
      LaterIteration(b, panels,
                     arith::SelectOp::create(b, loc, exists, next, other))
          .get(panel);
  if (!later || !goesOn)
    return later;
  Value first = getValueOrCreateConstantIndexOp(
      b, loc, steps->view.getMixedOffsets()[steps->dim]);
  first = arith::SelectOp::create(b, loc, exists, first, steps->getNextStep(b));
  return StepsView::of(later)->get(b, first);
}

static bool isStaticMatrix(Value value) {
  auto view = value.getDefiningOp<memref::SubViewOp>();
  return view && view.getType().getRank() == 2 &&
         view.getType().hasStaticShape() && view.getType().getNumElements() > 0;
}

static SmallVector<LaterRows, 2> emitStreams(OpBuilder &b,
                                             linalg::LinalgOp op) {
  auto packs = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!packs || !op.hasPureBufferSemantics() || !multipliesMatrices(op))
    return {};
  auto panels = dyn_cast<scf::ForOp>(packs->getParentOp());
  Value pack = op.getDpsInputs()[0], panel = op.getDpsInputs()[1],
        c = op.getDpsInits()[0];
  if (!panels || !isStaticMatrix(pack) || !isStaticMatrix(panel) ||
      !cast<MemRefType>(c.getType()).hasStaticShape() ||
      // What the first level holds comes soon enough by itself.
      countBytes(cast<MemRefType>(panel.getType())) <=
          getTarget(op).getL1Bytes() ||
      !dependsOn(pack, packs.getInductionVar()) ||
      dependsOn(pack, panels.getInductionVar()) ||
      dependsOn(panel, packs.getInductionVar()) ||
      !dependsOn(panel, panels.getInductionVar()))
    return {};
  SmallVector<LaterRows, 2> streams;
  auto add = [&](Value view, scf::ForOp sharers) {
    int64_t numShares = getMostIterations(sharers);
    if (!view || numShares == 0)
      return;
    auto matrix = cast<TypedValue<MemRefType>>(view);
    streams.push_back({{matrix, view, matrix.getType().getDimSize(0)},
                       sharers.getInductionVar(),
                       numShares});
  };
  b.setInsertionPoint(op);
  add(getNextPanel(b, panel, panels), packs);
  if (std::optional<StepsView> steps = StepsView::of(pack);
      steps && !steps->areLast())
    add(steps->getNext(b), panels);
  return streams;
}

llvm::DenseMap<Operation *, SmallVector<LaterRows, 2>>
attn::emitRowStreams(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions) {
  llvm::DenseMap<Operation *, SmallVector<LaterRows, 2>> all;
  for (linalg::LinalgOp op : contractions)
    all[op] = emitStreams(b, op);
  return all;
}
