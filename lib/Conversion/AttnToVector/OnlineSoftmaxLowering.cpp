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
// leaves a scale that rounds nothing to the second, if there is no score region
// that needs it: the difference from the maximum is a multiply-add then.
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

#include "lib/Conversion/AttnToVector/AttnToVector.h"
#include "lib/Conversion/AttnToVector/Exp2.h"
#include "lib/Conversion/AttnToVector/RegionVectorization.h"
#include "lib/Conversion/AttnToVector/SoftmaxRows.h"
#include "lib/Conversion/PrefetchShares.h"
#include "lib/Transforms/RegionEvaluation.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <climits>
#include <numbers>
#include <optional>

using namespace mlir;
using namespace mlir::attn;

namespace {

class SoftmaxLowering : SoftmaxRows {
public:
  SoftmaxLowering(OnlineSoftmaxOp op, const VectorTarget &target)
      : SoftmaxRows(op, target), shares(op) {}

  void lower() {
    paddedKeys = roundUpToUnroll(tile.numKeys);
    b.loop(tile.numKeys, paddedKeys, 1, [&](Value row) {
      b.store(Pieces(b.getNumPieces(), minusInfinity()), tile.scores, row);
    });
    if (tile.scale)
      scales = b.create<vector::BroadcastOp>(vector, tile.scale);
    if (!op.hasScore() && hasExactScale()) {
      std::swap(scales, weightScales);
      tile.scale = {};
    }
    Pieces before = b.load(op.getMaximum(), {}, scalar);
    auto buildAny = [&]() -> Pieces {
      finish(
          before,
          weightScales ? buildScaledMaximum(before) : buildScores(before),
          [&](const Pieces &origins, const Pieces &sums) {
            return b.branch(
                op.getExact(),
                [&] { return buildWeights(origins, sums, /*exact=*/true); },
                [&] { return buildWeights(origins, sums, /*exact=*/false); });
          });
      return {};
    };
    if (std::optional<SmallTanh> cap = findCap())
      buildCapped(*cap, before, buildAny);
    else
      buildAny();
    shares.eraseLoops();
    op.erase();
  }

private:
  //===--------------------------------------------------------------------===//
  // Caps
  //===--------------------------------------------------------------------===//

