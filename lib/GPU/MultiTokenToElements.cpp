//===- MultiTokenToElements.cpp - Multi-token attention by element --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// For GPUs: a kernel for each step, with a thread for each element of what it
// gives. Of the strip (B, Hq, rows, Skv) that the rows of the output, and those
// before them that their convolutions see, have of scores
//
//   scores        = mask ? score(scale * dot(query, key)) : -inf
//   weights       = stages before(scores), 0 where hidden
//   largest, sum  = of each row of weights, without what is hidden
//   probabilities = exp(weights - largest) / sum
//   weights       = stages after(probabilities), 0 where hidden
//   output        = sum of dropout(weights) * value, of what is not hidden
//
// where a position is hidden if its score is -inf (T5).

#include "dialect/AttnOps.h"
#include "lib/GPU/ParallelElements.h"
#include "lib/GPU/Passes.h"
#include "lib/Reference/PositionCode.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_MULTITOKENTOELEMENTS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the lowering of one op.
class ElementLowering : PositionCode<MultiTokenAttentionOp> {
public:
  ElementLowering(MultiTokenAttentionOp op, OpBuilder &builder)
      : PositionCode(builder, op) {}

  /// Returns the op's results.
  SmallVector<Value> emit() {
    scale = emitScale();
    numQueries = dim(op.getQuery(), 2);
    numKeys = dim(op.getKey(), 2);
    Value numRows = dim(op.getOutput(), 2), past = sub(numQueries, numRows);
    before = min(past, op.getHalo()); // T2
    first = sub(past, before);
    ofRows = {size(op.getOutput(), 0), getIndexAttr(op.getNumQueryHeads()),
              getAsOpFoldResult(add(numRows, before))};
    ofStrip = ofRows;
    ofStrip.push_back(getAsOpFoldResult(numKeys));
    scores = emitScores();
    staged = emitStages(op.getStagesBefore(), scores);
    largest = emitLargest();
    sums = emitSumsOfRows();
    Value weights = emitStages(op.getStagesAfter(), emitProbabilities());
    SmallVector<Value> results = {emitOutput(weights)};
    if (Value lse = op.getLogSumExp())
      results.push_back(emitEachElement(*this, lse, [&](ArrayRef<Value> at) {
        return convert(emitLogSumExpOf(toStrip(at)), getElementTypeOrSelf(lse));
      }));
    return results;
  }

private:
  using At = ArrayRef<Value>;

  /// The indices in the strip of a row of the output, which `at` begins with.
  SmallVector<Value> toStrip(At at) {
    return {at[0], at[1], add(at[2], before)};
  }
  SmallVector<Value> withKey(At row, Value j) {
    return {row[0], row[1], row[2], j};
  }
  RowPosition getPosition(At at) {
    Value origin = op.createFirstPosition(*this, at[0], numQueries, numKeys);
    return {at[0], at[1], add(origin, add(first, at[2]))};
  }
  Value isHidden(At at) { return isMinusInfinity(load(scores, at)); }

  Value emitElements(ArrayRef<OpFoldResult> sizes,
                     function_ref<Value(At)> element) {
    return emitEachElement(*this, empty(sizes, accumulation), element);
  }

  //===--------------------------------------------------------------------===//
  // Scores and stages
  //===--------------------------------------------------------------------===//

  Value emitScores() {
    return emitElements(ofStrip, [&](At at) {
      RowPosition row = getPosition(at);
      return emitScoreAt(
          *this, getLoc(),
          {op.getScore(), op.getMask(), op.getScoreCaptures(),
           op.getMaskCaptures()},
          {row.number, row.head, row.position, at[3]},
          [&](OpBuilder &inside) -> Value { // A10
            IndexBuilder b(getLoc(), inside);
            return b.mulF(emitDot(b, at), scale);
          },
          op.getOperationName());
    });
  }

  Value emitDot(IndexBuilder &b, At at) {
    Value row = b.add(first, at[2]), head = b.div(at[1], op.getGroupSize());
    Value zero = b.real(accumulation, 0.0);
    return b.loop(0, b.size(op.getKey(), 3), 1, zero,
                  [&](Value d, Value sum) -> Value {
                    Value x = b.load(op.getQuery(), {at[0], at[1], row, d});
                    Value y = b.load(op.getKey(), {at[0], head, at[3], d});
                    return math::FmaOp::create(b, b.convert(x, accumulation),
                                               b.convert(y, accumulation), sum);
                  });
  }

  /// What a stage reads, 0 where hidden.
  Value read(Value strip, At at) {
    Value element = load(strip, at);
    if (strip == scores)
      element = select(isMinusInfinity(element), real(0.0), element);
    return element;
  }

  /// `strip` after the stages of one side.
  Value emitStages(MultiTokenStages stages, Value strip) {
    if (stages.kernel)
      strip =
          emitStage([&](At at) { return emitConvolution(stages, strip, at); });
    if (stages.mixing)
      strip = emitStage([&](At at) { return emitMixing(stages, strip, at); });
    return strip;
  }

  Value emitStage(function_ref<Value(At)> element) {
    return emitElements(ofStrip, [&](At at) { // T5
      return choose(
          isHidden(at), [&] { return real(0.0); }, [&] { return element(at); });
    });
  }

