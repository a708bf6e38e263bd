//===- ScorePass.h - Rows of a softmax step as vector code ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_SCOREPASS_H
#define ATTN_CPU_ATTNTOVECTOR_SCOREPASS_H

#include "dialect/AttnOps.h"
#include "lib/CPU/AttnToVector/CapturedTiles.h"
#include "lib/CPU/AttnToVector/Exp2.h"
#include "lib/CPU/AttnToVector/LaneValue.h"
#include "lib/CPU/AttnToVector/RegionVectorization.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/TypeUtilities.h"

#include <functional>
#include <limits>
#include <numbers>

namespace mlir::attn {

/// What the lowerings of all kinds of scores have in common: loops over the
/// rows (keys) of an attn.online_softmax, and its state.
class SoftmaxRows {
protected:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  SoftmaxRows(OnlineSoftmaxOp op, TargetAttr target)
      : op(op), scalar(getElementTypeOrSelf(op.getScores().getType())),
        b(op, target, op.getNumLanes(), scalar.getIntOrFloatBitWidth()),
        arithmetic(b), vector(b.getPieceType(scalar)),
        tile{op.getScores(),     op.getScale(),    op.getBatch(),
             op.getHead(),       op.getPosition(), op.getFirstKey(),
             op.getNumQueries(), op.getNumKeys(),  op.getInOrder()},
        unroll(getUnroll()) {}

  using BuildWeights = function_ref<Pieces(const Pieces &, const Pieces &)>;

  /// Stores the state with a new maximum and the weights of the block.
  void finish(const Pieces &before, const Pieces &maxima, BuildWeights build) {
    Pieces sums = b.load(op.getSum(), {}, scalar);
    Pieces after, factors, origins;
    for (auto [m, maximum, sum] : llvm::zip(before, maxima, sums)) {
      Value next = keepUnlessFar(m, maximum);
      after.push_back(next);
      // The difference of equal infinities would be NaN, here and of scores.
      Value factor =
          b.select(b.isEqual(m, next), real(1.0), buildRescaleFactor(m, next));
      factors.push_back(factor);
      sum = b.mul(sum, factor);
      origins.push_back(
          b.select(b.isEqual(next, minusInfinity()), real(0.0), next));
    }
    b.store(factors, op.getRescaleFactor(), {});
    sums = build(origins, sums);
    // In the exact round alone, which NaN asks for.
    after = b.branch(
        op.getExact(), [&] { return keepNaN(after, sums); },
        [&] { return after; });
    b.store(after, op.getMaximum(), {});
    b.store(sums, op.getSum(), {});
  }

  /// Whether weights are 2^(factor * score - c), where c is the origin times
  /// log2(e) as it is rounded. It does not matter what the weights of a row are
  /// relative to, as long as that is the same for all of them. To what has
  /// other origins, as a sink and other keys, c adds an error of a rounding of
  /// the origin, which scores of that size have.
  bool roundsOrigins() { return op.getRounded() && !op.getInOrder(); }

  /// Whether a finite origin is so large that c would be off by what shows.
  Value isLarge(Value origin) {
    Value magnitude = b.abs(origin);
    Value isFinite =
        b.compare(arith::CmpFPredicate::OLT, magnitude, real(kInfinity));
    return b.bitAnd(b.compare(arith::CmpFPredicate::OGT, magnitude,
                              real(AllBoundedOp::kMost)),
                    isFinite);
  }

  /// e^(before - after) of origins, or 2^ of what these are rounded to.
  Value buildRescaleFactor(Value before, Value after) {
    Value difference = b.sub(before, after);
    if (!roundsOrigins())
      return buildExpOfWeight(b, difference);
    constexpr double log2e = std::numbers::log2e;
    Value power = b.mul(difference, log2e);
    Value ofRounded = b.sub(b.mul(before, log2e), b.mul(after, log2e));
    // Both products may be infinite then, or equal.
    ofRounded = b.select(isLarge(after), power, ofRounded);
    power = b.createOrFold<arith::SelectOp>(op.getExact(), power, ofRounded);
    return buildExp2OfWeight(b, power, /*isRounded=*/false);
  }

  /// A16: NaN among the sums, unless it is inf - inf, is the maximum from here
  /// on.
  Pieces keepNaN(Pieces maxima, const Pieces &sums) {
    for (auto [maximum, sum] : llvm::zip(maxima, sums)) {
      Value isNaN = b.compare(arith::CmpFPredicate::UNO, sum, sum);
      Value isPlain =
          b.compare(arith::CmpFPredicate::UNE, maximum, real(kInfinity));
      Value isKept = b.bitAnd(isNaN, isPlain);
      maximum = b.select(isKept, sum, maximum);
    }
    return maxima;
  }

  /// `before`, unless the maximum is larger by much, so that most blocks
  /// rescale nothing. (The method is that of FlashAttention-4.) Weights are 148
  /// at most then. If that makes a product infinite, it is computed once more,
  /// exactly, with weights of at most 1.
  Value keepUnlessFar(Value before, Value maximum) {
    constexpr double kFar = 5.0; // In natural units.
    Value far = b.createOrFold<arith::SelectOp>(
        op.getExact(), b.number(scalar, 0.0), b.number(scalar, kFar));
    Value limit = b.add(before, b.create<vector::BroadcastOp>(vector, far));
    Value isFar = b.compare(arith::CmpFPredicate::UGT, maximum, limit);
    return b.select(isFar, maximum, before);
  }

