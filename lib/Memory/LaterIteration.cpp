//===- LaterIteration.cpp - What a loop computes later --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/LaterIteration.h"

#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::attn;

LaterIteration::LaterIteration(OpBuilder &b, LoopLikeOpInterface loop,
                               int64_t distance)
    : b(b), loop(loop) {
  IndexBuilder i(loop.getLoc(), b);
  // Of the last iterations, themselves: what they load may end there.
  Value iv = *loop.getSingleInductionVar(),
        step = i.mul(*loop.getSingleStep(), distance), next = i.add(iv, step);
  mapping.map(iv,
              i.select(i.isLess(next, *loop.getSingleUpperBound()), next, iv));
}

LaterIteration::LaterIteration(OpBuilder &b, LoopLikeOpInterface loop, Value iv)
    : b(b), loop(loop) {
  mapping.map(*loop.getSingleInductionVar(), iv);
}

Value LaterIteration::get(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  Operation *op = value.getDefiningOp();
  // The number of an iteration of a loop in between.
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto inner = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return inner && argument == inner.getInductionVar() ? value : nullptr;
  }
  if (op->getNumRegions() != 0 ||
      !(isMemoryEffectFree(op) || isa<memref::LoadOp>(op)))
    return nullptr;
  for (Value operand : op->getOperands())
    if (!get(operand))
      return nullptr;
  b.clone(*op, mapping);
  return mapping.lookup(value);
}

bool attn::dependsOn(Value value, Value iv) {
  SmallVector<Value> open = {value};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!open.empty()) {
    Value next = open.pop_back_val();
    if (next == iv)
      return true;
    Operation *op = next.getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    if (auto view = dyn_cast<OffsetSizeAndStrideOpInterface>(op)) {
      open.push_back(op->getOperand(0));
      llvm::append_range(open, view.getOffsets());
    } else {
      llvm::append_range(open, op->getOperands());
    }
  }
  return false;
}

bool attn::isReadOnce(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  for (auto loop = op->getParentOfType<scf::ForallOp>(); loop;
       loop = loop->getParentOfType<scf::ForallOp>())
    for (Value iv : loop.getInductionVars())
      if (!dependsOn(value, iv))
        return false;
  return true;
}
