//===- VisibleSpans.cpp - Which rows of keys ranks exchange ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The rank that sends and the one that receives compute the same range, from
// sizes and from what regions capture, which all ranks have: nothing is said
// about it between them.
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/VisibleSpans.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/TableRanges.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Of one attention, or its gradients.
template <typename Op> class Spans {
public:
  Spans(IndexBuilder &b, Op whole, const AttentionExtents &extents)
      : b(b), whole(whole), extents(extents) {}

  Value emit() {
    emitTableRanges();
    int64_t ranks = extents.numKeyRanks, slots = extents.getNumSlots();
    Value table = b.empty({ranks, 4 * slots}, b.getIndexType());
    Value self = extents.keys.self;
    // For each step what is sent, and what is received.
    return b.loop(0, ranks, 1, table, [&](Value step, Value steps) {
      return b.loop(0, 2, 1, steps, [&](Value side, Value sides) {
        Value receives = b.isEqual(side, 1);
        Value to = wrap(b.add(self, step)),
              from = wrap(b.add(b.sub(self, step), ranks));
        Value querier = b.select(receives, self, to),
              keeper = b.select(receives, from, self);
        auto insert = [&](RowSpan span, Value into, Value at) -> Value {
          into = b.store(span.first, into, {step, at});
          return b.store(span.count, into, {step, b.add(at, 1)});
        };
        Value at = b.mul(side, 2);
        if (!extents.isZigzag)
          return insert(emitSpan(querier, keeper), sides, at);
        return b.loop(0, slots, 1, sides, [&](Value slot, Value pieces) {
          RowSpan span = emitSpanOfPiece(querier, keeper, slot);
          // Own rows are given as they lie.
          Value isOwn = b.isEqual(step, 0);
          Value piece = extents.getPiece(b, keeper, slot);
          Value all = extents.keys.count(b, piece);
          span = {b.select(isOwn, 0, span.first),
                  b.select(isOwn, all, span.count)};
          span.first = b.add(
              span.first, extents.getSlotBegin(b, extents.keys, keeper, slot));
          return insert(span, pieces, b.add(at, b.mul(slot, 4)));
        });
      });
    });
  }

  /// The rows of one piece of the keys that one of the queries may see.
  RowSpan emitSpan(Value queryPiece, Value keyPiece) {
    return emitSpan(getRows(extents.queries, queryPiece),
                    getRows(extents.keys, keyPiece));
  }

  /// The rows of one piece of the queries that may see one of the keys, of
  /// which some are visible, as whole chunks.
  RowSpan emitSeeing(Value queryPiece, Value keyPiece, RowSpan visible) {
    // Zig-zag order is for masks that hide little, and asking about each
    // sequence of a packed batch for each chunk takes long.
    if (!whole.hasMask() || whole.isPacked() || extents.isZigzag)
      return {b.index(0), extents.queries.count(b, queryPiece)};
    RowSpan queries = getRows(extents.queries, queryPiece),
            keys{b.add(extents.keys.first(b, keyPiece), visible.first),
                 visible.count};
    Value chunk = b.max(b.ceilDiv(queries.count, kChunks), 1);
    SmallVector<Value> ends = b.loop(
        0, b.ceilDiv(queries.count, chunk), 1, {queries.count, b.index(0)},
        [&](Value number, ValueRange bounds) -> SmallVector<Value> {
          Value begin = b.mul(number, chunk);
          Value end = b.min(b.add(begin, chunk), queries.count);
          RowSpan ofChunk{b.add(queries.first, begin), b.sub(end, begin)};
          Value sees = b.isLess(0, emitSpan(ofChunk, keys, kFewChunks).count);
          return {b.select(sees, b.min(bounds[0], begin), bounds[0]),
                  b.select(sees, end, bounds[1])};
        });
    return {ends[0], b.max(b.sub(ends[1], ends[0]), 0)};
  }

private:
  /// How finely rows that see nothing are told from others.
  static constexpr int64_t kChunks = 64;
  /// Positions that a range of a table is for, of which the analysis looks at a
  /// few: so many queries are asked about at once.
  static constexpr int64_t kTableTile = 256;
  static constexpr int64_t kTableQueries = 4 * kTableTile;
  /// Where only whether any key is seen matters.
  static constexpr int64_t kFewChunks = 8;

  RowSpan getRows(const Extent &rows, Value piece) {
    return {rows.first(b, piece), rows.count(b, piece)};
  }

  /// The rows of some keys that one of some queries may see. Tables are asked
  /// about so many parts of them.
  RowSpan emitSpan(RowSpan queries, RowSpan keys,
                   int64_t tableChunks = kChunks) {
    Value zero = b.index(0);
    if (!whole.hasMask() && !whole.isPacked()) {
      Value isAsked = b.isLess(zero, queries.count);
      return {zero, b.select(isAsked, keys.count, zero)};
    }
    // The least first row and the greatest end of all.
    bool asksHeads =
        whole.hasMask() && !whole.getMask().getArgument(1).use_empty();
    Value numHeads = asksHeads ? extents.heads.count(b) : b.index(1);
    Value numBatches = extents.batch.count(b);
    if (whole.isPacked())
      numBatches = b.sub(b.dim(whole.getCumulativeQuery(), 0), 1);
    SmallVector<Value> ends = b.loop(
        0, numBatches, 1, {keys.count, zero},
        [&](Value n, ValueRange ofBatches) {
          return b.loop(
              0, numHeads, 1, ofBatches,
              [&](Value h, ValueRange ends) -> SmallVector<Value> {
                RowSpan rows = emitSpanOf(n, h, queries, keys, tableChunks);
                Value end = b.add(rows.first, rows.count);
                Value isAny = b.isLess(zero, rows.count);
                return {b.select(isAny, b.min(ends[0], rows.first), ends[0]),
                        b.select(isAny, b.max(ends[1], end), ends[1])};
              });
        });
    Value count = b.max(b.sub(ends[1], ends[0]), 0);
    Value isAny = b.isLess(zero, count);
    return {b.select(isAny, ends[0], zero), count};
  }

  Value wrap(Value rank) { return b.rem(rank, extents.numKeyRanks); }

  /// The rows of a piece of `keeper` that any queries of `querier` may see.
  RowSpan emitSpanOfPiece(Value querier, Value keeper, Value slot) {
    Value piece = extents.getPiece(b, keeper, slot);
    Value all = extents.keys.count(b, piece);
    SmallVector<Value> ends =
        b.loop(0, extents.getNumSlots(), 1, {all, b.index(0)},
               [&](Value querySlot, ValueRange bounds) -> SmallVector<Value> {
                 RowSpan rows =
                     emitSpan(extents.getPiece(b, querier, querySlot), piece);
                 Value isAny = b.isLess(0, rows.count);
                 Value begin = b.select(isAny, rows.first, all),
                       end = b.select(isAny, b.add(rows.first, rows.count), 0);
                 return {b.min(bounds[0], begin), b.max(bounds[1], end)};
               });
    Value isAny = b.isLess(ends[0], ends[1]);
    return {b.select(isAny, ends[0], 0),
            b.select(isAny, b.sub(ends[1], ends[0]), 0)};
  }

  /// The same of one batch entry or sequence, and head; the count may be 0 or
  /// less.
  RowSpan emitSpanOf(Value n, Value h, RowSpan queries, RowSpan keys,
                     int64_t tableChunks) {
    Value batch = whole.isPacked() ? n : b.add(extents.batch.first(b), n);
    Value head = b.add(extents.heads.first(b), h);
    SequenceRows rows = emitSequenceRows(b, whole, extents, batch);
    Value queryEnd = b.add(queries.first, queries.count),
          keyEnd = b.add(keys.first, keys.count);
    Value firstQuery = b.max(queries.first, rows.queryBegin),
          endQuery = b.min(queryEnd, rows.queryEnd),
          firstKey = b.max(keys.first, rows.keyBegin),
          endKey = b.min(keyEnd, rows.keyEnd);
    Value areQueries = b.isLess(firstQuery, endQuery),
          areKeys = b.isLess(firstKey, endKey);
    Value isAny = b.bitAnd(areQueries, areKeys);
    Value begin = firstKey, end = endKey;
    if (whole.hasMask()) {
      // The analysis is asked about one row at least.
      Value first = b.add(rows.position, b.sub(firstQuery, rows.queryBegin)),
            last = b.add(rows.position,
                         b.sub(b.sub(endQuery, rows.queryBegin), 1)),
            low = b.sub(firstKey, rows.keyBegin),
            high = b.sub(b.sub(endKey, rows.keyBegin), 1);
      RegionTile tile{batch,
                      head,
                      {first, b.max(first, last)},
                      {low, b.max(low, high)},
                      whole.getMaskCaptures()};
      VisibleKeys visible =
          emitVisibleKeys(b, b.getLoc(), whole.getMask(), tile);
      if (hasTables())
        visible = cutByTables(tile, visible, tableChunks);
      begin = b.add(visible.begin, rows.keyBegin);
      end = b.add(visible.end, rows.keyBegin);
    }
    Value count = b.select(isAny, b.sub(end, begin), 0);
    return {b.sub(begin, keys.first), count};
  }

  /// What the analysis knows of tables in all that follows.
  void emitTableRanges() {
    if (!hasTables())
      return;
    BlockSizes tables;
    addBlockSizes(whole, whole.getMask(), {kTableTile, kTableTile}, tables,
                  [](Operation *) {});
    for (const auto &[table, sizes] : tables)
      emitBlockRange(b, table, sizes);
  }

  /// Whether the mask loads something: of packed batches, each sequence would
  /// be asked about for each chunk, which takes long.
  bool hasTables() {
    return !whole.isPacked() &&
           llvm::any_of(whole.getMaskCaptures().getTypes(), [](Type type) {
             auto shaped = dyn_cast<ShapedType>(type);
             return shaped && shaped.getRank() > 0;
           });
  }

  /// Tables say of a few keys whether a few queries may see some, as those of
  /// one document are.
  VisibleKeys cutByTables(RegionTile tile, VisibleKeys visible,
                          int64_t chunks) {
    Value count = b.max(b.sub(visible.end, visible.begin), 0),
          chunk = b.max(b.ceilDiv(count, chunks), 1);
    Value endQuery = b.add(tile.positions.high, 1);
    auto seesAny = [&, first = tile.positions.low](IndexRange keys) {
      return b.loop(
          first, endQuery, kTableQueries, b.boolean(false),
          [&](Value begin, Value seesAny) {
            Value end = b.min(b.add(begin, kTableQueries), endQuery);
            tile.positions = {begin, b.sub(end, 1)};
            tile.keys = keys;
            Value isEmpty =
                emitBlockVerdict(b, b.getLoc(), whole.getMask(), tile).isEmpty;
            return b.select(isEmpty, seesAny, b.boolean(true));
          });
    };
    SmallVector<Value> ends =
        b.loop(visible.begin, visible.end, chunk, {visible.end, visible.begin},
               [&](Value first, ValueRange bounds) -> SmallVector<Value> {
                 Value end = b.min(b.add(first, chunk), visible.end);
                 Value isSeen = seesAny({first, b.sub(end, 1)});
                 return {b.select(isSeen, b.min(bounds[0], first), bounds[0]),
                         b.select(isSeen, end, bounds[1])};
               });
    return {ends[0], ends[1]};
  }

  IndexBuilder &b;
  Op whole;
  const AttentionExtents &extents;
};

} // namespace

