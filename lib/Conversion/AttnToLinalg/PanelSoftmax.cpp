//===- PanelSoftmax.cpp - Softmax and output of a panel -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToLinalg/PanelLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <numbers>

using namespace mlir;
using namespace mlir::attn;

template <typename Combine>
Value PanelLowering::emitRowSums(Value panel, int64_t rows, double initial) {
  AffineExpr c, r, j;
  bindDims(b.getContext(), c, r, j);
  Value init =
      fill(empty({b.getIndexAttr(heads), b.getIndexAttr(rows)}, f32), initial);
  return linalg::GenericOp::create(
             b, loc, init.getType(), panel, init,
             AffineMap::inferFromExprList(
                 {ArrayRef<AffineExpr>{c, r, j}, {c, r}}, b.getContext()),
             {utils::IteratorType::parallel, utils::IteratorType::parallel,
              utils::IteratorType::reduction},
             [&](OpBuilder &, Location, ValueRange x) {
               linalg::YieldOp::create(
                   b, loc, Combine::create(b, loc, x[1], x[0]).getResult());
             })
      .getResult(0);
}

PanelLowering::Softmax PanelLowering::emitSoftmax(const Tile &tile, Value panel,
                                                  int64_t rows) {
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(heads),
                                     b.getIndexAttr(rows)};
  Box columns = getKeyColumns(tile, margin, rows);
  Value scores = extract(panel, columns);
  Value largest = emitRowSums<arith::MaximumFOp>(scores, rows, -kInfinity);
  SmallVector<Value> inputs = {largest};
  if (op.getSink()) { // A6
    Value sink = tensor::ExtractSliceOp::create(
        b, loc, op.getSink(), ArrayRef<OpFoldResult>{tile.firstHead},
        ArrayRef<OpFoldResult>{b.getIndexAttr(heads)},
        ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
    inputs.push_back(emitConverted(sink, f32));
  }
  Value zeroReal = real(f32, 0.0);
  Value maximum = map(inputs, empty(sizes, f32), [&](ValueRange x) {
    Value m = x[0];
    if (op.getSink())
      m = arith::MaximumFOp::create(b, loc, m, x[1]);
    return select(isMinusInfinity(m), zeroReal, m);
  });
  // In place.
  Value weights = map(maximum, scores, [&](ValueRange x) {
    // Of a power that is at most 0, the error vanishes beside a weight of 1.
    Value power =
        arith::MulFOp::create(b, loc, arith::SubFOp::create(b, loc, x[1], x[0]),
                              real(f32, std::numbers::log2e));
    Value weight = math::Exp2Op::create(b, loc, power);
    return select(isMinusInfinity(x[1]), real(f32, -0.0), weight);
  });
  Value sum = emitRowSums<arith::AddFOp>(weights, rows, 0.0);
  panel = insert(weights, panel, columns);
  if (after.kernel)
    panel = fillMargins(tile, panel, margin, rows, 0.0);
  auto total = [&](ValueRange x) -> Value {
    if (!op.getSink())
      return x[2];
    Value own =
        math::ExpOp::create(b, loc, arith::SubFOp::create(b, loc, x[3], x[1]));
    return arith::AddFOp::create(b, loc, x[2], own);
  };
  inputs = {largest, maximum, sum};
  if (op.getSink())
    inputs.push_back(emitConverted(
        tensor::ExtractSliceOp::create(
            b, loc, op.getSink(), ArrayRef<OpFoldResult>{tile.firstHead},
            ArrayRef<OpFoldResult>{b.getIndexAttr(heads)},
            ArrayRef<OpFoldResult>{b.getIndexAttr(1)}),
        f32));
  Value inverse = map(inputs, empty(sizes, f32), [&](ValueRange x) {
    Value quotient = arith::DivFOp::create(b, loc, real(f32, 1.0), total(x));
    return select(isMinusInfinity(x[0]), zeroReal, quotient);
  });
  Value lse = map(inputs, empty(sizes, f32), [&](ValueRange x) {
    Value log = arith::AddFOp::create(b, loc, x[1],
                                      math::LogOp::create(b, loc, total(x)));
    return select(isMinusInfinity(x[0]), op.getSink() ? x[3] : minusInfinity(),
                  log);
  });
  return {panel, inverse, lse};
}

