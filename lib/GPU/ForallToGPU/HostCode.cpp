//===- HostCode.cpp - Code of the host around launches --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/ForallToGPU/HostCode.h"
#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isElementwise(linalg::LinalgOp op) {
  return op.getNumParallelLoops() == op.getNumLoops() &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation(/*allowZeroInResults=*/false);
         });
}

static void convert(RewriterBase &rewriter, linalg::LinalgOp op) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> ends;
  for (Range range : op.createLoopRanges(rewriter, loc))
    ends.push_back(range.size);
  if (ends.empty()) // Of a buffer of no dimension, one element.
    ends.push_back(rewriter.getIndexAttr(1));
  auto loop = scf::ForallOp::create(rewriter, loc, ends, ValueRange(),
                                    /*mapping=*/std::nullopt);
  rewriter.setInsertionPointToStart(loop.getBody());
  auto indices = [&](OpOperand &operand) {
    SmallVector<Value> result;
    for (AffineExpr dim : op.getMatchingIndexingMap(&operand).getResults())
      result.push_back(
          loop.getInductionVar(cast<AffineDimExpr>(dim).getPosition()));
    return result;
  };
  IRMapping mapping;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    Value element = operand.get();
    if (isa<MemRefType>(element.getType())) {
      if (argument.use_empty())
        continue;
      element =
          memref::LoadOp::create(rewriter, loc, element, indices(operand));
    }
    mapping.map(argument, element);
  }
  for (Operation &nested : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(nested))
      mapping.map(index.getResult(), loop.getInductionVar(index.getDim()));
    else
      rewriter.clone(nested, mapping);
  }
  ValueRange results = op.getBlock()->getTerminator()->getOperands();
  for (auto [result, output] :
       llvm::zip_equal(results, op.getDpsInitsMutable()))
    memref::StoreOp::create(rewriter, loc, mapping.lookupOrDefault(result),
                            output.get(), indices(output));
  rewriter.eraseOp(op);
}

void attn::convertElementwiseToLoops(RewriterBase &rewriter, Operation *root) {
  SmallVector<linalg::LinalgOp> ops;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<scf::ForallOp>(op))
      return WalkResult::skip();
    if (auto elementwise = dyn_cast<linalg::LinalgOp>(op);
        elementwise && elementwise.hasPureBufferSemantics() &&
        isElementwise(elementwise))
      ops.push_back(elementwise);
    return WalkResult::advance();
  });
  for (linalg::LinalgOp op : ops)
    convert(rewriter, op);
}

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

/// Has the threads of a workgroup, of which `thread` is one, share the
/// iterations of `loop`.
static void shareIterations(IndexBuilder &b, scf::ForOp loop, Value thread,
                            Value threads) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop);
  Value first = b.mul(thread, loop.getStep());
  loop.setLowerBound(b.add(loop.getLowerBound(), first));
  loop.setStep(b.mul(loop.getStep(), threads));
}

/// Launches a check with what it reads: the iterations of a loop as workgroups,
/// and those of the loops in it as threads; if there are none in it, its own.
/// A loop of which only memory tells how many iterations it has is of one
/// workgroup.
static void launchCheck(RewriterBase &rewriter, Operation *check,
                        const SetVector<Operation *> &readers) {
  constexpr int64_t kThreads = 128;
  rewriter.setInsertionPoint(check);
  IndexBuilder b(check->getLoc(), rewriter);
  Value one = b.index(1), threads = b.index(kThreads), blocks = one, count;
  auto loop = dyn_cast<scf::ForOp>(check);
  if (loop && llvm::any_of(loop->getOperands(), [&](Value bound) {
        return readers.contains(bound.getDefiningOp());
      }))
    loop = nullptr;
  bool isInThreads = loop && loop.getBody()->getOps<scf::ForOp>().empty();
  if (loop) {
    Value size = b.sub(loop.getUpperBound(), loop.getLowerBound());
    blocks = count = b.max(b.emit<arith::CeilDivSIOp>(size, loop.getStep()), 0);
    if (isInThreads)
      blocks = b.ceilDiv(count, threads);
  }
  auto launch = gpu::LaunchOp::create(b, blocks, one, one, threads, one, one);
  b.setInsertionPointToStart(&launch.getBody().front());
  Value thread = launch.getThreadIds().x;
  IRMapping mapping;
  for (Operation *op : readers)
    if (op != loop)
      b.clone(*op, mapping);
  auto emitIteration = [&](Value number) {
    auto map = [&](Value value) { return mapping.lookupOrDefault(value); };
    mapping.map(
        loop.getInductionVar(),
        b.add(map(loop.getLowerBound()), b.mul(number, map(loop.getStep()))));
    for (Operation &op : loop.getBody()->without_terminator())
      if (auto inner = dyn_cast<scf::ForOp>(b.clone(op, mapping));
          inner && inner.getNumResults() == 0)
        shareIterations(b, inner, thread, threads);
  };
  Value number = launch.getBlockIds().x;
  if (isInThreads) {
    number = b.add(thread, b.mul(number, threads));
    b.when(b.compare(arith::CmpIPredicate::ult, number, count),
           [&] { emitIteration(number); });
  } else if (loop) {
    emitIteration(number);
  } else if (auto whole =
                 dyn_cast<scf::ForOp>(mapping.lookup<Operation *>(check))) {
    shareIterations(b, whole, thread, threads);
  }
  gpu::TerminatorOp::create(b);
  rewriter.eraseOp(check);
  for (Operation *op : llvm::reverse(readers))
    if (op != check && isOpTriviallyDead(op))
      rewriter.eraseOp(op);
}

