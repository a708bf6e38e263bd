//===- HostCode.cpp - Code of the host around launches --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/ForallToGPU/HostCode.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

/// Calls `visit` for what runs on the host.
template <typename Visit>
static WalkResult walkHost(Operation *root, Visit visit) {
  return root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<gpu::LaunchOp>(op))
      return WalkResult::skip();
    return visit(op);
  });
}

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

/// The operation at whose end `buffer`, or what it may be the memory of, is
/// passed on from `home`; null if there is none.
static Operation *findLeaving(Value buffer, Block *home) {
  auto follow = [&](Operation *op) -> Operation * {
    for (Value result : op->getResults())
      if (isa<BaseMemRefType>(result.getType()))
        if (Operation *leaving = findLeaving(result, home))
          return leaving;
    return nullptr;
  };
  for (Operation *user : buffer.getUsers()) {
    bool isEnd = user->hasTrait<OpTrait::IsTerminator>();
    if (isEnd && user->getBlock() == home)
      return user->getParentOp();
    if (Operation *leaving = follow(isEnd ? user->getParentOp() : user))
      return leaving;
  }
  return nullptr;
}

/// Moves an allocation before the branches that give its buffer as a result, as
/// far as its size is known there, so that it can be freed after their users.
static void moveOutOfBranches(memref::AllocOp alloc) {
  while (auto branch = dyn_cast<scf::IfOp>(alloc->getParentOp())) {
    bool isSizeKnown = llvm::all_of(alloc->getOperands(), [&](Value size) {
      return !branch->isAncestor(size.getParentRegion()->getParentOp());
    });
    if (!isSizeKnown || findLeaving(alloc, alloc->getBlock()) != branch)
      return;
    alloc->moveBefore(branch);
  }
}

