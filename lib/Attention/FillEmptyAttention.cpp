//===- FillEmptyAttention.cpp - Attention to no keys ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/CreateGeneric.h"
#include "lib/Attention/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_FILLEMPTYATTENTION
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static Value emitFill(OpBuilder &b, Location loc, Value out, double value) {
  Type type = cast<RankedTensorType>(out.getType()).getElementType();
  Value constant =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  return linalg::FillOp::create(b, loc, constant, out).getResult(0);
}

/// The sink of a row as its log-sum-exp, A14.
static Value emitSinks(OpBuilder &b, Location loc, Value sink, Value out) {
  auto type = cast<RankedTensorType>(out.getType());
  AffineExpr head = b.getAffineDimExpr(1), row = b.getAffineDimExpr(2);
  bool isPerRow = cast<RankedTensorType>(sink.getType()).getRank() == 2;
  AffineMap read = isPerRow ? AffineMap::get(3, 0, {head, row}, b.getContext())
                            : AffineMap::get(3, 0, head);
  return createGeneric(b, loc, sink, out, {read, b.getMultiDimIdentityMap(3)},
                       [&](ValueRange e) -> Value {
                         if (e[0].getType() == type.getElementType())
                           return e[0];
                         return arith::ExtFOp::create(
                             b, loc, type.getElementType(), e[0]);
                       });
}

/// What `op` is, if its type says that it is empty.
static SmallVector<Value> emitEmpty(OpBuilder &b, AttentionOp op) {
  ShapedType query = op.getQueryType();
  if (query.getDimSize(0) == 0 || query.getDimSize(2) == 0)
    return op.getOuts();
  Location loc = op.getLoc();
  SmallVector<Value> results = {emitFill(b, loc, op.getOutput(), 0.0)};
  if (Value out = op.getLogSumExp())
    results.push_back(
        op.getSink()
            ? emitSinks(b, loc, op.getSink(), out)
            : emitFill(b, loc, out, -std::numeric_limits<double>::infinity()));
  return results;
}

namespace {
struct FillEmptyAttention
    : attn::impl::FillEmptyAttentionBase<FillEmptyAttention> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) {
      bool hasRows = op.getQueryType().getDimSize(0) != 0 &&
                     op.getQueryType().getDimSize(2) != 0;
      if (op->getNumResults() != 0 && op.isKnownEmpty() &&
          !(op.isRagged() && hasRows))
        ops.push_back(op);
    });
    for (AttentionOp op : ops) {
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, emitEmpty(rewriter, op));
    }
  }
};
} // namespace