template <typename Op>
Value attn::emitVisibleSpans(IndexBuilder &b, Op whole,
                             const AttentionExtents &extents) {
  return Spans<Op>(b, whole, extents).emit();
}

template <typename Op>
RowSpan attn::emitVisibleRows(IndexBuilder &b, Op whole,
                              const AttentionExtents &extents, Value queryPiece,
                              Value keyPiece) {
  return Spans<Op>(b, whole, extents).emitSpan(queryPiece, keyPiece);
}

template <typename Op>
RowSpan attn::emitSeeingRows(IndexBuilder &b, Op whole,
                             const AttentionExtents &extents, Value queryPiece,
                             Value keyPiece, RowSpan visible) {
  return Spans<Op>(b, whole, extents).emitSeeing(queryPiece, keyPiece, visible);
}

#define ATTN_INSTANTIATE_SPANS(Op)                                             \
  template Value attn::emitVisibleSpans(IndexBuilder &, Op,                    \
                                        const AttentionExtents &);             \
  template RowSpan attn::emitVisibleRows(                                      \
      IndexBuilder &, Op, const AttentionExtents &, Value, Value);             \
  template RowSpan attn::emitSeeingRows(                                       \
      IndexBuilder &, Op, const AttentionExtents &, Value, Value, RowSpan);
ATTN_INSTANTIATE_SPANS(AttentionOp)
ATTN_INSTANTIATE_SPANS(AttentionBackwardOp)
#undef ATTN_INSTANTIATE_SPANS
