//===- PanelStages.cpp - Convolutions and mixing of heads, by blocks ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block of keys is copied with its margins, with 0 where it is hidden, and
// convolved there. What is hidden is marked in the panel that stages read: as a
// score of -inf, or a weight of -0.0.
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/AttnToLinalg/PanelLowering.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

Value PanelLowering::isMinusZero(Value weight) {
  Type i32 = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, loc, i32, weight);
  Value sign = arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(i32, APInt::getSignMask(32)));
  return compare(arith::CmpIPredicate::eq, bits, sign);
}

Value PanelLowering::emitStagesBefore(const Tile &tile, Value scores) {
  auto isHidden = [&](Value score) { return isMinusInfinity(score); };
  Box box = getKeyColumns(tile, margin, weightRows);
  box.sizes.back() = b.getIndexAttr(kKeys);
  // In place, by a copy: a panel more would not stay in the second-level cache.
  auto emitBlock = [&](Value, Value column, Value panel) {
    StageInput input = {panel, Value(), isHidden, /*marksAreZero=*/false,
                        -kInfinity};
    Value staged = empty({b.getIndexAttr(heads), b.getIndexAttr(weightRows),
                          b.getIndexAttr(kKeys)},
                         f32);
    staged = emitStages(tile, before, input, column, weightRows, staged,
                        b.getIndexAttr(0));
    box.offsets.back() = subtract(column, index(scoreMargin - margin));
    Value copied =
        map(staged, extract(panel, box), [](ValueRange x) { return x[0]; });
    return insert(copied, panel, box);
  };
  return forEachBlock(tile, scoreMargin, scores, emitBlock);
}

Value PanelLowering::emitStages(const Tile &tile, Stages stages,
                                const StageInput &input, Value column,
                                int64_t numRows, Value destination,
                                OpFoldResult destinationColumn) {
  Value convolved;
  if (stages.kernel) {
    bool isLast = !stages.mixing;
    Value blocks = isLast
                       ? destination
                       : empty({b.getIndexAttr(heads), b.getIndexAttr(numRows),
                                b.getIndexAttr(kKeys)},
                               f32);
    OpFoldResult place = isLast ? destinationColumn : b.getIndexAttr(0);
    auto convolve = [&](Value c, ValueRange blocks) {
      Value block = emitConvolution(tile, stages, input, column, c, numRows);
      block = emitHidden(input, column, c, numRows, block,
                         isLast ? input.mark : 0.0);
      return SmallVector<Value>{insertBlock(block, blocks[0], c, place)};
    };
    convolved = loop(zero, index(heads), blocks, convolve).front();
    if (isLast)
      return convolved;
  }
  auto mix = [&](Value c, ValueRange blocks) {
    Value block =
        emitMixing(tile, stages, input, column, c, numRows, convolved);
    return SmallVector<Value>{
        insertBlock(block, blocks[0], c, destinationColumn)};
  };
  return loop(zero, index(heads), destination, mix).front();
}

Value PanelLowering::emitHidden(const StageInput &input, Value column, Value c,
                                int64_t numRows, Value block, double mark) {
  Value marks = extractBlock(input.panel, c, scoreRows - numRows, numRows,
                             column, b.getIndexAttr(kKeys));
  return map(marks, block, [&](ValueRange x) {
    return select(input.isHidden(x[0]), real(f32, mark), x[1]);
  });
}

