//===- SinkDestinations.cpp - Destinations where they are written ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An empty or filled tensor that a loop writes to is the loop's own as long as
// it is created within. Once it has been hoisted, by upstream's motion of
// loop-invariant code, every iteration copies it instead.
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Transforms.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

/// The tensor that `op` makes its result from, if it only fills or slices it;
/// or null.
static OpOperand *getFilled(Operation *op) {
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return &fill.getOutputsMutable()[0];
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return &slice.getSourceMutable();
  return nullptr;
}

/// Whether `value` is an empty tensor, or one value everywhere.
static bool isNew(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<tensor::EmptyOp>(op))
    return op != nullptr;
  OpOperand *filled = getFilled(op);
  return filled && isNew(filled->get());
}

static Value cloneNew(OpBuilder &b, Value value) {
  Operation *op = value.getDefiningOp();
  Value filled;
  if (OpOperand *operand = getFilled(op))
    filled = cloneNew(b, operand->get());
  Operation *copy = b.clone(*op);
  if (filled)
    getFilled(copy)->set(filled);
  return copy->getResult(0);
}

/// The operands that `op` writes to, or carries through its iterations.
static MutableArrayRef<OpOperand> getDestinations(Operation *op) {
  if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
    return loop.getInitsMutable();
  if (auto writer = dyn_cast<DestinationStyleOpInterface>(op))
    return writer.getDpsInitsMutable();
  return {};
}

/// Erases those of `ops` that nothing uses but others of them.
static void eraseUnused(SetVector<Operation *> &ops) {
  auto eraseIfUnused = [](Operation *op) {
    if (!op->use_empty())
      return false;
    op->erase();
    return true;
  };
  while (ops.remove_if(eraseIfUnused)) {
  }
}

void attn::sinkDestinations(Operation *root) {
  SmallVector<OpOperand *> hoisted;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    if (!loop)
      return;
    for (OpOperand &destination : getDestinations(op))
      if (isNew(destination.get()) &&
          loop.isDefinedOutsideOfLoop(destination.get()))
        hoisted.push_back(&destination);
  });
  OpBuilder b(root->getContext());
  // What shared one in an iteration goes on to.
  llvm::MapVector<std::pair<Value, Block *>, Value> created;
  for (OpOperand *destination : hoisted) {
    Value value = destination->get();
    Operation *user = destination->getOwner();
    while (!isa<LoopLikeOpInterface>(user->getParentOp()))
      user = user->getParentOp();
    Value &own = created[{value, user->getBlock()}];
    if (!own) {
      b.setInsertionPoint(user);
      own = cloneNew(b, value);
    }
    destination->set(own);
  }
  SetVector<Operation *> old;
  for (auto &[key, own] : created)
    for (Operation *op = key.first.getDefiningOp(); op;) {
      old.insert(op);
      OpOperand *filled = getFilled(op);
      op = filled ? filled->get().getDefiningOp() : nullptr;
    }
  eraseUnused(old);
}
