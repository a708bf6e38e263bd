//===- TileStreams.cpp - Operands of tiles on their way -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/TileStreams.h"
#include "dialect/Plan/Target.h"
#include "lib/CPU/LinalgToVector/DelayedStore.h"
#include "lib/CPU/LinalgToVector/StepsView.h"
#include "lib/CPU/LinalgToVector/TileBlocks.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Memory/PrefetchShares.h"
#include "lib/Plan/CacheLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

void TileStreams::emitStep(OpBuilder &b, Location loc, Value step) const {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  for (const Later &next : later) {
    MemRefType type = next.view.getType();
    ArrayRef<int64_t> shape = type.getShape();
    // A row of C, or of the pairs of a step.
    unsigned rowDim = next.share ? 1 : 0;
    int64_t rowElements = next.share ? shape[2] * shape[3] : shape[1],
            line = kCacheLineBytes * 8 / type.getElementTypeBitWidth(),
            perRow = rowElements / line;
    Value numRows = b.createOrFold<memref::DimOp>(loc, next.view, rowDim);
    Value first = arith::MulIOp::create(b, loc, next.share ? next.share : step,
                                        index(next.linesPerStep));
    for (int64_t i = 0; i < next.linesPerStep; ++i) {
      Value number = arith::AddIOp::create(b, loc, first, index(i));
      Value row = arith::DivUIOp::create(b, loc, number, index(perRow));
      Value rest = arith::RemUIOp::create(b, loc, number, index(perRow));
      // No more lines than there are.
      row = type.isDynamicDim(rowDim)
                ? Value(arith::MinUIOp::create(
                      b, loc, row,
                      arith::SubIOp::create(b, loc, numRows, index(1))))
                : Value(arith::RemUIOp::create(b, loc, row, numRows));
      SmallVector<Value> indices = {row};
      if (next.share) {
        Value pair = arith::MulIOp::create(b, loc, rest, index(line / 2));
        indices = {step, row, pair, index(0)};
      } else {
        indices.push_back(arith::MulIOp::create(b, loc, rest, index(line)));
      }
      memref::PrefetchOp::create(b, loc, next.view, indices, next.isWritten,
                                 next.locality, /*isDataCache=*/true);
    }
  }
}

/// Pairs (steps, terms, rows, pairs, 2) with all terms of a step as one matrix,
/// null if they do not follow each other; others as they are.
static Value joinTerms(OpBuilder &b, TypedValue<MemRefType> pairs) {
  if (pairs.getType().getRank() == 4)
    return pairs;
  SmallVector<ReassociationIndices> groups = {{0}, {1, 2}, {3}, {4}};
  if (!memref::CollapseShapeOp::isGuaranteedCollapsible(pairs.getType(),
                                                        groups))
    return nullptr;
  return memref::CollapseShapeOp::create(b, pairs.getLoc(), pairs, groups);
}

/// What comes next of B: the panel's next steps if they do before the next
/// panel, or what the next panel begins with; else the same of the next panel.
static Value getNextOfPanel(OpBuilder &b, Value panel, scf::ForOp panels,
                            bool hasSumsOfPanel) {
  std::optional<StepsView> steps = StepsView::of(panel);
  if (steps && hasSumsOfPanel) {
    if (!steps->areLast())
      return steps->getNext(b);
    panel = steps->get(b, b.getIndexAttr(0));
  }
  return LaterIteration(b, panels).get(panel);
}

/// Where the elements of a product are stored, if it is in whole lines; or
/// null.
static Value findResult(linalg::LinalgOp op, Value c) {
  linalg::LinalgOp store = findStore(op, c);
  if (!store)
    return nullptr;
  Value to = store.getDpsInits()[0];
  auto type = cast<MemRefType>(to.getType());
  bool isInLines = type.getRank() == 2 && !type.isDynamicDim(1) &&
                   type.getDimSize(1) * type.getElementTypeBitWidth() %
                           (8 * kCacheLineBytes) ==
                       0;
  return isInLines ? to : nullptr;
}

/// Fetches a view in shares: those of all iterations of `sharers` are all of
/// it.
static void addShare(OpBuilder &b, Value view, scf::ForOp sharers,
                     TileStreams &streams) {
  if (view)
    view = joinTerms(b, cast<TypedValue<MemRefType>>(view));
  if (!view)
    return;
  auto type = cast<MemRefType>(view.getType());
  int64_t linesPerStep =
      countBytes(type) / type.getDimSize(0) / kCacheLineBytes;
  if (int64_t numShares = getMostIterations(sharers))
    streams.later.push_back(
        {cast<TypedValue<MemRefType>>(view), sharers.getInductionVar(),
         int64_t(llvm::divideCeil(linesPerStep, numShares)), /*locality=*/2});
}

