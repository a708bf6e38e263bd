//===- LocalAttention.cpp - The attention of one rank ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Where queries and keys are split along one axis, as in ring attention (Liu,
// Zaharia and Abbeel, arXiv:2310.01889), but every rank gets a block from the
// rank whose it is, and only what the mask may keep of it:
//
//   state = attention(query, own keys, own values), with the sink
//   for each step from 1 to ranks - 1
//     keys, values = what is visible of those of rank (self - step)
//     for each pair of pieces of query and of keys with anything visible
//       rows = those of the piece of query that see any
//       state of rows = merge of it and attention(query of rows, visible keys,
//                                                 and their values)
//
// A rank has one piece. In zig-zag order it has two, whose positions do not
// follow each other; the state begins with nothing, or the sink, and the first
// step is that of its own keys.
//
// Where keys alone are split, as in tree attention (Shyam et al.,
// arXiv:2408.04093):
//
//   state = merge of attention(query, keys, values) of all ranks, and the sink
//
// States are outputs, in the type of sums, and log-sum-exps, which are those
// before dropout.
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/LocalAttention.h"
#include "dialect/Plan/QueryRange.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Reference/TensorCode.h"
#include "lib/Sharding/Annotations.h"
#include "lib/Sharding/BlockForm.h"
#include "lib/Sharding/RingPieces.h"
#include "lib/Sharding/VisibleSpans.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits one op.
class LocalAttention {
public:
  LocalAttention(IndexBuilder &builder, AttentionOp whole,
                 const AttentionExtents &extents)
      : b(builder.getLoc(), builder), whole(whole), extents(extents),
        sums(whole.getAccumulationType()), query(whole.getQuery()),
        rows(getRows(query)), output(getOutput(query)) {
    if (!extents.isZigzag)
      queries = {extents.queries.first(b), extents.queries.count(b)};
  }

  SmallVector<Value> emit() {
    if (extents.numKeyRanks > 1)
      return finish(extents.isRing ? goAround() : mergeRanks());
    RowSpan keys{extents.keys.first(b), extents.keys.count(b)};
    if (extents.isZigzag)
      return computePieces(keys);
    return computeAlone(keys);
  }

private:
  /// Output and log-sum-exp.
  using State = SmallVector<Value>;

  /// Sizes of a log-sum-exp, and of an output, of some queries.
  SmallVector<OpFoldResult> getRows(Value query) {
    SmallVector<OpFoldResult> sizes = b.sizes(query);
    sizes.pop_back();
    return sizes;
  }
  SmallVector<OpFoldResult> getOutput(Value query) {
    SmallVector<OpFoldResult> sizes = getRows(query);
    sizes.push_back(b.size(whole.getValue(), kElements));
    return sizes;
  }

  /// All keys are here: what one process computes of these rows and heads.
  SmallVector<Value> computeAlone(RowSpan keys) {
    SmallVector<Value> outs = {b.empty(output, whole.getElementType())};
    if (whole.getLogSumExp())
      outs.push_back(b.empty(rows, sums));
    AttentionOp op = emitBlock(b, whole, extents, {query, queries},
                               whole.getKey(), whole.getValue(), keys, outs);
    addSink(op);
    return op.getResults();
  }

  /// The same where its queries are in two pieces.
  SmallVector<Value> computePieces(RowSpan keys) {
    Value key = whole.getKey(), value = whole.getValue();
    SmallVector<Value> initial = {b.empty(output, whole.getElementType())};
    if (whole.getLogSumExp())
      initial.push_back(b.empty(rows, sums));
    return b.loop(
        0, extents.getNumSlots(), 1, initial,
        [&](Value slot, ValueRange carried) -> SmallVector<Value> {
          const Extent &all = extents.queries;
          Value piece = extents.getPiece(b, all.self, slot);
          RowSpan ofWhole{all.first(b, piece), all.count(b, piece)},
              own{extents.getSlotBegin(b, all, all.self, slot), ofWhole.count};
          BlockOperands part{b.extract(query, getRowBox(b, query, own)),
                             ofWhole};
          // One box for both ways, so that what is carried stays in its place.
          SmallVector<Box> places;
          SmallVector<Value> soFar, next;
          for (Value ofAll : carried) {
            places.push_back(getRowBox(b, ofAll, own));
            soFar.push_back(b.extract(ofAll, places.back()));
          }
          AttentionOp op =
              emitBlock(b, whole, extents, part, key, value, keys, soFar);
          addSink(op);
          for (auto [ofAll, ofPiece, place] :
               llvm::zip_equal(carried, op.getResults(), places))
            next.push_back(b.insert(ofPiece, ofAll, place));
          return next;
        });
  }

