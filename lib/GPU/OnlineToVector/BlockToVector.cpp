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
#include "lib/GPU/OnlineToVector/BlockSoftmax.h"
#include "lib/GPU/OnlineToVector/RegionToVector.h"
#include "lib/Math/MathBuilder.h"
#include "lib/Online/OnlineQuery.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

#include <array>
#include <functional>

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
  BlockEmitter(OnlineAttentionOp op, OpBuilder &builder, int64_t keys,
               bool hasExponents)
      : op(op), b(op.getLoc(), builder), f32(b.getF32Type()),
        query(op.getQueryMutable().get()),
        rows(cast<VectorType>(query.getType()).getDimSize(0)), keys(keys),
        state(op.getOuts()), fusedScale(findFusedScale(op)),
        hasExponents(hasExponents) {}

  using State = FailureOr<SmallVector<Value>>;

  State emit() {
    BlockFacts facts = emitBlockFacts(b, op);
    numKeys = b.createOrFold<tensor::DimOp>(op.getKey(), 0);
    isDefined = facts.isDefined;
    if (mayBeOfPositions())
      positionScores = allocateInWorkgroup(f32);
    Value isShort =
        b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, numKeys,
                                      arith::ConstantIndexOp::create(b, keys));
    isMasked = b.createOrFold<arith::OrIOp>(facts.isPartial, isShort);
    Value isEmpty = facts.isEmpty;
    if (Value only = op.getDelayedOnly())
      isEmpty = isEmpty ? b.bitOr(isEmpty, only) : only;
    auto emitUnlessEmpty = [&]() -> State {
      if (!isEmpty)
        return emitSteps();
      return emitBranch(
          state, isEmpty, [&] { return emitNoKeys(); },
          [&] { return emitSteps(); });
    };
    if (hasFewWarps())
      return emitStepsInTurns(isEmpty);
    if (isExact() || matchPattern(isMasked, m_Constant()))
      return emitUnlessEmpty();
    // Blocks of which all keys are visible have code of their own, from the
    // first product to the last, in which nothing waits for a branch.
    Value condition = isMasked;
    // What has no keys knows of its keys what the block before does.
    if (Value only = op.getDelayedOnly())
      condition = b.bitOr(condition, only);
    return emitBranch(
        state, condition,
        [&] {
          setMasked(true);
          return emitUnlessEmpty();
        },
        [&] {
          setMasked(false);
          return emitSteps();
        });
  }

