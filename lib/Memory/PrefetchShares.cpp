//===- PrefetchShares.cpp - Rows fetched while something computes ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/PrefetchShares.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::touchesNoMemory(Operation *op) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return isMemoryEffectFree(op) ||
         (effects && effects.onlyHasEffect<MemoryEffects::Allocate>());
}

static bool onlyPrefetches(scf::ForOp loop) {
  bool any = false;
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (isa<memref::PrefetchOp>(op))
      any = true;
    else if (op.getNumRegions() != 0 || !isPure(&op))
      return false;
  }
  return any && loop.getNumResults() == 0 &&
         isOneInteger(OpFoldResult(loop.getStep()));
}

PrefetchShares::PrefetchShares(Operation *op, Operation *producer) {
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    auto loop = dyn_cast<scf::ForOp>(before);
    if (loop && onlyPrefetches(loop)) {
      loops.push_back(loop);
    } else if (before != producer && !touchesNoMemory(before)) {
      previous = before;
      return;
    }
  }
}

void PrefetchShares::cut(OpBuilder &b, Location loc, Value numShares) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0),
        one = arith::ConstantIndexOp::create(b, loc, 1);
  // Where nothing is computed, there are no shares.
  numShares = b.createOrFold<arith::MaxSIOp>(loc, numShares, one);
  sizes.clear();
  for (scf::ForOp loop : loops) {
    Value numRows = arith::SubIOp::create(b, loc, loop.getUpperBound(),
                                          loop.getLowerBound());
    numRows = arith::MaxSIOp::create(b, loc, numRows, zero);
    sizes.push_back(arith::CeilDivUIOp::create(b, loc, numRows, numShares));
  }
}

void PrefetchShares::emit(OpBuilder &b, Location loc, Value number) const {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0),
        one = arith::ConstantIndexOp::create(b, loc, 1);
  for (auto [which, size] : llvm::enumerate(sizes)) {
    scf::ForOp loop = loops[which];
    Value first =
        arith::AddIOp::create(b, loc, loop.getLowerBound(),
                              arith::MulIOp::create(b, loc, number, size));
    Value last = arith::SubIOp::create(b, loc, loop.getUpperBound(), one);
    auto share = scf::ForOp::create(b, loc, zero, size, one);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(share.getBody());
    Value row = arith::AddIOp::create(b, loc, first, share.getInductionVar());
    IRMapping mapping;
    mapping.map(loop.getInductionVar(),
                Value(arith::MinSIOp::create(b, loc, row, last)));
    for (Operation &op : loop.getBody()->without_terminator())
      b.clone(op, mapping);
  }
}

void PrefetchShares::eraseLoops() {
  for (scf::ForOp loop : loops)
    loop.erase();
  loops.clear();
}
