//===- BackwardTiles.cpp - Parallel iterations of gradients ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   forall sequences, heads of keys and parts of their groups and queries
//     for the part's query heads
//       for the part's tiles of queries
//         for blocks of keys                        BackwardBlocks.cpp
//
// Where captures have gradients, an iteration goes over all sequences, one
// after the other, so that what it adds to has one order.
//
//===----------------------------------------------------------------------===//

#include "lib/Gradient/BackwardTiles.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Plan/Plan.h"
#include "lib/Plan/Redo.h"
#include "lib/Regions/RegionDerivative.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

/// Into how many parts the queries of a head are divided where all heads
/// together are few iterations. Each part has sums of its own for all keys,
/// which are added up in the end: of few parts, that costs little. Those of
/// captures are of any size, and a batch of any size may be enough: there is
/// one part then.
static int64_t countQueryParts(AttentionBackwardOp op, int64_t lanes,
                               int64_t heads) {
  ArrayRef<int64_t> sizes = op.getQueryType().getShape();
  if (!op.getOfCaptures().empty() || ShapedType::isDynamic(sizes[0]))
    return 1;
  constexpr int64_t kMostParts = 8;
  int64_t iterations = std::max<int64_t>(op.isPacked() ? 1 : sizes[0], 1) *
                       op.getNumKeyValueHeads() * (op.getGroupSize() / heads),
          wanted = CacheModel(getTarget(op)).getIterations() / iterations;
  int64_t most = ShapedType::isDynamic(sizes[2])
                     ? kMostParts
                     : int64_t(llvm::divideCeil(sizes[2], lanes));
  return std::clamp<int64_t>(wanted, 1,
                             std::clamp<int64_t>(most, 1, kMostParts));
}

BackwardTiles::BackwardTiles(AttentionBackwardOp op, OpBuilder &builder)
    : QueryTiles(op, builder), heads(getPlan(op).getHeads()),
      numQueryParts(countQueryParts(op, lanes, heads)),
      numParts(op.getGroupSize() / heads * numQueryParts),
      chunk(getPlan(op).getChunk()), captures(op) {
  // All keys may be one.
  if (int64_t length = op.getKeyType().getDimSize(2);
      !ShapedType::isDynamic(length) && length <= chunk)
    chunk = 0;
}

LogicalResult BackwardTiles::prepare() {
  if (!op.hasScore())
    return success();
  Region &score = op.getScore();
  return failure(
      failed(differentiateRegion(score, score.getArgument(0), slope)) ||
      failed(captures.prepare()));
}

SmallVector<Value> BackwardTiles::emit() {
  scale = emitScale();
  OpFoldResult numSequences = emitNumSequences();
  int64_t keyHeads = op.getNumKeyValueHeads();
  SmallVector<Value> outs(op.getOuts().take_front(3));
  if (op.isRagged()) // Rows of no sequence.
    outs[0] = b.fill(outs[0], 0.0);
  for (Value &out : MutableArrayRef(outs).drop_front()) {
    SmallVector<OpFoldResult> sizes = b.sizes(out);
    if (numParts > 1) { // (parts, B, Hkv, Skv, D)
      sizes.insert(sizes.begin(), b.getIndexAttr(numParts));
      out = b.empty(sizes, type);
    }
    if (op.getCumulativeKey() || op.isRagged())
      out = b.fill(out, 0.0);
  }
  // Of each iteration and sequence, 0 if what it computed is finite.
  outs.push_back(
      b.empty({numSequences, b.getIndexAttr(keyHeads * numParts)}, type));
  OpFoldResult numOfSinks =
      b.apply(b.getAffineSymbolExpr(0) * numQueryParts, {numSequences});
  outs.push_back(
      b.empty({numOfSinks, b.getIndexAttr(op.getNumQueryHeads())}, type));
  llvm::append_range(outs, captures.emitParts(b, keyHeads * numParts));

  SmallVector<OpFoldResult> counts = {b.getIndexAttr(keyHeads),
                                      b.getIndexAttr(numParts)};
  if (captures.isEmpty())
    counts.insert(counts.begin(), numSequences);
  scf::ForallOp forall;
  {
    OpBuilder::InsertionGuard guard(b);
    forall = b.enterForall(counts, outs);
    emitIteration(forall);
  }
  SmallVector<Value> results(forall.getResults());
  Value isFinite = AllFiniteOp::create(b, results[3]);
  SmallVector<Value> gradients(results.begin(), results.begin() + 3);
  if (numParts > 1)
    for (unsigned number : {1, 2})
      gradients[number] = emitSum(results[number], op.getOuts()[number]);
  if (op.getOfSink())
    gradients.push_back(emitSum(results[4], op.getSinkGradient()));
  for (size_t number = 0; number < op.getOfCaptures().size(); ++number)
    gradients.push_back(captures.emitGradient(b, number, results[5 + number]));
  return emitUnlessFinite(b, op, isFinite, gradients);
}

