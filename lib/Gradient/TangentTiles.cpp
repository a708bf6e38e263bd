//===- TangentTiles.cpp - Tangents of attention in tiles ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   forall sequences, query heads and tiles of queries
//     for blocks of keys
//

#include "lib/Gradient/TangentTiles.h"
#include "lib/Plan/Redo.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

SmallVector<Value> TangentTiles::emit() {
  scale = emitScale();
  OpFoldResult numSequences = emitNumSequences();
  AffineExpr length = b.getAffineSymbolExpr(0);
  OpFoldResult numTiles =
      b.apply(length.ceilDiv(lanes), {b.size(op.getQuery(), 2)});
  OpFoldResult numHeads = b.getIndexAttr(op.getNumQueryHeads());
  SmallVector<Value> outs(op.getOuts());
  if (op.isRagged()) // Rows of no sequence.
    for (Value &out : outs)
      out = b.fill(out, 0.0);
  // Of each iteration, 0 if what it computed is finite.
  SmallVector<OpFoldResult> counts = {numSequences, numHeads, numTiles};
  outs.push_back(b.empty(counts, type));
  if (getPlan(op).getPacks() == Packs::Shared) {
    if (movesScores())
      values = emitPacksOfKeys(op.getValue());
    if (Value tangent = op.getValueTangent())
      valueTangents = emitPacksOfKeys(tangent);
  }
  scf::ForallOp forall;
  {
    OpBuilder::InsertionGuard guard(b);
    forall = b.enterForall(counts, outs);
    emitIteration(forall);
  }
  SmallVector<Value> results(forall.getResults());
  Value isFinite = AllFiniteOp::create(b, results.pop_back_val());
  return emitUnlessFinite(b, op, isFinite, results);
}

void TangentTiles::emitIteration(scf::ForallOp forall) {
  SmallVector<Value> at(forall.getInductionVars());
  DerivativeUnit unit = emitUnit(at[0]);
  TangentTile tile;
  tile.head = at[1];
  unit.keyHead = b.div(tile.head, op.getGroupSize()); // A3
  AffineExpr length = b.getAffineSymbolExpr(0), from = b.getAffineSymbolExpr(1);
  OpFoldResult first = b.apply(length * lanes, {at[2]});
  if (op.isRagged()) // Of a short sequence, there are tiles without queries.
    first = b.minimum({length, from}, {unit.queryLength, first});
  tile.count = b.minimum({length - from, b.getAffineConstantExpr(lanes)},
                         {unit.queryLength, first});
  tile.position = b.add(unit.offset, first);
  tile.offsets = {unit.queryBatch, tile.head, b.add(unit.queryBegin, first),
                  b.getIndexAttr(0)};
  SmallVector<Value> parts = emitTile(unit, tile);
  OpFoldResult one = b.getIndexAttr(1);
  ArrayRef<OpFoldResult> ofRows = tile.offsets;
  SmallVector<Value> outs(forall.getRegionIterArgs());
  b.insertInParallel(forall, parts[0], outs[0], ofRows,
                     {one, one, tile.count, b.getIndexAttr(valueSize)});
  if (op.getLogSumExpTangent())
    b.insertInParallel(forall, parts[1], outs[1], ofRows.drop_back(),
                       {one, one, tile.count});
  b.insertInParallel(forall, parts[2], outs.back(), getAsOpFoldResult(at),
                     b.ones(3));
}

/// Rows of the results, and the flag.
SmallVector<Value> TangentTiles::emitTile(const DerivativeUnit &unit,
                                          TangentTile tile) {
  auto emitColumns = [&](Value rows) {
    return toColumns(emitFactors(rows, tile.offsets, tile.count, keySize,
                                 /*scaled=*/true));
  };
  tile.columns = emitColumns(op.getQuery());
  if (op.getQueryTangent())
    tile.tangentColumns = emitColumns(op.getQueryTangent());
  tile.logSumExp = emitLogSumExp(tile.offsets, tile.count);

  auto [begin, end] = emitVisible(unit, tile);
  SmallVector<Value> sums = {emitZeros(valueSize), emitOfSink(tile)};
  sums = b.loop(begin, end, keys, sums,
                [&, last = end](Value firstKey, ValueRange carried) {
                  return emitUnlessHidden(
                      unit, tile, firstKey, last, carried,
                      [&] { return emitBlock(unit, tile, firstKey, carried); });
                });
  Value finite = b.bitAnd(AllFiniteOp::create(b, sums[0]),
                          AllFiniteOp::create(b, sums[1]));
  Value flag = b.select(finite, real(0.0),
                        real(std::numeric_limits<double>::quiet_NaN()));
  return {emitRows(tile, sums[0], sums[1]),
          b.slice(sums[1], b.zeros(1), tile.count),
          b.fill(empty({1, 1, 1}), flag)};
}

/// What the sink adds to `mu`, `(L)`.
Value TangentTiles::emitOfSink(const TangentTile &tile) {
  if (!op.getSinkTangent())
    return b.fill(empty({lanes}), 0.0);
  auto load = [&](Value tensor) {
    return b.convert(tensor::ExtractOp::create(b, tensor, tile.head), type);
  };
  Value sink = load(op.getSink()), tangent = load(op.getSinkTangent());
  return b.map({tile.logSumExp}, empty({lanes}), [&](ValueRange args) {
    Value weight = math::ExpOp::create(b, b.subF(sink, args[0]));
    return b.mulF(weight, tangent);
  });
}

