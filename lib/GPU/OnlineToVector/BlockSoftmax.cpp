//===- BlockSoftmax.cpp - Weights of one block of keys --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/OnlineToVector/BlockSoftmax.h"
#include "dialect/AttnOps.h"
#include "lib/GPU/OnlineToVector/BlockToVector.h"
#include "lib/GPU/OnlineToVector/RegionToVector.h"
#include "lib/Math/MathBuilder.h"
#include "lib/Online/OnlineQuery.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

using namespace mlir;
using namespace mlir::attn;

bool attn::isRelativeToPower(OnlineAttentionOp op) {
  return op.getBounded() && findFusedScale(op);
}

/// The difference of equal infinities would be NaN.
constexpr double kLowest = std::numeric_limits<float>::lowest();

Value attn::emitExponents(OpBuilder &builder, Location loc, Value maxima) {
  MathBuilder b(loc, builder);
  return arith::MaximumFOp::create(b, b.mul(maxima, std::numbers::log2e),
                                   b.real(maxima, kLowest));
}

Value attn::emitMaxima(OpBuilder &builder, Location loc, Value exponents) {
  MathBuilder b(loc, builder);
  return b.select(b.isEqual(exponents, kLowest),
                  b.real(exponents, -MathBuilder::kInfinity),
                  b.mul(exponents, std::numbers::ln2));
}

Value attn::multiplyRows(ImplicitLocOpBuilder &builder, Value matrix,
                         Value factor) {
  MathBuilder b(builder.getLoc(), builder);
  return b.mul(
      matrix,
      broadcastTo(b, factor, cast<VectorType>(matrix.getType()).getShape()));
}

namespace {

class SoftmaxEmitter {
public:
  SoftmaxEmitter(OnlineAttentionOp op, OpBuilder &builder, VectorType type,
                 ArrayRef<Value> state, bool hasExponents, SoftmaxOrder order)
      : op(op), b(op.getLoc(), builder), rows(type.getDimSize(0)),
        keys(type.getDimSize(1)), state(state), fusedScale(findFusedScale(op)),
        hasExponents(hasExponents), order(order) {}

  BlockSoftmax emitWeights(Value scores) {
    if (isRelativeToPower(op) && isLazy())
      return emitLazySoftmax(scores);
    BlockSoftmax softmax =
        isRelativeToPower(op) ? emitFusedSoftmax(scores) : emitSoftmax(scores);
    softmax.state[2] = emitSums(softmax.weights, softmax.state[2]);
    return softmax;
  }

private:
  /// What `emitRescaled` gives.
  struct Rescaled {
    std::array<Value, 3> state;
    Value factor = nullptr; ///< Of the output, which is to be multiplied later.
  };

  /// How far maxima may be beyond what weights are relative to, before that
  /// becomes the maximum: mostly, nothing has to be rescaled, as in
  /// FlashAttention-4. In natural units: weights are e^5 = 148 at most. What
  /// they are multiplied by for dropout (A8) is all that f16 has room for, and
  /// the exact round is seldom.
  double getSlack() {
    return op.hasDropout() || matchPattern(op.getExact(), m_One()) ? 0.0 : 5.0;
  }

  /// The state before the block, which is relative to `before`, and to `next`
  /// in rows that grow, where `emitFactor` is what it is multiplied by.
  Rescaled emitRescaled(Value grows, Value before, Value next,
                        llvm::function_ref<Value()> emitFactor) {
    if (order == SoftmaxOrder::WhileProductsRun)
      return emitRescaledSums(grows, before, next, emitFactor);
    std::array<Value, 3> usual = {state[0], before, state[2]};
    auto branch =
        scf::IfOp::create(b, TypeRange(ValueRange(usual)),
                          AnyInWarpOp::create(b, grows), /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, usual);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, emitRescaledRows(grows, before, next, emitFactor));
    return {{branch.getResult(0), branch.getResult(1), branch.getResult(2)}};
  }

  /// The same of a warp in which rows grow.
  std::array<Value, 3>
  emitRescaledRows(Value grows, Value before, Value next,
                   llvm::function_ref<Value()> emitFactor) {
    next = arith::MaximumFOp::create(b, before, next); // NaN stays.
    // The difference of equal infinities would be NaN.
    Value factor = b.select(grows, emitFactor(), b.real(next, 1.0));
    return {multiplyRows(b, state[0], factor), b.select(grows, next, before),
            multiplyRows(b, state[2], factor)};
  }