/// The sums over the first dimension, as `out`.
Value BackwardTiles::emitSum(Value parts, Value out) {
  Value sums = b.elementOf(out) == type ? out : b.emptyLike(out, type);
  sums = b.sumParts(parts, b.fill(sums, 0.0));
  return b.convertAll(sums, b.elementOf(out), out);
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

void BackwardTiles::emitIteration(scf::ForallOp forall) {
  SmallVector<Value> at(forall.getInductionVars());
  if (!captures.isEmpty())
    return emitSequences(forall, at[0], at[1]);
  BackwardUnit unit = emitUnit(at[0], at[1], at[2]);
  Boxes boxes = getBoxes(unit, at[2], /*areOwnHeads=*/false);
  SmallVector<Value> outs(forall.getRegionIterArgs());
  SmallVector<Value> parts = emitGradients(unit, outs, boxes, {});
  const TensorBox all[] = {boxes.query, boxes.key, boxes.value, boxes.flags,
                           boxes.sink};
  for (auto [part, out, box] : llvm::zip(parts, outs, all))
    b.insertInParallel(forall, part, out, box.offsets, box.sizes);
}

/// All sequences of some heads.
void BackwardTiles::emitSequences(scf::ForallOp forall, Value keyHead,
                                  Value part) {
  SmallVector<Value> outs(forall.getRegionIterArgs());
  Value iteration = b.add(b.mul(keyHead, numParts), part);
  Value firstHead = b.mul(iteration, heads);
  SmallVector<TensorBox> boxes;
  for (auto [number, out] : llvm::enumerate(outs)) {
    if (number >= 5) {
      boxes.push_back(
          captures.getBox(b, number - 5, out, iteration, firstHead, heads));
      continue;
    }
    TensorBox box{b.zeros(size_t(cast<ShapedType>(out.getType()).getRank())),
                  b.sizes(out)};
    bool isOfKeys = number == 1 || number == 2;
    size_t dim = isOfKeys && numParts > 1 ? 2 : 1;
    box.offsets[dim] = isOfKeys ? keyHead : number == 3 ? iteration : firstHead;
    box.sizes[dim] = b.getIndexAttr(isOfKeys || number == 3 ? 1 : heads);
    if (isOfKeys && numParts > 1) {
      box.offsets[0] = part;
      box.sizes[0] = b.getIndexAttr(1);
    }
    boxes.push_back(box);
  }
  SmallVector<Value> own;
  for (auto [out, box] : llvm::zip(outs, boxes))
    own.push_back(b.slice(out, box));
  for (Value &sums : MutableArrayRef(own).drop_front(5))
    sums = b.fill(sums, 0.0);
  Value numSequences = b.index(b.size(outs[3], 0));
  own = b.loop(0, numSequences, 1, own, [&](Value n, ValueRange before) {
    SmallVector<Value> after(before);
    BackwardUnit unit = emitUnit(n, keyHead, part);
    Boxes boxes = getBoxes(unit, part, /*areOwnHeads=*/true);
    SmallVector<Value> parts =
        emitGradients(unit, after, boxes, ArrayRef(after).drop_front(5));
    const TensorBox all[] = {boxes.query, boxes.key, boxes.value, boxes.flags,
                             boxes.sink};
    for (auto [number, box] : llvm::enumerate(all))
      after[number] =
          b.insert(parts[number], after[number], box.offsets, box.sizes);
    std::copy(parts.begin() + 5, parts.end(), after.begin() + 5);
    return after;
  });
  for (auto [sums, out, box] : llvm::zip(own, outs, boxes))
    b.insertInParallel(forall, sums, out, box.offsets, box.sizes);
}

BackwardUnit BackwardTiles::emitUnit(Value n, Value keyHead, Value part) {
  BackwardUnit unit(QueryTiles::emitUnit(n));
  unit.queryPart = b.rem(part, numQueryParts);
  unit.keyHead = keyHead;
  Value iteration = b.add(b.mul(keyHead, numParts), part);
  unit.firstHead = b.mul(b.div(iteration, numQueryParts), heads);
  if (numQueryParts > 1)
    restrictQueries(unit);
  return unit;
}

/// To those of the part: whole tiles, one after the other.
void BackwardTiles::restrictQueries(BackwardUnit &unit) {
  AffineExpr length = b.getAffineSymbolExpr(0), part = b.getAffineSymbolExpr(1);
  AffineExpr rows = length.ceilDiv(lanes * numQueryParts) * lanes;
  OpFoldResult first =
      b.minimum({part * rows, length}, {unit.queryLength, unit.queryPart});
  AffineExpr from = b.getAffineSymbolExpr(2);
  unit.queryLength = b.minimum({rows, length - from},
                               {unit.queryLength, unit.queryPart, first});
  unit.queryBegin = b.add(unit.queryBegin, first);
  unit.offset = b.add(unit.offset, first);
}

/// In tensors of all heads, or of those of the iteration alone.
BackwardTiles::Boxes BackwardTiles::getBoxes(const BackwardUnit &unit,
                                             Value part, bool areOwnHeads) {
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0),
               count = b.getIndexAttr(heads);
  OpFoldResult head = areOwnHeads ? zero : OpFoldResult(unit.firstHead),
               keyHead = areOwnHeads ? zero : OpFoldResult(unit.keyHead),
               iteration = areOwnHeads
                               ? zero
                               : OpFoldResult(b.add(
                                     b.mul(unit.keyHead, numParts), part));
  auto ofKeys = [&](int64_t size) {
    TensorBox box{{unit.keyBatch, keyHead, unit.keyBegin, zero},
                  {one, one, unit.keyLength, b.getIndexAttr(size)}};
    if (numParts > 1) {
      box.offsets.insert(box.offsets.begin(),
                         areOwnHeads ? zero : OpFoldResult(part));
      box.sizes.insert(box.sizes.begin(), one);
    }
    return box;
  };
  return {{{unit.queryBatch, head, unit.queryBegin, zero},
           {one, count, unit.queryLength, b.getIndexAttr(keySize)}},
          ofKeys(keySize),
          ofKeys(valueSize),
          {{unit.number, iteration}, {one, one}},
          {{b.add(b.mul(unit.number, numQueryParts), unit.queryPart), head},
           {one, count}}};
}

