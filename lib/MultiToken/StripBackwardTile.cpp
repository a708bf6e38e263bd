//===- StripBackwardTile.cpp - Gradients of one tile ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/MultiToken/StripBackward.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<Value> StripBackward::emitTile(const Tile &tile, Value c, Value row,
                                           ValueRange carried) {
  SmallVector<Value> sums(carried);
  Value count = minU(sub(numRows, row), tileRows);
  Strips strips = emitStrips(tile);
  Value outputRows = emitOutputRows(tile, row, count);
  sums[2] = addToValues(tile, c, strips, outputRows, sums[2]);

  unsigned numBefore = (before.kernel ? 1 : 0) + (before.mixing ? 1 : 0);
  Value gradient;
  if (after.kernel) {
    // Rows are read by those after them, behind which all is 0.
    Side side = {after,    transposedAfter,       strips.probabilities,
                 tileRows, weightRows - tileRows, 3 + numBefore};
    Value ofWeights =
        emitOfWeights(tile, strips, outputRows,
                      weightRows + after.getQueryHalo(), side.first);
    if (after.mixing)
      ofWeights = goBackThroughMixing(tile, c, side, ofWeights, sums);
    sums[side.firstResult] =
        addToKernel(tile, c, side, ofWeights, sums[side.firstResult]);
    gradient = fill(
        empty({tile.numHeads, gradientRows, getStripWidth(tile)}, f32), 0.0);
    gradient =
        forEachBlock(tile, gradient, [&](Value, Value column, Value gradient) {
          Box target = getBlock(tile, frontRows, weightRows, column);
          Value block = emitTransposed(tile, transposedAfter, ofWeights, column,
                                       weightRows, extract(gradient, target));
          return insert(block, gradient, target);
        });
  } else {
    Side side = {after,    transposedAfter,      strips.probabilities,
                 tileRows, scoreRows - tileRows, 3 + numBefore};
    gradient =
        emitOfWeights(tile, strips, outputRows, gradientRows, side.first);
    if (after.mixing)
      gradient = goBackThroughMixing(tile, c, side, gradient, sums);
  }
  Value delta = emitDelta(tile, strips, gradient, row, count);
  if (gradients.getOfSink()) {
    Value &sum = sums[gradients.getSinkNumber()];
    sum = addToSink(tile, c, strips, delta, sum);
  }
  gradient = emitOfSoftmax(tile, strips, gradient, delta);
  Side side = {before,     transposedBefore, strips.scores,
               weightRows, frontRows,        3};
  if (before.mixing)
    gradient = goBackThroughMixing(tile, c, side, gradient, sums);
  if (before.kernel)
    sums[3] = addToKernel(tile, c, side, gradient, sums[3]);
  return addToRows(tile, c, strips, gradient, sums);
}

//===----------------------------------------------------------------------===//
// What the attention computes
//===----------------------------------------------------------------------===//

StripBackward::Strips StripBackward::emitStrips(const Tile &tile) {
  Strips strips;
  Value weights = emitScores(tile);
  if (before.kernel || before.mixing) {
    Box columns = getKeyColumns(tile, 0, scoreRows);
    // What is visible is never -0.0.
    Value marked = map({}, extract(weights, columns), [&](ValueRange x) {
      return select(isMinusInfinity(x[0]), real(-0.0), addF(x[0], real(0.0)));
    });
    strips.scores = fillMargins(tile, insert(marked, weights, columns));
    weights = empty({tile.numHeads, weightRows, getStripWidth(tile)}, f32);
    weights =
        forEachBlock(tile, weights, [&](Value, Value column, Value weights) {
          Box target = getBlock(tile, 0, weightRows, column);
          Value block = emitStages(
              tile, before, {.strip = strips.scores, .mark = -kInfinity},
              column, weightRows, extract(weights, target), 0);
          return insert(block, weights, target);
        });
  }
  Box columns = getKeyColumns(tile);
  Update update =
      emitUpdate(extract(weights, columns), createSoftmax(tile.numHeads));
  Normalization normalization = emitNormalization(tile, update.softmax);
  Value probabilities = map(normalization.inverse, update.weights,
                            [&](ValueRange x) { return mulF(x[1], x[0]); });
  strips.probabilities =
      fillMargins(tile, insert(probabilities, weights, columns));
  strips.logSumExp = normalization.logSumExp;
  return strips;
}

