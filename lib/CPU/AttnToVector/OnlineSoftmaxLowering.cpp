//===- OnlineSoftmaxLowering.cpp - attn.online_softmax as vector code -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Two passes over the rows (keys) of the tile of scores, with the lanes
// (queries) in registers:
//
//   1. scale, score region, mask region, maximum
//   2. weights and their sum, while rows are fetched
//
// The first stores the scores, unless they are the products as they came. It
// leaves a scale of at most 1, or any if there is no maximum to find, to the
// second, if there is no score region that needs it: the difference from the
// maximum is a multiply-add then.
//
// Scores that are a cap of the products change neither their order nor, where
// they are small, more than a polynomial of few terms can tell. If all of a
// block are, the cap is a part of the second pass, and the first only asks for
// the least and the greatest product. A block that a mask cuts is computed as
// others are, which costs little: there are few.
//
// Lanes without a query are computed like the others, on a query of 0 and on 0
// for what regions load there; what happens in a lane stays in it.
//

#include "lib/CPU/AttnToVector/AttnToVector.h"
#include "lib/CPU/AttnToVector/Exp2.h"
#include "lib/CPU/AttnToVector/RegionVectorization.h"
#include "lib/CPU/AttnToVector/ScorePass.h"
#include "lib/CPU/LinalgToVector/LinalgToVector.h"
#include "lib/Memory/PrefetchShares.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

#include <climits>
#include <cmath>
#include <numbers>
#include <optional>

using namespace mlir;
using namespace mlir::attn;

namespace {

class SoftmaxLowering : ScorePass {
public:
  SoftmaxLowering(OnlineSoftmaxOp op, TargetAttr target)
      : ScorePass(op, target), shares(op) {}

  void lower() {
    paddedKeys = roundUpToUnroll(tile.numKeys);
    if (op.hasPairs())
      preparePairs();
    b.loop(tile.numKeys, paddedKeys, 1, [&](Value row) {
      b.store(Pieces(b.getNumPieces(), minusInfinity()), tile.scores, row);
    });
    if (tile.scale)
      scales = b.create<vector::BroadcastOp>(vector, tile.scale);
    if (op.hasOnlyScores()) {
      buildScores(Pieces(b.getNumPieces(), minusInfinity()));
      op.erase();
      return;
    }
    if (!op.hasScore() && canScaleWeights()) {
      std::swap(scales, weightScales);
      tile.scale = {};
    }
    Pieces before = b.load(op.getMaximum(), {}, scalar);
    if (op.hasFixedMaximum()) {
      buildScores(Pieces(b.getNumPieces(), minusInfinity()));
      buildAnyWeights(before, Pieces(b.getNumPieces(), real(0.0)));
      op.erase();
      return;
    }
    auto buildAny = [&]() -> Pieces {
      finish(before,
             withNaN(weightScales ? buildScaledMaximum(before)
                                  : buildScores(before)),
             [&](const Pieces &origins, const Pieces &sums) {
               return buildAnyWeights(origins, sums);
             });
      return {};
    };
    if (std::optional<SmallTanh> cap = findCap())
      buildCapped(*cap, before, buildAny);
    else
      buildAny();
    shares.erase();
    op.erase();
  }

private:
  //===--------------------------------------------------------------------===//
  // Caps
  //===--------------------------------------------------------------------===//

  /// What the score region computes of a small product, if it is a cap.
  std::optional<SmallTanh> findCap() {
    if (!op.hasScore() || op.getInOrder())
      return std::nullopt;
    APFloat scale(1.0f);
    if (tile.scale && !matchPattern(tile.scale, m_ConstantFloat(&scale)))
      return std::nullopt;
    RegionDependence dependence(op.getScoreRegion(), /*isScore=*/true);
    auto cap = RegionVectorizer(op.getScoreRegion(), dependence, tile,
                                op.getScoreCaptures(), arithmetic, b)
                   .getCap();
    double inner = cap ? cap->inner * scale.convertToDouble() : 0;
    if (!cap || !(inner > 0) || !(cap->factor > 0))
      return std::nullopt;
    return getSmallTanh(inner, cap->factor);
  }

