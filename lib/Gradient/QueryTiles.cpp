//===- QueryTiles.cpp - Derivatives of attention, tile by tile ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/QueryTiles.h"
#include "lib/Online/StoredElements.h"
#include "lib/Plan/Plan.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/RegionDerivative.h"
#include "lib/Regions/RegionEvaluation.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

template <typename Op>
QueryTiles<Op>::QueryTiles(Op op, OpBuilder &builder)
    : op(op), b(op.getLoc(), builder), type(op.getAccumulationType()),
      lanes(getPlan(op).getRows()), keys(getPlan(op).getKeys()),
      keySize(op.getQueryType().getDimSize(3)),
      valueSize(op.getValueType().getDimSize(3)),
      isNarrow(op.getElementType() != type) {}

template <typename Op> Value QueryTiles<Op>::emitScale() {
  Value scale = op.getScale();
  return scale ? scale : real(*op.getConstantScale());
}

template <typename Op> OpFoldResult QueryTiles<Op>::emitNumSequences() {
  if (op.isPacked())
    return b.sub(b.size(op.getCumulativeQuery(), 0), 1);
  return b.size(op.getQuery(), 0);
}

template <typename Op> DerivativeUnit QueryTiles<Op>::emitUnit(Value n) {
  return {emitSequence(b, op, n), Value()};
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Rows of queries in the type of sums, with 0 where there are none: `(L, D)`.
template <typename Op>
Value QueryTiles<Op>::emitPadded(Value rows, ArrayRef<OpFoldResult> offsets,
                                 OpFoldResult count, int64_t size,
                                 bool scaled) {
  OpFoldResult one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = {count, b.getIndexAttr(size)};
  Value source =
      b.slice(rows, offsets, {one, one, sizes[0], sizes[1]}, /*rank=*/2);
  Value padded = b.fill(empty({lanes, size}), 0.0);
  Value part = b.slice(padded, b.zeros(2), sizes);
  part = b.map({source}, part, [&](ValueRange args) {
    Value element = b.convert(args[0], type);
    return scaled ? b.mulF(element, scale) : element;
  });
  return b.insert(part, padded, b.zeros(2), sizes);
}

/// +inf where there is no query, or none that sees anything: weights are 0.
template <typename Op>
Value QueryTiles<Op>::emitLogSumExp(ArrayRef<OpFoldResult> offsets,
                                    OpFoldResult count) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  OpFoldResult one = b.getIndexAttr(1);
  Value source = b.slice(op.getLogSumExp(), offsets.drop_back(),
                         {one, one, count}, /*rank=*/1);
  Value padded = b.fill(empty({lanes}), kInfinity);
  Value part = b.slice(padded, b.zeros(1), count);
  part = b.map({source}, part, [&](ValueRange args) {
    Value isNone = b.isEqualF(args[0], real(-kInfinity));
    return b.select(isNone, real(kInfinity), args[0]);
  });
  return b.insert(part, padded, b.zeros(1), count);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// The keys that the mask may keep.
template <typename Op>
std::pair<Value, Value> QueryTiles<Op>::emitVisible(const DerivativeUnit &unit,
                                                    const QueryTile &tile) {
  Value length = b.index(unit.keyLength);
  if (!op.hasMask())
    return {b.index(0), length};
  VisibleKeys visible = emitVisibleKeys(
      b, b.getLoc(), op.getMask(), unit.number, tile.head,
      {tile.position, b.sub(b.add(tile.position, tile.count), 1)}, length,
      op.getMaskCaptures());
  return {visible.begin, visible.end};
}

/// A block, unless the mask hides all of it.
template <typename Op>
SmallVector<Value>
QueryTiles<Op>::emitUnlessHidden(const DerivativeUnit &unit,
                                 const QueryTile &tile, Value firstKey,
                                 Value end, ValueRange carried,
                                 function_ref<SmallVector<Value>()> emitBlock) {
  AffineExpr last = b.getAffineSymbolExpr(0), from = b.getAffineSymbolExpr(1);
  numKeys =
      b.minimum({last - from, b.getAffineConstantExpr(keys)}, {end, firstKey});
  std::optional<int64_t> length = getConstantIntValue(end);
  if (!op.hasMask() && length && *length % keys == 0)
    numKeys = b.getIndexAttr(keys); // Blocks begin with the first key.
  RegionTile region;
  region.batch = unit.number;
  region.head = tile.head;
  region.positions = {tile.position,
                      b.sub(b.add(tile.position, tile.count), 1)};
  region.keys = {firstKey, b.sub(b.add(firstKey, numKeys), 1)};
  isPartial = b.boolean(false);
  isDefined = b.boolean(true);
  Value isHidden;
  Location loc = b.getLoc();
  if (op.hasMask()) {
    region.captures = op.getMaskCaptures();
    BlockVerdict verdict = emitBlockVerdict(b, loc, op.getMask(), region);
    isHidden = verdict.isEmpty;
    isPartial = b.createOrFold<arith::XOrIOp>(verdict.isFull, isDefined);
    isDefined = emitIsDefined(b, loc, op.getMask(), region);
  }
  if (op.hasScore()) {
    region.captures = op.getScoreCaptures();
    isDefined =
        b.bitAnd(isDefined, emitIsDefined(b, loc, op.getScore(), region));
  }
  if (!isHidden || matchPattern(isHidden, m_Zero()))
    return emitBlock();
  Value isSeen = b.createOrFold<arith::XOrIOp>(isHidden, b.boolean(true));
  return b.branch(isSeen, carried, emitBlock);
}

/// Keys or values of the block in the type of sums.
template <typename Op>
Value QueryTiles<Op>::emitRowsOfBlock(Value rows, const DerivativeUnit &unit,
                                      Value firstKey, int64_t size) {
  OpFoldResult one = b.getIndexAttr(1), columns = b.getIndexAttr(size);
  Value block = b.slice(rows,
                        {unit.keyBatch, unit.keyHead,
                         b.add(unit.keyBegin, firstKey), b.getIndexAttr(0)},
                        {one, one, numKeys, columns}, /*rank=*/2);
  if (!isNarrow)
    return block;
  Value init = b.slice(empty({keys, size}), b.zeros(2), {numKeys, columns});
  return emitElements(b, block, /*scales=*/Value(), init);
}

/// Fetches as many rows as a block may have while the next product is computed,
/// which does not read them, where what a block reads of keys, values and their
/// tangents is more than the first-level cache holds.
template <typename Op>
void QueryTiles<Op>::emitFetch(Value rows, const DerivativeUnit &unit,
                               Value firstKey) {
  int64_t bits = op.getKeyType().getElementTypeBitWidth();
  if (isNarrow) // What they are converted to, too.
    bits += int64_t(type.getIntOrFloatBitWidth());
  int64_t bytes = 2 * keys * (keySize + valueSize) * bits / 8;
  if (bytes <= getTarget(op).getL1Bytes())
    return;
  Value first = b.add(b.index(unit.keyBegin), firstKey);
  PrefetchOp::create(b, rows,
                     ValueRange{b.index(unit.keyBatch), unit.keyHead, first},
                     b.add(first, keys))
      .setSpread(true);
}

/// Rows of the block times columns of the tile, in the first rows of a tensor
/// of a row for each key that a block may have.
template <typename Op>
Value QueryTiles<Op>::multiply(Value rows, Value columns) {
  Value all = empty({keys, lanes});
  Value part = b.fill(firstRows(all), 0.0);
  return multiplyAdd(rows, columns, part, all);
}

/// The same, added to `part`, the first rows of `all`.
template <typename Op>
Value QueryTiles<Op>::multiplyAdd(Value rows, Value columns, Value part,
                                  Value all) {
  part = linalg::MatmulOp::create(b, b.getLoc(), part.getType(),
                                  ValueRange{rows, columns}, ValueRange{part})
             .getResult(0);
  return b.insert(part, all, b.zeros(2), sizes());
}

/// A derivative of the score at the products; null if it is 1.
template <typename Op>
Value QueryTiles<Op>::emitSlopes(const DerivativeUnit &unit,
                                 const QueryTile &tile, Value firstKey,
                                 Value products, Region &slope) {
  if (!op.hasScore())
    return {};
  if (std::optional<double> constant = getConstantYield(slope);
      constant && *constant == 1.0)
    return {};
  return evaluate(unit, tile, firstKey, products, slope, op.getScoreCaptures());
}

/// What a region like the score yields at the products; anything where the mask
/// hides what it may be undefined at (A12).
template <typename Op>
Value QueryTiles<Op>::evaluate(const DerivativeUnit &unit,
                               const QueryTile &tile, Value firstKey,
                               Value products, Region &region,
                               ValueRange captures) {
  Value copy =
      linalg::CopyOp::create(b, products, empty({keys, lanes})).getResult(0);
  return emitRegions(unit, tile, firstKey, {copy}, region, captures,
                     /*masked=*/mayBeUndefined(region));
}

/// The weights of the products, relative to the log-sum-exp.
template <typename Op>
Value QueryTiles<Op>::emitWeights(const DerivativeUnit &unit,
                                  const QueryTile &tile, Value firstKey,
                                  Value products) {
  return emitRegions(unit, tile, firstKey, {products, tile.logSumExp},
                     op.getScore(), op.getScoreCaptures(), /*masked=*/true);
}

template <typename Op>
Value QueryTiles<Op>::emitRegions(const DerivativeUnit &unit,
                                  const QueryTile &tile, Value firstKey,
                                  ValueRange outs, Region &score,
                                  ValueRange scoreCaptures, bool masked) {
  Value no = b.boolean(false);
  auto softmax = OnlineSoftmaxOp::create(
      b, TypeRange(outs), outs, unit.number, tile.head, tile.position, firstKey,
      b.index(tile.count), b.index(numKeys), masked ? isPartial : no, isDefined,
      /*exact=*/no, /*scale=*/Value(), scoreCaptures,
      masked ? ValueRange(op.getMaskCaptures()) : ValueRange(),
      /*in_order=*/false);
  IRMapping mapping;
  score.cloneInto(&softmax.getScoreRegion(), mapping);
  if (masked)
    op.getMask().cloneInto(&softmax.getMaskRegion(), mapping);
  return softmax.getResult(0);
}

/// What the dropout multiplies each weight by (A8).
template <typename Op>
Value QueryTiles<Op>::emitDropout(const DerivativeUnit &unit,
                                  const QueryTile &tile, Value firstKey) {
  Value line = b.add(b.mul(unit.number, op.getNumQueryHeads()), tile.head);
  if (op.getDropoutLine())
    line = b.add(line, op.getDropoutLine());
  Value ones = b.fill(empty({keys, lanes}), 1.0);
  return OnlineDropoutOp::create(b, TypeRange(ones), ones, op.getDropoutSeed(),
                                 op.getDropoutCall(), line, tile.position,
                                 firstKey, b.index(numKeys),
                                 op.getDropoutRateAttr())
      .getResult(0);
}

/// The product of the first rows of two, in those of `init`.
template <typename Op>
Value QueryTiles<Op>::multiplyInto(Value x, Value y, Value init) {
  Value part = b.map({firstRows(x), firstRows(y)}, firstRows(init),
                     [&](ValueRange args) { return b.mulF(args[0], args[1]); });
  return b.insert(part, init, b.zeros(2), sizes());
}

/// `sums (d, q) += rows (j, d) * factors (j, q)`, transposed.
template <typename Op>
Value QueryTiles<Op>::addTransposed(Value rows, Value factors, Value sums) {
  return linalg::MatmulTransposeAOp::create(
             b, b.getLoc(), sums.getType(),
             ValueRange{rows, firstRows(factors)}, ValueRange{sums})
      ->getResult(0);
}

/// Of the keys that the block has.
template <typename Op> Value QueryTiles<Op>::firstRows(Value matrix) {
  return b.slice(matrix, b.zeros(2), sizes());
}

template class attn::QueryTiles<AttentionBackwardOp>;
template class attn::QueryTiles<AttentionTangentOp>;