  /// What the score region computes of a small product, if it is a cap.
  std::optional<SmallTanh> findCap() {
    if (!op.hasScore())
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
    Value isWhole = b.createOrFold<arith::AndIOp>(
        op.getDefined(), b.createOrFold<arith::XOrIOp>(isCut, yes));
    // Their limits, where nothing is computed, are beyond those of the cap.
    size_t count = before.size();
    Pieces least = b.branch(
        isWhole, [&] { return buildExtremes(); },
        [&] { return Pieces(2 * count, minusInfinity()); });
    Pieces greatest(llvm::drop_begin(least, count));
    least.resize(count);
    Value isLarge;
    for (auto [low, high] : llvm::zip(least, greatest)) {
      Value isBelow = b.create<arith::CmpFOp>(arith::CmpFPredicate::ULT, low,
                                              real(-cap.limit));
      Value isAbove = b.create<arith::CmpFOp>(arith::CmpFPredicate::UGT, high,
                                              real(cap.limit));
      Value outside = b.create<arith::OrIOp>(isBelow, isAbove);
      isLarge = isLarge ? b.create<arith::OrIOp>(isLarge, outside) : outside;
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
        Value row = b.createOrFold<arith::AddIOp>(first, b.index(i));
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
    return b.loop(b.index(0), paddedKeys, unroll, initial, body);
  }

  Pieces buildCappedWeights(const SmallTanh &cap, const Pieces &origins,
                            const Pieces &sums) {
    Pieces shifts;
    for (Value origin : origins)
      shifts.push_back(
          b.create<arith::MulFOp>(origin, real(-std::numbers::log2e)));
    auto body = [&](Value row) {
      Pieces weights;
      for (auto [piece, shift] : llvm::enumerate(shifts)) {
        Value score = b.loadPiece(int64_t(piece), tile.scores, row, scalar);
        weights.push_back(buildExpOfSmallTanh(b, cap, score, shift));
        b.storePiece(weights.back(), int64_t(piece), tile.scores, row);
      }
      return weights;
    };
    return loopOverWeights(sums, body);
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// Whether no score is rounded or overflows when it is scaled.
  bool hasExactScale() {
    FloatAttr scale;
    if (!tile.scale || !matchPattern(tile.scale, m_Constant(&scale)))
      return false;
    int exponent = scale.getValue().getExactLog2();
    return exponent != INT_MIN && exponent <= 0;
  }

  /// The new maximum, where the scores are stored without their scale.
  Pieces buildScaledMaximum(const Pieces &maximum) {
    Pieces results = buildScores(Pieces(b.getNumPieces(), minusInfinity()));
    for (auto [result, before] : llvm::zip(results, maximum))
      result = b.maximum(b.create<arith::MulFOp>(result, weightScales), before);
    return results;
  }

  /// Makes scores of the products, and returns the new maximum.
  Pieces buildScores(const Pieces &maximum) {
    if (!op.hasScore() && !op.hasMask())
      return buildUnmasked(maximum);
    if (!isVectorizable()) {
      buildScalarScores();
      return buildMaximum(maximum);
    }
    SmallVector<Type> types(maximum.size(), vector);
    auto ifOp = b.create<scf::IfOp>(types, op.getDefined(),
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    b.create<scf::YieldOp>(buildVectorScores(maximum));
    b.setInsertionPoint(ifOp);
    if (arithmetic.needsGuard())
      ifOp.getConditionMutable().assign(
          b.createOrFold<arith::AndIOp>(op.getDefined(), buildGuard()));
    if (matchPattern(ifOp.getCondition(), m_One()))
      return inlineThen(ifOp);
    b.setInsertionPointToStart(ifOp.elseBlock());
    buildScalarScores();
    b.create<scf::YieldOp>(buildMaximum(maximum));
    return ifOp.getResults();
  }

  Pieces inlineThen(scf::IfOp ifOp) {
    Operation *yield = ifOp.thenYield();
    Pieces results(yield->getOperands());
    yield->erase();
    ifOp->getBlock()->getOperations().splice(ifOp->getIterator(),
                                             ifOp.thenBlock()->getOperations());
    ifOp.erase();
    return results;
  }

  bool isVectorizable() {
    for (bool isScore : {true, false}) {
      Region &region = isScore ? op.getScoreRegion() : op.getMaskRegion();
      if (region.empty())
        continue;
      std::optional<VectorizationObstacle> obstacle =
          findVectorizationObstacle(region, RegionDependence(region, isScore));
      if (!obstacle)
        continue;
      obstacle->op->emitRemark()
          << "the '" << (isScore ? "score" : "mask")
          << "' region is evaluated position by position: " << obstacle->reason;
      return false;
    }
    return true;
  }

  /// Whether positions are so small that their vectors can have elements of
  /// i32.
  Value buildGuard() {
    Value small;
    auto check = [&](Value number, int64_t lowest) {
      Value shifted = b.createOrFold<arith::SubIOp>(number, b.index(lowest));
      Value inside = b.createOrFold<arith::CmpIOp>(
          arith::CmpIPredicate::ult, shifted,
          b.index(int64_t(kGuardedPosition) - lowest));
      small = small ? b.createOrFold<arith::AndIOp>(small, inside) : inside;
    };
    check(tile.batch, 0);
    check(tile.head, 0);
    check(tile.position, -int64_t(kGuardedPosition));
    check(tile.firstKey, 0);
    return small;
  }

  /// The maximum alone. Rows up to the padding hold -inf.
  Pieces buildMaximum(const Pieces &maximum) {
    return loopOverRows(
        b.index(0), paddedKeys, unroll, maximum,
        [&](Value row) { return b.load(tile.scores, row, scalar); },
        [&](Value x, Value y) { return b.maximum(x, y); });
  }

  Pieces buildUnmasked(const Pieces &maximum) {
    return op.hasScore() || tile.scale ? buildPass(maximum, /*masked=*/false)
                                       : buildMaximum(maximum);
  }

  Pieces buildVectorScores(const Pieces &maximum) {
    if (!op.hasMask())
      return buildUnmasked(maximum);
    return b.branch(
        op.getPartial(), [&] { return buildPass(maximum, /*masked=*/true); },
        [&] { return buildUnmasked(maximum); });
  }

  static bool hasLoads(Region &region) {
    return !region.empty() && !region.front().getOps<memref::LoadOp>().empty();
  }

  Pieces buildPass(const Pieces &maximum, bool masked) {
    auto build = [&] { return buildRows(maximum, masked); };
    // What is loaded before the loop may not exist without keys.
    if (!hasLoads(op.getScoreRegion()) && !hasLoads(op.getMaskRegion()))
      return build();
    Value any = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne,
                                              tile.numKeys, b.index(0));
    return b.branch(any, build, [&] { return maximum; });
  }

  Pieces buildRows(const Pieces &maximum, bool masked) {
    std::optional<RegionDependence> ofScore, ofMask;
    std::optional<RegionVectorizer> score, mask;
    if (op.hasScore()) {
      ofScore.emplace(op.getScoreRegion(), /*isScore=*/true);
      score.emplace(op.getScoreRegion(), *ofScore, tile, op.getScoreCaptures(),
                    arithmetic, b);
      score->prepare();
    }
    if (masked) {
      ofMask.emplace(op.getMaskRegion(), /*isScore=*/false);
      mask.emplace(op.getMaskRegion(), *ofMask, tile, op.getMaskCaptures(),
                   arithmetic, b);
      mask->prepare();
    }
    // LLVM makes a masked store, with a mask of its own, of a select of what is
    // loaded from the same place.
    bool masksLoads = mask && !score && !scales && b.getTarget().scalef;
    auto body = [&](Value row) {
      Pieces scores = masksLoads
                          ? b.loadWhere(mask->evaluateMask(row), tile.scores,
                                        row, minusInfinity())
                          : b.load(tile.scores, row, scalar);
      if (scales)
        for (Value &piece : scores)
          piece = b.create<arith::MulFOp>(piece, scales);
      if (score)
        scores = score->evaluateScore(row, scores);
      if (mask && !masksLoads) { // A10: after the score.
        for (auto [piece, keep] : llvm::zip(scores, mask->evaluateMask(row)))
          piece = b.create<arith::SelectOp>(keep, piece, minusInfinity());
      }
      b.store(scores, tile.scores, row);
      return scores;
    };
    auto combiner = [&](Value x, Value y) { return b.maximum(x, y); };
    Value whole = b.createOrFold<arith::AndIOp>(tile.numKeys, b.index(-unroll));
    Pieces result =
        loopOverRows(b.index(0), whole, unroll, maximum, body, combiner);
    if (unroll == 1)
      return result;
    return loopOverRows(whole, tile.numKeys, 1, result, body, combiner);
  }

  //===--------------------------------------------------------------------===//
  // Scores, position by position
  //===--------------------------------------------------------------------===//

  void buildScalarScores() {
    Value zero = b.index(0);
    b.loop(zero, tile.numKeys, 1, [&](Value row) {
      Value j = b.createOrFold<arith::AddIOp>(tile.firstKey, row);
      b.loop(zero, tile.numQueries, 1, [&](Value lane) {
        Value p = b.createOrFold<arith::AddIOp>(tile.position, lane);
        Value dot =
            b.create<memref::LoadOp>(tile.scores, ValueRange{row, lane});
        Value score = emitScoreAt(
            b, b.getLoc(),
            {op.getScoreRegion(), op.getMaskRegion(), op.getScoreCaptures(),
             op.getMaskCaptures()},
            {tile.batch, tile.head, p, j}, [&](OpBuilder &inside) -> Value {
              if (!tile.scale)
                return dot;
              return arith::MulFOp::create(inside, b.getLoc(), dot, tile.scale);
            });
        b.create<memref::StoreOp>(score, tile.scores, ValueRange{row, lane});
      });
      b.loop(tile.numQueries, b.index(b.getNumLanes()), 1, [&](Value lane) {
        b.create<memref::StoreOp>(b.number(scalar, -kInfinity), tile.scores,
                                  ValueRange{row, lane});
      });
    });
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  /// Makes weights of the scores, and returns the sums with them added.
  Pieces buildWeights(const Pieces &origins, const Pieces &sums, bool exact) {
    Pieces negated;
    if (weightScales)
      for (Value origin : origins)
        negated.push_back(b.create<arith::NegFOp>(origin));
    auto body = [&](Value row) {
      // One piece after the other, which needs few registers.
      Pieces weights;
      for (auto [piece, origin] : llvm::enumerate(origins)) {
        Value score = b.loadPiece(int64_t(piece), tile.scores, row, scalar);
        Value difference =
            weightScales
                ? b.create<vector::FMAOp>(score, weightScales, negated[piece])
                      .getResult()
                : b.create<arith::SubFOp>(score, origin).getResult();
        Value weight = buildExpOfNegative(b, difference);
        weights.push_back(weight);
        if (exact)
          weight = b.create<arith::SelectOp>(isEqual(score, minusInfinity()),
                                             real(-0.0), weight);
        b.storePiece(weight, int64_t(piece), tile.scores, row);
      }
      return weights;
    };
    if (exact)
      return loopOverRows(b.index(0), paddedKeys, 1, sums, body, add);
    return loopOverWeights(sums, body);
  }

  /// Adds up weights, and fetches meanwhile what is to be.
  Pieces loopOverWeights(const Pieces &sums, function_ref<Pieces(Value)> body) {
    if (shares.empty())
      return loopOverRows(b.index(0), paddedKeys, unroll, sums, body, add);
    // Few rows, so that what they fetch need not wait, and not one by one.
    constexpr int64_t kRows = 16;
    Value count = b.index(kRows);
    shares.cut(b, b.getLoc(),
               b.createOrFold<arith::CeilDivUIOp>(paddedKeys, count));
    return b.loop(
        b.index(0), paddedKeys, kRows, sums,
        [&](Value first, ValueRange carried) -> SmallVector<Value> {
          shares.emit(b, b.getLoc(),
                      b.createOrFold<arith::DivUIOp>(first, count));
          Value last = b.createOrFold<arith::MinSIOp>(
              b.createOrFold<arith::AddIOp>(first, count), paddedKeys);
          return loopOverRows(first, last, unroll, Pieces(carried), body, add);
        });
  }

  PrefetchShares shares; ///< Of what is fetched with the weights.
};

} // namespace

LogicalResult attn::lowerOnlineSoftmax(OnlineSoftmaxOp op,
                                       const VectorTarget &target) {
  for (Value out : op.getOuts()) {
    auto type = dyn_cast<MemRefType>(out.getType());
    if (!type || !type.getElementType().isF32() || !type.isLastDimUnitStride())
      return op.emitOpError() << "is lowered on memrefs of f32 whose last "
                                 "dimension is contiguous only, got "
                              << out.getType();
  }
  SoftmaxLowering(op, target).lower();
  return success();
}