Value StripBackward::emitOutputRows(const Tile &tile, Value row, Value count) {
  Value source = gradients.getOutputGradient();
  int64_t size = op.getValueType().getDimSize(3);
  Value rows = extract(
      source,
      {{tile.batch, tile.firstHead, row, 0}, {1, tile.numHeads, count, size}},
      3);
  return insert(convertElements(rows, f32),
                fill(empty({tile.numHeads, tileRows, size}, f32), 0.0),
                {{0, 0, 0}, {tile.numHeads, count, size}});
}

Value StripBackward::addToValues(const Tile &tile, Value c,
                                 const Strips &strips, Value outputRows,
                                 Value sums) {
  int64_t size = op.getValueType().getDimSize(3);
  AffineExpr j, d, r;
  bindDims(getContext(), j, d, r);
  return forEachBlock(tile, sums, [&](Value block, Value column, Value sums) {
    Value first = getFirstKey(tile, block), count = emitCount(tile, first);
    Value weights = strips.probabilities;
    int64_t row = weightRows - tileRows;
    if (after.kernel || after.mixing) {
      weights = emitStages(
          tile, after, {.strip = strips.probabilities, .mark = -0.0}, column,
          tileRows, empty({tile.numHeads, tileRows, kKeys}, f32), 0);
      column = zero;
      row = 0;
    }
    return loop(0, tile.numHeads, sums, [&](Value h, Value sums) {
      Value keyHead = emitKeyHead(add(c, h));
      Box box = {{keyHead, first, 0}, {1, count, size}};
      Value part = multiplyAdd(
          {{r, j}, {r, d}, {j, d}},
          {extract(weights, {{h, row, column}, {1, tileRows, count}}, 2),
           extract(outputRows, {{h, 0, 0}, {1, tileRows, size}}, 2)},
          extract(sums, box, 2));
      return insert(part, sums, box);
    });
  });
}

//===----------------------------------------------------------------------===//
// From the output to the scores
//===----------------------------------------------------------------------===//

/// A strip of `numRows` rows with the gradients of the tile's weights from row
/// `first` on, and 0 in the others.
Value StripBackward::emitOfWeights(const Tile &tile, const Strips &strips,
                                   Value outputRows, int64_t numRows,
                                   int64_t first) {
  Value strip =
      fill(empty({tile.numHeads, numRows, getStripWidth(tile)}, f32), 0.0);
  return loop(0, tile.numHeads, strip, [&](Value h, Value strip) {
    return forEachBlock(
        tile, strip, [&](Value block, Value column, Value strip) {
          Value products = multiplyBlock(tile, outputRows, valueBlocks, h,
                                         block, zero, tileRows, zero, kKeys);
          Value marks =
              extractBlock(strips.probabilities, h, weightRows - tileRows,
                           tileRows, column, kKeys);
          products = map(marks, products, [&](ValueRange x) {
            return select(isMinusZero(x[0]), real(0.0), x[1]);
          });
          return insert(products, strip,
                        {{h, first, column}, {1, tileRows, kKeys}});
        });
  });
}

