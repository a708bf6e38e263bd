//===- TileBackward.cpp - Gradients of attention in tiles -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Gradient/Passes.h"
#include "lib/Online/StoredElements.h"
#include "lib/Online/Sums.h"
#include "lib/Plan/CacheModel.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/RegionDerivative.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_TILEBACKWARD
#include "lib/Gradient/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What one parallel iteration computes: the gradients of the keys and values
/// of one head, and of the queries that read them.
struct Unit {
  Value number, keyHead; ///< `b` of regions; head of the keys.
  OpFoldResult queryBatch, queryBegin, queryLength;
  OpFoldResult keyBatch, keyBegin, keyLength;
  Value offset; ///< Position of the first query.
};

/// A tile of queries of one head.
struct Tile {
  Value head, position;
  OpFoldResult count;               ///< Of queries, at most as many as lanes.
  Value queries, columns;           ///< Scaled: `(L, Dk)` and `(Dk, L)`.
  Value gradients, gradientColumns; ///< Of the output: `(L, Dv)`, `(Dv, L)`.
  Value logSumExp, delta;           ///< `(L)`.
};

/// Emits the tiles of one op.
class BackwardTiles {
public:
  BackwardTiles(AttentionBackwardOp op, OpBuilder &builder, int64_t lanes,
                int64_t keys)
      : op(op), b(op.getLoc(), builder), type(op.getAccumulationType()),
        lanes(lanes), keys(keys), group(op.getGroupSize()),
        keySize(op.getQueryType().getDimSize(3)),
        valueSize(op.getValueType().getDimSize(3)),
        isNarrow(op.getElementType() != type) {}

  /// Finds the derivative of the score; an error where there is none.
  LogicalResult prepare() {
    if (!op.hasScore())
      return success();
    Region &score = op.getScore();
    return differentiateRegion(score, score.getArgument(0), slope);
  }

  SmallVector<Value> emit() {
    scale = op.getScale();
    if (!scale)
      scale = real(*op.getConstantScale());
    SmallVector<Value> outs(op.getOuts().take_front(3));
    if (op.isRagged()) // Rows of no sequence.
      for (Value &out : outs)
        out = fill(out, 0.0);
    OpFoldResult numSequences =
        op.isPacked()
            ? OpFoldResult(b.sub(b.size(op.getCumulativeQuery(), 0), 1))
            : b.size(op.getQuery(), 0);
    OpFoldResult keyHeads = b.getIndexAttr(op.getNumKeyValueHeads());
    // Of each iteration, 0 if what it computed is finite.
    outs.push_back(tensor::EmptyOp::create(
        b, ArrayRef<OpFoldResult>{numSequences, keyHeads}, type));
    if (op.getOfSink())
      outs.push_back(tensor::EmptyOp::create(
          b,
          ArrayRef<OpFoldResult>{numSequences,
                                 b.getIndexAttr(op.getNumQueryHeads())},
          type));
    auto forall = scf::ForallOp::create(
        b, ArrayRef<OpFoldResult>{numSequences, keyHeads}, outs,
        /*mapping=*/std::nullopt);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(forall.getBody());
      emitUnit(forall);
    }
    SmallVector<Value> results(forall.getResults());
    Value isFinite = AllFiniteOp::create(b, results[3]);
    SmallVector<Value> gradients(results.begin(), results.begin() + 3);
    if (op.getOfSink())
      gradients.push_back(emitSinkGradient(results[4]));
    return emitUnlessFinite(isFinite, gradients);
  }

