//===- PrefetchShares.cpp - Rows fetched while something computes ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/PrefetchShares.h"
#include "lib/Memory/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::touchesNoMemory(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return isMemoryEffectFree(op) ||
         (effects && effects.onlyHasEffect<MemoryEffects::Allocate>());
}

PrefetchShares::PrefetchShares(Operation *op, Operation *producer) {
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    if (auto prefetch = dyn_cast<PrefetchOp>(before)) {
      prefetches.push_back(prefetch);
    } else if (before != producer && !touchesNoMemory(before)) {
      previous = before;
      return;
    }
  }
}

static Value getFirst(PrefetchOp prefetch) {
  return prefetch.getIndices()[prefetch.getDim()];
}

void PrefetchShares::cut(OpBuilder &b, Location loc, Value numShares) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0),
        one = arith::ConstantIndexOp::create(b, loc, 1);
  // Where nothing is computed, there are no shares.
  numShares = b.createOrFold<arith::MaxSIOp>(loc, numShares, one);
  sizes.clear();
  for (PrefetchOp prefetch : prefetches) {
    Value numRows =
        arith::SubIOp::create(b, loc, prefetch.getEnd(), getFirst(prefetch));
    numRows = arith::MaxSIOp::create(b, loc, numRows, zero);
    sizes.push_back(arith::CeilDivUIOp::create(b, loc, numRows, numShares));
  }
}

void PrefetchShares::emit(OpBuilder &b, Location loc, Value number) const {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0),
        one = arith::ConstantIndexOp::create(b, loc, 1);
  for (auto [which, size] : llvm::enumerate(sizes)) {
    PrefetchOp prefetch = prefetches[which];
    Value first =
        arith::AddIOp::create(b, loc, getFirst(prefetch),
                              arith::MulIOp::create(b, loc, number, size));
    Value last = arith::SubIOp::create(b, loc, prefetch.getEnd(), one);
    auto share = scf::ForOp::create(b, loc, zero, size, one);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(share.getBody());
    Value row = arith::AddIOp::create(b, loc, first, share.getInductionVar());
    emitPrefetchOfRow(b, loc, prefetch,
                      arith::MinSIOp::create(b, loc, row, last));
  }
}

void PrefetchShares::erase() {
  for (PrefetchOp prefetch : prefetches)
    prefetch.erase();
  prefetches.clear();
}
