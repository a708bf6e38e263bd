//===- DelayedStore.cpp - Stores during the next product ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/DelayedStore.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"
#include "lib/Memory/LaterIteration.h"
#include "lib/Memory/PrefetchShares.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

void DelayedStore::emitStep(IndexBuilder &b, Value step) const {
  if (!last)
    return;
  linalg::LinalgOp store = last;
  Value row = arith::MulIOp::create(b, step, b.index(rowsPerStep)),
        end = memref::DimOp::create(b, operands.back(), 0);
  Value isRow = b.compare(arith::CmpIPredicate::ult, row, end);
  Value isStored = arith::AndIOp::create(b, isRow, isInSteps);
  b.when(isStored, [&] {
    SmallVector<Value> rows;
    for (auto [operand, map] :
         llvm::zip_equal(operands, store.getIndexingMapsArray())) {
      std::optional<unsigned> dim =
          map.getResultPosition(b.getAffineDimExpr(0));
      if (!dim) {
        rows.push_back(operand);
        continue;
      }
      SmallVector<OpFoldResult> sizes =
          memref::getMixedSizes(b, b.getLoc(), operand);
      SmallVector<OpFoldResult> offsets = b.zeros(sizes.size());
      offsets[*dim] = row;
      sizes[*dim] = b.getIndexAttr(rowsPerStep);
      rows.push_back(memref::SubViewOp::create(b, operand, offsets, sizes,
                                               b.ones(sizes.size())));
    }
    clone(b, store, TypeRange(), rows);
  });
}

void DelayedStore::emitInsteadOfSteps(IndexBuilder &b) const {
  if (!last)
    return;
  linalg::LinalgOp store = last;
  b.when(isInSteps, [&] { clone(b, store, TypeRange(), operands); });
}

/// Whether `part` is `c` or a view of its first rows, as well where both are
/// views of the same.
static bool isPartOf(Value part, Value c) {
  auto view = part.getDefiningOp<memref::SubViewOp>(),
       whole = c.getDefiningOp<memref::SubViewOp>();
  return part == c || (view && view.getSource() == c) ||
         (view && whole && view.getSource() == whole.getSource() &&
          view.getMixedOffsets() == whole.getMixedOffsets() &&
          view.getMixedStrides() == whole.getMixedStrides());
}

/// The operation that stores the elements of the product `op` in `c`, in whole
/// rows: the next one that touches memory. Null if there is none.
static linalg::LinalgOp findStore(linalg::LinalgOp op, Value c) {
  Operation *next = op->getNextNode();
  while (next && touchesNoMemory(next))
    next = next->getNextNode();
  auto store = dyn_cast_or_null<linalg::LinalgOp>(next);
  if (!store || !store.hasPureBufferSemantics() ||
      store.getNumParallelLoops() != 2 || store.getNumLoops() != 2 ||
      store.getNumDpsInits() != 1 || store.getNumDpsInputs() == 0 ||
      !store.getMatchingIndexingMap(store.getDpsInitOperand(0)).isIdentity())
    return nullptr;
  return isPartOf(store.getDpsInputs()[0], c) ? store : nullptr;
}

/// Whether nothing in the loop around `op` touches memory but itself, `store`
/// and what `producer` fills.
static bool areAlone(linalg::LinalgOp op, linalg::LinalgOp producer,
                     linalg::LinalgOp store) {
  return llvm::all_of(*op->getBlock(), [&](Operation &other) {
    return &other == op || &other == store.getOperation() ||
           (producer && &other == producer.getOperation()) ||
           other.hasTrait<OpTrait::IsTerminator>() || touchesNoMemory(&other);
  });
}

/// Whether `op` reads nothing of what `store` writes, as far as is known: views
/// of the same memory.
static bool readsNothingOf(linalg::LinalgOp store, linalg::LinalgOp op) {
  auto skipViews = [](Value value) {
    return memref::skipViewLikeOps(cast<MemrefValue>(value));
  };
  Value written = skipViews(store.getDpsInits()[0]);
  return llvm::all_of(op.getDpsInputs(),
                      [&](Value input) { return skipViews(input) != written; });
}

/// Whether `store` computes the same from parts of its operands, before and
/// after the loop.
static bool canMove(linalg::LinalgOp store, scf::ForOp loop) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(store->getRegions(), captured);
  return !store.hasIndexSemantics() && whyNoRowSlices(store).empty() &&
         llvm::all_of(captured, [&](Value value) {
           return loop.isDefinedOutsideOfLoop(value);
         });
}

DelayedStore attn::delayStore(OpBuilder &builder, linalg::LinalgOp op,
                              linalg::LinalgOp producer, int64_t rows,
                              int64_t numSteps) {
  auto packs = dyn_cast<scf::ForOp>(op->getParentOp());
  linalg::LinalgOp store = findStore(op, op.getDpsInits()[0]);
  if (!packs || !packs.getInitArgs().empty() ||
      getConstantIntValue(packs.getStep()) != 1 || !store ||
      store.getNumDpsInputs() == 1 || numSteps <= 0 || !canMove(store, packs) ||
      !areAlone(op, producer, store) || !readsNothingOf(store, op))
    return {};
  int64_t rowsPerStep = llvm::divideCeil(rows, numSteps),
          storedRows =
              cast<MemRefType>(store.getDpsInits()[0].getType()).getDimSize(0);
  if (rows % rowsPerStep != 0 ||
      (ShapedType::isStatic(storedRows) && storedRows != rows))
    return {};
  IndexBuilder b(store.getLoc(), builder);
  b.setInsertionPoint(op);
  Value pack = packs.getInductionVar(), first = packs.getLowerBound(),
        end = packs.getUpperBound();
  // The first pack has none before it, but views have to be of one.
  Value exists = b.compare(arith::CmpIPredicate::ne, pack, first),
        before = arith::SubIOp::create(b, pack, b.index(1));
  before = arith::SelectOp::create(b, exists, before, pack);
  DelayedStore delayed = {store, {}, exists, rowsPerStep};
  LaterIteration earlier(b, packs, before);
  for (Value operand : store->getOperands())
    if (Value other = earlier.get(operand))
      delayed.operands.push_back(other);
    else
      return {};
  // Fewer rows are expected of the last pack only, and stored at once
  // elsewhere.
  if (ShapedType::isDynamic(storedRows)) {
    Value count = memref::DimOp::create(b, delayed.operands.back(), 0),
          isWhole = b.compare(arith::CmpIPredicate::eq, count, b.index(rows)),
          isPart = b.compare(arith::CmpIPredicate::ne, count, b.index(rows));
    delayed.isInSteps = arith::AndIOp::create(b, exists, isPart);
    delayed.emitInsteadOfSteps(b);
    delayed.isInSteps = arith::AndIOp::create(b, exists, isWhole);
  }
  b.setInsertionPointAfter(packs);
  Value isAny = b.compare(arith::CmpIPredicate::slt, first, end);
  b.when(isAny, [&] {
    LaterIteration last(b, packs, arith::SubIOp::create(b, end, b.index(1)));
    for (OpOperand &operand : store->getOpOperands())
      operand.set(last.get(operand.get()));
    store->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  });
  return delayed;
}
