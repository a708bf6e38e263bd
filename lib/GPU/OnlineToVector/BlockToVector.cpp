//===- BlockToVector.cpp - Attention of one block of keys as vectors ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/OnlineToVector/BlockToVector.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/GPU/ConvertedRows.h"
#include "lib/GPU/OnlineToVector/DropoutToVector.h"
#include "lib/GPU/OnlineToVector/RegionToVector.h"
#include "lib/Math/MathBuilder.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <numbers>

using namespace mlir;
using namespace mlir::attn;

/// The score at row `i` and column `k` of a tile, of which `memory` holds that
/// before the regions.
static Value emitScore(ImplicitLocOpBuilder &b, OnlineAttentionOp op,
                       Value memory, Value i, Value k) {
  Value p = arith::AddIOp::create(b, op.getPosition(), i);
  Value j = arith::AddIOp::create(b, op.getFirstKey(), k);
  return emitScoreAt(b, b.getLoc(),
                     {op.getScoreRegion(), op.getMaskRegion(),
                      op.getScoreCaptures(), op.getMaskCaptures()},
                     {op.getBatch(), op.getHead(), p, j},
                     [&](OpBuilder &inside) -> Value {
                       return memref::LoadOp::create(inside, b.getLoc(), memory,
                                                     ValueRange{i, k});
                     });
}

/// Applies the regions of `op` to `scores`, a vector of queries and keys in
/// f32, position by position, with a guard around what may be undefined (A12).
/// The threads of the workgroup share the positions, and the scores in
/// `memory`, a matrix in workgroup memory. Those that are hidden, or not there,
/// are -inf.
static Value emitPositionScores(OpBuilder &builder, OnlineAttentionOp op,
                                Value scores, Value numKeys, Value memory) {
  IndexBuilder b(op.getLoc(), builder);
  auto type = cast<VectorType>(scores.getType());
  Type element = type.getElementType();
  Value zero = b.index(0);
  std::array inBounds = {true, true};
  vector::TransferWriteOp::create(b, scores, memory, ValueRange{zero, zero},
                                  inBounds);
  Value hidden = b.real(element, -MathBuilder::kInfinity);
  auto loop = scf::ForallOp::create(
      b, getAsIndexOpFoldResult(b.getContext(), type.getShape()),
      /*outputs=*/ValueRange(), /*mapping=*/std::nullopt);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop.getTerminator());
    Value i = loop.getInductionVars()[0], k = loop.getInductionVars()[1];
    Value exists = arith::AndIOp::create(b, b.isLess(i, op.getNumQueries()),
                                         b.isLess(k, numKeys));
    Value score = b.choose(
        exists, [&] { return emitScore(b, op, memory, i, k); },
        [&] { return hidden; });
    memref::StoreOp::create(b, score, memory, ValueRange{i, k});
  }
  return vector::TransferReadOp::create(b, type, memory, ValueRange{zero, zero},
                                        b.zero(element), inBounds);
}

namespace {

/// Emits the attention of one block of keys, whose query and state are vectors.
class BlockEmitter {
public:
  BlockEmitter(OnlineAttentionOp op, OpBuilder &builder, int64_t keys)
      : op(op), b(op.getLoc(), builder), f32(b.getF32Type()),
        query(op.getQueryMutable().get()),
        rows(cast<VectorType>(query.getType()).getDimSize(0)), keys(keys),
        state(op.getOuts()), fusedScale(findFusedScale(op)) {}

