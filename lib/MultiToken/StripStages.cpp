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

using namespace mlir;
using namespace mlir::attn;

/// Lanes of a part of a block that is convolved unless all of it is hidden.
constexpr int64_t kPartLanes = 16;

/// Heads that an elementwise operation mixes at most.
constexpr int64_t kMostMixed = 4;

Value StripLowering::isMinusZero(Value weight) {
  Type i32 = getI32Type();
  Value bits = arith::BitcastOp::create(*this, i32, weight);
  Value sign = arith::ConstantOp::create(
      *this, getIntegerAttr(i32, APInt::getSignMask(32)));
  return compare(arith::CmpIPredicate::eq, bits, sign);
}

Value StripLowering::emitStages(const Tile &tile, Stages stages,
                                const StageInput &input, Value column,
                                int64_t numRows, Value destination,
                                Number destinationColumn) {
  Value convolved;
  if (stages.kernel) {
    bool isLast = !stages.mixing;
    Value blocks =
        isLast ? destination : empty({tile.numHeads, numRows, kKeys}, f32);
    Number place = isLast ? destinationColumn : Number(0);
    auto convolve = [&](Value c, Value blocks) {
      return emitConvolution(tile, stages, input, column, c, numRows,
                             isLast ? input.mark : 0.0, blocks, place);
    };
    convolved = loop(0, tile.numHeads, blocks, convolve);
    if (isLast)
      return convolved;
  }
  return emitMixed(tile, stages, input, column, numRows, convolved, destination,
                   destinationColumn);
}

Value StripLowering::emitMixed(const Tile &tile, Stages stages,
                               const StageInput &input, Value column,
                               int64_t numRows, Value convolved,
                               Value destination, Number destinationColumn) {
  if (stages.getNumMixedHeads() > kMostMixed)
    return emitMixingProducts(tile, stages, input, column, numRows, convolved,
                              destination, destinationColumn);
  // Some heads at once, so that what they are mixed of is loaded once for all.
  int64_t count = stages.getNumMixedHeads();
  auto mix = [&](Value step, Value result) {
    Value c = mul(step, count);
    for (auto [i, block] : llvm::enumerate(emitMixing(
             tile, stages, input, column, c, count, numRows, convolved)))
      result =
          insertBlock(block, result, add(c, int64_t(i)), destinationColumn);
    return result;
  };
  return loop(0, tile.numHeads / count, destination, mix);
}

Value StripLowering::emitHidden(const StageInput &input, Value row,
                                Value column, Value c, Value block,
                                double mark) {
  auto type = cast<RankedTensorType>(block.getType());
  Value marks = extract(
      input.strip,
      {{c, row, column}, {1, type.getDimSize(0), type.getDimSize(1)}}, 2);
  return map(marks, block, [&](ValueRange x) {
    return select(isHidden(input, x[0]), real(mark), x[1]);
  });
}

