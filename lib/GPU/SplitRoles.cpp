//===- SplitRoles.cpp - Code of producers and of consumers ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What `attn.producers` do becomes code of its own, with the loops and branches
// around it and what these need. All else is of the consumers.

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITROLES
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits what producers execute of a launch.
class ProducerCode {
public:
  explicit ProducerCode(gpu::LaunchOp launch) : launch(launch) {}

  /// Finds what producers need. Fails, with an error, where that is more than
  /// loops, branches, and what reads memory alone.
  LogicalResult find(ArrayRef<ProducersOp> roots) {
    for (ProducersOp root : roots) {
      if (failed(requireParents(root)))
        return failure();
      root->walk([&](Operation *op) {
        for (Value operand : op->getOperands())
          if (!root->isProperAncestor(
                  operand.getParentBlock()->getParentOp()) &&
              operand.getParentBlock() != &root.getBody().front())
            require(operand);
      });
    }
    // All threads take part in a reduction (NVVM has no others, MLIR 22.1).
    WalkResult reductions = launch.walk([&](NVVM::BarrierOp op) -> WalkResult {
      if (!op.getReductionOp())
        return WalkResult::advance();
      kept.insert(op);
      return requireParents(op);
    });
    if (reductions.wasInterrupted())
      return failure();
    while (!open.empty())
      if (failed(requireSources(open.pop_back_val())))
        return failure();
    return success();
  }

  void emit(OpBuilder &b) { emit(launch.getBody().front(), b); }

private:
  void require(Value value) {
    if (launch->isAncestor(value.getParentBlock()->getParentOp()) &&
        needed.insert(value).second)
      open.push_back(value);
  }

