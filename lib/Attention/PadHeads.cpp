//===- PadHeads.cpp - Head sizes that fill tiles --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/Passes.h"
#include "lib/Plan/Plan.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_PADHEADS
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Rows that one iteration of the parallel loop copies.
static constexpr int64_t kRowsPerTile = 256;

/// Copies the rows of a tensor `(B, H, S, ...)` to those of another, in
/// parallel. What a row of one has more is not copied.
static Value copyRows(IndexBuilder &b, Value from, Value to,
                      function_ref<Value(Value from, Value to)> copy) {
  SmallVector<OpFoldResult> sizes = b.sizes(from), ends(sizes);
  ends.pop_back();
  OpBuilder::InsertionGuard guard(b);
  scf::ForallOp loop = b.enterForall(ends, to, b.fold({1, 1, kRowsPerTile}));
  SmallVector<Value> at(loop.getInductionVars());
  AffineExpr first = b.getAffineSymbolExpr(0), end = b.getAffineSymbolExpr(1);
  OpFoldResult count = b.minimum(
      {b.getAffineConstantExpr(kRowsPerTile), end - first}, {at[2], ends[2]});
  auto getBox = [&](Value tensor) -> IndexBuilder::Box {
    int64_t size = cast<RankedTensorType>(tensor.getType()).getDimSize(3);
    return {{at[0], at[1], at[2], 0}, {1, 1, count, size}};
  };
  Value all = loop.getRegionIterArgs()[0];
  Value rows = copy(b.extract(from, getBox(from)), b.extract(all, getBox(all)));
  b.insertInParallel(loop, rows, all, getBox(all));
  return loop.getResult(0);
}

/// A tensor `(B, H, S, D)` with the type of `padded`, whose rows end with 0.
static Value pad(IndexBuilder &b, Value tensor, Value padded) {
  return copyRows(b, tensor, padded, [&](Value rows, Value longer) -> Value {
    int64_t size = cast<RankedTensorType>(rows.getType()).getDimSize(3),
            all = cast<RankedTensorType>(longer.getType()).getDimSize(3);
    SmallVector<OpFoldResult> sizes = b.sizes(longer), offsets = b.zeros(4);
    auto update = [&](int64_t first, int64_t count,
                      function_ref<Value(Value)> compute) {
      offsets[3] = b.getIndexAttr(first);
      sizes[3] = b.getIndexAttr(count);
      Value part = compute(b.slice(longer, offsets, sizes));
      longer = b.insert(part, longer, offsets, sizes);
    };
    update(size, all - size, [&](Value part) { return b.fillWithZero(part); });
    update(0, size, [&](Value part) {
      return linalg::CopyOp::create(b, rows, part).getResult(0);
    });
    return longer;
  });
}

/// The beginnings of the rows of `padded`, in the rows of `tensor`.
static Value cut(IndexBuilder &b, Value padded, Value tensor) {
  return copyRows(b, padded, tensor, [&](Value longer, Value rows) -> Value {
    Value part = b.slice(longer, b.zeros(4), b.sizes(rows));
    return linalg::CopyOp::create(b, part, rows).getResult(0);
  });
}

/// An empty tensor like `tensor`, with `size` elements in each row.
static Value createLonger(IndexBuilder &b, Value tensor, int64_t size) {
  SmallVector<OpFoldResult> sizes = b.sizes(tensor);
  sizes[3] = b.getIndexAttr(size);
  return b.empty(sizes, getElementTypeOrSelf(tensor));
}

namespace {
/// What has rows of queries and keys, and of values. Of an attention, these
/// need no padding: their size is that of the output, not of a sum.
struct RowOperands {
  SmallVector<OpOperand *> ofKeys, ofValues;
};
} // namespace

static RowOperands getRows(AttentionOp op) {
  return {{&op.getQueryMutable(), &op.getKeyMutable()}, {}};
}

static RowOperands getRows(AttentionBackwardOp op) {
  MutableOperandRange gradients = op.getOutsMutable();
  return {{&op.getQueryMutable(), &op.getKeyMutable(), &gradients[0],
           &gradients[1]},
          {&op.getValueMutable(), &op.getOutputMutable(),
           &op.getOutputGradientMutable(), &gradients[2]}};
}

static RowOperands getRows(AttentionTangentOp op) {
  RowOperands rows = {
      {&op.getQueryMutable(), &op.getKeyMutable()},
      {&op.getValueMutable(), &op.getOutputMutable(), &op.getOutsMutable()[0]}};
  for (MutableOperandRange tangent :
       {op.getQueryTangentMutable(), op.getKeyTangentMutable()})
    for (OpOperand &operand : tangent)
      rows.ofKeys.push_back(&operand);
  for (OpOperand &operand : op.getValueTangentMutable())
    rows.ofValues.push_back(&operand);
  return rows;
}

/// Pads rows with 0, in parallel, which changes no score, to what the plan
/// says, and those of values of derivatives to whole vectors.
template <typename Op> static void padHeads(RewriterBase &rewriter, Op op) {
  PlanAttr plan = getPlan(op);
  if (!plan || plan.getHeadSize() == 0)
    return;
  int64_t ofValues = op.getValueType().getDimSize(3);
  if (!isa<AttentionOp>(op))
    ofValues =
        int64_t(llvm::alignTo(uint64_t(ofValues), uint64_t(plan.getLanes())));
  if (plan.getHeadSize() == op.getQueryType().getDimSize(3) &&
      ofValues == op.getValueType().getDimSize(3))
    return;
  rewriter.setInsertionPoint(op);
  IndexBuilder b(op.getLoc(), rewriter);
  auto padded = cast<Op>(b.clone(*op));
  b.setInsertionPoint(padded);
  SmallVector<Value> results(padded->getResults());
  auto padRows = [&](ArrayRef<OpOperand *> operands, int64_t size) {
    for (OpOperand *operand : operands) {
      Value tensor = operand->get();
      if (cast<ShapedType>(tensor.getType()).getDimSize(3) == size)
        continue;
      Value longer = createLonger(b, tensor, size);
      if (!padded.isDpsInit(operand)) {
        operand->set(pad(b, tensor, longer));
        continue;
      }
      operand->set(longer);
      OpResult result = padded.getTiedOpResult(operand);
      result.setType(cast<RankedTensorType>(longer.getType()));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfter(padded);
      results[result.getResultNumber()] = cut(b, result, tensor);
    }
  };
  // The default would be that of the larger size.
  if (std::optional<double> scale = op.getConstantScale())
    padded.setStaticScaleAttr(rewriter.getF64FloatAttr(*scale));
  RowOperands rows = getRows(padded);
  padRows(rows.ofKeys, plan.getHeadSize());
  padRows(rows.ofValues, ofValues);
  rewriter.replaceOp(op, results);
}

namespace {
struct PadHeads : attn::impl::PadHeadsBase<PadHeads> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<AttentionOp, AttentionBackwardOp, AttentionTangentOp>(op) &&
          op->getNumResults() > 0)
        ops.push_back(op);
    });
    for (Operation *op : ops)
      llvm::TypeSwitch<Operation *>(op)
          .Case<AttentionOp, AttentionBackwardOp, AttentionTangentOp>(
              [&](auto attention) { padHeads(rewriter, attention); });
  }
};
} // namespace
