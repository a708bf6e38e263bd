//===- DecomposeOnline.cpp - A block of keys in three steps ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   if the mask may keep a position of the block
//     S (j, q)   = key (j, d) * query (d, q)              linalg
//     P, m, l, c = attn.online_softmax of S, and P in pairs of bf16
//     P          = attn.online_dropout of P, if there is dropout
//     O (d, q)   = c (q) * O + value (j, d) * P (j, q)    linalg
//
// A block that is computed exactly (A13) leaves out the products with a weight
// of -0.0, which only a hidden position has.
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/KnownSizes.h"
#include "lib/Online/BlockPages.h"
#include "lib/Online/BlockStreams.h"
#include "lib/Online/IntegerScores.h"
#include "lib/Online/OnlineInPairs.h"
#include "lib/Online/Passes.h"
#include "lib/Online/RowGroups.h"
#include "lib/Online/StoredElements.h"
#include "lib/Online/Sums.h"
#include "lib/Online/TilePrefetch.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_DECOMPOSEONLINE
#include "lib/Online/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Rows that attn.online_softmax may write after the last key.
constexpr int64_t kRowMultiple = 8;

/// Emits the steps of one block.
class Decomposition {
public:
  Decomposition(OnlineAttentionOp op, OpBuilder &builder, int64_t maximumKeys,
                bool withIntegers, std::optional<BlockPages> pages)
      : op(op), b(op.getLoc(), builder),
        type(cast<RankedTensorType>(op.getAccumulator().getType())
                 .getElementType()),
        isInPairs(op.getLayout() == OnlineLayout::Pairs),
        lanes(op.getNumLanes()),
        maximumKeys(llvm::alignTo(std::max<int64_t>(1, maximumKeys),
                                  isInPairs ? OnlineAttentionOp::kKeysPerPack
                                            : kRowMultiple)),
        multipliesTiles(getTarget(op).getBf16Tiles()),
        withIntegers(withIntegers), isFirst(op.getFirst()), groups(op),
        prefetches(findPrefetches(op)), pages(std::move(pages)) {}

  SmallVector<Value> emit() {
    if (auto loop = dyn_cast<scf::ForOp>(op->getParentOp()); loop && !pages)
      streams = BlockStreams::emit(b, op, loop);
    BlockFacts facts = emitBlockFacts(b, op);
    SmallVector<Value> state =
        facts.isEmpty ? emitUnlessEmpty(facts) : emitBlock(facts);
    for (auto [number, prefetch] : llvm::enumerate(prefetches))
      if (getPlace(number) != Place::front)
        prefetch.erase();
    return state;
  }

private:
  /// Where rows are fetched that later tiles read. In pairs, the softmax and
  /// the product with values have a part of each, so that they fetch few lines
  /// of each tensor at a time, and the processor is ahead of them. Otherwise
  /// each tensor has one place, and all at once is not waited for.
  enum class Place { softmax, afterSoftmax, product, front, eachHalf };
  Place getPlace(size_t number) {
    constexpr Place places[] = {Place::softmax, Place::afterSoftmax,
                                Place::product, Place::front};
    return isInPairs ? Place::eachHalf : places[number % std::size(places)];
  }
  void fetchAt(Place place) {
    // Vectors have no time to spare for what tiles fetch in shares.
    bool spread = place == Place::softmax ||
                  (place == Place::product && isInPairs && multipliesTiles);
    for (auto [number, prefetch] : llvm::enumerate(prefetches)) {
      if (getPlace(number) == place)
        emitPart(b, prefetch, spread);
      else if (isInPairs && place != Place::afterSoftmax)
        emitPart(b, prefetch, spread, place == Place::softmax ? 0 : 1, 2);
    }
  }

