//===- PanelScores.cpp - Scores of a panel, and its stages ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A convolution is one elementwise operation on as many shifted views of its
// input as it has taps, so that its sums stay in registers.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToLinalg/PanelLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

/// Taps that one operation sums at most, so that it stays of a size that is
/// compiled quickly.
constexpr int64_t kMostTaps = 72;

Value PanelLowering::emitDots(const Tile &tile) {
  int64_t size = op.getQueryType().getDimSize(3);
  // The rows of the query that are there.
  Value low = arith::MaxSIOp::create(b, loc, tile.first, zero);
  Value high =
      arith::MinSIOp::create(b, loc, add(tile.first, index(rows)), numQueries);
  Value count = subtract(high, low), skipped = subtract(low, tile.first);
  return loop(zero, index(heads), panelLike(tile),
              [&](Value c, ValueRange panels) {
                Value head = add(tile.firstHead, c);
                Value query = emitConverted(
                    extractRows(op.getQuery(), tile.batch, head, low, count),
                    f32);
                Value all = fill(
                    empty({b.getIndexAttr(rows), b.getIndexAttr(size)}, f32),
                    0.0);
                all = insert(query, all,
                             {{skipped, b.getIndexAttr(0)},
                              {count, b.getIndexAttr(size)}});
                Value blocks =
                    arith::DivUIOp::create(b, loc, tile.width, index(kKeys));
                return loop(
                    zero, blocks, panels, [&](Value block, ValueRange panels) {
                      Value column =
                          arith::MulIOp::create(b, loc, block, index(kKeys));
                      return SmallVector<Value>{
                          emitBlock(tile, all, head, c, column, panels[0])};
                    });
              })
      .front();
}

Value PanelLowering::emitBlock(const Tile &tile, Value query, Value head,
                               Value c, Value column, Value panel) {
  int64_t size = op.getQueryType().getDimSize(3);
  Value first = add(tile.begin, column);
  Value count =
      arith::MinUIOp::create(b, loc, subtract(numKeys, first), index(kKeys));
  Value key =
      extractRows(op.getKey(), tile.batch, emitKeyHead(head), first, count);
  Value keys =
      fill(empty({b.getIndexAttr(size), b.getIndexAttr(kKeys)}, f32), 0.0);
  key = emitConverted(key, f32);
  Box part{{b.getIndexAttr(0), b.getIndexAttr(0)},
           {b.getIndexAttr(size), count}};
  Value transposed =
      linalg::TransposeOp::create(b, loc, key, extract(keys, part),
                                  ArrayRef<int64_t>{1, 0})
          ->getResult(0);
  keys = insert(transposed, keys, part);
  Value block =
      fill(empty({b.getIndexAttr(rows), b.getIndexAttr(kKeys)}, f32), 0.0);
  block = linalg::MatmulOp::create(b, loc, block.getType(),
                                   ValueRange{query, keys}, block)
              .getResult(0);
  return insert(
      block, panel,
      {{c, b.getIndexAttr(0), column},
       {b.getIndexAttr(1), b.getIndexAttr(rows), b.getIndexAttr(kKeys)}});
}

Value PanelLowering::emitScores(const Tile &tile, Value dots) {
  return map(dots, panelLike(tile), [&](ValueRange elements) -> Value {
    auto at = [&](int64_t dim, Value first) {
      return arith::AddIOp::create(b, loc, linalg::IndexOp::create(b, loc, dim),
                                   first)
          .getResult();
    };
    Value h = at(0, tile.firstHead), row = at(1, tile.first),
          p = at(1, tile.position), j = at(2, tile.begin);
    SmallVector<Value> position = {tile.batch, h, p, j};
    Value score = arith::MulFOp::create(b, loc, elements[0], scale);
    if (op.hasScore()) {
      SmallVector<Value> arguments = {score};
      llvm::append_range(arguments, position);
      llvm::append_range(arguments, op.getScoreCaptures());
      score = evaluateRegion(b, op.getScore(), arguments).value;
    }
    Value keep = compare(arith::CmpIPredicate::slt, j, tile.end);
    // T4: rows before the first; unsigned for both ends.
    keep = arith::AndIOp::create(
        b, loc, keep, compare(arith::CmpIPredicate::ult, row, numQueries));
    if (op.hasMask()) {
      SmallVector<Value> arguments(position);
      llvm::append_range(arguments, op.getMaskCaptures());
      keep = arith::AndIOp::create(
          b, loc, keep, evaluateRegion(b, op.getMask(), arguments).value);
    }
    return arith::SelectOp::create(b, loc, keep, score, minusInfinity());
  });
}

Value PanelLowering::emitStages(const Tile &tile, Stages stages, Value panel,
                                Value scores, double hidden) {
  if (stages.kernel)
    panel = emitConvolution(tile, stages, panel, scores,
                            stages.mixing ? 0.0 : hidden);
  else if (hidden != 0.0)
    panel = hide(tile, panel, scores, 0.0);
  if (stages.mixing)
    panel = emitMixing(tile, stages, panel, scores, hidden);
  return panel;
}

