//===- RowPrefetch.cpp - What a contraction fetches ahead -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/LinalgToVector/RowPrefetch.h"
#include "lib/Conversion/LinalgToVector/LinalgToVector.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

void RowPrefetch::emit(OpBuilder &b, Location loc, Value row,
                       Value column) const {
  if (!matrix)
    return;
  // To the second level: the first has few lines under way at a time.
  memref::PrefetchOp::create(b, loc, matrix, ValueRange{row, column},
                             /*isWrite=*/false, /*localityHint=*/2,
                             /*isDataCache=*/true);
}

namespace {

/// What an iteration of a loop computes, for the next one.
class NextIteration {
public:
  NextIteration(OpBuilder &b, scf::ForOp loop) : b(b), loop(loop) {
    Location loc = loop.getLoc();
    // Of the last iteration, itself: what it loads may end there.
    Value iv = loop.getInductionVar();
    Value next = arith::AddIOp::create(b, loc, iv, loop.getStep());
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                         next, loop.getUpperBound());
    mapping.map(iv, arith::SelectOp::create(b, loc, exists, next, iv));
  }

  /// Null if it can not be computed ahead.
  Value get(Value value) {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    if (loop.isDefinedOutsideOfLoop(value))
      return value;
    Operation *op = value.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody() || op->getNumRegions() != 0 ||
        !(isMemoryEffectFree(op) || isa<memref::LoadOp>(op)))
      return nullptr;
    for (Value operand : op->getOperands())
      if (!get(operand))
        return nullptr;
    b.clone(*op, mapping);
    return mapping.lookup(value);
  }

private:
  OpBuilder &b;
  scf::ForOp loop;
  IRMapping mapping;
};

} // namespace

llvm::DenseMap<Operation *, RowPrefetch>
attn::emitRowPrefetches(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions,
                        const VectorRegisters &registers) {
  llvm::DenseMap<Operation *, RowPrefetch> prefetches;
  for (linalg::LinalgOp dots : contractions) {
    if (!isDots(dots, registers))
      continue;
    Value keys = dots.getDpsInputOperand(0)->get();
    Operation *view = keys.getDefiningOp<memref::SubViewOp>();
    if (!view)
      continue;
    auto loop = dyn_cast<scf::ForOp>(view->getParentOp());
    if (!loop)
      continue;
    Block *body = loop.getBody();
    Operation *step = body->findAncestorOpInBlock(*dots);
    for (linalg::LinalgOp products : contractions) {
      if (isDots(products, registers) || prefetches.contains(products) ||
          !body->findAncestorOpInBlock(*products))
        continue;
      for (Value operand : products->getOperands()) {
        Operation *values = operand.getDefiningOp<memref::SubViewOp>();
        if (!values || values == view || values->getBlock() != body ||
            !values->isBeforeInBlock(step))
          continue;
        prefetches[dots] = {cast<TypedValue<MemRefType>>(operand)};
        b.setInsertionPoint(step);
        if (Value next = NextIteration(b, loop).get(keys))
          prefetches[products] = {cast<TypedValue<MemRefType>>(next)};
        break;
      }
    }
  }
  return prefetches;
}
