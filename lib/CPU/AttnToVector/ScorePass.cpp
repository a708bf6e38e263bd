//===- ScorePass.cpp - Scores of a softmax step as vector code ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/AttnToVector/ScorePass.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/bit.h"

#include <optional>

using namespace mlir;
using namespace mlir::attn;

static bool hasLoads(Region &region) {
  return !region.empty() && !region.front().getOps<memref::LoadOp>().empty();
}

/// Drops what only messages need.
static void dropPosition(Region &region) {
  if (region.empty())
    return;
  Block &block = region.front();
  cast<YieldOp>(block.getTerminator()).getPositionMutable().clear();
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

ScorePass::ScorePass(OnlineSoftmaxOp op, TargetAttr target)
    : SoftmaxRows(op, target), whole(cast<OnlineSoftmaxOp>(op->clone())) {
  dropPosition(op.getScoreRegion());
  dropPosition(op.getMaskRegion());
}

Pieces ScorePass::buildScores(const Pieces &maximum) {
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
    ifOp.getConditionMutable().assign(b.andI(op.getDefined(), buildGuard()));
  if (matchPattern(ifOp.getCondition(), m_One()))
    return inlineThen(ifOp);
  b.setInsertionPointToStart(ifOp.elseBlock());
  buildScalarScores();
  b.create<scf::YieldOp>(buildMaximum(maximum));
  return ifOp.getResults();
}

Pieces ScorePass::inlineThen(scf::IfOp ifOp) {
  Operation *yield = ifOp.thenYield();
  Pieces results(yield->getOperands());
  yield->erase();
  ifOp->getBlock()->getOperations().splice(ifOp->getIterator(),
                                           ifOp.thenBlock()->getOperations());
  ifOp.erase();
  return results;
}

/// Says which loads of a region vectors do not gather.
static void remarkOnLoads(Region &region, const RegionDependence &dependence) {
  for (auto load : region.front().getOps<memref::LoadOp>())
    if (dependence.onLane(load) &&
        dependence.getForm(load) == LoadForm::PerElement)
      load.emitRemark("is loaded element by element, because ")
          << (load.getMemRefType().isLastDimUnitStride()
                  ? "vectors gather words of 32 bits: use f32 or i32, or say "
                    "the sizes of the tensor in its type"
                  : "the last dimension of the tensor is not contiguous");
}

bool ScorePass::isVectorizable() {
  for (bool isScore : {true, false}) {
    Region &region = isScore ? op.getScoreRegion() : op.getMaskRegion();
    if (region.empty())
      continue;
    RegionDependence dependence(region, isScore);
    std::optional<VectorizationObstacle> obstacle =
        findVectorizationObstacle(region, dependence);
    if (!obstacle) {
      remarkOnLoads(region, dependence);
      continue;
    }
    obstacle->op->emitRemark()
        << "the '" << (isScore ? "score" : "mask")
        << "' region is evaluated position by position: " << obstacle->reason;
    return false;
  }
  return true;
}

Value ScorePass::buildGuard() {
  Value small;
  auto check = [&](Value number, int64_t lowest) {
    Value shifted = b.subI(number, lowest);
    Value inside = b.compareI(arith::CmpIPredicate::ult, shifted,
                              int64_t(kGuardedPosition) - lowest);
    small = small ? b.andI(small, inside) : inside;
  };
  check(tile.batch, 0);
  check(tile.head, 0);
  check(tile.position, -int64_t(kGuardedPosition));
  check(tile.firstKey, 0);
  return small;
}

Pieces ScorePass::buildMaximum(const Pieces &maximum) {
  return loopOverRows(
      0, paddedKeys, unroll, maximum,
      [&](Value row) { return b.load(tile.scores, row, scalar); },
      [&](Value x, Value y) { return b.maximum(x, y); });
}

Pieces ScorePass::buildUnmasked(const Pieces &maximum) {
  return op.hasScore() || tile.scale ? buildPass(maximum, /*masked=*/false)
                                     : buildMaximum(maximum);
}

Pieces ScorePass::buildVectorScores(const Pieces &maximum) {
  if (!op.hasMask())
    return buildUnmasked(maximum);
  return b.branch(
      op.getPartial(), [&] { return buildPass(maximum, /*masked=*/true); },
      [&] { return buildUnmasked(maximum); });
}

Pieces ScorePass::buildPass(const Pieces &maximum, bool masked) {
  auto build = [&] { return buildRowsByQuotients(maximum, masked); };
  // What is loaded before the loop may not exist without keys.
  if (!hasLoads(op.getScoreRegion()) && !hasLoads(op.getMaskRegion()))
    return build();
  Value any = b.compareI(arith::CmpIPredicate::ne, tile.numKeys, 0);
  return b.branch(any, build, [&] { return maximum; });
}

Pieces ScorePass::buildRowsByQuotients(const Pieces &maximum, bool masked) {
  SmallVector<int64_t> divisors = getKeyDivisors(op.getScoreRegion(), true);
  if (masked)
    llvm::append_range(divisors, getKeyDivisors(op.getMaskRegion(), false));
  if (divisors.empty())
    return buildRows(maximum, masked, /*sameQuotients=*/false);
  Value last = b.addI(tile.firstKey, b.subI(tile.numKeys, 1));
  Value areSame;
  for (int64_t divisor : divisors) {
    Value isSame =
        b.compareI(arith::CmpIPredicate::eq, b.divUI(tile.firstKey, divisor),
                   b.divUI(last, divisor));
    areSame = areSame ? b.andI(areSame, isSame) : isSame;
  }
  return b.branch(
      areSame,
      [&] { return buildRows(maximum, masked, /*sameQuotients=*/true); },
      [&] { return buildRows(maximum, masked, /*sameQuotients=*/false); });
}

Pieces ScorePass::buildRows(const Pieces &maximum, bool masked,
                            bool sameQuotients) {
  std::optional<RegionDependence> ofScore, ofMask;
  std::optional<RegionVectorizer> score, mask;
  if (op.hasScore()) {
    ofScore.emplace(op.getScoreRegion(), /*isScore=*/true, sameQuotients);
    score.emplace(op.getScoreRegion(), *ofScore, tile, op.getScoreCaptures(),
                  arithmetic, b);
    score->prepare();
  }
  if (masked) {
    ofMask.emplace(op.getMaskRegion(), /*isScore=*/false, sameQuotients);
    mask.emplace(op.getMaskRegion(), *ofMask, tile, op.getMaskCaptures(),
                 arithmetic, b);
    mask->prepare();
  }
  // LLVM makes a masked store, with a mask of its own, of a select of what is
  // loaded from the same place.
  bool masksLoads = mask && !score && !scales && b.getTarget().getScalef();
  auto build = [&](TileRow at) {
    Value row = b.addI(at.first, at.offset);
    Pieces scores = masksLoads ? b.loadWhere(mask->evaluateMask(at),
                                             tile.scores, row, minusInfinity())
                               : b.load(tile.scores, row, scalar);
    if (scales)
      for (Value &piece : scores)
        piece = b.mul(piece, scales);
    if (score)
      scores = score->evaluateScore(at, scores);
    if (mask && !masksLoads) { // A10: after the score.
      for (auto [piece, keep] : llvm::zip(scores, mask->evaluateMask(at)))
        piece = b.select(keep, piece, minusInfinity());
    }
    return scores;
  };
  Pieces result = maximum;
  Value done = b.index(0);
  int64_t apart = getRowsApart();
  if (apart > 1 &&
      ((mask && mask->sharesPieces()) || (score && score->sharesPieces()))) {
    int64_t size = apart * b.getWidth();
    Value end = b.andI(tile.numKeys, -size);
    auto body = [&](Value first, ValueRange carried) -> SmallVector<Value> {
      Value after = b.addI(first, b.getWidth());
      return storeRows(first, after, {.count = apart, .stride = b.getWidth()},
                       Pieces(carried), build);
    };
    result = b.loop(done, end, size, result, body);
    done = end;
  }
  int64_t count = unroll;
  if ((mask && mask->readsBits()) || (score && score->readsBits()))
    count *= 2;
  Value whole = b.andI(tile.numKeys, -count);
  result = storeRows(done, whole, {.count = count}, result, build);
  return count == 1
             ? result
             : storeRows(whole, tile.numKeys, {.count = 1}, result, build);
}

Pieces ScorePass::storeRows(Value lower, Value upper, RowGroup group,
                            const Pieces &maximum,
                            function_ref<Pieces(TileRow)> build) {
  auto body = [&](Value first, ValueRange carried) -> SmallVector<Value> {
    SmallVector<Pieces> rows;
    for (int64_t i = 0; i < group.count; ++i)
      rows.push_back(build({first, i * group.stride}));
    for (auto [i, scores] : llvm::enumerate(rows))
      b.store(scores, tile.scores, b.addI(first, int64_t(i) * group.stride));
    return combineRows(rows, carried,
                       [&](Value x, Value y) { return b.maximum(x, y); });
  };
  return b.loop(lower, upper, group.stride == 1 ? group.count : 1, maximum,
                body);
}

int64_t ScorePass::getRowsApart() {
  constexpr int64_t kPieces = 8;
  int64_t pieces = b.getNumPieces();
  int64_t rows = cast<ShapedType>(op.getScores().getType()).getDimSize(0);
  if (pieces == 1)
    return 1;
  return int64_t(llvm::bit_floor(
      uint64_t(std::min(kPieces / pieces, rows / b.getWidth()))));
}

void ScorePass::buildScalarScores() {
  Value zero = b.index(0);
  b.loop(zero, tile.numKeys, 1, [&](Value row) {
    Value j = b.addI(tile.firstKey, row);
    b.loop(zero, tile.numQueries, 1, [&](Value lane) {
      Value p = b.addI(tile.position, lane);
      Value dot = b.create<memref::LoadOp>(tile.scores, ValueRange{row, lane});
      Value score = emitScoreAt(
          b, b.getLoc(),
          {whole->getScoreRegion(), whole->getMaskRegion(),
           whole->getScoreCaptures(), whole->getMaskCaptures()},
          {tile.batch, tile.head, p, j}, [&](OpBuilder &inside) -> Value {
            if (!tile.scale)
              return dot;
            return arith::MulFOp::create(inside, b.getLoc(), dot, tile.scale);
          });
      b.create<memref::StoreOp>(score, tile.scores, ValueRange{row, lane});
    });
    b.loop(tile.numQueries, b.getNumLanes(), 1, [&](Value lane) {
      b.create<memref::StoreOp>(b.number(scalar, -kInfinity), tile.scores,
                                ValueRange{row, lane});
    });
  });
}