  /// Of one element, by a kernel `(Hq, [ch,] cq, ck)`.
  Value emitConvolution(MultiTokenStages stages, Value strip, At at) {
    auto type = cast<RankedTensorType>(stages.kernel.getType());
    bool mixes = type.getRank() == 4;
    int64_t heads = mixes ? type.getDimSize(1) : 1,
            keys = type.getShape().back(), queries = stages.getQueryHalo(),
            half = stages.getKeyHalo();
    Value head = sub(at[1], rem(at[1], heads));
    // T4: what is outside counts as 0.
    Value row = sub(at[2], queries), key = sub(at[3], half),
          firstRow = max(sub(0, row), 0), firstKey = max(sub(0, key), 0),
          endKey = min(sub(numKeys, key), keys);
    return loop(0, heads, real(0.0), [&](Value e, Value sum) {
      return loop(firstRow, queries + 1, sum, [&](Value a, Value sum) {
        return loop(firstKey, endKey, sum, [&](Value c, Value sum) -> Value {
          SmallVector<Value> factor = {at[1], a, c};
          if (mixes)
            factor.insert(factor.begin() + 1, e);
          Value x =
              read(strip, {at[0], add(head, e), add(row, a), add(key, c)});
          return math::FmaOp::create(
              *this, toAccumulation(load(stages.kernel, factor)), x, sum);
        });
      });
    });
  }

  Value emitMixing(MultiTokenStages stages, Value strip, At at) {
    int64_t heads = stages.getNumMixedHeads();
    Value place = rem(at[1], heads), head = sub(at[1], place);
    return loop(0, heads, real(0.0), [&](Value e, Value sum) -> Value {
      Value factor = load(stages.mixing, {div(at[1], heads), e, place});
      return math::FmaOp::create(
          *this, toAccumulation(factor),
          read(strip, {at[0], add(head, e), at[2], at[3]}), sum);
    });
  }

  //===--------------------------------------------------------------------===//
  // Softmax and output
  //===--------------------------------------------------------------------===//

  /// What the softmax gets, -inf where hidden.
  Value loadStaged(At at) {
    if (staged == scores)
      return load(scores, at);
    return select(isHidden(at), minusInfinity(), load(staged, at));
  }

  Value emitLargest() {
    return emitElements(ofRows, [&](At row) {
      return reduce<arith::MaximumFOp>(numKeys, minusInfinity(), [&](Value j) {
        return loadStaged(withKey(row, j));
      });
    });
  }

  Value loadSink(At row) {
    if (!op.getSink())
      return {};
    return toAccumulation(load(op.getSink(), row[1]));
  }
  /// What is subtracted from the weights of a row.
  Value emitMaximumOf(At row) {
    return emitMaximum(load(largest, row.take_front(3)), loadSink(row));
  }
  Value emitExp(At at, Value maximum) {
    return exp(subF(loadStaged(at), maximum));
  }

  Value emitSumsOfRows() {
    return emitElements(ofRows, [&](At row) {
      Value maximum = emitMaximumOf(row);
      return reduce<arith::AddFOp>(
          numKeys, emitSinkTerm(loadSink(row), maximum),
          [&](Value j) { return emitExp(withKey(row, j), maximum); });
    });
  }

  Value emitProbabilities() {
    return emitElements(ofStrip, [&](At at) {
      At row = at.take_front(3);
      Value quotient = divF(emitExp(at, emitMaximumOf(row)), load(sums, row));
      Value isEmpty = isMinusInfinity(load(largest, row)); // T7
      return select(isEmpty, real(0.0), quotient);
    });
  }

  Value emitLogSumExpOf(At row) {
    return emitLogSumExp(emitMaximumOf(row), load(sums, row),
                         isMinusInfinity(load(largest, row)), loadSink(row));
  }

  Value emitOutput(Value weights) {
    return emitEachElement(*this, op.getOutput(), [&](At at) {
      SmallVector<Value> row = toStrip(at);
      RowPosition position = getPosition(row);
      Value head = emitKeyHead(at[1]);
      Value sum = loop(0, numKeys, real(0.0), [&](Value j, Value sum) {
        // T5: whatever a value row of the hidden keys holds.
        return choose(
            isHidden(withKey(row, j)), [&] { return sum; },
            [&]() -> Value {
              Value weight = load(weights, withKey(row, j));
              if (op.hasDropout())
                weight = emitDropout(position, j, weight);
              Value value = load(op.getValue(), {at[0], head, j, at[3]});
              return math::FmaOp::create(*this, weight, toAccumulation(value),
                                         sum);
            });
      });
      return convert(sum, op.getElementType());
    });
  }

  Value scale, numQueries, numKeys;
  Value first;  ///< Row of the query that row 0 of the strip is.
  Value before; ///< Rows of the strip before those of the output.
  SmallVector<OpFoldResult> ofRows, ofStrip;
  Value scores, staged; ///< Before and after the stages before the softmax.
  Value largest, sums;  ///< Of rows.
};

struct MultiTokenToElements
    : attn::impl::MultiTokenToElementsBase<MultiTokenToElements> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](MultiTokenAttentionOp op) {
      if (op->getNumResults() == 0)
        return;
      op.emitRemark("is computed element by element, and keeps the scores of "
                    "all its queries and keys in memory");
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, ElementLowering(op, rewriter).emit());
    });
  }
};

} // namespace