/// What the unit adds, for each box, and the sums of captures.
SmallVector<Value> BackwardTiles::emitGradients(BackwardUnit unit,
                                                ArrayRef<Value> outs,
                                                const Boxes &boxes,
                                                ValueRange ofCaptures) {
  if (isPacked) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    unit.packs = emitPacksOfKeys(
        b.slice(op.getKey(), {unit.keyBatch, unit.keyHead, unit.keyBegin, zero},
                {one, one, unit.keyLength, b.getIndexAttr(keySize)},
                /*rank=*/2));
  }
  if (chunk > 0)
    return emitChunks(unit, outs, boxes, ofCaptures);
  SmallVector<Value> sums = {
      b.slice(outs[0], boxes.query), emitSumsOfKeys(outs[1], boxes.key),
      emitSumsOfKeys(outs[2], boxes.value), b.fill(empty({heads}), 0.0)};
  llvm::append_range(sums, ofCaptures);
  sums = emitHeads(unit, sums);
  // A sum that is too large once it is rounded is not finite either.
  sums[1] = roundSums(sums[1], outs[1], boxes.key);
  sums[2] = roundSums(sums[2], outs[2], boxes.value);
  Value finite = b.boolean(true);
  for (Value sum : ArrayRef(sums).take_front(3))
    finite = b.bitAnd(finite, AllFiniteOp::create(b, sum));
  SmallVector<Value> parts = {sums[0], sums[1], sums[2], emitFlag(finite),
                              sums[3]};
  parts.append(sums.begin() + 4, sums.end());
  return parts;
}

/// 0 if what an iteration computed is finite.
Value BackwardTiles::emitFlag(Value isFinite) {
  Value flag = b.select(isFinite, real(0.0),
                        real(std::numeric_limits<double>::quiet_NaN()));
  return b.fill(empty({1, 1}), flag);
}