  /// As a cap if all products are small, else `otherwise`.
  void buildCapped(const SmallTanh &cap, const Pieces &before,
                   function_ref<Pieces()> otherwise) {
    Value yes = b.constant(b.getBoolAttr(true));
    Value isCut = b.createOrFold<arith::OrIOp>(op.getPartial(), op.getExact());
    Value isWhole =
        b.andI(op.getDefined(), b.createOrFold<arith::XOrIOp>(isCut, yes));
    // Their limits, where nothing is computed, are beyond those of the cap.
    size_t count = before.size();
    Pieces least = b.branch(
        isWhole, [&] { return buildExtremes(); },
        [&] { return Pieces(2 * count, minusInfinity()); });
    Pieces greatest(llvm::drop_begin(least, count));
    least.resize(count);
    Value isLarge;
    for (auto [low, high] : llvm::zip(least, greatest)) {
      Value isBelow =
          b.compare(arith::CmpFPredicate::ULT, low, real(-cap.limit));
      Value isAbove =
          b.compare(arith::CmpFPredicate::UGT, high, real(cap.limit));
      Value outside = b.bitOr(isBelow, isAbove);
      isLarge = isLarge ? b.bitOr(isLarge, outside) : outside;
    }
    isLarge = b.create<vector::ReductionOp>(vector::CombiningKind::OR, isLarge);
    b.branch(isLarge, otherwise, [&]() -> Pieces {
      Pieces after;
      for (auto [m, high] : llvm::zip(before, greatest))
        after.push_back(b.maximum(buildSmallTanh(b, cap, high), m));
      finish(before, after, [&](const Pieces &origins, const Pieces &sums) {
        return buildCappedWeights(cap, origins, sums);
      });
      return {};
    });
  }

  /// The least and then the greatest product of each lane.
  Pieces buildExtremes() {
    Pieces initial(b.getNumPieces(), real(kInfinity));
    initial.append(b.getNumPieces(), minusInfinity());
    auto body = [&](Value first, ValueRange carried) -> SmallVector<Value> {
      SmallVector<Pieces> columns(b.getNumPieces());
      for (int64_t i = 0; i < unroll; ++i) {
        Value row = b.addI(first, i);
        for (auto [piece, x] :
             llvm::enumerate(b.load(tile.scores, row, scalar)))
          columns[piece].push_back(x);
      }
      Pieces results;
      for (auto [i, value] : llvm::enumerate(carried)) {
        bool isLeast = i < columns.size();
        Pieces column = columns[i % columns.size()];
        results.push_back(combine(column, value, [&](Value x, Value y) {
          return isLeast ? b.minimum(x, y) : b.maximum(x, y);
        }));
      }
      return results;
    };
    return b.loop(0, paddedKeys, unroll, initial, body);
  }

