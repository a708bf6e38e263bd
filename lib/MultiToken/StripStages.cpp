//===- StripStages.cpp - Convolutions and mixing of heads, by blocks ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is hidden is marked in the strip that stages read: as a score of -inf,
// or a weight of -0.0. Before it is convolved, a block of keys with hidden ones
// is copied with its margins, with 0 there.
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripLowering.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

/// Lanes of a part of a block that is convolved unless all of it is hidden.
constexpr int64_t kPartLanes = 16;

/// Heads that an elementwise operation mixes at most.
constexpr int64_t kMostMixed = 4;

Value StripLowering::isMinusZero(Value weight) {
  Type i32 = b.getI32Type();
  Value bits = arith::BitcastOp::create(b, loc, i32, weight);
  Value sign = arith::ConstantOp::create(
      b, loc, b.getIntegerAttr(i32, APInt::getSignMask(32)));
  return compare(arith::CmpIPredicate::eq, bits, sign);
}

Value StripLowering::emitStages(const Tile &tile, Stages stages,
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
      return SmallVector<Value>{
          emitConvolution(tile, stages, input, column, c, numRows,
                          isLast ? input.mark : 0.0, blocks[0], place)};
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

Value StripLowering::emitHidden(const StageInput &input, Value row,
                                Value column, Value c, Value block,
                                double mark) {
  auto type = cast<RankedTensorType>(block.getType());
  Value marks =
      extractBox(input.strip,
                 {{c, row, column},
                  {b.getIndexAttr(1), b.getIndexAttr(type.getDimSize(0)),
                   b.getIndexAttr(type.getDimSize(1))}},
                 type.getShape());
  return map(marks, block, [&](ValueRange x) {
    return select(input.isHidden(x[0]), real(f32, mark), x[1]);
  });
}

Value StripLowering::emitConvolution(const Tile &tile, Stages stages,
                                     const StageInput &input, Value column,
                                     Value c, int64_t numRows, double mark,
                                     Value destination,
                                     OpFoldResult destinationColumn) {
  int64_t cq = stages.getQueryHalo() + 1, ck = 2 * stages.getKeyHalo() + 1;
  auto kernelType = cast<RankedTensorType>(stages.kernel.getType());
  bool mixes = kernelType.getRank() == 4;
  int64_t mixed = mixes ? stages.getNumMixedHeads() : 1;
  int64_t readRows = numRows + cq - 1, readColumns = kKeys + 2 * margin;
  int64_t skipped = input.getNumRows() - readRows;
  Value first =
      mixes ? subtract(c, arith::RemUIOp::create(b, loc, c, index(mixed))) : c;
  OpFoldResult none = b.getIndexAttr(0), one = b.getIndexAttr(1);

  SmallVector<OpFoldResult> offsets(kernelType.getRank(), none),
      sizes(kernelType.getRank(), one);
  offsets[0] = add(tile.firstHead, c);
  for (int64_t dim = 1; dim < kernelType.getRank(); ++dim)
    sizes[dim] = b.getIndexAttr(kernelType.getDimSize(dim));
  Value kernel = extractBox(stages.kernel, {offsets, sizes}, {mixed, cq, ck});
  AffineExpr r, j, e, a, k;
  bindDims(b.getContext(), r, j, e, a, k);
  // Some rows and lanes of the result, from those of a block with its margins.
  auto getPart = [&](Value row, int64_t rows, Value lane, int64_t lanes) {
    return Box{
        {c, row,
         add(getValueOrCreateConstantIndexOp(b, loc, destinationColumn), lane)},
        {one, b.getIndexAttr(rows), b.getIndexAttr(lanes)}};
  };
  auto convolve = [&](Value block, Value destination, Value row, int64_t rows,
                      Value lane, int64_t lanes) {
    Value read =
        extractBox(block,
                   {{none, row, add(lane, index(margin - stages.getKeyHalo()))},
                    {b.getIndexAttr(mixed), b.getIndexAttr(rows + cq - 1),
                     b.getIndexAttr(lanes + ck - 1)}},
                   {mixed, rows + cq - 1, lanes + ck - 1});
    Value sums = fill(
        extractBox(destination, getPart(row, rows, lane, lanes), {rows, lanes}),
        0.0);
    return multiplyAdd({{e, r + a, j + k}, {e, a, k}, {r, j}}, {read, kernel},
                       sums, /*numReductions=*/3);
  };

  Value source = extractBox(
      input.strip,
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
  // Here, and not where it is used, for a buffer that all blocks have.
  Value copy = empty({b.getIndexAttr(mixed), b.getIndexAttr(readRows),
                      b.getIndexAttr(readColumns)},
                     f32);
  auto emitVisible = [&] {
    // T4, T5: 0 around the strip and where it is hidden.
    Value visible = map(inputs, copy, [&](ValueRange x) {
      Value result = x[0];
      if (!input.marksAreZero)
        result = select(input.isHidden(result), real(f32, 0.0), result);
      if (input.factors)
        result = arith::MulFOp::create(b, loc, result, x[1]);
      return result;
    });
    // After the softmax, every block is copied, and most have nothing hidden.
    bool inParts = op.hasMask() && !input.marksAreZero;
    int64_t rows = inParts ? choosePartRows(numRows) : numRows,
            lanes = inParts ? kPartLanes : kKeys;
    auto emitPart = [&](Value row, Value lane, Value destination) {
      Value block = convolve(visible, destination, row, rows, lane, lanes);
      block = emitHidden(input, add(row, index(input.getNumRows() - numRows)),
                         add(column, lane), c, block, mark);
      return insert(block, destination, getPart(row, rows, lane, lanes));
    };
    if (!inParts)
      return emitPart(zero, zero, destination);
    auto emitRows = [&](Value i, ValueRange destinations) {
      Value row = arith::MulIOp::create(b, loc, i, index(rows));
      return loop(
          zero, index(kKeys / lanes), destinations,
          [&](Value i, ValueRange destinations) {
            Value lane = arith::MulIOp::create(b, loc, i, index(lanes)),
                  destination = destinations[0];
            BlockVerdict verdict =
                emitVerdict(tile, add(tile.firstHead, c),
                            add(row, index(scoreRows - numRows)), rows,
                            add(input.firstKey, lane), lanes);
            auto either = scf::IfOp::create(
                b, loc, verdict.isEmpty,
                [&](OpBuilder &, Location) {
                  Box part = getPart(row, rows, lane, lanes);
                  Value marks =
                      fill(extractBox(destination, part, {rows, lanes}), mark);
                  scf::YieldOp::create(b, loc,
                                       insert(marks, destination, part));
                },
                [&](OpBuilder &, Location) {
                  scf::YieldOp::create(b, loc,
                                       emitPart(row, lane, destination));
                });
            return SmallVector<Value>{either.getResult(0)};
          });
    };
    return loop(zero, index(numRows / rows), destination, emitRows).front();
  };
  if (input.marksAreZero)
    return emitVisible();
  // Nothing is hidden in most blocks, so that they need no copy.
  return scf::IfOp::create(
             b, loc, AllFiniteOp::create(b, loc, b.getI1Type(), source),
             [&](OpBuilder &, Location) {
               Value block =
                   convolve(source, destination, zero, numRows, zero, kKeys);
               scf::YieldOp::create(
                   b, loc,
                   insert(block, destination,
                          getPart(zero, numRows, zero, kKeys)));
             },
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(b, loc, emitVisible());
             })
      .getResult(0);
}

SmallVector<Value> StripLowering::emitMixing(const Tile &tile, Stages stages,
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
    return extractBlock(input.strip, head, skipped, numRows, column, width);
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

Value StripLowering::emitRowWeights(Value weights, Value factors, Value first,
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

Value StripLowering::emitMixingProducts(const Tile &tile, Stages stages,
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
    auto extractRow = [&](Value strip, Value row, OpFoldResult column) {
      return extractBox(strip, {{first, row, column}, {count, one, width}},
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
    Value marks = extractRow(input.strip, add(row, index(skipped)), column);
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
