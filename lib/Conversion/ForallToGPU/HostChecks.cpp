//===- HostChecks.cpp - Checks of what buffers hold -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/ForallToGPU/HostChecks.h"
#include "lib/Conversion/VectorToLanes/LaneMemory.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What checks of a block of the host compute from loads.
class LoadedValues {
public:
  /// Adds the operations of the block that `op` needs and that depend on loads,
  /// each behind those that it needs itself.
  void collect(Operation *op, SetVector<Operation *> &needed) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value value : used) {
      Operation *source = value.getDefiningOp();
      if (!source || source->getBlock() != op->getBlock() ||
          !dependsOnLoad(source))
        continue;
      collect(source, needed);
      needed.insert(source);
    }
  }

private:
  bool dependsOnLoad(Operation *op) {
    if (isa<memref::LoadOp>(op))
      return true;
    if (!isPure(op))
      return false;
    auto [known, isNew] = results.try_emplace(op, false);
    if (!isNew)
      return known->second;
    bool any = llvm::any_of(op->getOperands(), [&](Value value) {
      Operation *source = value.getDefiningOp();
      return source && source->getBlock() == op->getBlock() &&
             dependsOnLoad(source);
    });
    return results[op] = any;
  }

  DenseMap<Operation *, bool> results;
};

} // namespace

/// Whether a loop or a branch does nothing but read and assert.
static bool isCheck(Operation *op) {
  if (!isa<scf::ForOp, scf::IfOp>(op) || op->getNumResults() > 0)
    return false;
  WalkResult result = op->walk([&](Operation *inner) {
    bool isKnown =
        isa<scf::ForOp, scf::IfOp, scf::YieldOp, cf::AssertOp, memref::LoadOp>(
            inner) ||
        isPure(inner);
    return isKnown ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

void attn::moveChecksToDevice(Block &host) {
  LoadedValues loaded;
  SmallVector<Operation *> dead;
  for (Operation &op : llvm::make_early_inc_range(host)) {
    SetVector<Operation *> needed;
    if (isa<cf::AssertOp>(op) || isCheck(&op))
      loaded.collect(&op, needed);
    if (needed.empty() && !isCheck(&op))
      continue;
    OpBuilder b(&op);
    Location loc = op.getLoc();
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    Value warp = arith::ConstantIndexOp::create(b, loc, kLanesOfWarp);
    auto launch = gpu::LaunchOp::create(b, loc, one, one, one, warp, one, one);
    b.setInsertionPointToStart(&launch.getBody().front());
    IRMapping values;
    for (Operation *source : needed)
      b.clone(*source, values);
    b.clone(op, values);
    gpu::TerminatorOp::create(b, loc);
    op.erase();
    dead.append(needed.begin(), needed.end());
  }
  for (Operation *op : llvm::reverse(dead))
    if (op->use_empty())
      op->erase();
}
