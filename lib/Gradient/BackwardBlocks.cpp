//===- BackwardBlocks.cpp - Gradients of a tile and a block of keys -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/BackwardTiles.h"

using namespace mlir;
using namespace mlir::attn;

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
  Value weights = emitWeights(unit, tile, firstKey, products);
  Value gradients = multiply(value, tile.gradientColumns);
  Value kept = weights;
  if (op.hasDropout()) {
    Value factors = emitDropout(unit, tile, firstKey);
    kept = multiplyInto(weights, factors, empty({keys, lanes}));
    gradients = multiplyInto(gradients, factors, gradients);
  }
  if (captures.isEmpty()) {
    gradients = emitScoreGradients(gradients, weights, slopes, tile,
                                   /*rounded=*/isInPairs);
  } else {
    gradients = emitScoreGradients(gradients, weights, {}, tile,
                                   /*rounded=*/false);
    CaptureBlock block{getCaptureHead(unit, tile.head), tile.position, firstKey,
                       tile.count, numKeys};
    for (auto [variable, slopes] :
         llvm::zip(captures.getVariables(), ofVariables)) {
      Value added = slopes ? multiplyGradients(gradients, slopes) : gradients;
      captures.add(b, *variable, added, block,
                   MutableArrayRef(sums).drop_front(3));
    }
    if (slopes)
      gradients = multiplyGradients(gradients, slopes);
    gradients = round(gradients, scale);
  }
  kept = round(kept);
  sums[0] = addTransposed(
      key, isPacked ? slicePacks(unit.packs, {}, firstKey) : Value(), gradients,
      sums[0]);
  sums[1] = addProduct(unit, gradients, tile.queries, sums[1], firstKey);
  sums[2] = addProduct(unit, kept, tile.gradients, sums[2], firstKey);
  return sums;
}

/// `P * (dP - D) * score'`, and 0 where P is, whatever the others are; or that
/// as `round` has it.
Value BackwardTiles::emitScoreGradients(Value ofWeights, Value weights,
                                        Value slopes, const BackwardTile &tile,
                                        bool rounded) {
  AffineMap all = b.getMultiDimIdentityMap(2);
  Value part = firstRows(ofWeights);
  SmallVector<Value> inputs = {firstRows(weights), part, tile.delta};
  SmallVector<AffineMap> maps = {all, all,
                                 AffineMap::get(2, 0, b.getAffineDimExpr(1))};
  if (slopes)
    inputs.push_back(firstRows(slopes));
  auto body = [&](ValueRange args) {
    Value result = b.mulF(args[0], b.subF(args[1], args[2]));
    if (slopes)
      result = b.mulF(result, args[3]);
    if (rounded)
      result = b.mulF(result, scale);
    Value isNone = b.isEqualF(args[0], real(0.0));
    if (slopes)
      isNone = b.bitOr(isNone, isTiny(result));
    return b.select(isNone, real(0.0), result);
  };
  if (rounded)
    return mapRounded(inputs, maps, body);
  part = b.map(inputs, part, body, maps);
  return b.insert(part, ofWeights, b.zeros(2), sizes());
}

/// Whether a number is less than all normal ones: slopes, as of scores that
/// decay with the distance, may be as small, and some processors take a hundred
/// cycles for each product with it. Sums over keys and queries are of larger
/// numbers.
Value BackwardTiles::isTiny(Value number) {
  Value least =
      b.real(type, APFloat::getSmallestNormalized(type.getFloatSemantics())
                       .convertToDouble());
  return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT,
                               math::AbsFOp::create(b, number), least);
}

/// The product in the place of the slopes, and 0 where the gradient is.
Value BackwardTiles::multiplyGradients(Value gradients, Value slopes) {
  Value part = firstRows(slopes);
  part = b.map({firstRows(gradients), part}, part, [&](ValueRange args) {
    Value product = b.mulF(args[0], args[1]);
    return b.select(b.bitOr(b.isEqualF(args[0], real(0.0)), isTiny(product)),
                    real(0.0), product);
  });
  return b.insert(part, slopes, b.zeros(2), sizes());
}

/// `sums[firstKey + j, :] += factors (j, q) * rows (q, :)`, of a chunk from its
/// first key on.
Value BackwardTiles::addProduct(const BackwardUnit &unit, Value factors,
                                Value rows, Value sums, Value firstKey) {
  SmallVector<OpFoldResult> offsets = {firstKey, b.getIndexAttr(0)};
  if (unit.chunkBegin)
    offsets[0] = b.sub(firstKey, unit.chunkBegin);
  SmallVector<OpFoldResult> extent = {numKeys, b.size(rows, 1)};
  Value part = b.slice(sums, offsets, extent);
  part = multiplyAdd(firstRows(factors), rows, part);
  return b.insert(part, sums, offsets, extent);
}