  SmallVector<Value> emitUnlessEmpty(const BlockFacts &facts) {
    auto skip = [&] {
      // What such a block has no steps for is fetched instead of them.
      for (auto [number, prefetch] : llvm::enumerate(prefetches))
        if (getPlace(number) != Place::front)
          emitPart(b, prefetch, /*spread=*/false);
      SmallVector<Value> state(op.getOuts());
      state[0] = emitZerosIf(b, isFirst, state[0], [&] { return state[0]; });
      return state;
    };
    return b.choose(facts.isEmpty, skip, [&] { return emitBlock(facts); });
  }

  SmallVector<Value> emitBlock(const BlockFacts &facts) {
    OnlineAttentionOp whole = op;
    FailureOr<TrimmedBlock> trimmed =
        emitTrimmedBlock(b, whole, facts.isPartial, maximumKeys);
    if (succeeded(trimmed)) {
      op = trimmed->op;
      lead = trimmed->lead;
      streams = {}; // There is less time than for a block.
      if (pages)
        pages->stopFetching();
    }
    numValues = numKeys = b.size(op.getKey(), 0);
    if (lead)
      numKeys = b.apply(b.getAffineSymbolExpr(0) - b.getAffineSymbolExpr(1),
                        {numValues, lead});
    SmallVector<Value> state = emitSteps(facts);
    if (op != whole)
      op.erase();
    return state;
  }

  SmallVector<Value> emitSteps(const BlockFacts &facts) {
    // Weights in pairs begin with a pack, scores after its lead.
    Value all = empty(
        {maximumKeys + (lead ? OnlineAttentionOp::kKeysPerPack : 0), lanes});
    firstKey = op.getFirstKey();
    if (lead)
      firstKey = b.add(firstKey, lead);
    Value scores = emitScores(lead ? afterLead(all) : all);
    SmallVector<Value> outs = {scores, op.getMaximum(), op.getSum(),
                               empty({lanes})};
    // Rounded as they are computed, unless there is a step between.
    bool makesPairs = isInPairs && !lead && !op.hasDropout();
    if (makesPairs)
      outs.push_back(emitEmptyPairs(b, maximumKeys, lanes));
    fetchAt(Place::softmax);
    PlanAttr plan = getPlan(op);
    auto softmax = OnlineSoftmaxOp::create(
        b, TypeRange(outs), outs, op.getBatch(), op.getHead(), op.getPosition(),
        firstKey, op.getNumQueries(), b.index(numKeys), facts.isPartial,
        facts.isDefined, op.getExact(), op.getScale(), op.getScoreCaptures(),
        op.getMaskCaptures(), /*in_order=*/plan && plan.getBatchInvariant(),
        op.getRounded());
    softmax.getScoreRegion().takeBody(op.getScoreRegion());
    softmax.getMaskRegion().takeBody(op.getMaskRegion());
    fetchAt(Place::afterSoftmax);
    Value weights = softmax.getResult(0);
    if (op.hasDropout())
      weights = OnlineDropoutOp::create(
                    b, TypeRange(weights), weights, op.getDropoutSeed(),
                    op.getDropoutCall(), op.getDropoutLine(), op.getPosition(),
                    op.createDropoutKey(b, firstKey), b.index(numKeys),
                    op.getDropoutRateAttr())
                    .getResult(0);
    if (lead)
      weights = b.insert(weights, all, leadOffsets(), maximumSizes());
    Value accumulator =
        emitAccumulator(weights, softmax.getResult(3),
                        makesPairs ? softmax.getResult(4) : Value());
    return {accumulator, softmax.getResult(1), softmax.getResult(2)};
  }

  /// The products of key and query, in the first rows of `all`, (K, L).
  Value emitScores(Value all) {
    auto fetch = [&] { streams.fetchWithScores(b, maximumKeys); };
    if (withIntegers)
      return emitIntegerScores(b, op, all, groups, fetch);
    Value zero = b.real(type, 0.0);
    if (op.hasRowPerQuery())
      return emitScoresInRows(b.fill(all, zero));
    auto inPairs = [&](Value keys, Value scores) {
      scores = b.fill(scores, zero);
      fetch();
      return emitScoresInPairs(b, keys, op.getQuery(), scores);
    };
    Value part = rows(all);
    if (pages)
      part = pages->multiplyKeys(b, firstKey, numKeys, part, inPairs);
    else if (isInPairs)
      part = inPairs(keys(), part);
    else
      part = emitScoresInLanes(part, zero, fetch);
    return b.insert(part, all, b.zeros(2), sizes());
  }

