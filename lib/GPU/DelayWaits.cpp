//===- DelayWaits.cpp - Waits for warpgroups where results are used -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/GPU/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DELAYWAITS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether an operation neither writes memory nor waits for other threads, but
/// for those of its warp.
static bool canRunBefore(Operation *op) {
  auto effects = getEffectsRecursively(op);
  return isa<NVVM::VoteSyncOp>(op) ||
         (effects && llvm::all_of(*effects, [](const auto &effect) {
            return isa<MemoryEffects::Read>(effect.getEffect());
          }));
}

static bool uses(Operation *op, WarpgroupWaitOp wait) {
  return llvm::any_of(wait->getUsers(),
                      [&](Operation *user) { return op->isAncestor(user); });
}

/// Moves a wait down to the first operation that uses what it gives, or that
/// may touch what its product reads, and into the branch that it is, if all of
/// a warp take the same side. Others that begin on the way stay pending.
static void delay(WarpgroupWaitOp wait) {
  auto pending = int64_t(wait.getPending());
  Operation *next = wait->getNextNode();
  for (; next && !next->hasTrait<OpTrait::IsTerminator>();
       next = next->getNextNode()) {
    if (isa<WarpgroupWaitOp>(next) || uses(next, wait) ||
        pending == WarpgroupWaitOp::kMostPending)
      break;
    if (isa<WarpgroupMmaOp>(next))
      ++pending;
    else if (!canRunBefore(next))
      break;
  }
  if (!next) // Nothing uses it.
    return;
  wait.setPending(pending);
  auto branch = dyn_cast<scf::IfOp>(next);
  bool isOfWarp =
      branch && branch.getCondition().getDefiningOp<NVVM::VoteSyncOp>();
  if (!isOfWarp || !uses(branch, wait) || branch.getElseRegion().empty() ||
      !llvm::all_of(wait->getUsers(), [&](Operation *user) {
        return branch->isProperAncestor(user);
      }))
    return wait->moveBefore(next);
  // On both ways. What is computed in front of the branch stays there, which
  // ptxas moves behind a wait in the same block.
  for (Block *block : {branch.thenBlock(), branch.elseBlock()}) {
    OpBuilder b = OpBuilder::atBlockBegin(block);
    auto own = cast<WarpgroupWaitOp>(b.clone(*wait));
    wait->replaceUsesWithIf(own, [&](OpOperand &use) {
      return block->findAncestorOpInBlock(*use.getOwner()) != nullptr;
    });
  }
  wait.erase();
}

namespace {
struct DelayWaits : attn::impl::DelayWaitsBase<DelayWaits> {
  void runOnOperation() override {
    SmallVector<WarpgroupWaitOp> waits;
    getOperation()->walk([&](WarpgroupWaitOp wait) { waits.push_back(wait); });
    // The last one first: those before stop at it.
    for (WarpgroupWaitOp wait : llvm::reverse(waits))
      delay(wait);
  }
};
} // namespace
