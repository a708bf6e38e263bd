//===- PanelSoftmax.cpp - Softmax and output of a panel -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToLinalg/PanelLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

template <typename Combine>
Value PanelLowering::emitRowSums(Value panel, double initial) {
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

PanelLowering::Softmax PanelLowering::emitSoftmax(const Tile &tile,
                                                  Value panel) {
  SmallVector<OpFoldResult> sizes = {b.getIndexAttr(heads),
                                     b.getIndexAttr(rows)};
  Value largest = emitRowSums<arith::MaximumFOp>(panel, -kInfinity);
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
    return select(m, zeroReal, m);
  });
  Value weights = map({panel, maximum}, panelLike(tile), [&](ValueRange x) {
    return math::ExpOp::create(b, loc,
                               arith::SubFOp::create(b, loc, x[0], x[1]))
        .getResult();
  });
  Value sum = emitRowSums<arith::AddFOp>(weights, 0.0);
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
    return select(x[0], zeroReal, quotient);
  });
  Value lse = map(inputs, empty(sizes, f32), [&](ValueRange x) {
    Value log = arith::AddFOp::create(b, loc, x[1],
                                      math::LogOp::create(b, loc, total(x)));
    return select(x[0], op.getSink() ? x[3] : minusInfinity(), log);
  });
  return {weights, inverse, lse};
}

Value PanelLowering::emitOutput(const Tile &tile, Value weights, Value scores) {
  int64_t size = op.getValueType().getDimSize(3);
  Value count = subtract(tile.end, tile.begin);
  Value outputs = empty(
      {b.getIndexAttr(heads), b.getIndexAttr(tileRows), b.getIndexAttr(size)},
      f32);
  return loop(zero, index(heads), outputs,
              [&](Value c, ValueRange outputs) {
                Value head = add(tile.firstHead, c);
                Value value = emitConverted(
                    extractRows(op.getValue(), tile.batch, emitKeyHead(head),
                                tile.begin, count),
                    f32);
                auto tail = [&](Value panel) {
                  return extractBox(
                      panel,
                      {{c, b.getIndexAttr(halo), b.getIndexAttr(0)},
                       {b.getIndexAttr(1), b.getIndexAttr(tileRows), count}},
                      {tileRows, ShapedType::kDynamic});
                };
                Value p = tail(weights), s = tail(scores);
                Value finite =
                    AllFiniteOp::create(b, loc, b.getI1Type(), value);
                auto start = [&] {
                  return fill(
                      empty({b.getIndexAttr(tileRows), b.getIndexAttr(size)},
                            f32),
                      0.0);
                };
                Value sums =
                    scf::IfOp::create(
                        b, loc, finite,
                        [&](OpBuilder &, Location) {
                          Value zeros = start();
                          scf::YieldOp::create(b, loc,
                                               linalg::MatmulOp::create(
                                                   b, loc, zeros.getType(),
                                                   ValueRange{p, value}, zeros)
                                                   .getResult(0));
                        },
                        [&](OpBuilder &, Location) {
                          scf::YieldOp::create(
                              b, loc, emitExactSums(p, s, value, start()));
                        })
                        .getResult(0);
                return SmallVector<Value>{
                    insert(sums, outputs[0],
                           {{c, b.getIndexAttr(0), b.getIndexAttr(0)},
                            {b.getIndexAttr(1), b.getIndexAttr(tileRows),
                             b.getIndexAttr(size)}})};
              })
      .front();
}

Value PanelLowering::emitExactSums(Value weights, Value scores, Value value,
                                   Value sums) {
  AffineExpr r, j, d;
  bindDims(b.getContext(), r, j, d);
  SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
      {ArrayRef<AffineExpr>{r, j}, {r, j}, {j, d}, {r, d}}, b.getContext());
  return linalg::GenericOp::create(
             b, loc, sums.getType(), ValueRange{scores, weights, value}, sums,
             maps,
             {utils::IteratorType::parallel, utils::IteratorType::reduction,
              utils::IteratorType::parallel},
             [&](OpBuilder &, Location, ValueRange x) {
               Value sum = arith::AddFOp::create(
                   b, loc, x[3], arith::MulFOp::create(b, loc, x[1], x[2]));
               linalg::YieldOp::create(b, loc, select(x[0], x[3], sum));
             })
      .getResult(0);
}