Value PanelLowering::emitOutput(const Tile &tile, const Softmax &softmax) {
  Value start = empty({b.getIndexAttr(heads), b.getIndexAttr(tileRows),
                       b.getIndexAttr(op.getValueType().getDimSize(3))},
                      f32);
  // Weights of 0 make NaN of what a hidden row must not hold. That is rare.
  Value sums = emitSums(tile, softmax, /*exact=*/false, start);
  Value finite = AllFiniteOp::create(b, loc, b.getI1Type(), sums);
  return scf::IfOp::create(
             b, loc, finite,
             [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, sums); },
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(
                   b, loc, emitSums(tile, softmax, /*exact=*/true, sums));
             })
      .getResult(0);
}

Value PanelLowering::emitSums(const Tile &tile, const Softmax &softmax,
                              bool exact, Value start) {
  int64_t size = op.getValueType().getDimSize(3);
  auto isHidden = [&](Value weight) { return isMinusZero(weight); };
  StageInput input = {softmax.weights, softmax.inverse, isHidden,
                      /*marksAreZero=*/true, -0.0};
  OpFoldResult none = b.getIndexAttr(0), one = b.getIndexAttr(1),
               rows = b.getIndexAttr(tileRows), columns = b.getIndexAttr(size);
  return forEachBlock(
      tile, margin, fill(start, 0.0),
      [&](Value block, Value column, Value sums) {
        Value first = arith::MulIOp::create(b, loc, add(tile.firstBlock, block),
                                            index(kKeys));
        Value count = arith::MinUIOp::create(b, loc, subtract(tile.end, first),
                                             index(kKeys));
        Value weights = softmax.weights;
        int64_t row = scoreRows - tileRows;
        if (after.kernel || after.mixing) {
          Value staged =
              empty({b.getIndexAttr(heads), rows, b.getIndexAttr(kKeys)}, f32);
          weights =
              emitStages(tile, after, input, column, tileRows, staged, none);
          column = zero;
          row = 0;
        }
        auto emitHead = [&](Value c, ValueRange sums) {
          Value value = emitConverted(
              extractRows(op.getValue(), tile.batch,
                          emitKeyHead(add(tile.firstHead, c)), first, count),
              f32);
          Box box = {{c, none, none}, {one, rows, columns}};
          Value p = extractBlock(weights, c, row, tileRows, column, count);
          Value sum = extractBox(sums[0], box, {tileRows, size});
          sum = exact ? emitExactSums(p, value, sum)
                      : linalg::MatmulOp::create(b, loc, sum.getType(),
                                                 ValueRange{p, value}, sum)
                            .getResult(0);
          return SmallVector<Value>{insert(sum, sums[0], box)};
        };
        return loop(zero, index(heads), sums, emitHead).front();
      });
}

Value PanelLowering::emitExactSums(Value weights, Value value, Value sums) {
  AffineExpr r, j, d;
  bindDims(b.getContext(), r, j, d);
  SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
      {ArrayRef<AffineExpr>{r, j}, {j, d}, {r, d}}, b.getContext());
  return linalg::GenericOp::create(
             b, loc, sums.getType(), ValueRange{weights, value}, sums, maps,
             {utils::IteratorType::parallel, utils::IteratorType::reduction,
              utils::IteratorType::parallel},
             [&](OpBuilder &, Location, ValueRange x) {
               Value sum = arith::AddFOp::create(
                   b, loc, x[2], arith::MulFOp::create(b, loc, x[0], x[1]));
               linalg::YieldOp::create(b, loc,
                                       select(isMinusZero(x[0]), x[2], sum));
             })
      .getResult(0);
}