Value PanelLowering::emitConvolution(const Tile &tile, Stages stages,
                                     const StageInput &input, Value column,
                                     Value c, int64_t numRows) {
  int64_t cq = stages.getQueryHalo() + 1, ck = 2 * stages.getKeyHalo() + 1;
  auto kernelType = cast<RankedTensorType>(stages.kernel.getType());
  bool mixes = kernelType.getRank() == 4;
  int64_t mixed = mixes ? stages.getNumMixedHeads() : 1;
  int64_t readRows = numRows + cq - 1, readColumns = kKeys + 2 * margin;
  int64_t skipped = scoreRows - readRows;
  Value first =
      mixes ? subtract(c, arith::RemUIOp::create(b, loc, c, index(mixed))) : c;
  OpFoldResult none = b.getIndexAttr(0), one = b.getIndexAttr(1);

  // T4, T5: 0 around the panel and where it is hidden.
  Value source = extractBox(
      input.panel,
      {{first, b.getIndexAttr(skipped), subtract(column, index(margin))},
       {b.getIndexAttr(mixed), b.getIndexAttr(readRows),
        b.getIndexAttr(readColumns)}},
      {mixed, readRows, readColumns});
  SmallVector<Value> inputs = {source};
  if (input.factors)
    inputs.push_back(
        extractBox(input.factors,
                   {{first, b.getIndexAttr(weightRows - readRows)},
                    {b.getIndexAttr(mixed), b.getIndexAttr(readRows)}},
                   {mixed, readRows}));
  Value visible =
      map(inputs,
          empty({b.getIndexAttr(mixed), b.getIndexAttr(readRows),
                 b.getIndexAttr(readColumns)},
                f32),
          [&](ValueRange x) {
            Value result = x[0];
            if (!input.marksAreZero)
              result = select(input.isHidden(result), real(f32, 0.0), result);
            if (input.factors)
              result = arith::MulFOp::create(b, loc, result, x[1]);
            return result;
          });
  visible =
      extractBox(visible,
                 {{none, none, b.getIndexAttr(margin - stages.getKeyHalo())},
                  {b.getIndexAttr(mixed), b.getIndexAttr(readRows),
                   b.getIndexAttr(kKeys + ck - 1)}},
                 {mixed, readRows, kKeys + ck - 1});

  SmallVector<OpFoldResult> offsets(kernelType.getRank(), none),
      sizes(kernelType.getRank(), one);
  offsets[0] = add(tile.firstHead, c);
  for (int64_t dim = 1; dim < kernelType.getRank(); ++dim)
    sizes[dim] = b.getIndexAttr(kernelType.getDimSize(dim));
  Value kernel = extractBox(stages.kernel, {offsets, sizes}, {mixed, cq, ck});

  AffineExpr r, j, e, a, k;
  bindDims(b.getContext(), r, j, e, a, k);
  SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
      {ArrayRef<AffineExpr>{e, r + a, j + k}, {e, a, k}, {r, j}},
      b.getContext());
  SmallVector<utils::IteratorType> loops(5, utils::IteratorType::reduction);
  loops[0] = loops[1] = utils::IteratorType::parallel;
  Value sums =
      fill(empty({b.getIndexAttr(numRows), b.getIndexAttr(kKeys)}, f32), 0.0);
  return linalg::GenericOp::create(
             b, loc, sums.getType(), ValueRange{visible, kernel}, sums, maps,
             loops,
             [&](OpBuilder &, Location, ValueRange x) {
               Value product = arith::MulFOp::create(b, loc, x[0], x[1]);
               linalg::YieldOp::create(
                   b, loc,
                   arith::AddFOp::create(b, loc, x[2], product).getResult());
             })
      .getResult(0);
}

Value PanelLowering::emitMixing(const Tile &tile, Stages stages,
                                const StageInput &input, Value column, Value c,
                                int64_t numRows, Value convolved) {
  int64_t mixed = stages.getNumMixedHeads(), skipped = scoreRows - numRows;
  Value place = arith::RemUIOp::create(b, loc, c, index(mixed));
  Value first = subtract(c, place);
  Value group =
      arith::DivUIOp::create(b, loc, add(tile.firstHead, c), index(mixed));
  bool hasFactors = input.factors && !convolved;
  OpFoldResult width = b.getIndexAttr(kKeys);
  SmallVector<Value> blocks, weights, factors;
  for (int64_t e = 0; e < mixed; ++e) {
    Value head = add(first, index(e));
    blocks.push_back(convolved ? extractBlock(convolved, head, 0, numRows,
                                              b.getIndexAttr(0), width)
                               : extractBlock(input.panel, head, skipped,
                                              numRows, column, width));
    Value weight = tensor::ExtractOp::create(
        b, loc, stages.mixing, ValueRange{group, index(e), place});
    weights.push_back(weight);
    if (!hasFactors)
      continue;
    Value ofRows = extractBox(input.factors,
                              {{head, b.getIndexAttr(weightRows - numRows)},
                               {b.getIndexAttr(1), b.getIndexAttr(numRows)}},
                              {numRows});
    factors.push_back(map(ofRows, empty({b.getIndexAttr(numRows)}, f32),
                          [&](ValueRange x) -> Value {
                            return arith::MulFOp::create(b, loc, x[0], weight);
                          }));
  }
  SmallVector<Value> inputs(blocks);
  llvm::append_range(inputs, factors);
  inputs.push_back(
      extractBlock(input.panel, c, skipped, numRows, column, width));
  Value destination = empty({b.getIndexAttr(numRows), width}, f32);
  return map(inputs, destination, [&](ValueRange x) {
    Value sum;
    for (int64_t e = 0; e < mixed; ++e) {
      Value term = x[e], weight = hasFactors ? x[mixed + e] : weights[e];
      if (!convolved && !input.marksAreZero)
        term = select(input.isHidden(term), real(f32, 0.0), term);
      sum = sum ? math::FmaOp::create(b, loc, term, weight, sum).getResult()
                : arith::MulFOp::create(b, loc, term, weight).getResult();
    }
    return select(input.isHidden(x[inputs.size() - 1]), real(f32, input.mark),
                  sum);
  });
}