Value PanelLowering::hide(const Tile &tile, Value panel, Value scores,
                          double value) {
  return map({panel, scores}, panelLike(tile), [&](ValueRange x) {
    return select(x[1], real(f32, value), x[0]);
  });
}

Value PanelLowering::emitConvolution(const Tile &tile, Stages stages,
                                     Value panel, Value scores, double hidden) {
  int64_t queries = stages.getQueryHalo(), keys = stages.getKeyHalo();
  int64_t cq = queries + 1, ck = 2 * keys + 1;
  bool mixes = cast<ShapedType>(stages.kernel.getType()).getRank() == 4;
  int64_t mixed = mixes ? stages.getNumMixedHeads() : 1;
  // T4, T5: with 0 around it and where it is hidden.
  Value padded =
      fill(empty({b.getIndexAttr(heads), b.getIndexAttr(rows + queries),
                  OpFoldResult(add(tile.width, index(2 * keys)))},
                 f32),
           0.0);
  Box inner{{b.getIndexAttr(0), b.getIndexAttr(queries), b.getIndexAttr(keys)},
            {b.getIndexAttr(heads), b.getIndexAttr(rows), tile.width}};
  Value visible =
      map({panel, scores}, extract(padded, inner),
          [&](ValueRange x) { return select(x[1], real(f32, 0.0), x[0]); });
  padded = insert(visible, padded, inner);
  return loop(zero, index(heads), panelLike(tile),
              [&](Value c, ValueRange panels) {
                Value first = arith::SubIOp::create(
                    b, loc, c, arith::RemUIOp::create(b, loc, c, index(mixed)));
                Value result;
                SmallVector<Value> views, weights;
                int64_t done = 0, taps = mixed * cq * ck;
                for (int64_t e = 0; e < mixed; ++e)
                  for (int64_t a = 0; a < cq; ++a)
                    for (int64_t k = 0; k < ck; ++k) {
                      views.push_back(
                          extractMatrix(tile, padded, add(first, index(e)),
                                        b.getIndexAttr(a), b.getIndexAttr(k)));
                      SmallVector<Value> at = {add(tile.firstHead, c)};
                      if (mixes)
                        at.push_back(index(e));
                      at.append({index(a), index(k)});
                      weights.push_back(
                          tensor::ExtractOp::create(b, loc, stages.kernel, at));
                      bool isLast = ++done == taps;
                      if (int64_t(views.size()) < kMostTaps && !isLast)
                        continue;
                      result = emitSums(
                          tile, views, weights, result,
                          isLast ? matrixOf(tile, scores, c) : Value(), hidden);
                      views.clear();
                      weights.clear();
                    }
                return SmallVector<Value>{
                    insertMatrix(tile, result, panels[0], c)};
              })
      .front();
}

Value PanelLowering::emitMixing(const Tile &tile, Stages stages, Value panel,
                                Value scores, double hidden) {
  int64_t mixed = stages.getNumMixedHeads();
  return loop(zero, index(heads), panelLike(tile),
              [&](Value c, ValueRange panels) {
                Value place = arith::RemUIOp::create(b, loc, c, index(mixed));
                Value first = subtract(c, place);
                Value group = arith::DivUIOp::create(
                    b, loc, add(tile.firstHead, c), index(mixed));
                SmallVector<Value> views, weights;
                for (int64_t e = 0; e < mixed; ++e) {
                  views.push_back(matrixOf(tile, panel, add(first, index(e))));
                  weights.push_back(tensor::ExtractOp::create(
                      b, loc, stages.mixing,
                      ValueRange{group, index(e), place}));
                }
                Value result = emitSums(tile, views, weights, nullptr,
                                        matrixOf(tile, scores, c), hidden);
                return SmallVector<Value>{
                    insertMatrix(tile, result, panels[0], c)};
              })
      .front();
}

Value PanelLowering::emitSums(const Tile &tile, ArrayRef<Value> matrices,
                              ArrayRef<Value> factors, Value start,
                              Value scores, double hidden) {
  SmallVector<Value> inputs(matrices);
  if (start)
    inputs.push_back(start);
  if (scores)
    inputs.push_back(scores);
  Value destination =
      empty({b.getIndexAttr(rows), OpFoldResult(tile.width)}, f32);
  return map(inputs, destination, [&](ValueRange x) {
    Value sum = start ? x[matrices.size()] : Value();
    for (auto [number, factor] : llvm::enumerate(factors))
      sum =
          sum ? math::FmaOp::create(b, loc, x[number], factor, sum).getResult()
              : arith::MulFOp::create(b, loc, x[number], factor).getResult();
    return scores ? select(x[inputs.size() - 1], real(f32, hidden), sum) : sum;
  });
}
