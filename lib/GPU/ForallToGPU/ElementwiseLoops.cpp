//===- ElementwiseLoops.cpp - Elementwise operations of the host ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/ForallToGPU/HostCode.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether each element of the outputs is computed from elements of buffers.
static bool isElementwise(linalg::LinalgOp op) {
  return op.hasPureBufferSemantics() &&
         op.getNumParallelLoops() == op.getNumLoops() &&
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
        elementwise && isElementwise(elementwise))
      ops.push_back(elementwise);
    return WalkResult::advance();
  });
  for (linalg::LinalgOp op : ops)
    convert(rewriter, op);
}