Value StripLowering::emitConvolution(const Tile &tile, Stages stages,
                                     const StageInput &input, Value column,
                                     Value c, int64_t numRows,
                                     std::optional<double> mark,
                                     Value destination,
                                     Number destinationColumn) {
  int64_t cq = stages.getQueryHalo() + 1, ck = 2 * stages.getKeyHalo() + 1;
  auto kernelType = cast<RankedTensorType>(stages.kernel.getType());
  bool mixes = kernelType.getRank() == 4;
  int64_t mixed = mixes ? stages.getNumMixedHeads() : 1;
  int64_t readRows = numRows + cq - 1, readColumns = kKeys + 2 * margin;
  int64_t skipped = input.getNumRows() - readRows;
  Value first = c;
  if (mixes) {
    Value place = rem(c, mixed);
    first = sub(c, place);
  }

  SmallVector<Number> offsets(kernelType.getRank(), 0),
      sizes(kernelType.getRank(), 1);
  offsets[0] = add(tile.firstHead, c);
  for (int64_t dim = 1; dim < kernelType.getRank(); ++dim)
    sizes[dim] = kernelType.getDimSize(dim);
  Value kernel = extract(stages.kernel, {offsets, sizes}, 3);
  AffineExpr r, j, e, a, k;
  bindDims(getContext(), r, j, e, a, k);
  // Some rows and lanes of the result, from those of a block with its margins.
  auto getPart = [&](Value row, int64_t rows, Value lane, int64_t lanes) {
    return Box{{c, row, add(destinationColumn, lane)}, {1, rows, lanes}};
  };
  auto convolve = [&](Value block, Value destination, Value row, int64_t rows,
                      Value lane, int64_t lanes) {
    Value read =
        extract(block, {{0, row, add(lane, margin - stages.getKeyHalo())},
                        {mixed, rows + cq - 1, lanes + ck - 1}});
    Value sums =
        fill(extract(destination, getPart(row, rows, lane, lanes), 2), 0.0);
    return multiplyAdd({{e, r + a, j + k}, {e, a, k}, {r, j}}, {read, kernel},
                       sums);
  };

  Value source = extract(input.strip, {{first, skipped, sub(column, margin)},
                                       {mixed, readRows, readColumns}});
  // What is hidden is 0 as it is.
  if (input.marksAreZero && !input.factors) {
    Value block = convolve(source, destination, zero, numRows, zero, kKeys);
    if (mark)
      block = emitHidden(input, index(input.getNumRows() - numRows), column, c,
                         block, *mark);
    return insert(block, destination, getPart(zero, numRows, zero, kKeys));
  }
  SmallVector<Value> inputs = {source};
  if (input.factors)
    inputs.push_back(extract(
        input.factors, {{first, weightRows - readRows}, {mixed, readRows}}));
  // Here, and not where it is used, for a buffer that all blocks have.
  Value copy = empty({mixed, readRows, readColumns}, f32);
  auto emitVisible = [&] {
    // T4, T5: 0 around the strip and where it is hidden.
    Value visible = map(inputs, copy, [&](ValueRange x) {
      Value result = x[0];
      if (!input.marksAreZero)
        result = select(isHidden(input, result), real(0.0), result);
      if (input.factors)
        result = mulF(result, x[1]);
      return result;
    });
    // After the softmax, every block is copied, and most have nothing hidden.
    bool inParts = op.hasMask() && !input.marksAreZero;
    int64_t rows = inParts ? choosePartRows(numRows) : numRows,
            lanes = inParts ? kPartLanes : kKeys;
    auto emitPart = [&](Value row, Value lane, Value destination) {
      Value block = convolve(visible, destination, row, rows, lane, lanes);
      block = emitHidden(input, add(row, input.getNumRows() - numRows),
                         add(column, lane), c, block, *mark);
      return insert(block, destination, getPart(row, rows, lane, lanes));
    };
    if (!inParts)
      return emitPart(zero, zero, destination);
    auto emitRows = [&](Value i, Value destination) {
      Value row = mul(i, rows);
      return loop(
          0, kKeys / lanes, destination, [&](Value i, Value destination) {
            Value lane = mul(i, lanes);
            BlockVerdict verdict = emitVerdict(
                tile, add(tile.firstHead, c), add(row, scoreRows - numRows),
                rows, add(input.firstKey, lane), lanes);
            return choose(
                verdict.isEmpty,
                [&] {
                  Box part = getPart(row, rows, lane, lanes);
                  Value marks = fill(extract(destination, part, 2), *mark);
                  return insert(marks, destination, part);
                },
                [&] { return emitPart(row, lane, destination); });
          });
    };
    return loop(0, numRows / rows, destination, emitRows);
  };
  if (input.marksAreZero)
    return emitVisible();
  // Nothing is hidden in most blocks, so that they need no copy.
  return choose(
      AllFiniteOp::create(*this, getI1Type(), source),
      [&] {
        Value block = convolve(source, destination, zero, numRows, zero, kKeys);
        return insert(block, destination, getPart(zero, numRows, zero, kKeys));
      },
      emitVisible);
}