/// The sums of values, `(Dv, L)`, and `mu`, with those of a block.
SmallVector<Value> TangentTiles::emitBlock(const DerivativeUnit &unit,
                                           const TangentTile &tile,
                                           Value firstKey, ValueRange carried) {
  SmallVector<Value> sums(carried);
  Value key = emitRowsOfBlock(op.getKey(), unit, firstKey, keySize);
  if (Value tangent = op.getKeyTangent())
    emitFetch(tangent, unit, firstKey);
  Value products = multiply(key, tile.columns);
  Value ofProducts = emitProductTangents(unit, tile, firstKey, key);
  Value ofScores, ofCaptures; // By which products move scores, and captures do.
  if (ofProducts)
    ofScores = emitSlopes(unit, tile, firstKey, products, slopes.ofProduct);
  if (!op.getCaptureTangents().empty()) {
    SmallVector<Value> captures(op.getScoreCaptures());
    llvm::append_range(captures, op.getCaptureTangents());
    ofCaptures =
        evaluate(unit, tile, firstKey, products, slopes.ofCaptures, captures);
  }
  Value weights = emitWeights(unit, tile, firstKey, products);
  Value factors;
  if (op.hasDropout())
    factors = emitDropout(unit, tile, firstKey);
  if (movesScores()) {
    Value tangents =
        emitWeightTangents(weights, ofProducts, ofScores, ofCaptures);
    sums[1] = addColumns(tangents, sums[1]);
    if (factors)
      tangents = multiplyInto(tangents, factors, tangents);
    emitFetch(op.getKey(), unit, b.add(firstKey, keys));
    sums[0] =
        addValues(op.getValue(), values, unit, firstKey, tangents, sums[0]);
  }
  if (Value tangent = op.getValueTangent()) {
    Value kept = factors ? multiplyInto(weights, factors, weights) : weights;
    sums[0] = addValues(tangent, valueTangents, unit, firstKey, kept, sums[0]);
  }
  return sums;
}

/// `sums` with those of a block of values, times their factors.
Value TangentTiles::addValues(Value rows, Value packs,
                              const DerivativeUnit &unit, Value firstKey,
                              Value factors, Value sums) {
  Value ofBlock;
  if (packs)
    ofBlock = slicePacks(packs, {unit.keyBatch, unit.keyHead}, firstKey);
  return addTransposed(emitRowsOfBlock(rows, unit, firstKey, valueSize),
                       ofBlock, round(factors), sums);
}

/// `dt`; null where products do not move.
Value TangentTiles::emitProductTangents(const DerivativeUnit &unit,
                                        const TangentTile &tile, Value firstKey,
                                        Value key) {
  Value result;
  if (tile.tangentColumns) {
    if (!isPacked)
      emitFetch(op.getValue(), unit, firstKey);
    result = multiply(key, tile.tangentColumns);
  }
  if (!op.getKeyTangent())
    return result;
  Value tangent = emitRowsOfBlock(op.getKeyTangent(), unit, firstKey, keySize);
  if (Value later = op.getValueTangent(); later && !isPacked)
    emitFetch(later, unit, firstKey);
  return result ? multiplyAdd(tangent, tile.columns, firstRows(result), result)
                : multiply(tangent, tile.columns);
}

/// `P * dS`, and 0 where P is, whatever the others are.
Value TangentTiles::emitWeightTangents(Value weights, Value ofProducts,
                                       Value slopes, Value ofCaptures) {
  SmallVector<Value> inputs = {firstRows(weights)};
  for (Value value : {ofProducts, slopes, ofCaptures})
    if (value)
      inputs.push_back(firstRows(value));
  Value all = ofProducts ? ofProducts : ofCaptures;
  Value part = b.map(inputs, firstRows(all), [&](ValueRange args) {
    ValueRange left = args.drop_front();
    auto take = [&] {
      Value value = left.front();
      left = left.drop_front();
      return value;
    };
    Value sum = ofProducts ? take() : Value();
    if (sum && isInPairs)
      sum = b.mulF(sum, scale);
    if (slopes)
      sum = b.mulF(sum, take());
    if (ofCaptures)
      sum = sum ? b.addF(sum, take()) : take();
    Value product = b.mulF(args[0], sum);
    return b.select(b.isEqualF(args[0], real(0.0)), real(0.0), product);
  });
  return b.insert(part, all, b.zeros(2), sizes());
}

/// `sums` with the sums of the columns of a block.
Value TangentTiles::addColumns(Value rows, Value sums) {
  return b.generic({firstRows(rows)}, sums,
                   {b.getMultiDimIdentityMap(2),
                    AffineMap::get(2, 0, b.getAffineDimExpr(1))},
                   [&](ValueRange args) { return b.addF(args[1], args[0]); });
}

/// The sums without `mu` times the output, as rows.
Value TangentTiles::emitRows(const TangentTile &tile, Value sums, Value mu) {
  Value outputs = emitPadded(op.getOutput(), tile.offsets, tile.count,
                             valueSize, /*factor=*/Value(), type);
  AffineExpr q, d;
  bindDims(b.getContext(), q, d);
  auto map = [&](ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(2, 0, exprs, b.getContext());
  };
  Value rows =
      b.map({sums, mu, outputs},
            b.empty(ArrayRef<int64_t>{lanes, valueSize}, op.getElementType()),
            [&](ValueRange args) {
              Value tangent = b.subF(args[0], b.mulF(args[1], args[2]));
              return b.convert(tangent, op.getElementType());
            },
            {sumsOfKeysAreRows() ? map({q, d}) : map({d, q}), map(q)});
  return b.slice(rows, b.zeros(2), {tile.count, b.getIndexAttr(valueSize)});
}