  Pieces buildCappedWeights(const SmallTanh &cap, const Pieces &origins,
                            const Pieces &sums) {
    Pieces shifts;
    for (Value origin : origins)
      shifts.push_back(b.mul(origin, real(-std::numbers::log2e)));
    auto body = [&](Value row) {
      Pieces weights;
      for (auto [piece, shift] : llvm::enumerate(shifts)) {
        Value score = b.loadPiece(int64_t(piece), tile.scores, row, scalar);
        weights.push_back(buildExpOfSmallTanh(b, cap, score, shift));
        if (!pairs)
          b.storePiece(weights.back(), int64_t(piece), tile.scores, row);
      }
      return weights;
    };
    return loopOverWeights(sums, body);
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// Whether the second pass scales: what has no maximum to find, or has no
  /// score that overflows when it is scaled. A hidden score stays -inf.
  bool canScaleWeights() {
    FloatAttr scale;
    if (!tile.scale || !matchPattern(tile.scale, m_Constant(&scale)))
      return false;
    double value = scale.getValueAsDouble();
    return value > 0 &&
           (op.hasFixedMaximum() ? std::isfinite(value) : value <= 1);
  }

  /// The new maximum, where the scores are stored without their scale.
  Pieces buildScaledMaximum(const Pieces &maximum) {
    Pieces results = buildScores(Pieces(b.getNumPieces(), minusInfinity()));
    for (auto [result, before] : llvm::zip(results, maximum))
      result = b.maximum(b.mul(result, weightScales), before);
    return results;
  }

  /// The maxima, but NaN of a lane that has it beside a score of +inf (A16):
  /// the maximum leaves it out, and later it is lost in the NaN of inf - inf.
  /// Only in the exact round: either makes the output NaN, which asks for it.
  Pieces withNaN(const Pieces &maxima) {
    auto body = [&](Value row) { return b.load(tile.scores, row, scalar); };
    auto keepNaN = [&](Value score, Value maximum) -> Value {
      Value isNaN = b.compare(arith::CmpFPredicate::UNO, score, score);
      return b.select(isNaN, score, maximum);
    };
    return b.branch(
        op.getExact(),
        [&] { return loopOverRows(0, tile.numKeys, 1, maxima, body, keepNaN); },
        [&] { return maxima; });
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  /// Makes weights of the scores, and returns the sums with them added: as in
  /// the exact round, too, where rounding an origin would show.
  Pieces buildAnyWeights(const Pieces &origins, const Pieces &sums) {
    Value isExact = op.getExact();
    if (roundsOrigins()) {
      Value anyLarge;
      for (Value origin : origins) {
        Value isOne = isLarge(origin);
        anyLarge = anyLarge ? b.bitOr(anyLarge, isOne) : isOne;
      }
      anyLarge =
          b.create<vector::ReductionOp>(vector::CombiningKind::OR, anyLarge);
      isExact = b.createOrFold<arith::OrIOp>(isExact, anyLarge);
    }
    return b.branch(
        isExact,
        [&] {
          Pieces results = buildWeights(origins, sums, /*exact=*/true);
          if (pairs)
            roundWeights();
          return results;
        },
        [&] { return buildWeights(origins, sums, /*exact=*/false); });
  }

  /// Whether the scale rounds no score.
  bool hasExactScale() {
    FloatAttr scale;
    return matchPattern(op.getScale(), m_Constant(&scale)) &&
           scale.getValue().getExactLog2() != INT_MIN;
  }

  /// Of the greatest score, 0 if that is the origin: a product that is rounded
  /// is rounded before.
  Value buildDifference(Value score, Value origin, Value negated) {
    if (weightScales && (hasExactScale() || op.hasFixedMaximum()))
      return b.multiplyAdd(score, weightScales, negated);
    return b.sub(weightScales ? b.mul(score, weightScales) : score, origin);
  }

  /// Few registers have no room for more than one piece beside the constants of
  /// an exponential: others are computed after it.
  Pieces buildWeights(const Pieces &origins, const Pieces &sums, bool exact) {
    bool isFew = b.getTarget().getVectorRegisters() <= 16;
    size_t count = isFew ? 1 : origins.size();
    Pieces results;
    for (size_t first = 0; first < origins.size(); first += count) {
      size_t size = std::min(count, origins.size() - first);
      results.append(buildWeights(ArrayRef(origins).slice(first, size),
                                  ArrayRef(sums).slice(first, size),
                                  int64_t(first), exact));
    }
    return results;
  }

  /// The same for pieces from `first` on.
  Pieces buildWeights(ArrayRef<Value> origins, ArrayRef<Value> sums,
                      int64_t first, bool exact) {
    bool relativeToPower = !exact && roundsOrigins();
    Value factor;
    if (relativeToPower)
      factor = weightScales ? b.mul(weightScales, std::numbers::log2e)
                            : real(std::numbers::log2e);
    Pieces shifts;
    for (Value origin : origins)
      shifts.push_back(relativeToPower ? b.mul(origin, -std::numbers::log2e)
                                       : b.negate(origin));
    auto body = [&](Value row) {
      // One piece after the other, which needs few registers.
      Pieces weights;
      for (auto [number, origin] : llvm::enumerate(origins)) {
        int64_t piece = first + int64_t(number);
        Value score = b.loadPiece(piece, tile.scores, row, scalar);
        Value power, weight;
        if (relativeToPower) {
          power = b.multiplyAdd(score, factor, shifts[number]);
          weight = buildExp2OfWeight(b, power, op.getRounded());
        } else {
          Value difference = buildDifference(score, origin, shifts[number]);
          if (scalar.isF32()) {
            power = b.mul(difference, std::numbers::log2e);
            weight = buildExp2OfWeight(b, power, /*isRounded=*/false);
          } else {
            weight = buildExpOfWeight(b, difference);
          }
        }
        if (op.hasFixedMaximum() && power)
          weight = withoutLost(weight, power);
        weights.push_back(weight);
        if (exact)
          weight =
              b.select(b.isEqual(score, minusInfinity()), real(-0.0), weight);
        if (exact || !pairs)
          b.storePiece(weight, piece, tile.scores, row);
      }
      return weights;
    };
    Pieces initial(sums);
    if (exact)
      return loopOverRows(0, paddedKeys, 1, initial, body, add);
    return first == 0 ? loopOverWeights(initial, body)
                      : addRows(0, paddedKeys, initial, body, first);
  }

  //===--------------------------------------------------------------------===//
  // Pairs
  //===--------------------------------------------------------------------===//

  /// Writes the rows of pairs after the last of weights to the end of a pack.
  void preparePairs() {
    constexpr int64_t kRows = OnlineAttentionOp::kKeysPerPack;
    pairs = joinPairs(b, cast<TypedValue<MemRefType>>(op.getPairs()));
    Value end = b.andI(b.addI(tile.numKeys, kRows - 1), -kRows);
    Value zeros = b.constant(DenseElementsAttr::get(
        VectorType::get(2 * b.getWidth(), b.getBF16Type()),
        b.getFloatAttr(b.getBF16Type(), 0.0)));
    b.loop(b.divUI(paddedKeys, 2), b.divUI(end, 2), 1, [&](Value row) {
      for (int64_t piece = 0; piece < b.getNumPieces(); ++piece)
        storePairs(zeros, row, piece);
    });
  }

  void storePairs(Value value, Value row, int64_t piece) {
    vector::StoreOp::create(b, value, pairs,
                            ValueRange{row, b.index(2 * b.getWidth() * piece)});
  }

  /// Rounds weights of the rows `first` and `first + 1`, pieces from
  /// `firstPiece` on.
  void storePairs(ArrayRef<Pieces> rows, Value first, int64_t firstPiece) {
    Value row = b.divUI(first, 2);
    for (auto [i, low, high] : llvm::enumerate(rows[0], rows[1]))
      storePairs(emitPairs(b, low, high), row, firstPiece + int64_t(i));
  }

  /// The same for weights that are stored.
  void roundWeights() {
    b.loop(0, paddedKeys, 2, [&](Value first) {
      Pieces rows[2];
      for (int64_t i : {0, 1})
        rows[i] = b.load(tile.scores, b.addI(first, i), scalar);
      storePairs(rows, first, /*firstPiece=*/0);
    });
  }

  /// Loops over rows of weights, which are added to `sums`, pieces from
  /// `firstPiece` on.
  Pieces addRows(LaneBuilder::Operand lower, Value upper, Pieces sums,
                 function_ref<Pieces(Value)> body, int64_t firstPiece = 0) {
    int64_t step = getStep();
    return b.loop(lower, upper, step, sums,
                  [&](Value first, ValueRange carried) -> SmallVector<Value> {
                    SmallVector<Pieces> rows;
                    for (int64_t i = 0; i < step; ++i)
                      rows.push_back(body(b.addI(first, i)));
                    for (int64_t i = 0; pairs && i < step; i += 2)
                      storePairs(ArrayRef(rows).slice(i, 2), b.addI(first, i),
                                 firstPiece);
                    if (!op.getInOrder())
                      return combineRows(rows, carried, add);
                    Pieces results(carried);
                    for (const Pieces &row : rows)
                      results = combineRows(row, results, add);
                    return results;
                  });
  }

  /// 0 for a weight, of a row whose sum is 1, that is lost beside others in
  /// f32. What derivatives make of it is smaller by other factors, and some
  /// processors take a hundred cycles for a number that is not normal.
  Value withoutLost(Value weight, Value power) {
    constexpr double kLost = -86;
    Value isLost =
        b.compare(arith::CmpFPredicate::OLT, power, b.real(power, kLost));
    return b.select(isLost, real(0.0), weight);
  }

  /// Rows of an iteration that sums weights.
  int64_t getStep() { return op.getInOrder() ? getLeastStep() : unroll; }

  /// Adds up weights, and fetches meanwhile what is to be.
  Pieces loopOverWeights(const Pieces &sums, function_ref<Pieces(Value)> body) {
    if (shares.empty())
      return addRows(0, paddedKeys, sums, body);
    // Few rows, so that what they fetch need not wait, and not one by one.
    constexpr int64_t kRows = 8;
    shares.cut(b, b.fold<arith::CeilDivUIOp>(paddedKeys, kRows));
    return b.loop(0, paddedKeys, kRows, sums,
                  [&](Value first, ValueRange carried) -> SmallVector<Value> {
                    shares.emit(b, b.divUI(first, kRows));
                    Value last = b.minSI(b.addI(first, kRows), paddedKeys);
                    return addRows(first, last, Pieces(carried), body);
                  });
  }

  PrefetchShares shares; ///< Of what is fetched with the weights.
  Value pairs; ///< Rows of pairs side by side; null if there are none.
};

} // namespace

LogicalResult attn::lowerOnlineSoftmax(OnlineSoftmaxOp op, TargetAttr target) {
  for (Value out : op.getOuts()) {
    auto type = dyn_cast<MemRefType>(out.getType());
    bool isPairs = op.hasPairs() && out == op.getPairs();
    if (isPairs && type && type.getLayout().isIdentity() && target.hasPairs() &&
        op.getNumLanes() % 16 == 0)
      continue;
    if (isPairs)
      return op.emitOpError() << "expected pairs in a contiguous memref, lanes "
                                 "in multiples of 16, and a target that "
                                 "multiplies pairs, got "
                              << out.getType();
    if (!type ||
        !(type.getElementType().isF32() || type.getElementType().isF64()) ||
        !type.isLastDimUnitStride())
      return op.emitOpError() << "is lowered on memrefs of f32 or f64 whose "
                                 "last dimension is contiguous only, got "
                              << out.getType();
  }
  SoftmaxLowering(op, target).lower();
  return success();
}