  /// The products of keys that are widened, beginning at `zero`.
  Value emitScoresInLanes(Value scores, Value zero,
                          function_ref<void()> fetch) {
    scores = b.fill(scores, zero);
    wideKeys = widen(op.getKey());
    fetch();
    return linalg::MatmulOp::create(b, scores.getType(),
                                    ValueRange{wideKeys, op.getQuery()},
                                    ValueRange{scores})
        .getResult(0);
  }

  /// The products in the first lanes of all.
  Value emitScoresInRows(Value all) {
    AffineExpr j, q, d;
    bindDims(b.getContext(), j, q, d);
    Value part = groups.forEach(
        b, queries(all), /*dim=*/1, [&](OpFoldResult first, Value sums) {
          Value query = groups.take(b, op.getQuery(), /*dim=*/0, first);
          streams.fetchWithScores(b, maximumKeys);
          return emitSumOfProducts(b, {op.getKey(), query}, sums,
                                   {{j, d}, {q, d}, {j, q}});
        });
    all = b.insert(part, all, b.zeros(2), queriesOfKeys());
    if (!op.getKeyScales())
      return all;
    part = emitScaledRows(all, op.getKeyScales());
    return b.insert(part, all, b.zeros(2), sizes());
  }

  /// The rows of the keys that there are, each times its scale: once for a row,
  /// where i8 would be multiplied element by element.
  Value emitScaledRows(Value matrix, Value scales) {
    return emitProduct(b, rows(matrix), scales, b.getAffineDimExpr(0));
  }

  /// `c * O + value * P`. The rescale factor stands right before the product,
  /// whose accumulators it becomes the start of. `rounded` are the weights in
  /// pairs, or null.
  Value emitAccumulator(Value weights, Value factor, Value rounded) {
    if (isInPairs && !rounded)
      weights = emitHiddenRows(b, weights, lead, numValues);
    Value value = op.getValue();
    auto product = [&]() -> Value {
      if (isInPairs) {
        Value packs = value;
        if (pages && !op.getPackedValues())
          packs = pages->packValues(b, op.getFirstKey(), numValues,
                                    maximumPacks(), numPacks());
        else if (!op.getPackedValues())
          packs = emitPacks(b, packs, maximumPacks(), numPacks());
        Value pairs = rounded ? emitPackedPairs(b, rounded, numPacks())
                              : emitWeightsInPairs(b, weights, numPacks());
        Value start = emitStart(factor);
        fetchAt(Place::product);
        streams.fetchWithOutput(b, maximumKeys);
        if (pages)
          pages->fetchNextKeys(b, op.getFirstKey());
        return emitOutputInPairs(b, packs, pairs, start);
      }
      Value factors = weights;
      if (op.getValueScales())
        factors = emitScaledRows(weights, op.getValueScales());
      if (op.hasRowPerQuery()) {
        fetchAt(Place::product);
        return emitOutputInRows(queries(factors), value, factor);
      }
      Value wide = widen(op.getValue());
      fetchAt(Place::product);
      Value rescaled = emitRescaled(factor);
      streams.fetchWithOutput(b, maximumKeys);
      return linalg::MatmulTransposeAOp::create(
                 b, b.getLoc(), rescaled.getType(),
                 ValueRange{wide, rows(weights)}, ValueRange{rescaled})
          ->getResult(0);
    };
    if (matchPattern(op.getExact(), m_Zero()))
      return product();
    return b.choose(
        op.getExact(),
        [&] {
          Value hidden =
              rounded ? emitHiddenRows(b, weights, lead, numValues) : weights;
          return emitExactSum(value, hidden, emitRescaled(factor));
        },
        product);
  }

