//===- OwnDestinations.cpp - A destination for each operation -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/GPU/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_OWNDESTINATIONS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether a destination cannot be written, or is another operation's too.
static bool isNotOwn(OpOperand &destination) {
  Value value = destination.get();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (value.getDefiningOp<arith::ConstantOp>())
    return true;
  return value.getDefiningOp<tensor::EmptyOp>() &&
         llvm::any_of(value.getUses(), [&](OpOperand &use) {
           return &use != &destination && !isa<tensor::DimOp>(use.getOwner());
         });
}

namespace {
struct OwnDestinations : attn::impl::OwnDestinationsBase<OwnDestinations> {
  void runOnOperation() override {
    OpBuilder builder(&getContext());
    getOperation()->walk([&](DestinationStyleOpInterface op) {
      // What their destinations hold is not read.
      if (!isa<AttentionOp, MergeOp, MultiTokenAttentionOp, RopeOp>(op) ||
          !op.hasPureTensorSemantics())
        return;
      builder.setInsertionPoint(op);
      for (OpOperand &destination : op.getDpsInitsMutable()) {
        if (!isNotOwn(destination))
          continue;
        auto type = cast<RankedTensorType>(destination.get().getType());
        destination.set(tensor::EmptyOp::create(
            builder, op.getLoc(),
            tensor::getMixedSizes(builder, op.getLoc(), destination.get()),
            type.getElementType()));
      }
    });
  }
};
} // namespace