/// The sums with those of all tiles of queries.
SmallVector<Value> BackwardTiles::emitHeads(const BackwardUnit &unit,
                                            SmallVector<Value> sums) {
  return b.loop(0, heads, 1, sums, [&](Value number, ValueRange before) {
    SmallVector<Value> sums(before.take_front(4)),
        ofCaptures(before.drop_front(4));
    CaptureHead head = getCaptureHead(unit, b.add(unit.firstHead, number));
    captures.beginHead(b, head, lanes, ofCaptures);
    llvm::append_range(sums, ofCaptures);
    sums = b.loop(0, unit.queryLength, lanes, sums,
                  [&](Value first, ValueRange sums) {
                    return emitTile(unit, number, first, sums);
                  });
    ofCaptures.assign(sums.begin() + 4, sums.end());
    captures.endHead(b, head, ofCaptures);
    sums.truncate(4);
    llvm::append_range(sums, ofCaptures);
    return sums;
  });
}

/// The same as `emitGradients`, but of one chunk of keys after the other, whose
/// sums stay in the second-level cache. Those of queries are kept as tiles
/// until the last chunk.
SmallVector<Value> BackwardTiles::emitChunks(BackwardUnit unit,
                                             ArrayRef<Value> outs,
                                             const Boxes &boxes,
                                             ValueRange ofCaptures) {
  AffineExpr length = b.getAffineSymbolExpr(0), from = b.getAffineSymbolExpr(1);
  Value tiles =
      b.fill(b.empty({b.getIndexAttr(heads),
                      b.apply(length.ceilDiv(lanes), {unit.queryLength}),
                      b.getIndexAttr(keySize), b.getIndexAttr(lanes)},
                     type),
             0.0);
  auto slice = [&](Value out, const TensorBox &box) {
    return b.slice(out, box.offsets, box.sizes, /*rank=*/2);
  };
  SmallVector<Value> carried = {tiles, slice(outs[1], boxes.key),
                                slice(outs[2], boxes.value), b.boolean(true)};
  llvm::append_range(carried, ofCaptures);
  carried = b.loop(
      0, unit.keyLength, chunk, carried, [&](Value first, ValueRange before) {
        SmallVector<Value> after(before);
        OpFoldResult count =
            b.minimum({length - from, b.getAffineConstantExpr(chunk)},
                      {unit.keyLength, first});
        unit.chunkBegin = first;
        unit.chunkEnd = b.add(first, count);
        SmallVector<TensorBox> rows;
        SmallVector<Value> sums = {after[0]};
        for (int64_t size : {keySize, valueSize}) {
          OpFoldResult columns = b.getIndexAttr(size), zero = b.getIndexAttr(0);
          rows.push_back({{first, zero}, {count, columns}});
          Value &out = after[rows.size()];
          sums.push_back(b.elementOf(out) == type
                             ? b.fill(b.slice(out, rows.back()), 0.0)
                             : b.fill(b.slice(empty({chunk, size}), b.zeros(2),
                                              rows.back().sizes),
                                      0.0));
        }
        sums.push_back(b.fill(empty({heads}), 0.0)); // None of sinks yet.
        sums.append(after.begin() + 4, after.end());
        sums = emitHeads(unit, sums);
        after[0] = sums[0];
        for (size_t number : {1, 2}) {
          const TensorBox &box = rows[number - 1];
          Value part = roundSums(sums[number], after[number], box);
          after[3] = b.bitAnd(after[3], AllFiniteOp::create(b, part));
          after[number] = b.insert(part, after[number], box.offsets, box.sizes);
        }
        std::copy(sums.begin() + 4, sums.end(), after.begin() + 4);
        return after;
      });
  SmallVector<Value> ofQueries =
      emitRowsOfTiles(unit, carried[0], b.slice(outs[0], boxes.query),
                      b.fill(empty({heads}), 0.0));
  Value finite = b.bitAnd(carried[3], AllFiniteOp::create(b, ofQueries[0]));
  SmallVector<Value> parts = {ofQueries[0], carried[1], carried[2],
                              emitFlag(finite), ofQueries[1]};
  parts.append(carried.begin() + 4, carried.end());
  return parts;
}

/// `rows` with the gradients of queries, which lie in tiles, and those of
/// sinks.
SmallVector<Value> BackwardTiles::emitRowsOfTiles(const BackwardUnit &unit,
                                                  Value tiles, Value rows,
                                                  Value ofSink) {
  SmallVector<Value> before = {rows, ofSink};
  return b.loop(0, heads, 1, before, [&](Value number, ValueRange sums) {
    return b.loop(
        0, unit.queryLength, lanes, sums, [&](Value first, ValueRange sums) {
          BackwardTile tile = getTile(unit, number, first);
          Value ofTile = sums[1];
          if (op.getOfSink()) {
            SmallVector<OpFoldResult> offsets = placeOf(unit, tile, first);
            tile.logSumExp = emitLogSumExp(offsets, tile.count);
            tile.delta = emitDelta(tile, offsets);
            ofTile = addToSink(tile, number, ofTile);
          }
          TensorBox box = getBoxOfTile(number, first);
          Value gradient = b.slice(tiles, box.offsets, box.sizes, /*rank=*/2);
          return SmallVector<Value>{
              insertQueryGradient(gradient, tile, number, first, sums[0]),
              ofTile};
        });
  });
}

