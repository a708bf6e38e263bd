//===- DecomposeAggregates.cpp - linalg.softmax and such to their steps ---===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
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

/// Upstream has no reshapes for others.
static LogicalResult checkTiles(Operation *op) {
  auto tiles = isa<linalg::PackOp>(op)
                   ? cast<linalg::PackOp>(op).getStaticInnerTiles()
                   : cast<linalg::UnPackOp>(op).getStaticInnerTiles();
  if (llvm::any_of(tiles, ShapedType::isDynamic))
    return op->emitOpError(
        "expected inner tiles that are known while compiling");
  return success();
}

/// Rewrites `op` to what it is made of, if it is made of others.
static LogicalResult decompose(RewriterBase &rewriter, Operation *op) {
  if (auto aggregate = dyn_cast<linalg::AggregatedOpInterface>(op)) {
    FailureOr<SmallVector<Value>> results =
        aggregate.decomposeOperation(rewriter);
    if (succeeded(results))
      rewriter.replaceOp(op, *results);
    return results;
  }
  if (auto pack = dyn_cast<linalg::PackOp>(op))
    return linalg::lowerPack(rewriter, pack);
  return linalg::lowerUnPack(rewriter, cast<linalg::UnPackOp>(op));
}

namespace {
struct DecomposeAggregates
    : attn::impl::DecomposeAggregatesBase<DecomposeAggregates> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      bool isAggregate =
          isa<linalg::AggregatedOpInterface>(op) && isOnTensors(op);
      if (isAggregate || isa<linalg::PackOp, linalg::UnPackOp>(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : ops) {
      if (failed(isa<linalg::AggregatedOpInterface>(op) ? checkElements(op)
                                                        : checkTiles(op)))
        return signalPassFailure();
      // Errors at what becomes of it shall find its name.
      op->setLoc(FusedLoc::get({op->getLoc()}, op->getName().getIdentifier(),
                               &getContext()));
      rewriter.setInsertionPoint(op);
      if (failed(decompose(rewriter, op))) {
        op->emitOpError("cannot be decomposed");
        return signalPassFailure();
      }
    }
  }
};
} // namespace
