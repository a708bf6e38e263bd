//===- RangesToElements.cpp - Ranges of blocks of tables, by thread -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/GPU/ParallelElements.h"
#include "lib/GPU/Passes.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"

namespace mlir::attn {
#define GEN_PASS_DEF_RANGESTOELEMENTS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A thread goes through the elements of a block.
class BlockRangeElements {
public:
  BlockRangeElements(IndexBuilder &builder, BlockRangeOp op)
      : b(builder), op(op) {}

  SmallVector<Value> emit() {
    Type element = getElementTypeOrSelf(op.getTable());
    if (isa<FloatType>(element)) // NaN, if there is one.
      return emitBlocks<arith::MinimumFOp, arith::MaximumFOp>();
    if (element.isInteger(1)) // True is larger.
      return emitBlocks<arith::MinUIOp, arith::MaxUIOp>();
    return emitBlocks<arith::MinSIOp, arith::MaxSIOp>();
  }

private:
  template <typename Min, typename Max> SmallVector<Value> emitBlocks() {
    OpBuilder::InsertionGuard guard(b);
    scf::ForallOp blocks = b.enterForall(b.sizes(op.getLow()), op.getOuts());
    SmallVector<Value> ivs(blocks.getInductionVars()), first;
    for (auto [iv, size] : llvm::zip_equal(ivs, op.getBlocks()))
      first.push_back(b.mul(iv, size));
    Value any = b.load(op.getTable(), first);
    SmallVector<Value> range =
        emitElements<Min, Max>(first, /*at=*/{}, {any, any});
    SmallVector<OpFoldResult> at = getAsOpFoldResult(ivs),
                              ones = b.ones(at.size());
    for (auto [found, out] : llvm::zip_equal(range, blocks.getRegionIterArgs()))
      b.insertInParallel(blocks,
                         insertElement(b, found, b.slice(out, at, ones)), out,
                         at, ones);
    return SmallVector<Value>(blocks.getResults());
  }

  template <typename Min, typename Max>
  SmallVector<Value> emitElements(ArrayRef<Value> first, SmallVector<Value> at,
                                  ValueRange soFar) {
    if (at.size() == first.size()) {
      Value element = b.load(op.getTable(), at);
      return {Min::create(b, soFar[0], element),
              Max::create(b, soFar[1], element)};
    }
    size_t dim = at.size();
    int64_t size = op.getBlocks()[dim];
    at.push_back(first[dim]);
    if (size == 1)
      return emitElements<Min, Max>(first, at, soFar);
    Value end = b.min(b.add(first[dim], size), b.size(op.getTable(), dim));
    Value last = b.sub(end, 1);
    // Several that do not wait for each other. Behind the last one, that again.
    int64_t step = dim + 1 == first.size() ? std::min(size, kLoads) : 1;
    return b.loop(first[dim], end, step, soFar,
                  [&](Value i, ValueRange carried) {
                    SmallVector<Value> range(carried);
                    for (int64_t k = 0; k < step; ++k) {
                      at[dim] = k == 0 ? i : b.min(b.add(i, k), last);
                      range = emitElements<Min, Max>(first, at, range);
                    }
                    return range;
                  });
  }

  static constexpr int64_t kLoads = 8;

  IndexBuilder &b;
  BlockRangeOp op;
};
} // namespace

namespace {
struct RangesToElements : attn::impl::RangesToElementsBase<RangesToElements> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](BlockRangeOp op) {
      if (op->getNumResults() == 0)
        return;
      rewriter.setInsertionPoint(op);
      IndexBuilder b(op->getLoc(), rewriter);
      rewriter.replaceOp(op, BlockRangeElements(b, op).emit());
    });
  }
};
} // namespace
