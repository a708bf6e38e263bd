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

/// Heads that an elementwise operation mixes at most.
constexpr int64_t kMostMixed = 4;

Value PanelLowering::isMinusZero(Value weight) {
  Type i32 = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, loc, i32, weight);
  Value sign = arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(i32, APInt::getSignMask(32)));
  return compare(arith::CmpIPredicate::eq, bits, sign);
}

Value PanelLowering::emitStagesBefore(const Tile &tile, Value scores) {
  auto isHidden = [&](Value score) { return isMinusInfinity(score); };
  Box box = getKeyColumns(tile, weightColumn, weightRows);
  box.sizes.back() = b.getIndexAttr(kKeys);
  // In place, by a copy: a panel more would not stay in the second-level cache.
  auto emitBlock = [&](Value, Value column, Value panel) {
    StageInput input = {panel, Value(), isHidden, /*marksAreZero=*/false,
                        -kInfinity};
    Value staged = empty({b.getIndexAttr(tile.numHeads),
                          b.getIndexAttr(weightRows), b.getIndexAttr(kKeys)},
                         f32);
    staged = emitStages(tile, before, input, column, weightRows, staged,
                        b.getIndexAttr(0));
    box.offsets.back() = subtract(column, index(stageColumn - weightColumn));
    Value copied =
        map(staged, extract(panel, box), [](ValueRange x) { return x[0]; });
    return insert(copied, panel, box);
  };
  return forEachBlock(tile, stageColumn, scores, emitBlock);
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
                       : empty({b.getIndexAttr(tile.numHeads),
                                b.getIndexAttr(numRows), b.getIndexAttr(kKeys)},
                               f32);
    OpFoldResult place = isLast ? destinationColumn : b.getIndexAttr(0);
    auto convolve = [&](Value c, ValueRange blocks) {
      Value block = emitConvolution(tile, stages, input, column, c, numRows);
      block = emitHidden(input, column, c, numRows, block,
                         isLast ? input.mark : 0.0);
      return SmallVector<Value>{insertBlock(block, blocks[0], c, place)};
    };
    convolved = loop(zero, index(tile.numHeads), blocks, convolve).front();
    if (isLast)
      return convolved;
  }
  if (stages.getNumMixedHeads() > kMostMixed)
    return emitMixingProducts(tile, stages, input, column, numRows, convolved,
                              destination, destinationColumn);
  // Some heads at once, so that what they are mixed of is loaded once for all.
  int64_t count = stages.getNumMixedHeads();
  auto mix = [&](Value step, ValueRange blocks) {
    Value c = arith::MulIOp::create(b, loc, step, index(count)),
          result = blocks[0];
    for (auto [i, block] : llvm::enumerate(emitMixing(
             tile, stages, input, column, c, count, numRows, convolved)))
      result = insertBlock(block, result, add(c, index(int64_t(i))),
                           destinationColumn);
    return SmallVector<Value>{result};
  };
  return loop(zero, index(tile.numHeads / count), destination, mix).front();
}

Value PanelLowering::emitHidden(const StageInput &input, Value column, Value c,
                                int64_t numRows, Value block, double mark) {
  Value marks = extractBlock(input.panel, c, input.getNumRows() - numRows,
                             numRows, column, b.getIndexAttr(kKeys));
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
  int64_t skipped = input.getNumRows() - readRows;
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
  Value sums =
      fill(empty({b.getIndexAttr(numRows), b.getIndexAttr(kKeys)}, f32), 0.0);
  return multiplyAdd({{e, r + a, j + k}, {e, a, k}, {r, j}}, {visible, kernel},
                     sums, /*numReductions=*/3);
}

SmallVector<Value> PanelLowering::emitMixing(const Tile &tile, Stages stages,
                                             const StageInput &input,
                                             Value column, Value c,
                                             int64_t count, int64_t numRows,
                                             Value convolved) {
  int64_t mixed = stages.getNumMixedHeads(),
          skipped = input.getNumRows() - numRows;
  Value place = arith::RemUIOp::create(b, loc, c, index(mixed));
  Value first = subtract(c, place);
  Value group =
      arith::DivUIOp::create(b, loc, add(tile.firstHead, c), index(mixed));
  OpFoldResult width = b.getIndexAttr(kKeys), none = b.getIndexAttr(0),
               one = b.getIndexAttr(1), rows = b.getIndexAttr(numRows);
  auto extractMarks = [&](Value head) {
    return extractBlock(input.panel, head, skipped, numRows, column, width);
  };
  SmallVector<Value> inputs, outputs;
  for (int64_t e = 0; e < mixed; ++e) {
    Value head = add(first, index(e));
    inputs.push_back(
        convolved ? extractBlock(convolved, head, 0, numRows, none, width)
                  : extractMarks(head));
  }
  for (int64_t o = 0; o < count; ++o) {
    inputs.push_back(extractMarks(add(c, index(o))));
    outputs.push_back(empty({rows, width}, f32));
  }
  // A number for each pair of heads, or one for each of their rows.
  Value weights =
      extractBox(stages.mixing,
                 {{group, none, place},
                  {one, b.getIndexAttr(mixed), b.getIndexAttr(count)}},
                 {mixed, count});
  bool hasFactors = input.factors && !convolved;
  if (hasFactors)
    weights = emitRowWeights(weights, input.factors, first, numRows);
  for (int64_t o = 0; o < count; ++o)
    for (int64_t e = 0; e < mixed; ++e)
      inputs.push_back(
          hasFactors ? extractBox(weights,
                                  {{b.getIndexAttr(o), b.getIndexAttr(e), none},
                                   {one, one, rows}},
                                  {numRows})
                     : tensor::ExtractOp::create(
                           b, loc, weights, ValueRange{index(e), index(o)}));

  SmallVector<AffineMap> maps;
  for (Value input : inputs) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    AffineMap same = b.getMultiDimIdentityMap(2);
    maps.push_back(type ? same.getMajorSubMap(type.getRank())
                        : AffineMap::get(2, 0, b.getContext()));
  }
  maps.append(outputs.size(), b.getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &, Location, ValueRange x) {
    SmallVector<Value> results;
    for (int64_t o = 0; o < count; ++o) {
      Value sum;
      for (int64_t e = 0; e < mixed; ++e) {
        Value term = x[e], weight = x[mixed + count + o * mixed + e];
        if (!convolved && !input.marksAreZero)
          term = select(input.isHidden(term), real(f32, 0.0), term);
        sum = sum ? math::FmaOp::create(b, loc, term, weight, sum).getResult()
                  : arith::MulFOp::create(b, loc, term, weight).getResult();
      }
      results.push_back(
          select(input.isHidden(x[mixed + o]), real(f32, input.mark), sum));
    }
    linalg::YieldOp::create(b, loc, results);
  };
  auto mix = linalg::GenericOp::create(b, loc, TypeRange(ValueRange(outputs)),
                                       inputs, outputs, maps, loops, body);
  return llvm::to_vector_of<Value>(mix.getResults());
}