  LogicalResult requireControl(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      require(loop.getLowerBound());
      require(loop.getUpperBound());
      require(loop.getStep());
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      require(branch.getCondition());
    } else {
      return op->emitOpError("has no form for producers");
    }
    return success();
  }

  /// The operations around one that is needed, and what they depend on.
  LogicalResult requireParents(Operation *op) {
    for (op = op->getParentOp(); op != launch; op = op->getParentOp()) {
      if (!kept.insert(op).second)
        return success();
      if (failed(requireControl(op)))
        return failure();
    }
    return success();
  }

  void requireCarried(scf::ForOp loop, unsigned number) {
    require(loop.getInitArgs()[number]);
    require(loop.getRegionIterArgs()[number]);
    require(loop.getYieldedValues()[number]);
  }

  LogicalResult requireSources(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Operation *parent = argument.getOwner()->getParentOp();
      auto loop = dyn_cast<scf::ForOp>(parent);
      if (loop && argument != loop.getInductionVar())
        requireCarried(loop, argument.getArgNumber() - 1);
      if (loop || parent == launch)
        return success();
      return parent->emitOpError("has no form for producers");
    }
    Operation *op = value.getDefiningOp();
    if (failed(requireParents(op)))
      return failure();
    kept.insert(op);
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      requireCarried(loop, number);
      return requireControl(loop);
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      require(branch.thenYield().getOperand(number));
      require(branch.elseYield().getOperand(number));
      return requireControl(branch);
    }
    auto effects = getEffectsRecursively(op);
    if (!effects || !llvm::all_of(*effects, [](const auto &effect) {
          return isa<MemoryEffects::Read>(effect.getEffect());
        }))
      return op->emitOpError("is needed by producers, who do not execute it");
    for (Value operand : op->getOperands())
      require(operand);
    // Of other loops, as there are in front of those over keys, all is needed.
    visitUsedValuesDefinedAbove(op->getRegions(),
                                [&](OpOperand *use) { require(use->get()); });
    return success();
  }

  void emit(Block &block, OpBuilder &b) {
    for (Operation &op : block)
      emit(&op, b);
  }

  void emit(Operation *op, OpBuilder &b) {
    if (auto producers = dyn_cast<ProducersOp>(op)) {
      for (Operation &inner : producers.getBody().front())
        b.clone(inner, mapping);
      return;
    }
    if (!kept.contains(op))
      return;
    if (auto barrier = dyn_cast<NVVM::BarrierOp>(op))
      return emitNeutral(barrier, b);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      emitLoop(loop, b);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      emitBranch(branch, b);
    else
      b.clone(*op, mapping);
  }

  /// A part in a reduction that changes nothing.
  void emitNeutral(NVVM::BarrierOp barrier, OpBuilder &b) {
    bool isTrue = *barrier.getReductionOp() == NVVM::BarrierReduction::AND;
    Value predicate =
        arith::ConstantIntOp::create(b, barrier.getLoc(), isTrue, 32);
    cast<NVVM::BarrierOp>(b.clone(*barrier))
        .getReductionPredicateMutable()
        .assign(predicate);
  }

  SmallVector<unsigned> findNeeded(ValueRange values) {
    SmallVector<unsigned> numbers;
    for (auto [number, value] : llvm::enumerate(values))
      if (needed.contains(value))
        numbers.push_back(unsigned(number));
    return numbers;
  }

  void emitLoop(scf::ForOp loop, OpBuilder &b) {
    SmallVector<unsigned> numbers = findNeeded(loop.getRegionIterArgs());
    auto map = [&](Value value) { return mapping.lookupOrDefault(value); };
    SmallVector<Value> inits;
    for (unsigned number : numbers)
      inits.push_back(map(loop.getInitArgs()[number]));
    auto own = scf::ForOp::create(b, loop.getLoc(), map(loop.getLowerBound()),
                                  map(loop.getUpperBound()),
                                  map(loop.getStep()), inits);
    mapping.map(loop.getInductionVar(), own.getInductionVar());
    for (auto [i, number] : llvm::enumerate(numbers)) {
      mapping.map(loop.getRegionIterArgs()[number], own.getRegionIterArgs()[i]);
      mapping.map(loop.getResult(number), own.getResult(unsigned(i)));
    }
    OpBuilder::InsertionGuard guard(b);
    own.getBody()->clear();
    b.setInsertionPointToEnd(own.getBody());
    emit(*loop.getBody(), b);
    emitYield(b, loop.getLoc(), loop.getYieldedValues(), numbers);
  }

  void emitBranch(scf::IfOp branch, OpBuilder &b) {
    SmallVector<unsigned> numbers = findNeeded(branch.getResults());
    SmallVector<Type> types;
    for (unsigned number : numbers)
      types.push_back(branch.getResult(number).getType());
    auto own = scf::IfOp::create(
        b, branch.getLoc(), types,
        mapping.lookupOrDefault(branch.getCondition()),
        /*addThenBlock=*/true, /*addElseBlock=*/branch.elseBlock() != nullptr);
    for (auto [i, number] : llvm::enumerate(numbers))
      mapping.map(branch.getResult(number), own.getResult(unsigned(i)));
    OpBuilder::InsertionGuard guard(b);
    for (auto [from, to] : llvm::zip(branch->getRegions(), own->getRegions())) {
      if (from.empty())
        continue;
      to.front().clear();
      b.setInsertionPointToEnd(&to.front());
      emit(from.front(), b);
      emitYield(b, branch.getLoc(), from.front().getTerminator()->getOperands(),
                numbers);
    }
  }

  void emitYield(OpBuilder &b, Location loc, ValueRange values,
                 ArrayRef<unsigned> numbers) {
    SmallVector<Value> yielded;
    for (unsigned number : numbers)
      yielded.push_back(mapping.lookupOrDefault(values[number]));
    scf::YieldOp::create(b, loc, yielded);
  }

  gpu::LaunchOp launch;
  llvm::DenseSet<Value> needed;
  llvm::DenseSet<Operation *> kept;
  SmallVector<Value> open;
  IRMapping mapping;
};