/// Whether `index` is computed, within `loop`, from what memory holds.
static bool isFromMemory(Value index, scf::ForOp loop) {
  if (isa<BlockArgument>(index)) // The number of a loop.
    return false;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  SetVector<Operation *> slice;
  (void)getBackwardSlice(index, &slice, options);
  return llvm::any_of(slice, readsMemory);
}

/// Whether all that the iterations of a loop read is elements of buffers at
/// their number, as what is of a sequence is, and at places that memory does
/// not tell: so none follows what another one, or another thread, has to check.
static bool readsOwnRows(scf::ForOp loop) {
  auto isOwn = [&](memref::LoadOp load) {
    return load.getMemRefType().getRank() > 0 &&
           load.getIndices()[0] == loop.getInductionVar() &&
           llvm::none_of(load.getIndices(), [&](Value index) {
             return isFromMemory(index, loop);
           });
  };
  return !loop->walk([&](MemoryEffectOpInterface op) {
                auto load = dyn_cast<memref::LoadOp>(op.getOperation());
                bool isRead = op.hasEffect<MemoryEffects::Read>();
                return !isRead || (load && isOwn(load))
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Whether checks over the same numbers can be made number by number: nothing
/// between them is written, and what the host asserts there may come before.
static bool areJoined(Operation *first, Operation *second) {
  auto loop = dyn_cast<scf::ForOp>(first), other = dyn_cast<scf::ForOp>(second);
  if (!loop || !other || loop->getBlock() != other->getBlock() ||
      loop.getLowerBound() != other.getLowerBound() ||
      loop.getUpperBound() != other.getUpperBound() ||
      loop.getStep() != other.getStep() ||
      loop.getUnsignedCmp() != other.getUnsignedCmp() || !readsOwnRows(loop) ||
      !readsOwnRows(other))
    return false;
  return llvm::all_of(
      llvm::make_range(std::next(loop->getIterator()), other->getIterator()),
      [](Operation &op) {
        return isa<cf::AssertOp>(op) || isMemoryEffectFree(&op);
      });
}

static void launchChecks(RewriterBase &rewriter, Operation *function) {
  SmallVector<Operation *> checks;
  walkHost(function, [&](Operation *op) {
    if (!isCheck(op))
      return WalkResult::advance();
    // A launch takes longer than most checks.
    auto last = llvm::find_if(llvm::reverse(checks), llvm::IsaPred<scf::ForOp>);
    if (last != checks.rend() && areJoined(*last, op)) {
      rewriter.moveOpBefore(*last, op);
      *last = fuseIndependentSiblingForLoops(cast<scf::ForOp>(*last),
                                             cast<scf::ForOp>(op), rewriter);
    } else {
      checks.push_back(op);
    }
    return WalkResult::skip();
  });
  for (Operation *check : checks)
    if (SetVector<Operation *> readers = findReaders(check); !readers.empty())
      launchCheck(rewriter, check, readers);
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