  /// `c * O + P * value`, of the rows that have queries.
  Value emitOutputInRows(Value weights, Value value, Value factor) {
    AffineExpr q, d, j;
    bindDims(b.getContext(), q, d, j);
    return groups.forEach(
        b, op.getAccumulator(), /*dim=*/0,
        [&](OpFoldResult first, Value before) {
          Value factors = groups.take(b, factor, /*dim=*/0, first);
          Value rescaled =
              emitProduct(b, before, factors, b.getAffineDimExpr(0));
          Value part = groups.take(b, weights, /*dim=*/1, first);
          streams.fetchWithOutput(b, maximumKeys);
          return emitSumOfProducts(b, {part, value}, rescaled,
                                   {{j, q}, {j, d}, {q, d}});
        });
  }

  /// What was summed before, if anything was.
  Value emitStart(Value factor) {
    Value before = op.getAccumulator();
    auto rescale = [&] { return emitRescaled(factor); };
    if (!isFirst)
      return rescale();
    return emitZerosIf(b, isFirst, before, [&] {
      return emitUnlessOnes(b, factor, before, rescale);
    });
  }

  /// What was summed before, in the units of the new maximum.
  Value emitRescaled(Value factor) {
    if (op.hasRowPerQuery())
      factor = takeFirst(factor, OpFoldResult(b.getIndexAttr(op.getNumRows())));
    return emitProduct(b, op.getAccumulator(), factor,
                       b.getAffineDimExpr(op.hasRowPerQuery() ? 0 : 1));
  }

  /// Leaves out the products with hidden positions. Lanes are the last loop.
  Value emitExactSum(Value value, Value weights, Value accumulator) {
    AffineExpr d, j, i, q;
    if (op.getPackedValues()) {
      bindDims(b.getContext(), d, j, i, q);
      Value packs = emitPackedRows(b, weights, numPacks());
      return emitVisibleSum(b, {value, packs}, accumulator,
                            {{j, d, i}, {j, i, q}, {d, q}});
    }
    if (op.hasRowPerQuery()) {
      bindDims(b.getContext(), q, j, d);
      SmallVector<Value> inputs = {value, queries(weights)};
      if (!op.getValueScales())
        return emitVisibleSum(b, inputs, accumulator, {{j, d}, {j, q}, {q, d}});
      inputs.push_back(op.getValueScales());
      return emitVisibleSum(b, inputs, accumulator,
                            {{j, d}, {j, q}, {j}, {q, d}});
    }
    bindDims(b.getContext(), d, j, q);
    auto sum = [&](Value values, Value weights, Value accumulator) {
      return emitVisibleSum(b, {values, weights}, accumulator,
                            {{j, d}, {j, q}, {d, q}});
    };
    if (pages)
      return pages->addValues(b, op.getFirstKey(), numValues, weights,
                              accumulator, sum);
    return sum(value, rows(weights), accumulator);
  }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  OpFoldResult numPacks() {
    if (op.getPackedValues())
      return b.size(op.getValue(), 0);
    return b.apply(
        b.getAffineSymbolExpr(0).ceilDiv(OnlineAttentionOp::kKeysPerPack),
        numValues);
  }
  int64_t maximumPacks() {
    return maximumKeys / OnlineAttentionOp::kKeysPerPack;
  }
  Value empty(ArrayRef<int64_t> shape) { return b.empty(shape, type); }
  /// Keys or values of the block in the type of the state, in the first rows of
  /// a buffer of fixed size. Values take the place of the keys where they can:
  /// it stays in the first-level cache.
  Value widen(Value narrow) {
    auto from = cast<RankedTensorType>(narrow.getType());
    if (from.getElementType() == type)
      return narrow;
    RankedTensorType to = from.clone(type);
    Value init = wideKeys;
    if (!init || init.getType() != to)
      init = takeFirst(empty({maximumKeys, from.getDimSize(1)}),
                       {numKeys, b.getIndexAttr(from.getDimSize(1))});
    return emitElements(b, narrow, /*scales=*/Value(), init);
  }

