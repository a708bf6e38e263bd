//===- StripSoftmax.cpp - Softmax and output of a strip -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripLowering.h"

#include <numbers>

using namespace mlir;
using namespace mlir::attn;

template <typename Combine>
Value StripLowering::emitRowSums(Value strip, Value initial) {
  AffineExpr c, r, j;
  bindDims(getContext(), c, r, j);
  return generic(strip, initial, {{c, r, j}, {c, r}},
                 [&](ValueRange x) -> Value {
                   return Combine::create(*this, x[1], x[0]);
                 });
}

StripLowering::Softmax StripLowering::createSoftmax(int64_t numHeads) {
  auto create = [&](double value) {
    return fill(empty({numHeads, weightRows}, f32), value);
  };
  return {create(-kInfinity), create(0.0)};
}

Value StripLowering::emitExp(Value power) {
  // Of a power that is at most 0, the error vanishes beside a weight of 1.
  return math::Exp2Op::create(*this, mulF(power, real(std::numbers::log2e)));
}

Value StripLowering::emitWeights(Value scores, Value largest,
                                 Value destination) {
  Value subtrahend = map(largest, emptyLike(largest, f32),
                         [&](ValueRange x) { return finiteOrZero(x[0]); });
  SmallVector<Value> inputs = {subtrahend};
  if (destination)
    inputs.push_back(scores);
  // In place, a score is the old element, which comes next too.
  return map(inputs, destination ? destination : scores, [&](ValueRange x) {
    Value weight = emitExp(subF(x[1], x[0]));
    return select(isMinusInfinity(x[1]), real(-0.0), weight);
  });
}

StripLowering::Update StripLowering::emitUpdate(Value scores,
                                                const Softmax &softmax,
                                                Value destination) {
  Value largest = emitRowSums<arith::MaximumFOp>(scores, softmax.largest);
  Value factor = map(
      {softmax.largest, largest}, emptyLike(largest, f32), [&](ValueRange x) {
        Value power = subF(x[0], finiteOrZero(x[1]));
        // Nothing was summed where all so far is hidden.
        return select(isMinusInfinity(x[0]), real(0.0), emitExp(power));
      });
  Value weights = emitWeights(scores, largest, destination);
  Value sum = map(factor, softmax.sum,
                  [&](ValueRange x) -> Value { return mulF(x[1], x[0]); });
  sum = emitRowSums<arith::AddFOp>(weights, sum);
  return {{largest, sum}, weights, factor};
}

StripLowering::Normalization
StripLowering::emitNormalization(const Tile &tile, const Softmax &softmax) {
  SmallVector<Value> inputs = {softmax.largest, softmax.sum};
  if (op.getSink()) // A6
    inputs.push_back(convertElements(
        extract(op.getSink(), {{tile.firstHead}, {tile.numHeads}}), f32));
  // The largest of scores and sink, its exponentials' sum, and that of the
  // largest score.
  struct Terms {
    Value maximum, total, factor;
  };
  auto emitTerms = [&](ValueRange x) -> Terms {
    Value one = real(1.0), largest = finiteOrZero(x[0]);
    if (!op.getSink())
      return {largest, x[1], one};
    Value maximum = finiteOrZero(maximumF(x[0], x[2]));
    auto emitShare = [&](Value score) {
      // A16: the difference of equal infinities would be NaN.
      Value isLargest = isEqualF(score, maximum);
      return select(isLargest, one, emitExp(subF(score, maximum)));
    };
    Value factor = emitShare(largest);
    Value total = addF(mulF(x[1], factor), emitShare(x[2]));
    return {maximum, total, factor};
  };
  Value inverse =
      map(inputs, emptyLike(softmax.largest, f32), [&](ValueRange x) {
        Terms terms = emitTerms(x);
        Value quotient = divF(terms.factor, terms.total);
        return select(isMinusInfinity(x[0]), real(0.0), quotient);
      });
  Value logSumExp =
      map(inputs, emptyLike(softmax.largest, f32), [&](ValueRange x) {
        Terms terms = emitTerms(x);
        return emitLogSumExp(terms.maximum, terms.total, isMinusInfinity(x[0]),
                             op.getSink() ? x[2] : Value()); // A16
      });
  return {inverse, logSumExp};
}

Value StripLowering::emitSums(const Tile &tile, Value strip, Value factors,
                              Value exact, Value sums) {
  int64_t size = op.getValueType().getDimSize(3);
  StageInput input = {.strip = strip, .factors = factors, .mark = -0.0};
  // Of keys that are hidden from some rows, others have products.
  bool hasRowEnds = canBoundKeys();
  int64_t groupRows = hasRowEnds ? choosePartRows(tileRows) : tileRows;
  return forEachBlock(tile, sums, [&](Value block, Value column, Value sums) {
    Value first = getFirstKey(tile, block), count = emitCount(tile, first);
    Value weights = strip;
    int64_t row = weightRows - tileRows;
    if (after.kernel || after.mixing) {
      Value staged = empty({heads, tileRows, kKeys}, f32);
      weights = emitStages(tile, after, input, column, tileRows, staged, 0);
      column = zero;
      row = 0;
    }
    auto emitHead = [&](Value c, Value sums) {
      Value value = emitKeyRows(tile, op.getValue(), c, first, count);
      auto emitRows = [&](Value group, Value sums) {
        Value begin = mul(group, groupRows);
        Value visible =
            hasRowEnds ? emitKeyCount(tile, begin, groupRows, first) : count;
        Box box = {{c, begin, 0}, {1, groupRows, size}};
        Value p =
            extract(weights,
                    {{c, add(begin, row), column}, {1, groupRows, visible}}, 2);
        Value v = extract(value, {{0, 0}, {visible, size}});
        Value sum = extract(sums, box, 2);
        sum = choose(
            exact, [&] { return emitExactSums(p, v, sum); },
            [&] {
              return linalg::MatmulOp::create(*this, sum.getType(),
                                              ValueRange{p, v}, sum)
                  .getResult(0);
            });
        return insert(sum, sums, box);
      };
      return loop(0, tileRows / groupRows, sums, emitRows);
    };
    return loop(0, heads, sums, emitHead);
  });
}

Value StripLowering::emitKeyCount(const Tile &tile, Value row, int64_t numRows,
                                  Value first) {
  Value position = add(tile.position, add(row, scoreRows - tileRows));
  VisibleKeys keys = emitVisibleKeys(
      *this, getLoc(), op.getMask(), tile.batch, zero,
      {position, add(position, numRows - 1)}, tile.end, op.getMaskCaptures());
  Value count = max(sub(keys.end, first), zero);
  return min(count, kKeys);
}

Value StripLowering::emitExactSums(Value weights, Value value, Value sums) {
  AffineExpr r, j, d;
  bindDims(getContext(), r, j, d);
  return generic({weights, value}, sums, {{r, j}, {j, d}, {r, d}},
                 [&](ValueRange x) {
                   Value sum = addF(x[2], mulF(x[0], x[1]));
                   return select(isMinusZero(x[0]), x[2], sum);
                 });
}
