//===- LayerLowering.cpp - attn.rope and attn.merge as loops ------------===//
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
#define GEN_PASS_DEF_LOWERMERGES
#include "lib/Reference/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// All heads of one position at a time: they turn by the same angles.
struct RopeLowering : TensorCode {
  RopeLowering(RopeOp op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op),
        elementType(op.getInputType().getElementType()),
        sums(AttentionOp::getAccumulationType(cast<FloatType>(elementType))) {}

  Value emit() {
    Value length = dim(op.getInput(), 2);
    Value batches = emitBatchSize(op.getInput(), length);
    return loop(0, batches, op.getOutput(), [&](Value n, Value output) {
      Value offset = index(0);
      if (Value given = op.getOffset()) // R4
        offset = isa<RankedTensorType>(given.getType()) ? loadIndex(given, n)
                                                        : toIndex(given);
      return loop(0, length, output, [&](Value i, Value output) {
        Value position = op.getPositions()
                             ? loadIndex(op.getPositions(), {n, i})
                             : add(offset, i);
        return emitRows(n, i, position, output);
      });
    });
  }

private:
  /// `size` elements of each head, from `first` on.
  Box box(Value n, Value i, int64_t first, int64_t size) {
    return {{n, 0, i, first}, {1, op.getInputType().getDimSize(1), 1, size}};
  }

  Value emitRows(Value n, Value i, Value position, Value output) {
    int64_t pairs = op.getNumPairs(), rotary = 2 * pairs,
            size = op.getInputType().getDimSize(3);
    bool isHalved = op.getPairing() == RopePairing::HalfSplit; // R3
    int64_t stride = isHalved ? 1 : 2;
    Box first = box(n, i, 0, pairs),
        second = box(n, i, isHalved ? pairs : 1, pairs);
    // Their elements are so far apart.
    SmallVector<OpFoldResult> strides = ones(4);
    strides.back() = getIndexAttr(stride);
    auto extractAll = [&](Value tensor, const Box &box) -> Value {
      return tensor::ExtractSliceOp::create(*this, tensor, fold(box.offsets),
                                            fold(box.sizes), strides);
    };
    Value x = extractAll(op.getInput(), first),
          y = extractAll(op.getInput(), second);
    Box angle{{position, 0}, {1, pairs}};
    Value cosine = extract(op.getCosine(), angle),
          sine = extract(op.getSine(), angle);

    auto turn = [&](Value x, Value y, bool isSecond, const Box &to) {
      Value turned = map(
          {x, y, cosine, sine}, extractAll(output, to),
          [&](ValueRange e) -> Value {
            Value along = mulF(convert(e[0], sums), convert(e[2], sums));
            Value across = mulF(convert(e[1], sums), convert(e[3], sums));
            return convert(isSecond ? addF(along, across) : subF(along, across),
                           elementType); // R1
          },
          {false, false, true, true});
      output = tensor::InsertSliceOp::create(
          *this, turned, output, fold(to.offsets), fold(to.sizes), strides);
    };
    turn(x, y, /*isSecond=*/false, first);
    turn(y, x, /*isSecond=*/true, second);
    if (rotary == size)
      return output;
    Box rest = box(n, i, rotary, size - rotary); // R2
    return insert(extract(op.getInput(), rest), output, rest);
  }

  RopeOp op;
  Type elementType;
  FloatType sums;
};

/// Shares of the two parts in rows of the output are computed once for each
/// row, or, with `byElement`, for each element.
template <bool byElement> struct MergeLowering : TensorCode {
  MergeLowering(MergeOp op, OpBuilder &builder)
      : TensorCode(op.getLoc(), builder), op(op) {}

  SmallVector<Value> emit() {
    Type type = cast<ShapedType>(op.getOutput1().getType()).getElementType();
    FloatType sums = AttentionOp::getAccumulationType(cast<FloatType>(type));
    Value zero = real(sums, 0.0);
    auto createShare = [&](Value lse1, Value lse2) -> Value {
      Value maximum = emitMaximum(lse1, lse2);
      Value weight = emitWeight(lse1, maximum);
      Value sum = addF(weight, emitWeight(lse2, maximum));
      return divF(weight, sum);
    };
    auto createPart = [&](Value element, Value share, Value lse) -> Value {
      Value part = mulF(convert(element, sums), share);
      return select(isMinusInfinity(lse), zero,
                    part); // M2
    };
    SmallVector<Value> inputs = {op.getOutput1(), op.getLse1(), op.getOutput2(),
                                 op.getLse2()};
    if (!byElement) {
      auto createShares = [&](Value lse, Value other) {
        inputs.push_back(
            map({lse, other}, emptyLike(lse, sums),
                [&](ValueRange e) { return createShare(e[0], e[1]); }));
      };
      createShares(op.getLse1(), op.getLse2());
      createShares(op.getLse2(), op.getLse1());
    }
    Value output = map(inputs, op.getOutput(), [&](ValueRange e) -> Value {
      Value share1 = byElement ? createShare(e[1], e[3]) : e[4],
            share2 = byElement ? createShare(e[3], e[1]) : e[5];
      Value sum =
          addF(createPart(e[0], share1, e[1]), createPart(e[2], share2, e[3]));
      return convert(sum, type);
    });
    if (!op.getLogSumExp())
      return {output};
    // The log of the sum is -inf if both parts are (M2).
    Value logSumExp = map({op.getLse1(), op.getLse2()}, op.getLogSumExp(),
                          [&](ValueRange e) -> Value {
                            Value maximum = emitMaximum(e[0], e[1]);
                            Value sum = addF(emitWeight(e[0], maximum),
                                             emitWeight(e[1], maximum));
                            return addF(maximum, log(sum));
                          });
    return {output, logSumExp};
  }

private:
  MergeOp op;
};

} // namespace

void attn::populateLayerLowerings(RewritePatternSet &patterns) {
  patterns.add<LowerRowOp<RopeOp, RopeLowering>,
               LowerRowOp<MergeOp, MergeLowering<false>>>(
      patterns.getContext());
}

namespace {
struct LowerMerges : attn::impl::LowerMergesBase<LowerMerges> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerRowOp<MergeOp, MergeLowering<true>>>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