static LogicalResult convertAllocations(RewriterBase &rewriter,
                                        Operation *function) {
  SmallVector<memref::AllocOp> allocs;
  walkHost(function, [&](Operation *op) {
    if (auto alloc = dyn_cast<memref::AllocOp>(op))
      allocs.push_back(alloc);
    return WalkResult::advance();
  });
  for (memref::AllocOp alloc : allocs) {
    moveOutOfBranches(alloc);
    if (Operation *op = findLeaving(alloc, alloc->getBlock()))
      return op->emitOpError("is not lowered for a GPU where it gives a tensor "
                             "that is computed in it: nobody would free its "
                             "memory of the GPU");
    rewriter.setInsertionPoint(alloc->getBlock()->getTerminator());
    gpu::DeallocOp::create(rewriter, alloc.getLoc(), /*asyncToken=*/Type(),
                           /*asyncDependencies=*/ValueRange(), alloc);
    rewriter.setInsertionPoint(alloc);
    rewriter.replaceOpWithNewOp<gpu::AllocOp>(
        alloc, alloc.getType(), /*asyncToken=*/Type(),
        /*asyncDependencies=*/ValueRange(), alloc.getDynamicSizes(),
        alloc.getSymbolOperands());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Whether `op`, or an operation in it, reads memory.
static bool readsMemory(Operation *op) {
  return op
      ->walk([](MemoryEffectOpInterface nested) {
        return nested.hasEffect<MemoryEffects::Read>() ? WalkResult::interrupt()
                                                       : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether `op`, with what is in it, does nothing but read memory and assert.
static bool onlyAsserts(Operation *op) {
  return !op->walk([](Operation *nested) {
              auto memory = dyn_cast<MemoryEffectOpInterface>(nested);
              bool isAllowed =
                  isa<cf::AssertOp>(nested) || isMemoryEffectFree(nested) ||
                  (memory && memory.onlyHasEffect<MemoryEffects::Read>()) ||
                  (!memory &&
                   nested->hasTrait<OpTrait::HasRecursiveMemoryEffects>());
              return isAllowed ? WalkResult::advance()
                               : WalkResult::interrupt();
            }).wasInterrupted();
}

/// A check: an assertion, or a loop of them, that does nothing else.
static bool isCheck(Operation *op) {
  if (isa<cf::AssertOp>(op))
    return true;
  bool hasAssertion = op->walk([](cf::AssertOp) {
                          return WalkResult::interrupt();
                        }).wasInterrupted();
  return isa<scf::ForOp>(op) && op->getNumResults() == 0 && hasAssertion &&
         onlyAsserts(op);
}

/// What `check` needs of its block that depends on memory, in order, and it.
static SetVector<Operation *> findReaders(Operation *check) {
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) {
    return op->getBlock() == check->getBlock();
  };
  SetVector<Operation *> slice, readers;
  (void)getBackwardSlice(check, &slice, options);
  for (Operation *op : slice) {
    SetVector<Value> used;
    used.insert_range(op->getOperands());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    bool dependsOnMemory =
        readsMemory(op) || llvm::any_of(used, [&](Value value) {
          return readers.contains(value.getDefiningOp());
        });
    if (dependsOnMemory)
      readers.insert(op);
  }
  return readers;
}

/// Launches a check with what it reads: the iterations of a loop as workgroups,
/// and those of the loops in it as threads; if there are none in it, its own.
static void launchCheck(RewriterBase &rewriter, Operation *check,
                        ArrayRef<Operation *> readers) {
  constexpr int64_t kThreads = 128;
  Location loc = check->getLoc();
  rewriter.setInsertionPoint(check);
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value threads = arith::ConstantIndexOp::create(rewriter, loc, kThreads);
  Value blocks = one, count;
  auto loop = dyn_cast<scf::ForOp>(check);
  bool isInThreads = loop && loop.getBody()->getOps<scf::ForOp>().empty();
  if (loop) {
    Value size = arith::SubIOp::create(rewriter, loc, loop.getUpperBound(),
                                       loop.getLowerBound());
    count = arith::MaxSIOp::create(
        rewriter, loc,
        arith::CeilDivSIOp::create(rewriter, loc, size, loop.getStep()),
        arith::ConstantIndexOp::create(rewriter, loc, 0));
    blocks = count;
    if (isInThreads)
      blocks = arith::CeilDivUIOp::create(rewriter, loc, count, threads);
  }
  auto launch =
      gpu::LaunchOp::create(rewriter, loc, blocks, one, one, threads, one, one);
  rewriter.setInsertionPointToStart(&launch.getBody().front());
  IRMapping mapping;
  for (Operation *op : readers)
    if (op != check || !loop)
      rewriter.clone(*op, mapping);
  if (loop) {
    auto map = [&](Value value) { return mapping.lookupOrDefault(value); };
    // From `first`, every `count`th iteration.
    auto shift = [&](Value low, Value step, Value first) -> Value {
      return arith::AddIOp::create(
          rewriter, loc, low,
          arith::MulIOp::create(rewriter, loc, first, step));
    };
    OpBuilder::InsertionGuard guard(rewriter);
    Value number = launch.getBlockIds().x;
    if (isInThreads) {
      number = shift(launch.getThreadIds().x, threads, number);
      auto exists = scf::IfOp::create(
          rewriter, loc,
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                number, count),
          /*withElseRegion=*/false);
      rewriter.setInsertionPointToStart(exists.thenBlock());
    }
    mapping.map(loop.getInductionVar(),
                shift(map(loop.getLowerBound()), map(loop.getStep()), number));
    for (Operation &op : loop.getBody()->without_terminator()) {
      auto inner = dyn_cast<scf::ForOp>(rewriter.clone(op, mapping));
      if (!inner || inner.getNumResults() > 0)
        continue;
      OpBuilder::InsertionGuard guard(rewriter);
      rewriter.setInsertionPoint(inner);
      inner.setLowerBound(shift(inner.getLowerBound(), inner.getStep(),
                                launch.getThreadIds().x));
      inner.setStep(
          arith::MulIOp::create(rewriter, loc, inner.getStep(), threads));
    }
  }
  gpu::TerminatorOp::create(rewriter, loc);
  rewriter.eraseOp(check);
  for (Operation *op : llvm::reverse(readers))
    if (op != check && isOpTriviallyDead(op))
      rewriter.eraseOp(op);
}

static void launchChecks(RewriterBase &rewriter, Operation *function) {
  SmallVector<Operation *> checks;
  walkHost(function, [&](Operation *op) {
    if (!isCheck(op))
      return WalkResult::advance();
    checks.push_back(op);
    return WalkResult::skip();
  });
  for (Operation *check : checks)
    if (SetVector<Operation *> readers = findReaders(check); !readers.empty())
      launchCheck(rewriter, check, readers.getArrayRef());
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

/// Whether `op` loads from a constant, which the host has too.
static bool loadsConstant(Operation *op) {
  auto load = dyn_cast<memref::LoadOp>(op);
  if (!load)
    return false;
  Value buffer = load.getMemRef();
  while (auto view = buffer.getDefiningOp<ViewLikeOpInterface>())
    buffer = view.getViewSource();
  return buffer.getDefiningOp<memref::GetGlobalOp>();
}

/// What is left on the host must not touch buffers. Of loads and stores, users
/// have written other operations.
static LogicalResult checkHost(FunctionOpInterface function) {
  WalkResult result = walkHost(function, [](Operation *op) {
    if (op->hasTrait<OpTrait::IsTerminator>() ||
        (op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
         !isa<MemoryEffectOpInterface>(op)) ||
        isa<FunctionOpInterface, cf::AssertOp, gpu::AllocOp, gpu::DeallocOp>(
            op) ||
        isMemoryEffectFree(op) || loadsConstant(op))
      return WalkResult::advance();
    if (isa<memref::LoadOp, memref::StoreOp>(op))
      emitError(op->getLoc())
          << "the host cannot " << (isa<memref::LoadOp>(op) ? "read" : "write")
          << " elements of tensors, which are in memory of the GPU";
    else
      op->emitOpError(
          "runs on the host, which cannot access memory of the GPU");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult attn::convertHostCode(RewriterBase &rewriter,
                                    FunctionOpInterface function) {
  if (failed(convertAllocations(rewriter, function)))
    return failure();
  launchChecks(rewriter, function);
  return checkHost(function);
}