/// Of the gradients of queries, which lie in tiles `(heads, n, D, L)`.
TensorBox BackwardTiles::getBoxOfTile(Value number, Value first) {
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  return {{number, b.div(first, lanes), zero, zero},
          {one, one, b.getIndexAttr(keySize), b.getIndexAttr(lanes)}};
}

/// Sums of 0, in the place of the result if that has their type.
Value BackwardTiles::emitSumsOfKeys(Value out, const TensorBox &box) {
  if (b.elementOf(out) == type)
    return b.fill(b.slice(out, box.offsets, box.sizes, /*rank=*/2), 0.0);
  return b.fill(b.empty(ArrayRef(box.sizes).take_back(2), type), 0.0);
}

/// The sums in the type of the result.
Value BackwardTiles::roundSums(Value sums, Value out, const TensorBox &box) {
  if (b.elementOf(out) == type)
    return sums;
  return b.convertAll(sums, b.elementOf(out),
                      b.slice(out, box.offsets, box.sizes, /*rank=*/2));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// But for what is read.
BackwardTile BackwardTiles::getTile(const BackwardUnit &unit, Value number,
                                    Value first) {
  BackwardTile tile;
  tile.head = b.add(unit.firstHead, number);
  tile.position = b.add(unit.offset, first);
  AffineExpr length = b.getAffineSymbolExpr(0), from = b.getAffineSymbolExpr(1);
  tile.count = b.minimum({length - from, b.getAffineConstantExpr(lanes)},
                         {unit.queryLength, first});
  return tile;
}

CaptureHead BackwardTiles::getCaptureHead(const BackwardUnit &unit,
                                          Value head) {
  return {unit.number,      head,           unit.offset,
          unit.queryLength, unit.keyLength, unit.firstHead};
}

/// Of a tile's queries.
SmallVector<OpFoldResult> BackwardTiles::placeOf(const BackwardUnit &unit,
                                                 const BackwardTile &tile,
                                                 Value first) {
  return {unit.queryBatch, tile.head, b.add(unit.queryBegin, first),
          b.getIndexAttr(0)};
}

SmallVector<Value> BackwardTiles::emitTile(const BackwardUnit &unit,
                                           Value number, Value first,
                                           ValueRange before) {
  BackwardTile tile = getTile(unit, number, first);
  auto [begin, end] = emitVisible(unit, tile);
  if (!unit.chunkBegin)
    return emitTile(unit, tile, number, first, {begin, end}, before);
  Value from = b.max(begin, unit.chunkBegin), to = b.min(end, unit.chunkEnd);
  return b.branch(b.isLess(from, to), before, [&] {
    return emitTile(unit, tile, number, first, {from, to}, before);
  });
}

/// A tile and the keys that it may see.
SmallVector<Value> BackwardTiles::emitTile(const BackwardUnit &unit,
                                           BackwardTile tile, Value number,
                                           Value first,
                                           std::pair<Value, Value> visible,
                                           ValueRange before) {
  SmallVector<Value> sums(before);
  SmallVector<OpFoldResult> offsets = placeOf(unit, tile, first);
  Value queries = emitFactors(op.getQuery(), offsets, tile.count, keySize,
                              /*scaled=*/true),
        gradients = emitFactors(op.getOutputGradient(), offsets, tile.count,
                                valueSize, /*scaled=*/false);
  tile.queries = toRows(queries);
  tile.columns = toColumns(queries);
  tile.gradients = toRows(gradients);
  tile.gradientColumns = toColumns(gradients);
  tile.logSumExp = emitLogSumExp(offsets, tile.count);
  tile.delta = emitDelta(tile, offsets);
  bool isOfChunk(unit.chunkBegin);
  if (op.getOfSink() && !isOfChunk)
    sums[3] = addToSink(tile, number, sums[3]);

  TensorBox box = getBoxOfTile(number, first);
  Value ofQueries = isOfChunk
                        ? b.slice(sums[0], box.offsets, box.sizes, /*rank=*/2)
                        : emitZeros(keySize);
  SmallVector<Value> carried = {ofQueries, sums[1], sums[2]};
  carried.append(sums.begin() + 4, sums.end());
  captures.beginTile(b, lanes, carried);
  auto [begin, end] = visible;
  carried = b.loop(begin, end, keys, carried,
                   [&, last = end](Value firstKey, ValueRange carried) {
                     return emitUnlessHidden(
                         unit, tile, firstKey, last, carried, [&] {
                           return emitBlock(unit, tile, firstKey, carried);
                         });
                   });
  sums[1] = carried[1];
  sums[2] = carried[2];
  SmallVector<Value> ofCaptures(ArrayRef(carried).drop_front(3));
  captures.endTile(b,
                   {getCaptureHead(unit, tile.head), tile.position, begin,
                    tile.count, b.getIndexAttr(0)},
                   ofCaptures);
  llvm::copy(ofCaptures, sums.begin() + 4);
  sums[0] = isOfChunk
                ? b.insert(carried[0], sums[0], box.offsets, box.sizes)
                : insertQueryGradient(carried[0], tile, number, first, sums[0]);
  return sums;
}

/// `D`, 0 where there is no query.
Value BackwardTiles::emitDelta(const BackwardTile &tile,
                               ArrayRef<OpFoldResult> offsets) {
  OpFoldResult one = b.getIndexAttr(1);
  auto sliceRows = [&](Value rows) {
    return b.slice(rows, offsets,
                   {one, one, tile.count, b.getIndexAttr(valueSize)},
                   /*rank=*/2);
  };
  Value delta = b.fill(empty({lanes}), 0.0);
  Value part = b.slice(delta, b.zeros(1), tile.count);
  AffineExpr q, d;
  bindDims(b.getContext(), q, d);
  part =
      b.generic({sliceRows(op.getOutput()), sliceRows(op.getOutputGradient())},
                part, {{q, d}, {q, d}, {q}}, [&](ValueRange args) {
                  Value x = b.convert(args[0], type),
                        y = b.convert(args[1], type);
                  return b.addF(args[2], b.mulF(x, y));
                });
  if (op.getLogSumExpGradient()) {
    Value source = b.slice(op.getLogSumExpGradient(), offsets.drop_back(),
                           {one, one, tile.count}, /*rank=*/1);
    part = b.map({source, part}, part,
                 [&](ValueRange args) { return b.subF(args[1], args[0]); });
  }
  return b.insert(part, delta, b.zeros(1), tile.count);
}

/// The sums with those of a tile added to that of its head.
Value BackwardTiles::addToSink(const BackwardTile &tile, Value number,
                               Value sums) {
  Value sink =
      b.convert(tensor::ExtractOp::create(b, op.getSink(), tile.head), type);
  Value before = tensor::ExtractOp::create(b, sums, number);
  Value sum =
      b.loop(0, tile.count, 1, before, [&](Value i, ValueRange sum) {
         Value logSumExp = tensor::ExtractOp::create(b, tile.logSumExp, i);
         Value delta = tensor::ExtractOp::create(b, tile.delta, i);
         Value weight = math::ExpOp::create(b, b.subF(sink, logSumExp));
         return SmallVector<Value>{b.subF(sum[0], b.mulF(weight, delta))};
       }).front();
  return tensor::InsertOp::create(b, sum, sums, number);
}

/// Sums over keys, in pairs of gradients that are scaled.
Value BackwardTiles::insertQueryGradient(Value gradient,
                                         const BackwardTile &tile, Value number,
                                         Value first, Value sums) {
  AffineExpr q = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
  SmallVector<AffineExpr> order = {d, q};
  if (sumsOfKeysAreRows())
    std::swap(order[0], order[1]);
  Value rows = b.map(
      {gradient},
      b.empty(ArrayRef<int64_t>{lanes, keySize}, op.getElementType()),
      [&](ValueRange args) {
        Value sum = isInPairs ? args[0] : b.mulF(args[0], scale);
        return b.convert(sum, op.getElementType());
      },
      AffineMap::get(2, 0, order, b.getContext()));
  rows = b.slice(rows, b.zeros(2), {tile.count, b.getIndexAttr(keySize)});
  OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
  return b.insert(rows, sums, {zero, number, first, zero},
                  {one, one, tile.count, b.getIndexAttr(keySize)});
}
