//===- TileStreams.cpp - Operands of tiles on their way -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/LinalgToVector/TileStreams.h"
#include "lib/Conversion/LinalgToVector/LaterIteration.h"
#include "lib/Conversion/LinalgToVector/TileBlocks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kLineBytes = 64;
/// Of the first-level cache of processors that have tiles.
static constexpr int64_t kFirstLevelBytes = 48 * 1024;

static int64_t countBytes(MemRefType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

void TileStreams::emitStep(OpBuilder &b, Location loc, Value step) const {
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  for (const Later &next : later) {
    MemRefType type = next.view.getType();
    ArrayRef<int64_t> shape = type.getShape();
    // A row of C, or of the pairs of a step.
    int64_t numRows = shape[next.share ? 1 : 0],
            rowElements = next.share ? shape[2] * shape[3] : shape[1],
            line = kLineBytes * 8 / type.getElementTypeBitWidth(),
            perRow = rowElements / line;
    Value first = arith::MulIOp::create(b, loc, next.share ? next.share : step,
                                        index(next.linesPerStep));
    for (int64_t i = 0; i < next.linesPerStep; ++i) {
      Value number = arith::RemUIOp::create(
          b, loc, arith::AddIOp::create(b, loc, first, index(i)),
          index(numRows * perRow));
      Value row = arith::DivUIOp::create(b, loc, number, index(perRow));
      Value rest = arith::RemUIOp::create(b, loc, number, index(perRow));
      SmallVector<Value> indices = {row};
      if (next.share) {
        Value pair = arith::MulIOp::create(b, loc, rest, index(line / 2));
        indices = {step, row, pair, index(0)};
      } else {
        indices.push_back(arith::MulIOp::create(b, loc, rest, index(line)));
      }
      memref::PrefetchOp::create(b, loc, next.view, indices, /*isWrite=*/false,
                                 next.locality, /*isDataCache=*/true);
    }
  }
}

/// How often a loop runs at most; 0 if that is not known.
static int64_t getMostIterations(scf::ForOp loop) {
  if (getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1)
    return 0;
  FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
      presburger::BoundType::UB, {loop.getUpperBound()},
      /*stopCondition=*/nullptr, /*closedUB=*/true);
  return succeeded(bound) ? *bound : 0;
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

/// The steps that follow those of an operand in what it is a view of, as far as
/// there are as many; null if it is no such view, or one of all steps.
static Value getNextSteps(OpBuilder &b, Value operand) {
  auto pairs = operand.getDefiningOp<memref::ExpandShapeOp>();
  if (!pairs)
    return nullptr;
  auto view = pairs.getSrc().getDefiningOp<memref::SubViewOp>();
  if (!view)
    return nullptr;
  Location loc = operand.getLoc();
  unsigned dim = 0;
  while (view.getDroppedDims().test(dim))
    ++dim;
  int64_t numSteps = view.getType().getDimSize(0);
  if (view.getSourceType().getDimSize(dim) == numSteps)
    return nullptr;
  auto index = [&](int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  SmallVector<OpFoldResult> offsets = view.getMixedOffsets();
  Value here = getValueOrCreateConstantIndexOp(b, loc, offsets[dim]);
  Value next = arith::AddIOp::create(b, loc, here, index(numSteps));
  Value end = memref::DimOp::create(b, loc, view.getSource(), dim);
  Value last = arith::SubIOp::create(b, loc, end, index(numSteps));
  offsets[dim] = arith::MinUIOp::create(b, loc, next, last).getResult();
  MemRefType type = memref::SubViewOp::inferRankReducedResultType(
      view.getType().getShape(), view.getSourceType(), offsets,
      view.getMixedSizes(), view.getMixedStrides());
  Value steps =
      memref::SubViewOp::create(b, loc, type, view.getSource(), offsets,
                                view.getMixedSizes(), view.getMixedStrides());
  steps = memref::ExpandShapeOp::create(b, loc, pairs.getType().getShape(),
                                        steps, pairs.getReassociationIndices());
  return joinTerms(b, cast<TypedValue<MemRefType>>(steps));
}

/// Fetches a view in shares: those of all iterations of `sharers` are all of
/// it.
static void addShare(Value view, scf::ForOp sharers, TileStreams &streams) {
  if (!view)
    return;
  auto type = cast<MemRefType>(view.getType());
  int64_t linesPerStep = countBytes(type) / type.getDimSize(0) / kLineBytes;
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
      countBytes(typeOfA) + countBytes(typeOfB) <= kFirstLevelBytes ||
      !op.getMatchingIndexingMap(op.getDpsInputOperand(0))
           .isFunctionOfDim(op.getMatchingIndexingMap(op.getDpsInitOperand(0))
                                .getDimPosition(0)) ||
      !dependsOn(a, pack) || dependsOn(panel, pack))
    return std::nullopt;
  TileStreams streams;
  streams.readsAOnce = true;
  b.setInsertionPoint(op);
  auto panels = dyn_cast<scf::ForOp>(packs->getParentOp());
  if (panels && dependsOn(panel, panels.getInductionVar()) &&
      !dependsOn(a, panels.getInductionVar())) {
    if (fetched.insert({op->getBlock(), panel}).second)
      addShare(LaterIteration(b, panels).get(panel), packs, streams);
    addShare(getNextSteps(b, a), panels, streams);
  }
  if (dependsOn(c, pack))
    if (Value next = LaterIteration(b, packs).get(c))
      streams.later.push_back(
          {cast<TypedValue<MemRefType>>(next), /*share=*/nullptr,
           int64_t(llvm::divideCeil(countBytes(typeOfC) / kLineBytes,
                                    typeOfA.getDimSize(0))),
           /*locality=*/3});
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