  FailureOr<SmallVector<Value>> emit() {
    BlockFacts facts = emitBlockFacts(b, op);
    numKeys = b.createOrFold<tensor::DimOp>(op.getKey(), 0);
    if (!facts.isEmpty)
      return emitSteps(facts);
    auto block = scf::IfOp::create(b, TypeRange(state), facts.isEmpty,
                                   /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(block.thenBlock());
    scf::YieldOp::create(b, state);
    b.setInsertionPointToStart(block.elseBlock());
    FailureOr<SmallVector<Value>> after = emitSteps(facts);
    if (failed(after))
      return failure();
    scf::YieldOp::create(b, *after);
    return SmallVector<Value>(block.getResults());
  }

private:
  FailureOr<SmallVector<Value>> emitSteps(const BlockFacts &facts) {
    FailureOr<Value> scores = emitScores(facts);
    if (failed(scores))
      return failure();
    Value maximum = state[1];
    Value highest = emitMaximum(*scores);
    Value own = fusedScale ? b.mul(highest, *fusedScale) : highest;
    Value next = arith::MaximumFOp::create(b, maximum, own);
    // The difference of equal infinities would be NaN, here and of scores.
    Value factor = b.select(b.isEqual(maximum, next), b.real(next, 1.0),
                            emitExp(b.sub(maximum, next)));
    Value origin =
        b.select(b.isEqual(next, -b.kInfinity), b.real(next, 0.0), next);
    Value weights =
        fusedScale ? emitScaledWeights(*scores, highest, b.sub(own, origin))
                   : emitExp(b.sub(*scores, overKeys(origin)));
    Value sum = vector::MultiDimReductionOp::create(
        b, weights, b.mul(state[2], factor), {false, true},
        vector::CombiningKind::ADD);
    FailureOr<Value> kept = emitDropout(b, op, weights);
    if (failed(kept))
      return failure();
    return SmallVector<Value>{emitAccumulator(*scores, *kept, factor), next,
                              sum};
  }

  /// (M, N) of this type, in the workgroup's memory.
  Value allocateInWorkgroup(Type element) {
    auto space = gpu::AddressSpaceAttr::get(
        b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
    return memref::AllocaOp::create(
        b, MemRefType::get({rows, keys}, element, MemRefLayoutAttrInterface{},
                           space));
  }

  //===--------------------------------------------------------------------===//
  // Softmax
  //===--------------------------------------------------------------------===//

  /// A scale that is part of the exponent's factor, so that scores stay as the
  /// product left them. It is at most ln 2, with which no score overflows, and
  /// so large that a difference of scores overflows only if its weight is 0.
  static std::optional<double> findFusedScale(OnlineAttentionOp op) {
    FloatAttr scale;
    if (op.hasScore() || !op.getScale() ||
        !matchPattern(op.getScale(), m_Constant(&scale)))
      return std::nullopt;
    double value = scale.getValueAsDouble();
    if (value >= 0x1p-100 && value <= std::numbers::ln2)
      return value;
    return std::nullopt;
  }

  Value emitMaximum(Value scores) {
    return vector::MultiDimReductionOp::create(
        b, scores, real(-b.kInfinity, {rows}), {false, true},
        vector::CombiningKind::MAXIMUMF);
  }

  /// e^(scale (score - highest) + rest). What is subtracted is subtracted
  /// first: products with the scale are rounded, by hundreds if they are large.
  Value emitScaledWeights(Value scores, Value highest, Value rest) {
    // The difference of equal infinities would be NaN.
    highest = b.select(b.isEqual(highest, -b.kInfinity), b.real(highest, 0.0),
                       highest);
    Value difference = b.sub(scores, overKeys(highest));
    Value factor = real(*fusedScale * std::numbers::log2e, {rows, keys});
    rest = b.mul(rest, std::numbers::log2e);
    return b.exp2(b.fma(difference, factor, overKeys(rest)));
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  FailureOr<Value> emitScores(const BlockFacts &facts) {
    AffineExpr q, j, d;
    bindDims(b.getContext(), q, j, d);
    Value scores = contract(query, read(op.getKey(), op.getKeyScales()),
                            real(0.0, {rows, keys}), {{q, d}, {j, d}, {q, j}});
    if (op.getScale() && !fusedScale)
      scores = b.mul(scores, broadcastTo(b, op.getScale(), {rows, keys}));
    Value isShort =
        b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, numKeys,
                                      arith::ConstantIndexOp::create(b, keys));
    Value isMasked = b.createOrFold<arith::OrIOp>(facts.isPartial, isShort);
    Value hasVectors = findVectorForm(facts.isDefined, isMasked);
    auto byPosition = [&] {
      return emitPositionScores(b, op, scores, numKeys,
                                allocateInWorkgroup(f32));
    };
    if (matchPattern(hasVectors, m_Zero()))
      return byPosition();
    if (matchPattern(hasVectors, m_One()))
      return emitVectorScores(scores, isMasked);
    auto choice = scf::IfOp::create(b, scores.getType(), hasVectors,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    FailureOr<Value> ofVectors = emitVectorScores(scores, isMasked);
    if (failed(ofVectors))
      return failure();
    scf::YieldOp::create(b, *ofVectors);
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, byPosition());
    return choice.getResult(0);
  }

  /// An i1: whether the block's scores can be computed as vectors.
  Value findVectorForm(Value isDefined, Value isMasked) {
    if (op.hasScore() && !isVectorizable(op.getScoreRegion(), /*isScore=*/true))
      return arith::ConstantOp::create(b, b.getBoolAttr(false));
    isMaskVectorized =
        !op.hasMask() || isVectorizable(op.getMaskRegion(), /*isScore=*/false);
    if (isMaskVectorized)
      return isDefined;
    // Without the mask.
    Value isWhole = b.createOrFold<arith::XOrIOp>(
        isMasked, arith::ConstantOp::create(b, b.getBoolAttr(true)));
    return b.createOrFold<arith::AndIOp>(isDefined, isWhole);
  }

  /// Where regions are defined.
  FailureOr<Value> emitVectorScores(Value scores, Value isMasked) {
    if (op.hasScore()) {
      FailureOr<Value> changed = vectorizeRegion(
          b, op.getScoreRegion(), positions(), scores, op.getScoreCaptures());
      if (failed(changed))
        return failure();
      scores = broadcastTo(b, *changed, {rows, keys});
    }
    return isMaskVectorized ? emitVisible(scores, isMasked) : scores;
  }

  /// -inf where a key is hidden, or not there (A10: after the score).
  FailureOr<Value> emitVisible(Value scores, Value isMasked) {
    if (matchPattern(isMasked, m_Zero()))
      return scores;
    auto choice = scf::IfOp::create(b, scores.getType(), isMasked,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    Value number = column();
    Value keep = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, number,
                                       broadcastTo(b, numKeys, {1, keys}));
    keep = broadcastTo(b, keep, {rows, keys});
    if (op.hasMask()) {
      FailureOr<Value> mask =
          vectorizeRegion(b, op.getMaskRegion(), positions(), /*score=*/Value(),
                          op.getMaskCaptures());
      if (failed(mask))
        return failure();
      keep = b.bitAnd(keep, broadcastTo(b, *mask, {rows, keys}));
    }
    scf::YieldOp::create(b,
                         b.select(keep, scores, b.real(scores, -b.kInfinity)));
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, scores);
    return choice.getResult(0);
  }

  PositionTile positions() {
    return {op.getBatch(),    op.getHead(), op.getPosition(),
            op.getFirstKey(), rows,         keys};
  }

  Value column() {
    return vector::ShapeCastOp::create(
        b, vectorOf({1, keys}, b.getIndexType()),
        vector::StepOp::create(b, vectorOf({keys}, b.getIndexType())));
  }

  //===--------------------------------------------------------------------===//
  // Output
  //===--------------------------------------------------------------------===//

  /// `c * O + P * value`.
  Value emitAccumulator(Value scores, Value weights, Value factor) {
    auto type = cast<VectorType>(state[0].getType());
    Value rescaled = b.mul(state[0], broadcastTo(b, factor, type.getShape()));
    auto product = [&]() -> Value {
      AffineExpr q, d, j;
      bindDims(b.getContext(), q, d, j);
      // Matrix units multiply numbers of one type.
      Type element = getElementTypeOrSelf(query);
      Value factor = weights;
      if (!element.isF32())
        factor = arith::TruncFOp::create(b, vectorOf({rows, keys}, element),
                                         weights);
      return contract(factor, read(op.getValue(), op.getValueScales()),
                      rescaled, {{q, j}, {j, d}, {q, d}});
    };
    if (matchPattern(op.getExact(), m_Zero()))
      return product();
    auto choice = scf::IfOp::create(b, type, op.getExact(),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(choice.thenBlock());
    scf::YieldOp::create(b, emitExactSum(scores, weights, rescaled));
    b.setInsertionPointToStart(choice.elseBlock());
    scf::YieldOp::create(b, product());
    return choice.getResult(0);
  }

  /// Leaves out the products with hidden positions, key by key.
  Value emitExactSum(Value scores, Value weights, Value rescaled) {
    auto type = cast<VectorType>(rescaled.getType());
    Value marked = b.select(b.isEqual(scores, -b.kInfinity),
                            b.real(weights, -1.0), weights);
    // Rounded as for the product.
    Type element = getElementTypeOrSelf(query);
    if (!element.isF32())
      marked =
          arith::TruncFOp::create(b, vectorOf({rows, keys}, element), marked);
    Value memory = allocateInWorkgroup(element);
    Value zero = arith::ConstantIndexOp::create(b, 0);
    Value one = arith::ConstantIndexOp::create(b, 1);
    vector::TransferWriteOp::create(b, marked, memory, ValueRange{zero, zero},
                                    std::array{true, true});
    auto loop = scf::ForOp::create(b, zero, numKeys, one, rescaled);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value key = loop.getInductionVar(), before = loop.getRegionIterArg(0);
    AffineMap columns = AffineMap::get(2, 0, b.getAffineDimExpr(0));
    Value weight = vector::TransferReadOp::create(
        b, vectorOf({rows}, element), memory, ValueRange{zero, key},
        realScalar(element, 0.0), columns, std::array{true});
    Value scale;
    if (op.getValueScales())
      scale = tensor::ExtractOp::create(b, op.getValueScales(), key);
    Value value = emitConvertedRows(b, readRows(op.getValue(), key, 1, true),
                                    scale, element);
    if (!element.isF32()) {
      weight = arith::ExtFOp::create(b, vectorOf({rows}, f32), weight);
      value = arith::ExtFOp::create(b, vectorOf({1, type.getDimSize(1)}, f32),
                                    value);
    }
    weight = broadcastTo(b, weight, type.getShape());
    value = broadcastTo(b, value, type.getShape());
    Value sum = b.fma(weight, value, before);
    scf::YieldOp::create(b, b.select(b.isLess(weight, 0.0), before, sum));
    return loop.getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  /// The rows of a block as factors for the query or for weights, with 0 after
  /// the last, and after the last element of each.
  Value read(Value matrix, Value scales) {
    Value zero = arith::ConstantIndexOp::create(b, 0);
    bool isWhole = cast<ShapedType>(matrix.getType()).getDimSize(0) == keys;
    if (scales)
      scales = vector::TransferReadOp::create(
          b, vectorOf({keys}, f32), scales, ValueRange{zero},
          realScalar(f32, 0.0), std::array{isWhole});
    return emitConvertedRows(b, readRows(matrix, zero, keys, isWhole), scales,
                             getElementTypeOrSelf(query));
  }

  /// `count` rows of a matrix from `first` on as they are stored.
  Value readRows(Value matrix, Value first, int64_t count, bool areThere) {
    auto type = cast<RankedTensorType>(matrix.getType());
    int64_t size = padHeadSize(type.getDimSize(1));
    Value padding =
        arith::ConstantOp::create(b, b.getZeroAttr(type.getElementType()));
    return vector::TransferReadOp::create(
        b, vectorOf({count, size}, type.getElementType()), matrix,
        ValueRange{first, arith::ConstantIndexOp::create(b, 0)}, padding,
        std::array{areThere, type.getDimSize(1) == size});
  }

  Value contract(Value lhs, Value rhs, Value sums,
                 ArrayRef<ArrayRef<AffineExpr>> indices) {
    return vector::ContractionOp::create(b, lhs, rhs, sums, indices,
                                         {vector::IteratorType::parallel,
                                          vector::IteratorType::parallel,
                                          vector::IteratorType::reduction});
  }

  Value overKeys(Value ofRows) { return broadcastTo(b, ofRows, {rows, keys}); }

  /// e^x = 2^(x log2(e)), of differences, which may overflow to -inf only.
  Value emitExp(Value x) { return b.exp2(b.mul(x, std::numbers::log2e)); }

  Value realScalar(Type type, double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value real(double value, ArrayRef<int64_t> shape) {
    return arith::ConstantOp::create(
        b, DenseElementsAttr::get(vectorOf(shape, f32),
                                  b.getFloatAttr(f32, value).getValue()));
  }

  OnlineAttentionOp op;
  MathBuilder b;
  FloatType f32;
  Value query; ///< A vector by now.
  int64_t rows, keys;
  SmallVector<Value> state; ///< Accumulator, maximum and sum.
  Value numKeys;
  std::optional<double> fusedScale;
  bool isMaskVectorized = true;
};

} // namespace

FailureOr<SmallVector<Value>>
attn::emitBlock(OpBuilder &b, OnlineAttentionOp op, int64_t keys) {
  return BlockEmitter(op, b, keys).emit();
}