SmallVector<Value> StripLowering::emitMixing(const Tile &tile, Stages stages,
                                             const StageInput &input,
                                             Value column, Value c,
                                             int64_t count, int64_t numRows,
                                             Value convolved) {
  int64_t mixed = stages.getNumMixedHeads(),
          skipped = input.getNumRows() - numRows;
  Value place = rem(c, mixed);
  Value first = sub(c, place);
  Value group = div(add(tile.firstHead, c), mixed);
  auto extractMarks = [&](Value head) {
    return extractBlock(input.strip, head, skipped, numRows, column, kKeys);
  };
  SmallVector<Value> inputs, outputs;
  for (int64_t e = 0; e < mixed; ++e) {
    Value head = add(first, e);
    inputs.push_back(convolved
                         ? extractBlock(convolved, head, 0, numRows, 0, kKeys)
                         : extractMarks(head));
  }
  for (int64_t o = 0; o < count; ++o) {
    inputs.push_back(extractMarks(add(c, o)));
    outputs.push_back(empty({numRows, kKeys}, f32));
  }
  // A number for each pair of heads, or one for each of their rows.
  Value weights =
      extract(stages.mixing, {{group, 0, place}, {1, mixed, count}}, 2);
  bool hasFactors = input.factors && !convolved;
  if (hasFactors)
    weights = emitRowWeights(weights, input.factors, first, numRows);
  for (int64_t o = 0; o < count; ++o)
    for (int64_t e = 0; e < mixed; ++e)
      inputs.push_back(hasFactors
                           ? extract(weights, {{o, e, 0}, {1, 1, numRows}}, 1)
                           : load(weights, ValueRange{index(e), index(o)}));

  SmallVector<AffineMap> maps;
  for (Value input : inputs) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    AffineMap same = getMultiDimIdentityMap(2);
    maps.push_back(type ? same.getMajorSubMap(type.getRank())
                        : AffineMap::get(2, 0, getContext()));
  }
  maps.append(outputs.size(), getMultiDimIdentityMap(2));
  SmallVector<utils::IteratorType> loops(2, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &, Location, ValueRange x) {
    SmallVector<Value> results;
    for (int64_t o = 0; o < count; ++o) {
      Value sum;
      for (int64_t e = 0; e < mixed; ++e) {
        Value term = x[e], weight = x[mixed + count + o * mixed + e];
        if (!convolved && !input.marksAreZero)
          term = select(isHidden(input, term), real(0.0), term);
        sum = sum ? Value(math::FmaOp::create(*this, term, weight, sum))
                  : mulF(term, weight);
      }
      results.push_back(
          select(isHidden(input, x[mixed + o]), real(*input.mark), sum));
    }
    linalg::YieldOp::create(*this, results);
  };
  auto mix = linalg::GenericOp::create(*this, TypeRange(ValueRange(outputs)),
                                       inputs, outputs, maps, loops, body);
  return llvm::to_vector_of<Value>(mix.getResults());
}

Value StripLowering::emitRowWeights(Value weights, Value factors, Value first,
                                    int64_t numRows) {
  auto type = cast<RankedTensorType>(weights.getType());
  int64_t mixed = type.getDimSize(0), count = type.getDimSize(1);
  Value ofHeads =
      extract(factors, {{first, weightRows - numRows}, {mixed, numRows}});
  AffineExpr o, e, r;
  bindDims(getContext(), o, e, r);
  return generic({weights, ofHeads}, empty({count, mixed, numRows}, f32),
                 {{e, o}, {e, r}, {o, e, r}},
                 [&](ValueRange x) -> Value { return mulF(x[0], x[1]); });
}

Value StripLowering::emitMixingProducts(const Tile &tile, Stages stages,
                                        const StageInput &input, Value column,
                                        int64_t numRows, Value convolved,
                                        Value destination,
                                        Number destinationColumn) {
  int64_t mixed = stages.getNumMixedHeads(),
          skipped = input.getNumRows() - numRows;
  Value firstGroup = div(tile.firstHead, mixed);
  auto emitRow = [&](Value group, Value row, Value destination) {
    Value first = mul(group, mixed);
    auto extractRow = [&](Value strip, Value row, Number column) {
      return extract(strip, {{first, row, column}, {mixed, 1, kKeys}}, 2);
    };
    Value weights = extract(
        stages.mixing, {{add(firstGroup, group), 0, 0}, {1, mixed, mixed}}, 2);
    if (input.factors && !convolved) {
      Value factors =
          extract(input.factors,
                  {{first, add(row, weightRows - numRows)}, {mixed, 1}}, 1);
      weights = map({weights, factors}, empty({mixed, mixed}, f32),
                    [&](ValueRange x) -> Value { return mulF(x[0], x[1]); });
    }
    Value marks = extractRow(input.strip, add(row, skipped), column);
    Value terms = convolved ? extractRow(convolved, row, 0) : marks;
    if (!convolved && !input.marksAreZero)
      terms = map(marks, empty({mixed, kKeys}, f32), [&](ValueRange x) {
        return select(isHidden(input, x[0]), real(0.0), x[0]);
      });
    AffineExpr o, j, e;
    bindDims(getContext(), o, j, e);
    Value sums = multiplyAdd({{e, o}, {e, j}, {o, j}}, {weights, terms},
                             fill(empty({mixed, kKeys}, f32), 0.0));
    sums = map(marks, sums, [&](ValueRange x) {
      return select(isHidden(input, x[0]), real(*input.mark), x[1]);
    });
    return insert(sums, destination,
                  {{first, row, destinationColumn}, {mixed, 1, kKeys}});
  };
  auto emitGroup = [&](Value group, Value destination) {
    return loop(0, numRows, destination, [&](Value row, Value destination) {
      return emitRow(group, row, destination);
    });
  };
  return loop(0, tile.numHeads / mixed, destination, emitGroup);
}
