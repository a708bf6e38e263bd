//===- BackwardBlocks.cpp - Gradients of a tile and a block of keys -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/BackwardTiles.h"
#include "lib/Online/StoredElements.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/RegionDerivative.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// The keys that the mask may keep.
std::pair<Value, Value> BackwardTiles::emitVisible(const BackwardUnit &unit,
                                                   const BackwardTile &tile) {
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
SmallVector<Value> BackwardTiles::emitUnlessHidden(const BackwardUnit &unit,
                                                   const BackwardTile &tile,
                                                   Value firstKey, Value end,
                                                   ValueRange carried) {
  AffineExpr last = b.getAffineSymbolExpr(0), from = b.getAffineSymbolExpr(1);
  numKeys =
      b.minimum({last - from, b.getAffineConstantExpr(keys)}, {end, firstKey});
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
    return emitBlock(unit, tile, firstKey, carried);
  Value isSeen = b.createOrFold<arith::XOrIOp>(isHidden, b.boolean(true));
  return b.branch(isSeen, carried,
                  [&] { return emitBlock(unit, tile, firstKey, carried); });
}

SmallVector<Value> BackwardTiles::emitBlock(const BackwardUnit &unit,
                                            const BackwardTile &tile,
                                            Value firstKey,
                                            ValueRange carried) {
  SmallVector<Value> sums(carried);
  Value key = emitRowsOfBlock(op.getKey(), unit, firstKey, keySize);
  Value value = emitRowsOfBlock(op.getValue(), unit, firstKey, valueSize);
  Value products = multiply(key, tile.columns);
  // Of the score, with respect to the products and to captures.
  Value slopes = emitSlopes(unit, tile, firstKey, products, slope);
  SmallVector<Value> ofVariables;
  for (std::unique_ptr<CaptureVariable> &variable : captures.getVariables())
    ofVariables.push_back(
        emitSlopes(unit, tile, firstKey, products, variable->slope));
  Value weights = emitSoftmax(unit, tile, firstKey, {products, tile.logSumExp},
                              op.getScore(), /*masked=*/true);
  Value gradients = multiply(value, tile.gradientColumns);
  Value kept = weights;
  if (op.hasDropout()) {
    Value factors = emitDropout(unit, tile, firstKey);
    kept = multiplyInto(weights, factors, empty({keys, lanes}));
    gradients = multiplyInto(gradients, factors, gradients);
  }
  if (captures.isEmpty()) {
    gradients = emitScoreGradients(gradients, weights, slopes, tile);
  } else {
    gradients = emitScoreGradients(gradients, weights, {}, tile);
    CaptureBlock block{unit.number, tile.head,  tile.position,
                       firstKey,    tile.count, numKeys};
    for (auto [variable, slopes] :
         llvm::zip(captures.getVariables(), ofVariables)) {
      Value added = slopes ? multiplyGradients(gradients, slopes) : gradients;
      Value &sum = sums[3 + variable->capture];
      sum = captures.add(b, *variable, added, block, unit.firstHead, sum);
    }
    if (slopes)
      gradients = multiplyGradients(gradients, slopes);
  }
  sums[0] = linalg::MatmulTransposeAOp::create(
                b, b.getLoc(), sums[0].getType(),
                ValueRange{key, firstRows(gradients)}, ValueRange{sums[0]})
                ->getResult(0);
  sums[1] = addProduct(gradients, tile.queries, sums[1], firstKey);
  sums[2] = addProduct(kept, tile.gradients, sums[2], firstKey);
  return sums;
}

/// Keys or values of the block in the type of sums.
Value BackwardTiles::emitRowsOfBlock(Value rows, const BackwardUnit &unit,
                                     Value firstKey, int64_t size) {
  OpFoldResult one = b.getIndexAttr(1), columns = b.getIndexAttr(size);
  Value block = b.slice(rows,
                        {unit.keyBatch, unit.keyHead,
                         b.add(unit.keyBegin, firstKey), b.getIndexAttr(0)},
                        {one, one, numKeys, columns}, /*rank=*/2);
  if (!isNarrow)
    return block;
  Value init = b.slice(empty({keys, size}), b.zeros(2), {numKeys, columns});
  return emitElements(b, b.getLoc(), block, /*scales=*/Value(), init);
}

/// Rows of the block times columns of the tile, in the first rows of a tensor
/// of a row for each key that a block may have.
Value BackwardTiles::multiply(Value rows, Value columns) {
  Value all = empty({keys, lanes});
  Value part = b.fill(firstRows(all), 0.0);
  part = linalg::MatmulOp::create(b, b.getLoc(), part.getType(),
                                  ValueRange{rows, columns}, ValueRange{part})
             .getResult(0);
  return b.insert(part, all, b.zeros(2), sizes());
}

/// A derivative of the score at the products; null if it is 1.
Value BackwardTiles::emitSlopes(const BackwardUnit &unit,
                                const BackwardTile &tile, Value firstKey,
                                Value products, Region &slope) {
  if (!op.hasScore())
    return {};
  if (std::optional<double> constant = getConstantYield(slope);
      constant && *constant == 1.0)
    return {};
  Value copy =
      linalg::CopyOp::create(b, products, empty({keys, lanes})).getResult(0);
  return emitSoftmax(unit, tile, firstKey, {copy}, slope, /*masked=*/false);
}

Value BackwardTiles::emitSoftmax(const BackwardUnit &unit,
                                 const BackwardTile &tile, Value firstKey,
                                 ValueRange outs, Region &score, bool masked) {
  Value no = b.boolean(false);
  auto softmax = OnlineSoftmaxOp::create(
      b, TypeRange(outs), outs, unit.number, tile.head, tile.position, firstKey,
      b.index(tile.count), b.index(numKeys), masked ? isPartial : no, isDefined,
      /*exact=*/no, /*scale=*/Value(), op.getScoreCaptures(),
      masked ? ValueRange(op.getMaskCaptures()) : ValueRange(),
      /*in_order=*/false);
  IRMapping mapping;
  score.cloneInto(&softmax.getScoreRegion(), mapping);
  if (masked)
    op.getMask().cloneInto(&softmax.getMaskRegion(), mapping);
  return softmax.getResult(0);
}

/// What the dropout multiplies each weight by (A8).
Value BackwardTiles::emitDropout(const BackwardUnit &unit,
                                 const BackwardTile &tile, Value firstKey) {
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
Value BackwardTiles::multiplyInto(Value x, Value y, Value init) {
  Value part = b.map({firstRows(x), firstRows(y)}, firstRows(init),
                     [&](ValueRange args) { return b.mulF(args[0], args[1]); });
  return b.insert(part, init, b.zeros(2), sizes());
}

/// `P * (dP - D) * score'`, and 0 where P is, whatever the others are.
Value BackwardTiles::emitScoreGradients(Value ofWeights, Value weights,
                                        Value slopes,
                                        const BackwardTile &tile) {
  AffineMap all = b.getMultiDimIdentityMap(2);
  Value part = firstRows(ofWeights);
  SmallVector<Value> inputs = {firstRows(weights), part, tile.delta};
  SmallVector<AffineMap> maps = {all, all,
                                 AffineMap::get(2, 0, b.getAffineDimExpr(1))};
  if (slopes)
    inputs.push_back(firstRows(slopes));
  part = b.map(
      inputs, part,
      [&](ValueRange args) {
        Value result = b.mulF(args[0], b.subF(args[1], args[2]));
        if (slopes)
          result = b.mulF(result, args[3]);
        return b.selectF(b.isEqualF(args[0], real(0.0)), real(0.0), result);
      },
      maps);
  return b.insert(part, ofWeights, b.zeros(2), sizes());
}

/// The product in the place of the slopes, and 0 where the gradient is.
Value BackwardTiles::multiplyGradients(Value gradients, Value slopes) {
  Value part = firstRows(slopes);
  part = b.map({firstRows(gradients), part}, part, [&](ValueRange args) {
    return b.selectF(b.isEqualF(args[0], real(0.0)), real(0.0),
                     b.mulF(args[0], args[1]));
  });
  return b.insert(part, slopes, b.zeros(2), sizes());
}

/// `sums[firstKey + j, :] += factors (j, q) * rows (q, :)`.
Value BackwardTiles::addProduct(Value factors, Value rows, Value sums,
                                Value firstKey) {
  SmallVector<OpFoldResult> offsets = {firstKey, b.getIndexAttr(0)};
  SmallVector<OpFoldResult> extent = {numKeys, b.size(rows, 1)};
  Value part = b.slice(sums, offsets, extent);
  part = linalg::MatmulOp::create(b, b.getLoc(), part.getType(),
                                  ValueRange{firstRows(factors), rows},
                                  ValueRange{part})
             .getResult(0);
  return b.insert(part, sums, offsets, extent);
}

/// Of the keys that the block has.
Value BackwardTiles::firstRows(Value matrix) {
  return b.slice(matrix, b.zeros(2), sizes());
}