Value PanelLowering::emitRowWeights(Value weights, Value factors, Value first,
                                    int64_t numRows) {
  auto type = cast<RankedTensorType>(weights.getType());
  int64_t mixed = type.getDimSize(0), count = type.getDimSize(1);
  OpFoldResult rows = b.getIndexAttr(numRows);
  Value ofHeads = extractBox(factors,
                             {{first, b.getIndexAttr(weightRows - numRows)},
                              {b.getIndexAttr(mixed), rows}},
                             {mixed, numRows});
  Value destination =
      empty({b.getIndexAttr(count), b.getIndexAttr(mixed), rows}, f32);
  AffineExpr o, e, r;
  bindDims(b.getContext(), o, e, r);
  SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
      {ArrayRef<AffineExpr>{e, o}, {e, r}, {o, e, r}}, b.getContext());
  SmallVector<utils::IteratorType> loops(3, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, destination.getType(), ValueRange{weights, ofHeads},
             destination, maps, loops,
             [&](OpBuilder &, Location, ValueRange x) {
               linalg::YieldOp::create(
                   b, loc,
                   arith::MulFOp::create(b, loc, x[0], x[1]).getResult());
             })
      .getResult(0);
}

Value PanelLowering::emitMixingProducts(const Tile &tile, Stages stages,
                                        const StageInput &input, Value column,
                                        int64_t numRows, Value convolved,
                                        Value destination,
                                        OpFoldResult destinationColumn) {
  int64_t mixed = stages.getNumMixedHeads(),
          skipped = input.getNumRows() - numRows;
  OpFoldResult none = b.getIndexAttr(0), one = b.getIndexAttr(1),
               count = b.getIndexAttr(mixed), width = b.getIndexAttr(kKeys);
  Value firstGroup =
      arith::DivUIOp::create(b, loc, tile.firstHead, index(mixed));
  auto emitRow = [&](Value group, Value row, Value destination) {
    Value first = arith::MulIOp::create(b, loc, group, index(mixed));
    auto extractRow = [&](Value panel, Value row, OpFoldResult column) {
      return extractBox(panel, {{first, row, column}, {count, one, width}},
                        {mixed, kKeys});
    };
    Value weights =
        extractBox(stages.mixing,
                   {{add(firstGroup, group), none, none}, {one, count, count}},
                   {mixed, mixed});
    if (input.factors && !convolved) {
      Value factors = extractBox(
          input.factors,
          {{first, add(row, index(weightRows - numRows))}, {count, one}},
          {mixed});
      weights = map({weights, factors}, empty({count, count}, f32),
                    [&](ValueRange x) -> Value {
                      return arith::MulFOp::create(b, loc, x[0], x[1]);
                    });
    }
    Value marks = extractRow(input.panel, add(row, index(skipped)), column);
    Value terms = convolved ? extractRow(convolved, row, none) : marks;
    if (!convolved && !input.marksAreZero)
      terms = map(marks, empty({count, width}, f32), [&](ValueRange x) {
        return select(input.isHidden(x[0]), real(f32, 0.0), x[0]);
      });
    AffineExpr o, j, e;
    bindDims(b.getContext(), o, j, e);
    Value sums =
        multiplyAdd({{e, o}, {e, j}, {o, j}}, {weights, terms},
                    fill(empty({count, width}, f32), 0.0), /*numReductions=*/1);
    sums = map(marks, sums, [&](ValueRange x) {
      return select(input.isHidden(x[0]), real(f32, input.mark), x[1]);
    });
    return insert(sums, destination,
                  {{first, row, destinationColumn}, {count, one, width}});
  };
  auto emitGroup = [&](Value group, ValueRange destinations) {
    return loop(zero, index(numRows), destinations,
                [&](Value row, ValueRange destinations) {
                  return SmallVector<Value>{
                      emitRow(group, row, destinations[0])};
                });
  };
  return loop(zero, index(tile.numHeads / mixed), destination, emitGroup)
      .front();
}
