//===- SeparateResults.cpp - No result in the buffer of another -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Upstream's elimination of empty tensors computes a result in the buffer that
// it is to be written to. It looks at one result at a time: where the values
// that another result is made of may be in the same buffer, they are
// overwritten before that other one is read.

#include "lib/Kernel/Passes.h"
#include "lib/Kernel/Transforms.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SEPARATERESULTS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::bufferization;

namespace {

/// Follows a tensor to everything that may be in its buffer.
class BufferSharing {
public:
  explicit BufferSharing(const AnalysisState &state) : state(state) {}

  /// The buffers of the caller that are written from the buffer of `use`.
  llvm::SmallPtrSet<Value, 2> findDestinations(OpOperand &use) {
    follow(use);
    while (!pending.empty())
      for (OpOperand &next : pending.pop_back_val().getUses())
        follow(next);
    return std::move(destinations);
  }

private:
  void add(ValueRange values) {
    for (Value value : values)
      if (isa<TensorType>(value.getType()) && seen.insert(value).second)
        pending.push_back(value);
  }

  void follow(OpOperand &use) {
    Operation *op = use.getOwner();
    unsigned number = use.getOperandNumber();
    if (auto write = dyn_cast<MaterializeInDestinationOp>(op);
        write && isa<BaseMemRefType>(write.getDest().getType())) {
      destinations.insert(write.getDest());
      return;
    }
    if (auto branch = dyn_cast<BranchOpInterface>(op)) {
      if (auto argument = branch.getSuccessorBlockArgument(number))
        add(*argument);
      return;
    }
    for (AliasingValue alias : state.getAliasingValues(use))
      add(alias.value);
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      if (BlockArgument argument = loop.getTiedLoopRegionIterArg(&use))
        add(argument);
    if (op->hasTrait<OpTrait::IsTerminator>())
      followYield(op, number);
  }

  /// To the results of the op around, and to its next iteration.
  void followYield(Operation *op, unsigned number) {
    Operation *parent = op->getParentOp();
    if (isa<scf::WhileOp>(parent)) { // Which of its two regions is the next?
      add(parent->getResults());
      for (Region &region : parent->getRegions())
        add(region.getArguments());
      return;
    }
    if (number >= parent->getNumResults())
      return;
    add(parent->getResult(number));
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      add(loop.getRegionIterArg(number));
  }

  const AnalysisState &state;
  SmallVector<Value> pending;
  llvm::SmallPtrSet<Value, 16> seen;
  llvm::SmallPtrSet<Value, 2> destinations;
};

} // namespace

/// Replaces empty tensors that several results are computed from by buffers of
/// their own, as upstream's elimination of empty tensors expects.
static void separateResults(Operation *root) {
  BufferizationOptions options;
  AnalysisState state(options);
  SmallVector<tensor::EmptyOp> empties;
  root->walk([&](tensor::EmptyOp op) { empties.push_back(op); });
  for (tensor::EmptyOp empty : empties) {
    for (OpOperand &use : llvm::make_early_inc_range(empty->getUses())) {
      if (BufferSharing(state).findDestinations(use).size() < 2)
        continue;
      OpBuilder builder(empty);
      use.set(AllocTensorOp::create(builder, empty.getLoc(), empty.getType(),
                                    empty.getDynamicSizes()));
    }
    if (empty->use_empty())
      empty->erase();
  }
}

namespace {
struct SeparateResults : attn::impl::SeparateResultsBase<SeparateResults> {
  void runOnOperation() override {
    sinkDestinations(getOperation());
    separateResults(getOperation());
  }
};
} // namespace
