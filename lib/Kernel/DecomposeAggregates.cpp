//===- DecomposeAggregates.cpp - linalg.softmax to its steps --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DECOMPOSEAGGREGATES
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

static bool isOnTensors(Operation *op) {
  return llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>);
}

/// Upstream has no terms for integers.
static LogicalResult checkElements(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (Type element = getElementTypeOrSelf(type); !isa<FloatType>(element))
      return op->emitOpError("expected elements of a float type, got ")
             << element;
  return success();
}

/// Keeps the name of `op` where errors at what becomes of it find it.
static LogicalResult decompose(linalg::AggregatedOpInterface op) {
  IRRewriter rewriter(op);
  op->setLoc(FusedLoc::get({op.getLoc()}, op->getName().getIdentifier(),
                           op.getContext()));
  FailureOr<SmallVector<Value>> results = op.decomposeOperation(rewriter);
  if (failed(results))
    return op.emitOpError("cannot be decomposed");
  rewriter.replaceOp(op, *results);
  return success();
}

namespace {
struct DecomposeAggregates
    : attn::impl::DecomposeAggregatesBase<DecomposeAggregates> {
  void runOnOperation() override {
    SmallVector<linalg::AggregatedOpInterface> ops;
    getOperation()->walk([&](linalg::AggregatedOpInterface op) {
      if (isOnTensors(op))
        ops.push_back(op);
    });
    for (linalg::AggregatedOpInterface op : ops)
      if (failed(checkElements(op)) || failed(decompose(op)))
        return signalPassFailure();
  }
};
} // namespace