  /// The keys that are multiplied in pairs.
  Value keys() {
    if (!lead)
      return op.getKey();
    return b.slice(op.getKey(), leadOffsets(),
                   {numKeys, b.size(op.getKey(), 1)});
  }
  /// The rows of weights that are scores before.
  Value afterLead(Value all) {
    return b.slice(all, leadOffsets(), maximumSizes());
  }
  SmallVector<OpFoldResult> leadOffsets() { return {lead, b.getIndexAttr(0)}; }
  SmallVector<OpFoldResult> maximumSizes() {
    return {b.getIndexAttr(maximumKeys), b.getIndexAttr(lanes)};
  }
  /// So many of the first rows, and of columns.
  Value takeFirst(Value all, ArrayRef<OpFoldResult> sizes) {
    return b.slice(all, b.zeros(sizes.size()), sizes);
  }
  /// The rows of the keys that there are.
  Value rows(Value matrix) { return takeFirst(matrix, sizes()); }
  /// The same, of the queries that there are in rows.
  Value queries(Value matrix) { return takeFirst(matrix, queriesOfKeys()); }
  SmallVector<OpFoldResult> queriesOfKeys() {
    return {numKeys, b.getIndexAttr(op.getNumRows())};
  }
  SmallVector<OpFoldResult> sizes() { return {numKeys, b.getIndexAttr(lanes)}; }

  OnlineAttentionOp op;
  IndexBuilder b;
  Type type;
  bool isInPairs;
  int64_t lanes, maximumKeys;
  bool multipliesTiles; ///< As pairs are.
  bool withIntegers;    ///< Keys of i8 are multiplied as integers.
  Value isFirst;        ///< Sums begin at zero; null: never.
  RowGroups groups;
  SmallVector<PrefetchOp> prefetches; ///< Of the rows of later tiles.
  BlockStreams streams;
  std::optional<BlockPages> pages; ///< That rows are in, if in several.
  Value firstKey;                  ///< Of those that are multiplied.
  /// Keys that are multiplied; values, which are `lead` more.
  OpFoldResult numKeys, numValues;
  Value lead;     ///< Of a trimmed block; null if 0.
  Value wideKeys; ///< Where products need keys in the type of the state.
};

} // namespace

/// Replaces the attention of one block of keys by contractions and a softmax
/// step. Fails with an error if that is not what `op` is.
static LogicalResult decomposeOnline(RewriterBase &rewriter,
                                     OnlineAttentionOp op) {
  TargetAttr target = getTarget(op);
  std::optional<int64_t> bound = getKnownMost(op.getKey(), 0);
  if (!bound)
    return op.emitError("expected a constant bound of the number of keys: tile "
                        "the keys first");
  if (op.isDelayed())
    return op.emitError("delayed: has a lowering for GPUs alone");
  rewriter.setInsertionPoint(op);
  bool withIntegers = target.getQuantizeQueries() &&
                      hasIntegerScores(op, target.getBytesOfI8Dot());
  std::optional<BlockPages> pages;
  if (op.getInPages()) {
    FailureOr<BlockPages> matched = BlockPages::match(
        rewriter, op, dyn_cast<scf::ForOp>(op->getParentOp()));
    if (failed(matched))
      return op.emitError("in_pages: expected rows of an attn.cache_read from "
                          "that of 'first_key' on");
    pages = *matched;
  }
  rewriter.replaceOp(
      op, Decomposition(op, rewriter, *bound, withIntegers, pages).emit());
  return success();
}

namespace {
struct DecomposeOnline : attn::impl::DecomposeOnlineBase<DecomposeOnline> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<OnlineAttentionOp> ops;
    getOperation()->walk([&](OnlineAttentionOp op) { ops.push_back(op); });
    for (OnlineAttentionOp op : ops)
      if (failed(decomposeOnline(rewriter, op)))
        return signalPassFailure();
    // Those that blocks in pages were of.
    if (failed(eraseUnreadCaches(getOperation())))
      return signalPassFailure();
  }
};
} // namespace