private:
  //===--------------------------------------------------------------------===//
  // Iterations
  //===--------------------------------------------------------------------===//

  /// The gradients as they are, or computed once more.
  SmallVector<Value> emitUnlessFinite(Value isFinite, ValueRange gradients) {
    auto ifOp = scf::IfOp::create(b, TypeRange(gradients), isFinite,
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(b, gradients);
    b.setInsertionPointToStart(ifOp.elseBlock());
    auto exact = cast<AttentionBackwardOp>(b.clone(*op));
    exact.getOutsMutable().assign(gradients);
    scf::YieldOp::create(b, exact.getResults());
    return ifOp.getResults();
  }

  /// The sums over all sequences, in their order.
  Value emitSinkGradient(Value parts) {
    Value out = op.getSinkGradient();
    AffineExpr h, n;
    bindDims(b.getContext(), h, n);
    Value sums = fill(empty({op.getNumQueryHeads()}), 0.0);
    sums = emitSum(
        b, b.getLoc(), parts, sums, {{n, h}, {h}},
        [](OpBuilder &b, Location loc, ValueRange args) {
          linalg::YieldOp::create(
              b, loc,
              arith::AddFOp::create(b, loc, args[0], args[1]).getResult());
        });
    return map({sums}, out, {identity(1)},
               [&](ValueRange args) { return round(args[0], out); });
  }

  void emitUnit(scf::ForallOp forall) {
    Value n = forall.getInductionVar(0), keyHead = forall.getInductionVar(1);
    SmallVector<Value> outs(forall.getRegionIterArgs());
    Unit unit = emitRows(n, keyHead);
    SmallVector<OpFoldResult> queryOffsets, querySizes, keyOffsets;
    std::tie(queryOffsets, querySizes) = boxOfQueries(unit);
    keyOffsets = {unit.keyBatch, unit.keyHead, unit.keyBegin,
                  b.getIndexAttr(0)};
    auto keySizes = [&](int64_t size) -> SmallVector<OpFoldResult> {
      return {b.getIndexAttr(1), b.getIndexAttr(1), unit.keyLength,
              b.getIndexAttr(size)};
    };
    SmallVector<Value> sums = {
        b.slice(outs[0], queryOffsets, querySizes),
        emitSumsOfKeys(outs[1], keyOffsets, keySizes(keySize)),
        emitSumsOfKeys(outs[2], keyOffsets, keySizes(valueSize))};
    if (op.getOfSink())
      sums.push_back(fill(empty({group}), 0.0));
    sums = emitHeads(unit, sums);
    // The scale is in the queries that keys' sums are of.
    Value finite = arith::ConstantOp::create(b, b.getBoolAttr(true));
    for (Value sum : ArrayRef(sums).take_front(3))
      finite = b.bitAnd(finite, AllFiniteOp::create(b, sum));
    Value flag = arith::SelectOp::create(
        b, finite, real(0.0), real(std::numeric_limits<double>::quiet_NaN()));
    Value flags =
        fill(tensor::EmptyOp::create(b, ArrayRef<int64_t>{1, 1}, type), flag);
    SmallVector<Value> rounded;
    for (auto [number, size] : {std::pair(1, keySize), std::pair(2, valueSize)})
      rounded.push_back(
          roundSums(sums[number], outs[number], keyOffsets, keySizes(size)));
    OpFoldResult firstHead =
        b.apply(b.getAffineSymbolExpr(0) * group, {keyHead});
    auto terminator = forall.getTerminator();
    b.setInsertionPointToStart(terminator.getBody());
    b.insertInParallel(sums[0], outs[0], queryOffsets, querySizes);
    b.insertInParallel(rounded[0], outs[1], keyOffsets, keySizes(keySize));
    b.insertInParallel(rounded[1], outs[2], keyOffsets, keySizes(valueSize));
    b.insertInParallel(flags, outs[3], {n, keyHead}, b.ones(2));
    if (op.getOfSink())
      b.insertInParallel(
          sums[3], outs[4],
          {n, firstHead}, {b.getIndexAttr(1), b.getIndexAttr(group)});
  }

  Unit emitRows(Value n, Value keyHead) {
    OpFoldResult zero = b.getIndexAttr(0);
    Unit unit = {n,
                 keyHead,
                 n,
                 zero,
                 b.size(op.getQuery(), 2),
                 n,
                 zero,
                 b.size(op.getKey(), 2),
                 Value()};
    if (op.getCounts())
      unit.queryLength = op.createNumQueries(b, n);
    if (op.isPacked()) { // A7
      unit.queryBatch = zero;
      std::tie(unit.queryBegin, unit.queryLength) =
          emitRange(op.getCumulativeQuery(), n);
    }
    if (op.getCumulativeKey()) {
      unit.keyBatch = zero;
      std::tie(unit.keyBegin, unit.keyLength) =
          emitRange(op.getCumulativeKey(), n);
    }
    unit.offset = op.createFirstPosition(b, n, b.index(unit.queryLength),
                                         b.index(unit.keyLength));
    return unit;
  }

  std::pair<OpFoldResult, OpFoldResult> emitRange(Value cumulative, Value n) {
    auto load = [&](Value at) {
      return b.createOrFold<arith::IndexCastOp>(
          b.getIndexType(),
          tensor::ExtractOp::create(b, cumulative, at).getResult());
    };
    Value begin = load(n), end = load(b.add(n, 1));
    return {begin, b.sub(end, begin)};
  }

  std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
  boxOfQueries(const Unit &unit) {
    OpFoldResult head =
        b.apply(b.getAffineSymbolExpr(0) * group, {unit.keyHead});
    return {{unit.queryBatch, head, unit.queryBegin, b.getIndexAttr(0)},
            {b.getIndexAttr(1), b.getIndexAttr(group), unit.queryLength,
             b.getIndexAttr(keySize)}};
  }

  /// Sums of 0, in the place of the result if that has their type.
  Value emitSumsOfKeys(Value out, ArrayRef<OpFoldResult> offsets,
                       ArrayRef<OpFoldResult> sizes) {
    if (!isNarrow)
      return fill(b.slice(out, offsets, sizes, /*rank=*/2), 0.0);
    return fill(tensor::EmptyOp::create(b, sizes.take_back(2), type), 0.0);
  }

  /// The sums in the type of the result.
  Value roundSums(Value sums, Value out, ArrayRef<OpFoldResult> offsets,
                  ArrayRef<OpFoldResult> sizes) {
    if (!isNarrow)
      return sums;
    return map({sums}, b.slice(out, offsets, sizes, /*rank=*/2), {identity(2)},
               [&](ValueRange args) { return round(args[0], out); });
  }

  /// All heads of the group, one after the other.
  SmallVector<Value> emitHeads(const Unit &unit, ValueRange sums) {
    return loop(0, group, 1, sums, [&](Value number, ValueRange sums) {
      Value head = b.add(b.mul(unit.keyHead, group), number);
      return loop(0, unit.queryLength, lanes, sums,
                  [&](Value first, ValueRange sums) {
                    return emitTile(unit, number, head, first, sums);
                  });
    });
  }

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  SmallVector<Value> emitTile(const Unit &unit, Value number, Value head,
                              Value first, ValueRange before) {
    SmallVector<Value> sums(before);
    Tile tile;
    tile.head = head;
    tile.position = b.add(unit.offset, first);
    AffineExpr length = b.getAffineSymbolExpr(0),
               from = b.getAffineSymbolExpr(1);
    tile.count = b.minimum({length - from, b.getAffineConstantExpr(lanes)},
                           {unit.queryLength, first});
    SmallVector<OpFoldResult> offsets = {unit.queryBatch, head,
                                         b.add(unit.queryBegin, first),
                                         b.getIndexAttr(0)};
    tile.queries = emitPadded(op.getQuery(), offsets, tile.count, keySize,
                              /*scaled=*/true);
    tile.columns = transpose(tile.queries);
    tile.gradients = emitPadded(op.getOutputGradient(), offsets, tile.count,
                                valueSize, /*scaled=*/false);
    tile.gradientColumns = transpose(tile.gradients);
    tile.logSumExp = emitLogSumExp(offsets, tile.count);
    tile.delta = emitDelta(tile, offsets);
    if (op.getOfSink())
      sums[3] = addToSink(tile, number, sums[3]);

    auto [begin, end] = emitVisible(unit, tile);
    SmallVector<Value> carried = {fill(empty({keySize, lanes}), 0.0), sums[1],
                                  sums[2]};
    carried = loop(
        begin, end, keys, carried, [&](Value firstKey, ValueRange carried) {
          return emitUnlessHidden(unit, tile, firstKey, end, carried);
        });
    sums[1] = carried[1];
    sums[2] = carried[2];
    sums[0] = insertQueryGradient(carried[0], tile, number, first, sums[0]);
    return sums;
  }

  /// Rows of queries as f32, with 0 where there are none: `(L, D)`.
  Value emitPadded(Value rows, ArrayRef<OpFoldResult> offsets,
                   OpFoldResult count, int64_t size, bool scaled) {
    OpFoldResult one = b.getIndexAttr(1);
    Value source =
        b.slice(rows, offsets, {one, one, count, b.getIndexAttr(size)},
                /*rank=*/2);
    Value padded = fill(empty({lanes, size}), 0.0);
    SmallVector<OpFoldResult> sizes = {count, b.getIndexAttr(size)};
    Value part = b.slice(padded, b.zeros(2), sizes);
    part = map({source}, part, {identity(2)}, [&](ValueRange args) -> Value {
      Value element = widen(args[0]);
      return scaled ? arith::MulFOp::create(b, element, scale).getResult()
                    : element;
    });
    return b.insert(part, padded, b.zeros(2), sizes);
  }

  /// +inf where there is no query, or none that sees anything: weights are 0.
  Value emitLogSumExp(ArrayRef<OpFoldResult> offsets, OpFoldResult count) {
    OpFoldResult one = b.getIndexAttr(1);
    Value source = b.slice(op.getLogSumExp(), offsets.drop_back(),
                           {one, one, count}, /*rank=*/1);
    Value padded = fill(empty({lanes}), kInfinity);
    Value part = b.slice(padded, b.zeros(1), count);
    part = map({source}, part, {identity(1)}, [&](ValueRange args) -> Value {
      Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                           args[0], real(-kInfinity));
      return arith::SelectOp::create(b, isNone, real(kInfinity), args[0]);
    });
    return b.insert(part, padded, b.zeros(1), count);
  }

  /// `D`, 0 where there is no query.
  Value emitDelta(const Tile &tile, ArrayRef<OpFoldResult> offsets) {
    Value outputs = transpose(emitPadded(op.getOutput(), offsets, tile.count,
                                         valueSize, /*scaled=*/false));
    AffineExpr q, d;
    bindDims(b.getContext(), q, d);
    Value delta =
        emitSumOfProducts(b, b.getLoc(), {outputs, tile.gradientColumns},
                          fill(empty({lanes}), 0.0), {{d, q}, {d, q}, {q}});
    if (!op.getLogSumExpGradient())
      return delta;
    OpFoldResult one = b.getIndexAttr(1);
    Value source = b.slice(op.getLogSumExpGradient(), offsets.drop_back(),
                           {one, one, tile.count}, /*rank=*/1);
    Value part = b.slice(delta, b.zeros(1), tile.count);
    part = map({source, part}, part, {identity(1), identity(1)},
               [&](ValueRange args) -> Value {
                 return arith::SubFOp::create(b, args[1], args[0]);
               });
    return b.insert(part, delta, b.zeros(1), tile.count);
  }

  /// The sums with those of a tile added to that of its head.
  Value addToSink(const Tile &tile, Value number, Value sums) {
    Value sink = widen(tensor::ExtractOp::create(b, op.getSink(), tile.head));
    Value before = tensor::ExtractOp::create(b, sums, number);
    Value sum =
        loop(0, tile.count, 1, before, [&](Value i, ValueRange sum) {
          Value lse = tensor::ExtractOp::create(b, tile.logSumExp, i);
          Value delta = tensor::ExtractOp::create(b, tile.delta, i);
          Value weight =
              math::ExpOp::create(b, arith::SubFOp::create(b, sink, lse));
          Value part = arith::MulFOp::create(b, weight, delta);
          return SmallVector<Value>{arith::SubFOp::create(b, sum[0], part)};
        }).front();
    return tensor::InsertOp::create(b, sum, sums, number);
  }

  /// The keys that the mask may keep.
  std::pair<Value, Value> emitVisible(const Unit &unit, const Tile &tile) {
    Value length = b.index(unit.keyLength);
    if (!op.hasMask())
      return {b.index(0), length};
    VisibleKeys visible = emitVisibleKeys(
        b, b.getLoc(), op.getMask(), unit.number, tile.head,
        {tile.position, b.sub(b.add(tile.position, tile.count), 1)}, length,
        op.getMaskCaptures());
    return {visible.begin, visible.end};
  }

  Value insertQueryGradient(Value columns, const Tile &tile, Value number,
                            Value first, Value sums) {
    AffineExpr q = b.getAffineDimExpr(0), d = b.getAffineDimExpr(1);
    Value init = tensor::EmptyOp::create(b, ArrayRef<int64_t>{lanes, keySize},
                                         op.getElementType());
    Value rows =
        map({columns}, init, {AffineMap::get(2, 0, {d, q}, b.getContext())},
            [&](ValueRange args) {
              return round(arith::MulFOp::create(b, args[0], scale), init);
            });
    rows = b.slice(rows, b.zeros(2), {tile.count, b.getIndexAttr(keySize)});
    OpFoldResult one = b.getIndexAttr(1), zero = b.getIndexAttr(0);
    return b.insert(rows, sums, {zero, number, first, zero},
                    {one, one, tile.count, b.getIndexAttr(keySize)});
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// A block, unless the mask hides all of it.
  SmallVector<Value> emitUnlessHidden(const Unit &unit, const Tile &tile,
                                      Value firstKey, Value end,
                                      ValueRange carried) {
    AffineExpr last = b.getAffineSymbolExpr(0), from = b.getAffineSymbolExpr(1);
    OpFoldResult count = b.minimum({last - from, b.getAffineConstantExpr(keys)},
                                   {end, firstKey});
    RegionTile region;
    region.batch = unit.number;
    region.head = tile.head;
    region.positions = {tile.position,
                        b.sub(b.add(tile.position, tile.count), 1)};
    region.keys = {firstKey, b.sub(b.add(firstKey, count), 1)};
    isPartial = arith::ConstantOp::create(b, b.getBoolAttr(false));
    isDefined = arith::ConstantOp::create(b, b.getBoolAttr(true));
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
      isDefined = b.createOrFold<arith::AndIOp>(
          isDefined, emitIsDefined(b, loc, op.getScore(), region));
    }
    if (!isHidden || matchPattern(isHidden, m_Zero()))
      return emitBlock(unit, tile, firstKey, count, carried);
    auto ifOp = scf::IfOp::create(b, TypeRange(carried), isHidden,
                                  /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(ifOp.thenBlock());
    scf::YieldOp::create(b, carried);
    b.setInsertionPointToStart(ifOp.elseBlock());
    scf::YieldOp::create(b, emitBlock(unit, tile, firstKey, count, carried));
    return ifOp.getResults();
  }

  SmallVector<Value> emitBlock(const Unit &unit, const Tile &tile,
                               Value firstKey, OpFoldResult count,
                               ValueRange carried) {
    numKeys = count;
    Value key = emitRowsOfBlock(op.getKey(), unit, firstKey, keySize);
    Value value = emitRowsOfBlock(op.getValue(), unit, firstKey, valueSize);
    Value products = multiply(key, tile.columns);
    Value slopes = emitSlopes(unit, tile, firstKey, products);
    Value weights =
        emitSoftmax(unit, tile, firstKey, {products, tile.logSumExp},
                    op.getScore(), op.getScoreCaptures(), /*masked=*/true);
    Value ofScores = emitScoreGradients(multiply(value, tile.gradientColumns),
                                        weights, slopes, tile);

    Value ofKeys = addProduct(ofScores, tile.queries, carried[1], firstKey);
    Value ofValues = addProduct(weights, tile.gradients, carried[2], firstKey);
    Value ofQueries =
        linalg::MatmulTransposeAOp::create(b, b.getLoc(), carried[0].getType(),
                                           ValueRange{key, firstRows(ofScores)},
                                           ValueRange{carried[0]})
            ->getResult(0);
    return {ofQueries, ofKeys, ofValues};
  }

  /// Keys or values of the block as f32.
  Value emitRowsOfBlock(Value rows, const Unit &unit, Value firstKey,
                        int64_t size) {
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
  Value multiply(Value rows, Value columns) {
    Value all = empty({keys, lanes});
    Value part = fill(firstRows(all), 0.0);
    part = linalg::MatmulOp::create(b, b.getLoc(), part.getType(),
                                    ValueRange{rows, columns}, ValueRange{part})
               .getResult(0);
    return b.insert(part, all, b.zeros(2), sizes());
  }

  /// The derivative of the score at the products; null if it is 1.
  Value emitSlopes(const Unit &unit, const Tile &tile, Value firstKey,
                   Value products) {
    if (!op.hasScore())
      return {};
    if (std::optional<double> constant = getConstantYield(slope);
        constant && *constant == 1.0)
      return {};
    Value copy =
        linalg::CopyOp::create(b, products, empty({keys, lanes})).getResult(0);
    return emitSoftmax(unit, tile, firstKey, {copy}, slope,
                       op.getScoreCaptures(), /*masked=*/false);
  }

  Value emitSoftmax(const Unit &unit, const Tile &tile, Value firstKey,
                    ValueRange outs, Region &score, ValueRange captures,
                    bool masked) {
    Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
    auto softmax = OnlineSoftmaxOp::create(
        b, TypeRange(outs), outs, unit.number, tile.head, tile.position,
        firstKey, b.index(tile.count), b.index(numKeys),
        masked ? isPartial : no, isDefined, /*exact=*/no, /*scale=*/Value(),
        captures, masked ? op.getMaskCaptures() : ValueRange(),
        /*in_order=*/false);
    IRMapping mapping;
    score.cloneInto(&softmax.getScoreRegion(), mapping);
    if (masked)
      op.getMask().cloneInto(&softmax.getMaskRegion(), mapping);
    return softmax.getResult(0);
  }

  /// `P * (dP - D) * score'`, and 0 where P is, whatever the others are.
  Value emitScoreGradients(Value ofWeights, Value weights, Value slopes,
                           const Tile &tile) {
    AffineMap lane = AffineMap::get(2, 0, b.getAffineDimExpr(1));
    Value part = firstRows(ofWeights);
    SmallVector<Value> inputs = {firstRows(weights), part, tile.delta};
    SmallVector<AffineMap> maps = {identity(2), identity(2), lane};
    if (slopes) {
      inputs.push_back(firstRows(slopes));
      maps.push_back(identity(2));
    }
    part = map(inputs, part, maps, [&](ValueRange args) -> Value {
      Value difference = arith::SubFOp::create(b, args[1], args[2]);
      Value result = arith::MulFOp::create(b, args[0], difference);
      if (slopes)
        result = arith::MulFOp::create(b, result, args[3]);
      Value isNone = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ,
                                           args[0], real(0.0));
      return arith::SelectOp::create(b, isNone, real(0.0), result);
    });
    return b.insert(part, ofWeights, b.zeros(2), sizes());
  }

  /// `sums[firstKey + j, :] += factors (j, q) * rows (q, :)`.
  Value addProduct(Value factors, Value rows, Value sums, Value firstKey) {
    SmallVector<OpFoldResult> offsets = {firstKey, b.getIndexAttr(0)};
    SmallVector<OpFoldResult> extent = {numKeys, b.size(rows, 1)};
    Value part = b.slice(sums, offsets, extent);
    part = linalg::MatmulOp::create(b, b.getLoc(), part.getType(),
                                    ValueRange{firstRows(factors), rows},
                                    ValueRange{part})
               .getResult(0);
    return b.insert(part, sums, offsets, extent);
  }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  /// Of the keys that the block has.
  Value firstRows(Value matrix) { return b.slice(matrix, b.zeros(2), sizes()); }
  SmallVector<OpFoldResult> sizes() { return {numKeys, b.getIndexAttr(lanes)}; }

  SmallVector<Value>
  loop(IndexBuilder::Operand begin, IndexBuilder::Operand end, int64_t step,
       ValueRange initial,
       function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    Value first = b.index(begin), last = b.index(end);
    auto forOp = scf::ForOp::create(b, first, last, b.index(step), initial);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(forOp.getBody());
    scf::YieldOp::create(
        b, body(forOp.getInductionVar(), forOp.getRegionIterArgs()));
    return forOp.getResults();
  }

  Value transpose(Value matrix) {
    auto from = cast<RankedTensorType>(matrix.getType());
    return linalg::TransposeOp::create(
               b, matrix, empty({from.getDimSize(1), from.getDimSize(0)}),
               ArrayRef<int64_t>{1, 0})
        ->getResult(0);
  }

  Value map(ValueRange inputs, Value init, ArrayRef<AffineMap> inputMaps,
            function_ref<Value(ValueRange)> body) {
    unsigned rank = cast<RankedTensorType>(init.getType()).getRank();
    SmallVector<AffineMap> maps(inputMaps);
    maps.push_back(identity(rank));
    SmallVector<utils::IteratorType> parallel(rank,
                                              utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               b, init.getType(), inputs, init, maps, parallel,
               [&](OpBuilder &nested, Location, ValueRange args) {
                 OpBuilder::InsertionGuard guard(b);
                 b.setInsertionPoint(nested.getInsertionBlock(),
                                     nested.getInsertionPoint());
                 linalg::YieldOp::create(b, body(args));
               })
        .getResult(0);
  }
  AffineMap identity(unsigned rank) { return b.getMultiDimIdentityMap(rank); }

  Value empty(ArrayRef<int64_t> shape) {
    return tensor::EmptyOp::create(b, shape, type);
  }
  Value fill(Value tensor, Value value) {
    return linalg::FillOp::create(b, value, tensor).getResult(0);
  }
  Value fill(Value tensor, double value) {
    Type element = cast<ShapedType>(tensor.getType()).getElementType();
    return fill(tensor,
                arith::ConstantOp::create(b, b.getFloatAttr(element, value)));
  }
  Value real(double value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  Value widen(Value element) {
    if (element.getType() == type)
      return element;
    return arith::ExtFOp::create(b, type, element);
  }
  /// In the element type of a tensor.
  Value round(Value number, Value tensor) {
    Type to = cast<ShapedType>(tensor.getType()).getElementType();
    if (to == number.getType())
      return number;
    return arith::TruncFOp::create(b, to, number);
  }

  AttentionBackwardOp op;
  IndexBuilder b;
  FloatType type; ///< Of sums.
  int64_t lanes, keys;
  int64_t group, keySize, valueSize;
  bool isNarrow; ///< Elements are narrower than sums.
  Value scale;
  Region slope; ///< The derivative of the score.
  // Of the block.
  Value isPartial, isDefined;
  OpFoldResult numKeys;
};

} // namespace