/// `D` of each row, (heads, weightRows).
Value StripBackward::emitDelta(const Tile &tile, const Strips &strips,
                               Value gradient, Value row, Value count) {
  AffineExpr h, r, j;
  bindDims(getContext(), h, r, j);
  Value sums = fill(empty({tile.numHeads, weightRows}, f32), 0.0);
  sums = multiplyAdd(
      {{h, r, j}, {h, r, j}, {h, r}},
      {extract(strips.probabilities, getKeyColumns(tile)),
       extract(gradient, getKeyColumns(tile, frontRows, weightRows))},
      sums);
  Value ofLogSumExp = gradients.getLogSumExpGradient();
  if (!ofLogSumExp)
    return sums;
  Box own = {{0, weightRows - tileRows}, {tile.numHeads, count}};
  Value subtrahend = extract(
      ofLogSumExp,
      {{tile.batch, tile.firstHead, row}, {1, tile.numHeads, count}}, 2);
  Value part = map(subtrahend, extract(sums, own),
                   [&](ValueRange x) { return subF(x[1], x[0]); });
  return insert(part, sums, own);
}

Value StripBackward::addToSink(const Tile &tile, Value c, const Strips &strips,
                               Value delta, Value sums) {
  Value sinks = convertElements(
      extract(op.getSink(), {{tile.firstHead}, {tile.numHeads}}), f32);
  AffineExpr h, r;
  bindDims(getContext(), h, r);
  Box own = {{c}, {tile.numHeads}};
  Value part = generic({sinks, strips.logSumExp, delta}, extract(sums, own),
                       {{h}, {h, r}, {h, r}, {h}}, [&](ValueRange x) {
                         // Of two infinities, the difference would be NaN.
                         Value weight = select(isMinusInfinity(x[0]), real(0.0),
                                               emitExp(subF(x[0], x[1])));
                         return subF(x[3], mulF(weight, x[2]));
                       });
  return insert(part, sums, own);
}