/// Whether pairs of an operand are whole lines of a static number of steps.
static bool isStreamed(MemRefType type) {
  ArrayRef<int64_t> shape = type.getShape();
  return type.hasStaticShape() && type.getRank() >= 4 &&
         type.getElementType().isBF16() && shape.back() == 2 && shape[0] > 0 &&
         shape.end()[-2] % 16 == 0;
}

static std::optional<TileStreams>
emitStreams(OpBuilder &b, linalg::LinalgOp op,
            llvm::DenseSet<std::pair<Block *, Value>> &fetched) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInputs() != 2)
    return std::nullopt;
  auto packs = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!packs)
    return std::nullopt;
  Value a = op.getDpsInputs()[0], panel = op.getDpsInputs()[1],
        c = op.getDpsInits()[0];
  auto typeOfA = dyn_cast<MemRefType>(a.getType()),
       typeOfB = dyn_cast<MemRefType>(panel.getType()),
       typeOfC = dyn_cast<MemRefType>(c.getType());
  Value pack = packs.getInductionVar();
  constexpr int64_t size = 2 * TileBlocks::kSize;
  if (!typeOfA || !typeOfB || !typeOfC || !isStreamed(typeOfA) ||
      typeOfA.getRank() > 5 || !isStreamed(typeOfB) || typeOfB.getRank() != 4 ||
      typeOfC.getShape() != ArrayRef({size, size}) ||
      countBytes(typeOfA) + countBytes(typeOfB) <= getTarget(op).getL1Bytes() ||
      !op.getMatchingIndexingMap(op.getDpsInputOperand(0))
           .isFunctionOfDim(op.getMatchingIndexingMap(op.getDpsInitOperand(0))
                                .getDimPosition(0)) ||
      !dependsOn(a, pack) || dependsOn(panel, pack))
    return std::nullopt;
  TileStreams streams;
  streams.readsAOnce = true;
  b.setInsertionPoint(op);
  // Blocks of k may go by before the next panel.
  auto panels = dyn_cast<scf::ForOp>(packs->getParentOp());
  while (panels && dependsOn(a, panels.getInductionVar()))
    panels = dyn_cast<scf::ForOp>(panels->getParentOp());
  if (panels && dependsOn(panel, panels.getInductionVar())) {
    bool hasSumsOfPanel = !dependsOn(c, panels.getInductionVar());
    if (fetched.insert({op->getBlock(), panel}).second)
      addShare(b, getNextOfPanel(b, panel, panels, hasSumsOfPanel), packs,
               streams);
    // All of the packs are read for each panel.
    if (std::optional<StepsView> steps = StepsView::of(a);
        steps && !hasSumsOfPanel)
      addShare(b, steps->getNext(b), panels, streams);
  }
  // Lines of C, or of what it is stored in, in equal parts.
  auto addLines = [&](Value view, bool isWritten) {
    if (!view)
      return;
    auto type = cast<MemRefType>(view.getType());
    int64_t numLines = size * type.getDimSize(1) *
                       type.getElementTypeBitWidth() / (8 * kCacheLineBytes);
    streams.later.push_back(
        {cast<TypedValue<MemRefType>>(view), /*share=*/nullptr,
         int64_t(llvm::divideCeil(numLines, typeOfA.getDimSize(0))),
         /*locality=*/3, isWritten});
  };
  if (dependsOn(c, pack))
    addLines(LaterIteration(b, packs).get(c), /*isWritten=*/false);
  if (Value result = findResult(op, c))
    addLines(LaterIteration(b, packs, pack).get(result), /*isWritten=*/true);
  return streams;
}

llvm::DenseMap<Operation *, TileStreams>
attn::emitTileStreams(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions) {
  llvm::DenseMap<Operation *, TileStreams> all;
  llvm::DenseSet<std::pair<Block *, Value>> fetched;
  for (linalg::LinalgOp op : contractions)
    if (std::optional<TileStreams> streams = emitStreams(b, op, fetched))
      all[op] = std::move(*streams);
  return all;
}
