//===- AddRuntimeChecks.cpp - Check what no verifier can know -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/CheckCacheReads.h"
#include "lib/Kernel/Passes.h"

#include "dialect/AttnDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ADDRUNTIMECHECKS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static std::string describe(Operation *op, StringRef what) {
  return ("'" + op->getName().getStringRef() + "' op " + what).str();
}

/// Moves integers up to where all that they are computed from is known: checks
/// of them can then come before everything that is written.
static void hoistIntegers(Operation *root) {
  root->walk([](Operation *op) {
    bool isInteger = llvm::all_of(
        op->getResultTypes(), [](Type type) { return type.isIntOrIndex(); });
    if (!isInteger || op->getNumResults() == 0 || op->getNumRegions() != 0 ||
        !isPure(op))
      return;
    Block *block = op->getBlock();
    Operation *last = nullptr;
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && source->getBlock() == block)
        if (!last || last->isBeforeInBlock(source))
          last = source;
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(block, block->begin());
  });
}

/// Keeps a step that passes fold to a constant positive.
static void limitStep(OpBuilder &builder, Location loc, OpOperand &step,
                      bool isUnsigned) {
  Value value = step.get();
  if (getConstantIntValue(value))
    return;
  Value one = arith::ConstantOp::create(builder, loc,
                                        builder.getOneAttr(value.getType()));
  if (isUnsigned)
    step.set(arith::MaxUIOp::create(builder, loc, value, one));
  else
    step.set(arith::MaxSIOp::create(builder, loc, value, one));
}

/// Keeps an index that passes fold to a constant inside the rank.
static void limitIndex(OpBuilder &builder, tensor::DimOp dim) {
  auto type = dyn_cast<RankedTensorType>(dim.getSource().getType());
  if (!type || dim.getConstantIndex())
    return;
  Location loc = dim.getLoc();
  Value last = arith::ConstantIndexOp::create(builder, loc, type.getRank() - 1);
  dim.getIndexMutable().assign(
      arith::MinUIOp::create(builder, loc, dim.getIndex(), last));
}

/// Brings operands that have been checked into their range: analyses of later
/// passes do not check again.
static void limitOperands(OpBuilder &builder, Operation *op) {
  if (auto dim = dyn_cast<tensor::DimOp>(op))
    limitIndex(builder, dim);
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    limitStep(builder, op->getLoc(), loop.getStepMutable(),
              loop.getUnsignedCmp());
  else if (auto loop = dyn_cast<scf::ParallelOp>(op))
    for (OpOperand &step : loop.getStepMutable())
      limitStep(builder, op->getLoc(), step, /*isUnsigned=*/false);
}

/// Inserts `cf.assert` before every operation in `root` that is undefined for
/// some values of its operands.
static void addRuntimeChecks(Operation *root) {
  hoistIntegers(root);
  // Collected first: the checks themselves are not to be checked.
  SmallVector<RuntimeVerifiableOpInterface> verifiable;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    // Buffers of results are cast to sizes that whoever calls has checked.
    if (isa_and_nonnull<memref::MemRefDialect>(op->getDialect()))
      return WalkResult::advance();
    if (auto interface = dyn_cast<RuntimeVerifiableOpInterface>(op))
      verifiable.push_back(interface);
    // In the regions of attn ops, the lowering decides where a value counts.
    return isa_and_nonnull<AttnDialect>(op->getDialect())
               ? WalkResult::skip()
               : WalkResult::advance();
  });
  // The last ones first: checks that move to one place stand in the order of
  // their ops.
  for (RuntimeVerifiableOpInterface op : llvm::reverse(verifiable)) {
    OpBuilder builder(op);
    checkCacheReads(builder, op, describe);
    op.generateRuntimeVerification(builder, op.getLoc(), describe);
    limitOperands(builder, op);
  }
}

namespace {
struct AddRuntimeChecks : attn::impl::AddRuntimeChecksBase<AddRuntimeChecks> {
  void runOnOperation() override { addRuntimeChecks(getOperation()); }
};
} // namespace