  /// The same without a branch, in which products of a warpgroup would end, and
  /// without the output, which one computes.
  Rescaled emitRescaledSums(Value grows, Value before, Value next,
                            llvm::function_ref<Value()> emitFactor) {
    Value factor = b.select(grows, emitFactor(), b.real(next, 1.0));
    next = arith::MaximumFOp::create(b, before, next); // NaN stays.
    return {{Value(), b.select(grows, next, before),
             multiplyRows(b, state[2], factor)},
            factor};
  }

  BlockSoftmax emitSoftmax(Value scores) {
    Value highest = emitMaximum(scores), before = state[1];
    Value own = fusedScale ? b.mul(highest, *fusedScale) : highest;
    // NaN, too, is what a maximum becomes.
    Value grows =
        b.compare(arith::CmpFPredicate::UGT, own, b.add(before, getSlack()));
    auto [rescaled, rest] = emitRescaled(
        grows, before, own, [&] { return emitExp(b.sub(before, own)); });
    // The difference of equal infinities would be NaN.
    Value origin = orZero(rescaled[1]);
    Value weights = fusedScale
                        ? emitScaledWeights(scores, highest, b.sub(own, origin))
                        : emitExp(b.sub(scores, overKeys(origin)));
    return {weights, rescaled, grows, rest};
  }

  /// The same in fewer operations: 2^(scale log2(e) score - c), where c is the
  /// maximum times log2(e), as it is rounded. It does not matter what weights
  /// are relative to, as long as that is the same number for all of a row, and
  /// not far from the maximum. Beyond what is `bounded` it may be, as products
  /// with a scale are rounded by hundreds if they are large, and weights
  /// overflow, or are all 0.
  BlockSoftmax emitFusedSoftmax(Value scores) {
    double scale = *fusedScale * std::numbers::log2e;
    Value highest = emitMaximum(scores);
    Value before = getExponents();
    // NaN, too, is what a maximum becomes.
    Value grows =
        b.compare(arith::CmpFPredicate::UGT,
                  b.fma(highest, b.real(highest, scale), b.negate(before)),
                  b.real(highest, getSlack() * std::numbers::log2e));
    Value next = b.mul(highest, scale);
    auto [rescaled, rest] = emitRescaled(
        grows, before, next, [&] { return b.exp2(b.sub(before, next)); });
    Value weights = emitPowers(scores, rescaled[1]);
    setExponents(rescaled, rescaled[1]);
    return {weights, rescaled, grows, rest};
  }

  /// Whether there are partial sums to see it by, and something to see.
  bool isLazy() {
    return order == SoftmaxOrder::WeightsFirst && getSlack() > 0.0 &&
           cast<VectorType>(state[2].getType()).getRank() == 2;
  }