/// `P * (P' - D)`, in the place of `P'`.
Value StripBackward::emitOfSoftmax(const Tile &tile, const Strips &strips,
                                   Value gradient, Value delta) {
  Box rows = getKeyColumns(tile, frontRows, weightRows);
  Value part = map({extract(strips.probabilities, getKeyColumns(tile)), delta},
                   extract(gradient, rows),
                   [&](ValueRange x) { return mulF(x[0], subF(x[2], x[1])); });
  return insert(part, gradient, rows);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Value StripBackward::emitMixingInput(const Tile &tile, const Side &side,
                                     Value column) {
  int64_t numRead = cast<RankedTensorType>(side.read.getType()).getDimSize(1);
  if (!side.stages.kernel)
    return extract(side.read, getBlock(tile, numRead - side.numRows,
                                       side.numRows, column));
  Stages convolution = {side.stages.kernel, Value()};
  return emitStages(tile, convolution, {.strip = side.read, .mark = 0.0},
                    column, side.numRows,
                    empty({tile.numHeads, side.numRows, kKeys}, f32), 0);
}

Value StripBackward::goBackThroughMixing(const Tile &tile, Value c,
                                         const Side &side, Value gradient,
                                         MutableArrayRef<Value> sums) {
  int64_t mixed = cast<ShapedType>(side.stages.mixing.getType()).getDimSize(1),
          rows = side.numRows, numGroups = tile.numHeads / mixed;
  AffineExpr e, o, r, j;
  bindDims(getContext(), e, o, r, j);
  // Of each row, so that only its keys are added up by lanes.
  Value ofRows = fill(empty({numGroups, mixed, mixed, rows}, f32), 0.0);
  SmallVector<Value> carried = loop(
      0, tile.numBlocks, ValueRange{gradient, ofRows},
      [&](Value block, ValueRange carried) {
        Value column = getColumn(block);
        Box own = getBlock(tile, side.first, rows, column);
        Value read = emitMixingInput(tile, side, column),
              written = extract(carried[0], own);
        Value ofRows =
            loop(0, numGroups, carried[1], [&](Value group, Value ofRows) {
              Value first = mul(group, mixed);
              auto getGroup = [&](Value block) {
                return extract(block, {{first, 0, 0}, {mixed, rows, kKeys}}, 3);
              };
              Box box = {{group, 0, 0, 0}, {1, mixed, mixed, rows}};
              Value part = multiplyAdd({{e, r, j}, {o, r, j}, {e, o, r}},
                                       {getGroup(read), getGroup(written)},
                                       extract(ofRows, box, 3));
              return insert(part, ofRows, box);
            });
        Stages transposed = {Value(), side.transposed.mixing};
        Value mixedBlock = emitMixed(
            tile, transposed, {.strip = side.read, .mark = 0.0}, column, rows,
            written, empty({tile.numHeads, rows, kKeys}, f32), 0);
        return SmallVector<Value>{insert(mixedBlock, carried[0], own), ofRows};
      });
  AffineExpr g;
  bindDims(getContext(), g, e, o, r);
  Value &sum = sums[side.firstResult + (side.stages.kernel ? 1 : 0)];
  Value group = div(c, mixed);
  Box own = {{group, 0, 0}, {numGroups, mixed, mixed}};
  Value part = generic(carried[1], extract(sum, own), {{g, e, o, r}, {g, e, o}},
                       [&](ValueRange x) { return addF(x[1], x[0]); });
  sum = insert(part, sum, own);
  return carried[0];
}

Value StripBackward::addToKernel(const Tile &tile, Value c, const Side &side,
                                 Value gradient, Value sums) {
  Stages stages = side.stages;
  auto type = cast<RankedTensorType>(stages.kernel.getType());
  bool mixes = type.getRank() == 4;
  int64_t mixed = mixes ? type.getDimSize(1) : 1, halo = stages.getQueryHalo(),
          reach = stages.getKeyHalo(),
          numRead = cast<RankedTensorType>(side.read.getType()).getDimSize(1),
          readRows = side.numRows + halo;
  AffineExpr e, a, k, r, j;
  bindDims(getContext(), e, a, k, r, j);
  return loop(0, tile.numHeads, sums, [&](Value h, Value sums) {
    Value first = h;
    SmallVector<Number> offsets(size_t(type.getRank()), 0), sizes(1, 1);
    offsets[0] = add(c, h);
    for (int64_t size : type.getShape().drop_front())
      sizes.push_back(size);
    if (mixes)
      first = sub(h, rem(h, mixed));
    Box own = {offsets, sizes};
    return forEachBlock(tile, sums, [&](Value, Value column, Value sums) {
      Value read =
          extract(side.read, {{first, numRead - readRows, sub(column, reach)},
                              {mixed, readRows, kKeys + 2 * reach}});
      Value written =
          extractBlock(gradient, h, side.first, side.numRows, column, kKeys);
      Value part = multiplyAdd({{e, r + a, j + k}, {r, j}, {e, a, k}},
                               {read, written}, extract(sums, own, 3));
      return insert(part, sums, own);
    });
  });
}

Value StripBackward::emitTransposed(const Tile &tile, Stages transposed,
                                    Value gradient, Value column,
                                    int64_t numRows, Value destination) {
  Stages convolution = {transposed.kernel, Value()};
  return emitStages(tile, convolution, {.strip = gradient}, column, numRows,
                    destination, 0);
}

//===----------------------------------------------------------------------===//
// From the scores to queries and keys
//===----------------------------------------------------------------------===//

SmallVector<Value> StripBackward::addToRows(const Tile &tile, Value c,
                                            const Strips &strips,
                                            Value gradient,
                                            ValueRange carried) {
  int64_t size = op.getQueryType().getDimSize(3);
  AffineExpr r, j, d;
  bindDims(getContext(), r, j, d);
  SmallVector<Value> sums(carried);
  Value rows = fill(empty({tile.numHeads, scoreRows, size}, f32), 0.0);
  auto emitHead = [&](Value h, Value ofProducts, Value first, Value count,
                      ValueRange carried) -> SmallVector<Value> {
    Value block = extract(ofProducts, {{h, 0, 0}, {1, scoreRows, count}}, 2);
    Box ofQueries = {{h, 0, 0}, {1, scoreRows, size}},
        ofKeys = {{emitKeyHead(add(c, h)), first, 0}, {1, count, size}};
    Value query =
        multiplyAdd({{r, j}, {j, d}, {r, d}},
                    {block, emitKeyRows(tile, op.getKey(), h, first, count)},
                    extract(carried[0], ofQueries, 2));
    Value key = multiplyAdd({{r, j}, {r, d}, {j, d}},
                            {block, extract(tile.queries, ofQueries, 2)},
                            extract(carried[1], ofKeys, 2));
    return {insert(query, carried[0], ofQueries),
            insert(key, carried[1], ofKeys)};
  };
  SmallVector<Value> results =
      loop(0, tile.numBlocks, ValueRange{rows, sums[1]},
           [&](Value block, ValueRange carried) {
             Value column = getColumn(block), first = getFirstKey(tile, block),
                   count = emitCount(tile, first);
             Value ofProducts =
                 emitOfProducts(tile, c, block, column, strips, gradient);
             return loop(
                 0, tile.numHeads, carried, [&](Value h, ValueRange carried) {
                   return emitHead(h, ofProducts, first, count, carried);
                 });
           });
  sums[0] = addQueryRows(tile, c, results[0], sums[0]);
  sums[1] = results[1];
  return sums;
}

/// The gradients of a block of scaled products, (heads, scoreRows, kKeys).
Value StripBackward::emitOfProducts(const Tile &tile, Value c, Value block,
                                    Value column, const Strips &strips,
                                    Value gradient) {
  Value blocks = empty({tile.numHeads, scoreRows, kKeys}, f32);
  if (before.kernel)
    blocks = emitTransposed(tile, transposedBefore, gradient, column, scoreRows,
                            blocks);
  else if (!op.hasScore())
    return extract(gradient, getBlock(tile, 0, scoreRows, column));
  Value marks = strips.scores ? strips.scores : strips.probabilities;
  Value firstKey = getFirstKey(tile, block);
  return loop(0, tile.numHeads, blocks, [&](Value h, Value blocks) {
    Value head = add(tile.firstHead, h);
    SmallVector<Value> inputs = {
        extractBlock(marks, h, 0, scoreRows, column, kKeys)};
    if (!before.kernel)
      inputs.push_back(extractBlock(gradient, h, 0, scoreRows, column, kKeys));
    if (op.hasScore())
      inputs.push_back(emitDots(tile, h, block, zero, scoreRows, zero, kKeys));
    Value own = extractBlock(blocks, h, 0, scoreRows, 0, kKeys);
    own = map(inputs, own, [&](ValueRange x) {
      Value result = before.kernel ? x.back() : x[1];
      if (op.hasScore()) {
        auto at = [&](int64_t dim, Value first) -> Value {
          return add(iteration(dim), first);
        };
        SmallVector<Value> arguments = {x[before.kernel ? 1 : 2], tile.batch,
                                        head, at(0, tile.position),
                                        at(1, firstKey)};
        llvm::append_range(arguments, op.getScoreCaptures());
        result = mulF(result, evaluateRegion(*this, slope, arguments).value);
      }
      return select(isMinusZero(x[0]), real(0.0), result);
    });
    return insertBlock(own, blocks, h, 0);
  });
}

/// Adds those rows that there are.
Value StripBackward::addQueryRows(const Tile &tile, Value c, Value rows,
                                  Value sums) {
  int64_t size = op.getQueryType().getDimSize(3);
  Value low = max(tile.first, zero);
  Value high = min(add(tile.first, scoreRows), numQueries);
  Value count = sub(high, low);
  Box own = {{c, low, 0}, {tile.numHeads, count, size}};
  Value part = map(extract(rows, {{0, sub(low, tile.first), 0},
                                  {tile.numHeads, count, size}}),
                   extract(sums, own),
                   [&](ValueRange x) { return addF(x[1], mulF(x[0], scale)); });
  return insert(part, sums, own);
}