  /// Rows per iteration: a power of two that divides all rows, because the last
  /// iteration runs over `numKeys`. More than four pieces are not faster.
  int64_t getUnroll() {
    constexpr int64_t kPieces = 4;
    int64_t rows = cast<ShapedType>(op.getScores().getType()).getDimSize(0);
    int64_t unroll = kPieces;
    while (unroll > getLeastStep() &&
           (unroll * b.getNumPieces() > kPieces || rows % unroll != 0))
      unroll /= 2;
    return unroll;
  }

  /// Rows that are written together.
  int64_t getLeastStep() { return op.hasPairs() ? 2 : 1; }

  Value roundUpToUnroll(Value count) {
    if (unroll == 1)
      return count;
    Value raised = b.addI(count, unroll - 1);
    return b.andI(raised, -unroll);
  }

  /// Combines values pairwise, the rows of an iteration before what was
  /// carried.
  Value combine(MutableArrayRef<Value> values, Value carried,
                function_ref<Value(Value, Value)> combiner) {
    while (values.size() > 1) {
      size_t half = values.size() / 2;
      for (size_t i = 0; i < half; ++i)
        values[i] = combiner(values[2 * i], values[2 * i + 1]);
      values = values.take_front(half);
    }
    return combiner(values.front(), carried);
  }

  /// Loops over rows, `step` at a time, and combines what `body` returns for
  /// each with what is carried.
  Pieces loopOverRows(LaneBuilder::Operand lower, Value upper, int64_t step,
                      Pieces initial, function_ref<Pieces(Value)> body,
                      function_ref<Value(Value, Value)> combiner) {
    return b.loop(lower, upper, step, initial,
                  [&](Value first, ValueRange carried) -> SmallVector<Value> {
                    SmallVector<Pieces> rows;
                    for (int64_t i = 0; i < step; ++i)
                      rows.push_back(body(b.addI(first, i)));
                    return combineRows(rows, carried, combiner);
                  });
  }

  Pieces combineRows(ArrayRef<Pieces> rows, ValueRange carried,
                     function_ref<Value(Value, Value)> combiner) {
    Pieces results;
    for (auto [piece, value] : llvm::enumerate(carried)) {
      SmallVector<Value> column;
      for (const Pieces &row : rows)
        column.push_back(row[piece]);
      results.push_back(combine(column, value, combiner));
    }
    return results;
  }

  Value real(double value) { return b.number(vector, value); }
  Value minusInfinity() { return real(-kInfinity); }

  OnlineSoftmaxOp op;
  Type scalar; ///< Of scores: f32 or f64.
  LaneBuilder b;
  LaneArithmetic arithmetic;
  VectorType vector;
  ScoreTile tile;
  Value scales; ///< The scale in a vector; null if it is 1.
  /// The same, if scores get it with their exponentials.
  Value weightScales;
  int64_t unroll;
  Value paddedKeys;
  std::function<Value(Value, Value)> add = [this](Value x, Value y) -> Value {
    return b.add(x, y);
  };
};

/// The pass over the rows that stores scores, hidden ones as -inf, in the place
/// of products.
class ScorePass : protected SoftmaxRows {
protected:
  ScorePass(OnlineSoftmaxOp op, TargetAttr target);

  /// Makes scores of the products, and returns the new maximum.
  Pieces buildScores(const Pieces &maximum);

private:
  Pieces inlineThen(scf::IfOp ifOp);
  bool isVectorizable();
  /// Whether positions are so small that their vectors can have elements of
  /// i32.
  Value buildGuard();
  /// The maximum alone. Rows up to the padding hold -inf.
  Pieces buildMaximum(const Pieces &maximum);
  Pieces buildUnmasked(const Pieces &maximum);
  Pieces buildVectorScores(const Pieces &maximum);
  Pieces buildPass(const Pieces &maximum, bool masked);
  /// Where regions divide keys by a number, what they make of the quotient is
  /// built once if it is the same in all rows, as in most blocks.
  Pieces buildRowsByQuotients(const Pieces &maximum, bool masked);
  Pieces buildRows(const Pieces &maximum, bool masked, bool sameQuotients);
  /// Rows that are built together: `first`, `first + stride` and so on.
  struct RowGroup {
    int64_t count, stride = 1;
  };
  /// Builds groups that begin with the rows from `lower` to `upper`, stores the
  /// rows of each when all are built, and returns the new maximum. Groups of a
  /// stride other than 1 begin with every row.
  Pieces storeRows(Value lower, Value upper, RowGroup group,
                   const Pieces &maximum, function_ref<Pieces(TileRow)> build);
  /// A power of two of rows, a piece's lanes apart, that are built together
  /// where they share pieces.
  int64_t getRowsApart();
  void buildScalarScores();

  /// The op with what scalar code needs to name positions.
  OwningOpRef<OnlineSoftmaxOp> whole;
};

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_SCOREPASS_H