/// Why gradients are not tiled; empty if they are.
static StringRef findObstacle(AttentionBackwardOp op) {
  if (op.getElementType().isF64())
    return "its element type is f64";
  if (op.hasDropout())
    return "it has dropout";
  if (!op.getOfCaptures().empty())
    return "it has gradients of captures";
  if (op.getSink() && cast<ShapedType>(op.getSink().getType()).getRank() == 2 &&
      op.getOfSink())
    return "it has the gradient of a sink for each query";
  return {};
}

namespace {
struct TileBackward : attn::impl::TileBackwardBase<TileBackward> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionBackwardOp> ops;
    getOperation()->walk([&](AttentionBackwardOp op) {
      if (op->getNumResults() > 0)
        ops.push_back(op);
    });
    for (AttentionBackwardOp op : ops) {
      if (StringRef obstacle = findObstacle(op); !obstacle.empty()) {
        op.emitRemark("is lowered by the reference path, because ") << obstacle;
        continue;
      }
      rewriter.setInsertionPoint(op);
      CacheModel model(getTarget(op));
      BackwardTiles tiles(op, rewriter, model.getVariantRows(),
                          model.getKeys());
      if (failed(tiles.prepare()))
        return signalPassFailure();
      rewriter.replaceOp(op, tiles.emit());
    }
  }
};
} // namespace