  /// The same, where the sum of some of a row's weights shows that one may be
  /// beyond the slack. Then weights are computed once more.
  BlockSoftmax emitLazySoftmax(Value scores) {
    Value before = getExponents(), weights = emitPowers(scores, before),
          parts = emitPartialSums(weights);
    // NaN, too, is what a maximum becomes.
    Value most = b.real(parts, std::exp(getSlack()));
    Value grows = b.compare(arith::CmpFPredicate::UGT, parts, most);
    SmallVector<Value> usual = {weights, state[0], before, parts, state[2]};
    auto branch = scf::IfOp::create(b, TypeRange(ValueRange(usual)),
                                    AnyInWarpOp::create(b, grows),
                                    /*withElse=*/true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.elseBlock());
      scf::YieldOp::create(b, usual);
      b.setInsertionPointToStart(branch.thenBlock());
      Value next =
          b.mul(emitMaximum(scores), *fusedScale * std::numbers::log2e);
      Value inRow = b.compare(arith::CmpFPredicate::UGT, emitMaximum(parts),
                              b.real(next, std::exp(getSlack())));
      auto [output, exponents, sums] = emitRescaledRows(
          inRow, before, next, [&] { return b.exp2(b.sub(before, next)); });
      Value again = emitPowers(scores, exponents);
      scf::YieldOp::create(b, ValueRange{again, output, exponents,
                                         emitPartialSums(again), sums});
    }
    ValueRange all = branch.getResults();
    std::array<Value, 3> after = {all[1], all[2], b.add(all[4], all[3])};
    setExponents(after, all[2]);
    return {all[0], after};
  }

  /// What weights before the block are relative to, as the exponent of a power
  /// of 2.
  Value getExponents() {
    return hasExponents ? state[1] : emitExponents(b, b.getLoc(), state[1]);
  }
  void setExponents(std::array<Value, 3> &after, Value exponents) {
    after[1] = hasExponents ? exponents : emitMaxima(b, b.getLoc(), exponents);
  }

  /// 2^(scale log2(e) score - exponent).
  Value emitPowers(Value scores, Value exponents) {
    double scale = *fusedScale * std::numbers::log2e;
    return b.exp2(b.fma(scores, real(scale, {rows, keys}),
                        overKeys(b.negate(exponents))));
  }

  Value orZero(Value maximum) {
    return b.select(b.isEqual(maximum, -b.kInfinity), b.real(maximum, 0.0),
                    maximum);
  }

  /// `before` and the sums of rows, or of columns of each row whose number has
  /// the same remainder, which takes nothing from other lanes.
  Value emitSums(Value weights, Value before) {
    auto type = cast<VectorType>(before.getType());
    if (type.getRank() == 1)
      return vector::MultiDimReductionOp::create(
          b, weights, before, {false, true}, vector::CombiningKind::ADD);
    return b.add(before, emitPartialSums(weights));
  }

  Value emitPartialSums(Value weights) {
    SmallVector<Value> parts;
    for (int64_t column = 0; column < keys; column += kPartialSums)
      parts.push_back(vector::ExtractStridedSliceOp::create(
          b, weights, ArrayRef<int64_t>{0, column},
          ArrayRef<int64_t>{rows, kPartialSums}, ArrayRef<int64_t>{1, 1}));
    // One after the other, as weights are computed: in a tree, all would be
    // there before the first product.
    Value sum = parts.front();
    for (Value part : ArrayRef(parts).drop_front())
      sum = b.add(sum, part);
    return sum;
  }

  Value emitMaximum(Value matrix) {
    return vector::MultiDimReductionOp::create(
        b, matrix, real(-b.kInfinity, {rows}), {false, true},
        vector::CombiningKind::MAXIMUMF);
  }

  /// e^(scale (score - highest) + rest). What is subtracted is subtracted
  /// first: products with the scale are rounded, by hundreds if they are large.
  Value emitScaledWeights(Value scores, Value highest, Value rest) {
    // The difference of equal infinities would be NaN.
    Value difference = b.sub(scores, overKeys(orZero(highest)));
    Value factor = real(*fusedScale * std::numbers::log2e, {rows, keys});
    rest = b.mul(rest, std::numbers::log2e);
    return b.exp2(b.fma(difference, factor, overKeys(rest)));
  }

  Value overKeys(Value ofRows) { return broadcastTo(b, ofRows, {rows, keys}); }

  /// e^x = 2^(x log2(e)), of differences, which may overflow to -inf only.
  Value emitExp(Value x) { return b.exp2(b.mul(x, std::numbers::log2e)); }

  Value real(double value, ArrayRef<int64_t> shape) {
    FloatType f32 = b.getF32Type();
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vectorOf(shape, f32),
                                  b.getFloatAttr(f32, value).getValue()));
  }

  OnlineAttentionOp op;
  MathBuilder b;
  int64_t rows, keys;
  ArrayRef<Value> state;
  std::optional<double> fusedScale;
  bool hasExponents; ///< In place of maxima.
  SoftmaxOrder order;
};

} // namespace

BlockSoftmax attn::emitSoftmax(OpBuilder &b, OnlineAttentionOp op, Value scores,
                               ArrayRef<Value> state, bool hasExponents,
                               SoftmaxOrder order) {
  auto type = cast<VectorType>(scores.getType());
  return SoftmaxEmitter(op, b, type, state, hasExponents, order)
      .emitWeights(scores);
}