  /// That of the heads of the rank.
  void addSink(AttentionOp op) {
    Value sink = whole.getSink();
    if (!sink)
      return;
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(op);
    OpFoldResult first = extents.heads.first(b),
                 count = b.getIndexAttr(op.getNumQueryHeads());
    op.getSinkMutable().assign(b.slice(sink, {first}, {count}));
  }

  State createInitial() {
    State state = {
        b.fill(b.empty(output, sums), 0.0),
        b.fill(b.empty(rows, sums), -b.kInfinity),
    };
    // Joins each row once (M3), but those that are no queries (A7).
    if (Value sink = whole.getSink())
      state[1] = broadcastSink(sink, state[1]);
    return state;
  }

  Value broadcastSink(Value sink, Value rows) {
    Value numSequences;
    if (whole.isPacked())
      numSequences = b.sub(b.dim(whole.getCumulativeQuery(), 0), 1);
    Value infinity = b.real(sums, -b.kInfinity);
    Value firstHead = extents.heads.first(b),
          firstBatch = extents.batch.first(b);
    auto loop = linalg::GenericOp::create(
        b, TypeRange{rows.getType()}, ValueRange{}, ValueRange{rows},
        ArrayRef<AffineMap>{b.getMultiDimIdentityMap(3)},
        SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel),
        [&](OpBuilder &, Location, ValueRange) {});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value batch = b.iteration(0), head = b.iteration(1), row = b.iteration(2);
    Value at = b.add(head, firstHead);
    Value element = b.convert(b.load(sink, at), sums);
    row = createRowOfWhole(row);
    Value isQuery;
    if (whole.isPacked()) {
      Value begin = b.loadIndex(whole.getCumulativeQuery(), b.index(0)),
            end = b.loadIndex(whole.getCumulativeQuery(), numSequences);
      isQuery = b.bitAnd(b.isAtMost(begin, row), b.isLess(row, end));
    } else if (Value counts = whole.getCounts()) {
      Value n = b.add(batch, firstBatch);
      isQuery = b.isLess(row, b.loadIndex(counts, n));
    }
    if (isQuery)
      element = b.select(isQuery, element, infinity);
    linalg::YieldOp::create(b, element);
    return loop.getResult(0);
  }

  /// The row of the whole that a row of this rank is.
  Value createRowOfWhole(Value row) {
    if (!extents.isZigzag)
      return b.add(row, queries.first);
    return extents.queries.at(b, row, extents.numQueryRanks);
  }

  /// What some keys give, and the sink if it is asked for.
  State computeBlock(const BlockOperands &part, Value key, Value value,
                     RowSpan keys, bool withSink = false) {
    Type element = whole.getElementType();
    SmallVector<OpFoldResult> rows = getRows(part.query),
                              output = getOutput(part.query);
    SmallVector<Value> outs = {b.empty(output, element), b.empty(rows, sums)};
    AttentionOp op = emitBlock(b, whole, extents, part, key, value, keys, outs);
    if (withSink)
      addSink(op);
    State state(op.getResults());
    if (element != sums)
      state[0] = b.map({state[0]}, b.empty(output, sums),
                       [&](ValueRange e) { return b.convert(e[0], sums); });
    return state;
  }

  State merge(ValueRange first, ValueRange second) {
    // In the place of the first part, which it is of no use after.
    SmallVector<Value> outs = {first[0], first[1]};
    return MergeOp::create(b, ValueRange(outs).getTypes(), first[0], first[1],
                           second[0], second[1], outs)
        .getResults();
  }

  /// A tile merges its own part only as it was computed, of a batch whose
  /// sequences are not tiled apart.
  void remarkOnMerges() {
    bool isRounded = whole.getElementType() != sums;
    if (!isRounded && !whole.isPacked())
      return;
    InFlightDiagnostic remark = whole.emitRemark(
        "merges whole tensors after each block of keys of a rank, since ");
    if (isRounded)
      remark << "its results are rounded to " << whole.getElementType()
             << " before";
    else
      remark << "its batch is packed";
  }

  State goAround() {
    remarkOnMerges();
    // What is cloned of it is, too: rows that ranks share are many.
    QueryRange{QueryRange::kAny, QueryRange::kAny}.setOn(whole);
    int64_t ranks = extents.numKeyRanks;
    Value spans = emitVisibleSpans(b, whole, extents);
    auto fetch = [&](Value step) {
      return createRankBlock(b, step, whole.getKey(), whole.getValue(), spans,
                             extents);
    };
    auto visit = [&](Value step, ValueRange state) {
      Value from = b.rem(b.sub(b.add(extents.keys.self, ranks), step), ranks);
      RankBlockOp block = fetch(step);
      return visitPieces(b, whole, extents, block, from, state,
                         [&](ValueRange state, const PiecePlaces &pieces) {
                           return mergePieces(state, block, pieces);
                         });
    };
    if (extents.isZigzag)
      return b.loop(0, ranks, createInitial(), visit);
    // Own keys come first, with the sink: there is nothing to merge yet.
    fetch(b.index(0));
    State own = computeBlock({query, queries}, whole.getKey(), whole.getValue(),
                             {extents.keys.first(b), extents.keys.count(b)},
                             /*withSink=*/true);
    return b.loop(1, ranks, own, visit);
  }

  /// What a piece of the queries sees of one of a block.
  State mergePieces(ValueRange carried, RankBlockOp block,
                    const PiecePlaces &pieces) {
    // One box for both ways, so that what is carried stays in its place.
    SmallVector<Box> places;
    State soFar, next;
    for (Value ofAll : carried) {
      places.push_back(getRowBox(b, ofAll, pieces.queries));
      soFar.push_back(b.extract(ofAll, places.back()));
    }
    auto slice = [&](Value of, RowSpan rows) {
      return b.extract(of, getRowBox(b, of, rows));
    };
    State ofPair =
        computeBlock({slice(query, pieces.queries), pieces.queriesOfWhole},
                     slice(block.getKeys(), pieces.keys),
                     slice(block.getValues(), pieces.keys), pieces.keysOfWhole);
    for (auto [ofAll, place, ofPiece] :
         llvm::zip_equal(carried, places, merge(soFar, ofPair)))
      next.push_back(b.insert(ofPiece, ofAll, place));
    return next;
  }

  /// What the keys of all ranks give, on each of them.
  State mergeRanks() {
    State own = computeBlock({query, queries}, whole.getKey(), whole.getValue(),
                             {extents.keys.first(b), extents.keys.count(b)});
    SmallVector<Value> outs = {b.emptyLike(own[0]), b.emptyLike(own[1])};
    State all(AllMergeOp::create(b, ValueRange(outs).getTypes(), own[0], own[1],
                                 outs, uint64_t(extents.keyStride),
                                 uint64_t(extents.numKeyRanks))
                  .getResults());
    return whole.getSink() ? merge(createInitial(), all) : all;
  }

  /// The results of the op, from the state of all keys.
  SmallVector<Value> finish(const State &state) {
    Type element = whole.getElementType();
    Value result = state[0];
    if (element != sums)
      result = b.map({result}, b.empty(output, element),
                     [&](ValueRange e) { return b.convert(e[0], element); });
    SmallVector<Value> results = {result};
    if (whole.getLogSumExp())
      results.push_back(state[1]);
    return results;
  }

  TensorCode b;
  AttentionOp whole;
  const AttentionExtents &extents;
  FloatType sums;
  Value query;
  /// Null in zig-zag order, in which they are two spans.
  RowSpan queries;
  /// Sizes of log-sum-exps and of outputs.
  SmallVector<OpFoldResult> rows, output;
};

} // namespace

SmallVector<Value> attn::emitLocalAttention(IndexBuilder &b, AttentionOp whole,
                                            const AttentionExtents &extents) {
  return LocalAttention(b, whole, extents).emit();
}