private:
  /// Values of the types of `like` that one of two branches emits.
  State emitBranch(ValueRange like, Value condition,
                   llvm::function_ref<State()> emitThen,
                   llvm::function_ref<State()> emitElse) {
    auto branch = scf::IfOp::create(b, TypeRange(like), condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    for (auto [block, emit] : {std::pair(branch.thenBlock(), emitThen),
                               std::pair(branch.elseBlock(), emitElse)}) {
      b.setInsertionPointToStart(block);
      State after = emit();
      if (failed(after))
        return failure();
      scf::YieldOp::create(b, *after);
    }
    return SmallVector<Value>(branch.getResults());
  }

  /// Of a block without keys.
  State emitNoKeys() {
    SmallVector<Value> after(state);
    if (op.isDelayed()) {
      after[0] = emitDelayedProduct();
      after[3] =
          arith::ConstantOp::create(b, b.getZeroAttr(after[3].getType()));
    }
    return after;
  }

  Value emitDelayedProduct() {
    return contractValues(op.getDelayedWeights(),
                          read(op.getDelayedValues(), /*scales=*/{}), state[0]);
  }

  /// A delayed product begins right behind that of scores, and what it is
  /// multiplied by waits until it is there.
  State emitSteps() {
    Value products = emitScoreProducts();
    Value sum = op.isDelayed() ? emitDelayedProduct() : Value();
    FailureOr<Value> scores = emitScores(products);
    if (failed(scores))
      return failure();
    BlockSoftmax softmax = emitWeights(*scores);
    auto &[output, maximum, sums] = softmax.state;
    if (op.isDelayed()) {
      Value weights = toFactor(softmax.weights); // Before the sum is there.
      output = emitWhereAny(softmax.grows, sum, softmax.factor);
      return SmallVector<Value>{output, maximum, sums, weights};
    }
    FailureOr<Value> kept = emitDropout(b, op, softmax.weights);
    if (failed(kept))
      return failure();
    output = isExact() ? emitExactSum(*scores, *kept, output)
                       : emitProduct(*kept, output);
    return llvm::to_vector(softmax.state);
  }

  /// Few warps wait for memory more than for anything else. So all blocks share
  /// what follows the scores: no branch has products with both keys and values,
  /// and the next keys can be copied to where these were while weights are
  /// computed.
  bool hasFewWarps() {
    PlanAttr plan = getPlan(op);
    int64_t ofWarp = plan && plan.getLanes() ? plan.getLanes() : kRowsOfWarp;
    return !isExact() && !op.isDelayed() && rows < kWarpsOfWorkgroup * ofWarp;
  }

  /// The same, where only what makes scores, and what adds to the output, is in
  /// branches.
  State emitStepsInTurns(Value isEmpty) {
    Value none = real(-b.kInfinity, {rows, keys});
    auto emitOwn = [&](bool masked) {
      setMasked(masked);
      return emitScores(emitScoreProducts());
    };
    auto emitUnlessEmpty = [&](Value other,
                               llvm::function_ref<FailureOr<Value>()> emit) {
      if (!isEmpty)
        return emit();
      return emitBranch(
          other, isEmpty, [&]() -> FailureOr<Value> { return other; }, emit);
    };
    FailureOr<Value> scores = emitBranch(
        none, isMasked,
        [&] { return emitUnlessEmpty(none, [&] { return emitOwn(true); }); },
        [&] { return emitOwn(false); });
    if (failed(scores))
      return failure();
    auto [weights, after, grows, factor] = emitWeights(*scores);
    FailureOr<Value> kept = emitDropout(b, op, weights);
    if (failed(kept))
      return failure();
    FailureOr<Value> output =
        emitUnlessEmpty(after[0], [&]() -> FailureOr<Value> {
          return emitProduct(*kept, after[0]);
        });
    return SmallVector<Value>{*output, after[1], after[2]};
  }

  void setMasked(bool constant) {
    isMasked = arith::ConstantOp::create(b, b.getBoolAttr(constant));
  }

  /// Whether products with hidden positions are left out. Rounds are written
  /// out, each of one kind.
  bool isExact() { return matchPattern(op.getExact(), m_One()); }

  /// (M, N) of this type, in the workgroup's memory.
  Value allocateInWorkgroup(Type element) {
    auto space = gpu::AddressSpaceAttr::get(
        b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
    return memref::AllocaOp::create(
        b, MemRefType::get({rows, keys}, element, MemRefLayoutAttrInterface{},
                           space));
  }

  BlockSoftmax emitWeights(Value scores) {
    auto order = SoftmaxOrder::MaximaFirst;
    if (op.isDelayed())
      order = SoftmaxOrder::WhileProductsRun;
    else if (hasFewWarps() && !getElementTypeOrSelf(query).isF32())
      order = SoftmaxOrder::WeightsFirst; // Products of f32 take longer anyway.
    return emitSoftmax(b, op, scores, ArrayRef(state).take_front(3),
                       hasExponents, order);
  }

  /// `matrix` with rows multiplied by `factor` in warps where it grows.
  Value emitWhereAny(Value grows, Value matrix, Value factor) {
    auto branch =
        scf::IfOp::create(b, matrix.getType(), AnyInWarpOp::create(b, grows),
                          /*withElse=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, matrix);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, multiplyRows(b, matrix, factor));
    return branch.getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Scores
  //===--------------------------------------------------------------------===//

  /// The same of one value, in one branch where the condition is constant.
  FailureOr<Value> emitBranch(Value like, Value condition,
                              llvm::function_ref<FailureOr<Value>()> emitThen,
                              llvm::function_ref<FailureOr<Value>()> emitElse) {
    if (matchPattern(condition, m_Zero()))
      return emitElse();
    if (matchPattern(condition, m_One()))
      return emitThen();
    auto toState = [](FailureOr<Value> value) -> State {
      if (failed(value))
        return failure();
      return SmallVector<Value>{*value};
    };
    State result = emitBranch(
        ValueRange(like), condition, [&] { return toState(emitThen()); },
        [&] { return toState(emitElse()); });
    if (failed(result))
      return failure();
    return result->front();
  }

  Value emitScoreProducts() {
    AffineExpr q, j, d;
    bindDims(b.getContext(), q, j, d);
    return contract(query, read(op.getKey(), op.getKeyScales()),
                    real(0.0, {rows, keys}), {{q, d}, {j, d}, {q, j}});
  }

  FailureOr<Value> emitScores(Value scores) {
    if (op.getScale() && !fusedScale)
      scores = b.mul(scores, broadcastTo(b, op.getScale(), {rows, keys}));
    return emitBranch(
        scores, findVectorForm(), [&] { return emitVectorScores(scores); },
        [&] {
          return emitPositionScores(b, op, scores, numKeys, positionScores);
        });
  }

  /// Whether scores may be computed position by position.
  bool mayBeOfPositions() {
    bool isVector = !op.hasScore() || isVectorizable(op.getScoreRegion(), true);
    isVector &= !op.hasMask() || isVectorizable(op.getMaskRegion(), false);
    return !isVector || !matchPattern(isDefined, m_One());
  }

  /// An i1: whether the block's scores can be computed as vectors.
  Value findVectorForm() {
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
  FailureOr<Value> emitVectorScores(Value scores) {
    if (op.hasScore()) {
      FailureOr<Value> changed = vectorizeRegion(
          b, op.getScoreRegion(), positions(), scores, op.getScoreCaptures());
      if (failed(changed))
        return failure();
      scores = broadcastTo(b, *changed, {rows, keys});
    }
    return isMaskVectorized ? emitVisible(scores) : scores;
  }

  /// -inf where a key is hidden, or not there (A10: after the score).
  FailureOr<Value> emitVisible(Value scores) {
    return emitBranch(
        scores, isMasked, [&] { return emitMasked(scores); },
        [&] { return scores; });
  }

  FailureOr<Value> emitMasked(Value scores) {
    Value keep = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, column(),
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
    return Value(b.select(keep, scores, b.real(scores, -b.kInfinity)));
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

  /// Adds `weights * value` to `sums`.
  Value emitProduct(Value weights, Value sums) {
    return contractValues(toFactor(weights),
                          read(op.getValue(), op.getValueScales()), sums);
  }

  Value contractValues(Value weights, Value values, Value sums) {
    AffineExpr q, d, j;
    bindDims(b.getContext(), q, d, j);
    return contract(weights, values, sums, {{q, j}, {j, d}, {q, d}});
  }

  /// Matrix units multiply numbers of one type.
  Value toFactor(Value weights) {
    Type element = getElementTypeOrSelf(query);
    return element.isF32() ? weights
                           : arith::TruncFOp::create(
                                 b, vectorOf({rows, keys}, element), weights);
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
  SmallVector<Value> state; ///< Accumulator, maximum, sum and delayed weights.
  Value numKeys;
  Value positionScores;      ///< Memory for them, which branches share.
  Value isDefined, isMasked; ///< As in `BlockFacts`; keys may also be missing.
  std::optional<double> fusedScale;
  bool hasExponents; ///< In place of maxima.
  bool isMaskVectorized = true;
};

} // namespace

FailureOr<SmallVector<Value>> attn::emitBlock(OpBuilder &b,
                                              OnlineAttentionOp op,
                                              int64_t keys, bool hasExponents) {
  return BlockEmitter(op, b, keys, hasExponents).emit();
}
