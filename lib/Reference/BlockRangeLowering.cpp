//===- BlockRangeLowering.cpp - attn.block_range as loops -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Reference/Lowerings.h"
#include "lib/Reference/Passes.h"
#include "lib/Reference/TensorCode.h"

#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_LOWERBLOCKRANGES
#include "lib/Reference/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The elements of a block, one after the other.
struct BlockRangeLowering : TensorCode {
  BlockRangeLowering(BlockRangeOp op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op) {}

  SmallVector<Value> emit() {
    Type element = getElementTypeOrSelf(op.getTable());
    if (isa<FloatType>(element)) // NaN, if there is one.
      return {forBlocks<arith::MinimumFOp>({}, op.getLow()),
              forBlocks<arith::MaximumFOp>({}, op.getHigh())};
    if (element.isInteger(1)) // True is larger.
      return {forBlocks<arith::MinUIOp>({}, op.getLow()),
              forBlocks<arith::MaxUIOp>({}, op.getHigh())};
    return {forBlocks<arith::MinSIOp>({}, op.getLow()),
            forBlocks<arith::MaxSIOp>({}, op.getHigh())};
  }

private:
  /// Writes what the blocks have whose first numbers are `block`.
  template <typename Combine>
  Value forBlocks(SmallVector<Value> block, Value out) {
    auto dimension = int64_t(block.size());
    if (dimension == int64_t(op.getBlocks().size())) {
      SmallVector<Value> first;
      for (auto [number, size] : llvm::zip_equal(block, op.getBlocks()))
        first.push_back(mul(number, size));
      Value initial = load(op.getTable(), first);
      return store(forElements<Combine>(first, {}, initial), out, block);
    }
    block.push_back({});
    return loop(0, dim(out, dimension), out, [&](Value number, Value out) {
      block.back() = number;
      return forBlocks<Combine>(block, out);
    });
  }

  /// Combines the elements of a block whose first indices are `at`.
  template <typename Combine>
  Value forElements(ArrayRef<Value> first, SmallVector<Value> at, Value soFar) {
    size_t dimension = at.size();
    if (dimension == first.size())
      return Combine::create(*this, soFar, load(op.getTable(), at));
    Value end = min(add(first[dimension], op.getBlocks()[dimension]),
                    dim(op.getTable(), int64_t(dimension)));
    at.push_back({});
    return loop(first[dimension], end, soFar, [&](Value i, Value soFar) {
      at.back() = i;
      return forElements<Combine>(first, at, soFar);
    });
  }

  BlockRangeOp op;
};

struct LowerBlockRanges : attn::impl::LowerBlockRangesBase<LowerBlockRanges> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerOp<BlockRangeOp, BlockRangeLowering>>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
