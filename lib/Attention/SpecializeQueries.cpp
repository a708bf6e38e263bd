//===- SpecializeQueries.cpp - A form for one query -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Attention/Passes.h"
#include "lib/Attention/Transforms.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SPECIALIZEQUERIES
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The first row of a tensor `(B, Hq, Sq, ...)`.
struct Row {
  Row(OpBuilder &b, Value tensor)
      : loc(tensor.getLoc()), sizes(tensor::getMixedSizes(b, loc, tensor)),
        offsets(sizes.size(), b.getIndexAttr(0)),
        strides(sizes.size(), b.getIndexAttr(1)) {
    sizes[2] = b.getIndexAttr(1);
  }
  Value createEmpty(OpBuilder &b, Value tensor) const {
    return tensor::EmptyOp::create(
        b, loc, sizes,
        cast<RankedTensorType>(tensor.getType()).getElementType());
  }
  Value extract(OpBuilder &b, Value tensor) const {
    return tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes,
                                          strides);
  }
  Value insert(OpBuilder &b, Value row, Value tensor) const {
    return tensor::InsertSliceOp::create(b, loc, row, tensor, offsets, sizes,
                                         strides);
  }
  Value view(OpBuilder &b, Value buffer) const {
    return memref::SubViewOp::create(b, loc, buffer, offsets, sizes, strides);
  }

  Location loc;
  SmallVector<OpFoldResult> sizes, offsets, strides;
};

/// Emits the branches of one op.
class QueryBranches {
public:
  using Write = bufferization::MaterializeInDestinationOp;

  QueryBranches(AttentionOp op) : op(op), loc(op.getLoc()) {
    for (Value result : op->getResults())
      writes.push_back(getOnlyWrite(result));
  }

  /// Where each result is written to, if that is all it is used for; or null.
  /// That is done in the branches: upstream's elimination of empty tensors
  /// follows the results of a condition into one of them only.
  ArrayRef<Write> getWrites() const { return writes; }

  void emitOne(OpBuilder &b) {
    Value query = Row(b, op.getQuery()).extract(b, op.getQuery());
    SmallVector<Row> rows;
    SmallVector<Value> outs;
    for (auto [out, write] : llvm::zip(op.getOuts(), writes)) {
      Row &row = rows.emplace_back(b, out);
      // Of a destination that nothing else is about, only the row.
      outs.push_back(write && out.getDefiningOp<tensor::EmptyOp>()
                         ? row.createEmpty(b, out)
                         : row.extract(b, out));
    }
    auto step = cast<AttentionOp>(b.clone(*op));
    step.getQueryMutable().assign(query);
    step.getOutsMutable().assign(outs);
    SmallVector<Value> yielded;
    for (auto [result, row, out, write, init] :
         llvm::zip(step.getResults(), rows, outs, writes, op.getOuts())) {
      result.setType(cast<RankedTensorType>(out.getType()));
      if (write)
        emitWrite(b, write, result, row.view(b, write.getDest()));
      else
        yielded.push_back(row.insert(b, result, init));
    }
    scf::YieldOp::create(b, loc, yielded);
  }

  void emitMany(OpBuilder &b) {
    SmallVector<Value> yielded;
    for (auto [result, write] : llvm::zip(b.clone(*op)->getResults(), writes))
      if (write)
        emitWrite(b, write, result, write.getDest());
      else
        yielded.push_back(result);
    scf::YieldOp::create(b, loc, yielded);
  }

private:
  static Write getOnlyWrite(Value result) {
    if (!result.hasOneUse())
      return nullptr;
    auto write = dyn_cast<Write>(*result.user_begin());
    return write && isa<MemRefType>(write.getDest().getType()) ? write
                                                               : nullptr;
  }

  static void emitWrite(OpBuilder &b, Write write, Value source, Value dest) {
    auto copy = cast<Write>(b.clone(*write));
    copy.getSourceMutable().assign(source);
    copy.getDestMutable().assign(dest);
  }

  AttentionOp op;
  Location loc;
  SmallVector<Write> writes;
};

} // namespace

LogicalResult attn::specializeQueries(RewriterBase &rewriter, AttentionOp op) {
  if (op.isPacked() || !findObstacle(op).empty())
    return rewriter.notifyMatchFailure(op, "is lowered by the reference path");
  if (!op.getQueryType().isDynamicDim(2))
    return rewriter.notifyMatchFailure(op, "its number of queries is known");
  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  Value one = arith::ConstantIndexOp::create(rewriter, loc, 1);
  Value isOne = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::eq,
      rewriter.createOrFold<tensor::DimOp>(loc, op.getQuery(), 2), one);
  QueryBranches branches(op);
  auto choice = scf::IfOp::create(
      rewriter, loc, isOne,
      [&](OpBuilder &b, Location) { branches.emitOne(b); },
      [&](OpBuilder &b, Location) { branches.emitMany(b); });
  auto yielded = choice.getResults().begin();
  for (auto [result, write] : llvm::zip(op->getResults(), branches.getWrites()))
    if (write)
      rewriter.eraseOp(write);
    else
      rewriter.replaceAllUsesWith(result, *yielded++);
  rewriter.eraseOp(op);
  return success();
}

namespace {
struct SpecializeQueries
    : attn::impl::SpecializeQueriesBase<SpecializeQueries> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops)
      (void)specializeQueries(rewriter, op);
  }
};
} // namespace