/// Consumers wait for each other alone.
void numberBarriers(Block &block, int64_t consumers) {
  SmallVector<gpu::BarrierOp> barriers;
  block.walk([&](gpu::BarrierOp op) { barriers.push_back(op); });
  for (gpu::BarrierOp op : barriers) {
    OpBuilder builder(op);
    ImplicitLocOpBuilder b(op->getLoc(), builder);
    NVVM::BarrierOp::create(
        b, TypeRange(),
        arith::ConstantIntOp::create(b, kBarrierOfConsumers, 32),
        arith::ConstantIntOp::create(b, consumers, 32),
        NVVM::BarrierReductionAttr(), Value());
    op->erase();
  }
}

/// Registers of a thread: producers give those that they do not need to the
/// consumers.
void emitRegisters(IndexBuilder &b, int64_t number,
                   NVVM::SetMaxRegisterAction action) {
  NVVM::SetMaxRegisterOp::create(
      b, b.getI32IntegerAttr(int32_t(number)),
      NVVM::SetMaxRegisterActionAttr::get(b.getContext(), action));
}

LogicalResult split(gpu::LaunchOp launch) {
  APInt size;
  int64_t threads = matchPattern(launch.getBlockSizeX(), m_ConstantInt(&size))
                        ? size.getSExtValue()
                        : 0;
  if (getNumProducers(launch) % kThreadsOfWarpgroup != 0 ||
      getNumProducers(launch) >= threads || !launch.getBody().hasOneBlock())
    return launch.emitOpError("expected a multiple of ")
           << kThreadsOfWarpgroup << " as '" << kProducersAttr
           << "', fewer than a constant number of threads, in one block";
  int64_t consumers = threads - getNumProducers(launch);
  SmallVector<ProducersOp> roots;
  launch.walk([&](ProducersOp op) { roots.push_back(op); });
  OpBuilder builder(launch);
  IndexBuilder b(launch.getLoc(), builder);
  launch->removeAttr(kProducersAttr);
  if (roots.empty()) {
    launch.getBlockSizeXMutable().set(b.index(consumers));
    return success();
  }
  ProducerCode code(launch);
  if (failed(code.find(roots)))
    return failure();
  Block &body = launch.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  b.setInsertionPoint(body.getTerminator());
  // The first lane's, so that ptxas knows that no warp has both.
  Value thread =
      arith::IndexCastOp::create(b, b.getI32Type(), launch.getThreadIds().x);
  thread =
      gpu::ShuffleOp::create(b, thread, 0, kLanesOfWarp, gpu::ShuffleMode::IDX)
          .getShuffleResult();
  thread = arith::IndexCastOp::create(b, b.getIndexType(), thread);
  Value isProducer = b.compare(arith::CmpIPredicate::sge, thread, consumers);
  auto branch = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);
  // As in FlashAttention-3, where producers compute addresses: of the 168 that
  // each thread of three warpgroups begins with.
  constexpr int64_t kOfProducers = 40, kOfConsumers = 232;
  bool share = threads == 3 * kThreadsOfWarpgroup &&
               consumers == 2 * kThreadsOfWarpgroup;
  b.setInsertionPointToStart(branch.thenBlock());
  if (share)
    emitRegisters(b, kOfProducers, NVVM::SetMaxRegisterAction::decrease);
  code.emit(b);
  b.setInsertionPointToStart(branch.elseBlock());
  if (share)
    emitRegisters(b, kOfConsumers, NVVM::SetMaxRegisterAction::increase);
  for (Operation *op : ops)
    op->moveBefore(branch.elseBlock()->getTerminator());
  for (ProducersOp root : roots)
    root.erase();
  numberBarriers(*branch.elseBlock(), consumers);
  return success();
}

struct SplitRoles : attn::impl::SplitRolesBase<SplitRoles> {
  void runOnOperation() override {
    getOperation()->walk([&](gpu::LaunchOp launch) {
      if (getNumProducers(launch) != 0 && failed(split(launch)))
        signalPassFailure();
    });
  }
};

} // namespace
