//===- VectorizeRows.cpp - Elementwise operations as vectors --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/CPU/LinalgToVector/RowSlices.h"
#include "lib/CPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"

#include "llvm/ADT/bit.h"

namespace mlir::attn {
#define GEN_PASS_DEF_VECTORIZEROWS
#include "lib/CPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Registers that a slice of a row fills at most.
static constexpr int64_t kRowRegisters = 4;

namespace {
/// Emits the last loop of an operation, inside of the others.
class RowEmitter {
public:
  RowEmitter(OpBuilder &b, linalg::LinalgOp op, SmallVector<Value> outerLoops,
             int64_t lanes)
      : b(op.getLoc(), b), op(op), loops(std::move(outerLoops)), lanes(lanes) {
    loops.emplace_back();
  }

  /// Whole slices, and the rest in powers of two: LLVM does badly with other
  /// vectors.
  void emitStatic(int64_t size) {
    int64_t done = 0;
    if (size >= 2 * lanes) {
      done = size - size % lanes;
      emitLoop(b.index(0), b.index(done), lanes);
    }
    while (done < size) {
      int64_t fitting = llvm::bit_floor<uint64_t>(size - done);
      int64_t slice = std::min(lanes, fitting);
      emitSlice(b.index(done), slice);
      done += slice;
    }
  }

  /// Whole slices, and the rest one by one.
  void emitDynamic(Value size) {
    Value rest = b.rem(size, lanes);
    Value whole = b.sub(size, rest);
    emitLoop(b.index(0), whole, lanes);
    emitLoop(whole, size, 1);
  }

private:
  void emitLoop(Value lower, Value upper, int64_t slice) {
    b.loop(lower, upper, slice, [&](Value i) { emitSlice(i, slice); });
  }

  void emitSlice(Value position, int64_t slice) {
    loops.back() = position;
    SmallVector<Value> results = computeSlice(b, op, loops, slice);
    for (auto [result, output] :
         llvm::zip_equal(results, op.getDpsInitsMutable()))
      storeSlice(b, result, output, loops);
  }

  IndexBuilder b;
  linalg::LinalgOp op;
  SmallVector<Value> loops;
  int64_t lanes;
};
} // namespace

/// Replaces an operation on buffers that is elementwise along its last
/// dimension, which is contiguous, by loops around vectors. Fails, having
/// changed nothing and remarked why, on others; without a remark where a row is
/// one element.
static LogicalResult vectorizeRows(RewriterBase &rewriter, linalg::LinalgOp op,
                                   const VectorRegisters &registers) {
  if (!op.hasPureBufferSemantics())
    return failure();
  if (StringRef reason = whyNoRowSlices(op); !reason.empty()) {
    SmallVector<int64_t> sizes = op.getStaticLoopRanges();
    if (sizes.empty() || sizes.back() == 1)
      return rewriter.notifyMatchFailure(op, "has rows of one element");
    return op.emitRemark("not computed by vectors: ") << reason;
  }
  IndexBuilder b(op.getLoc(), rewriter);
  b.setInsertionPoint(op);
  SmallVector<Value> sizes;
  SmallVector<Value> loops = emitOuterLoops(b, op, sizes);
  int64_t width = registers.getWidth(getWidestElementBits(op));
  RowEmitter emitter(b, op, std::move(loops), kRowRegisters * width);
  if (int64_t size = op.getStaticLoopRanges().back();
      !ShapedType::isDynamic(size))
    emitter.emitStatic(size);
  else
    emitter.emitDynamic(sizes.back());
  rewriter.eraseOp(op);
  return success();
}

/// A product whose terms are added in the last loop, such as of a matrix of few
/// or of any number of columns, or of elements that no product in registers
/// has: with its columns in the last loop instead, if it then has rows.
static linalg::LinalgOp putColumnsLast(RewriterBase &rewriter,
                                       linalg::LinalgOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 ||
      !linalg::isaContractionOpInterface(op) ||
      op.getIteratorTypesArray().back() != utils::IteratorType::reduction)
    return op;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (map.getNumResults() == 0)
    return op;
  auto column = dyn_cast<AffineDimExpr>(map.getResults().back());
  if (!column || op.getStaticLoopRanges()[column.getPosition()] == 1)
    return op;
  SmallVector<unsigned> order;
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (dim != column.getPosition())
      order.push_back(dim);
  order.push_back(column.getPosition());
  rewriter.setInsertionPoint(op);
  auto copy = cast<linalg::LinalgOp>(rewriter.clone(*op));
  FailureOr<linalg::GenericOp> generic =
      isa<linalg::GenericOp>(copy)
          ? FailureOr(cast<linalg::GenericOp>(copy.getOperation()))
          : linalg::generalizeNamedOp(rewriter, copy);
  if (succeeded(generic))
    generic = linalg::interchangeGenericOp(rewriter, *generic, order);
  if (failed(generic))
    return op;
  if (!whyNoRowSlices(*generic).empty()) {
    rewriter.eraseOp(*generic);
    return op;
  }
  rewriter.eraseOp(op);
  return *generic;
}

namespace {
struct VectorizeRows : attn::impl::VectorizeRowsBase<VectorizeRows> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    TargetAttr target = getTarget(getOperation());
    VectorRegisters registers = {unsigned(target.getVectorBits()), /*count=*/0};
    for (linalg::LinalgOp op : ops)
      if (!(target.hasPairs() &&
            (succeeded(vectorizePairs(rewriter, op)) ||
             succeeded(vectorizeRoundedColumns(rewriter, op)))) &&
          failed(widenPairs(rewriter, op, registers)) &&
          failed(vectorizeTranspose(rewriter, op, registers)) &&
          failed(vectorizeReduction(rewriter, op, registers)))
        (void)vectorizeRows(rewriter, putColumnsLast(rewriter, op), registers);
  }
};
} // namespace
