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
#include "lib/Sharding/BlockForm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Of one attention.
class Spans {
public:
  Spans(IndexBuilder &b, AttentionOp whole, const AttentionExtents &extents)
      : b(b), whole(whole), extents(extents) {}

  Value emit() {
    int64_t ranks = extents.numKeyRanks;
    Value table = tensor::EmptyOp::create(b, ArrayRef<int64_t>{ranks, 4},
                                          b.getIndexType());
    Value self = extents.keys.self;
    // For each step what is sent, and what is received.
    return loop(b.index(ranks), table, [&](Value step, Value steps) {
      return loop(b.index(2), steps, [&](Value side, Value sides) {
        Value receives = b.isEqual(side, 1);
        Value to = wrap(b.add(self, step)),
              from = wrap(b.add(b.sub(self, step), ranks));
        Value querier = b.select(receives, self, to),
              keeper = b.select(receives, from, self);
        RowSpan span = emitSpan(querier, keeper);
        Value at = b.mul(side, 2);
        Value one = tensor::InsertOp::create(b, span.first, sides,
                                             ValueRange{step, at});
        return Value(tensor::InsertOp::create(b, span.count, one,
                                              ValueRange{step, b.add(at, 1)}));
      });
    });
  }

private:
  Value wrap(Value rank) { return b.rem(rank, extents.numKeyRanks); }

  /// `for i in [0, end)` that carries a value along.
  Value loop(Value end, Value initial, function_ref<Value(Value, Value)> body) {
    auto loop =
        scf::ForOp::create(b, b.index(0), end, b.index(1), ValueRange{initial});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value next = body(loop.getInductionVar(), loop.getRegionIterArg(0));
    scf::YieldOp::create(b, next);
    return loop.getResult(0);
  }

  /// The rows of the keys of `keeper` that queries of `querier` may see.
  RowSpan emitSpan(Value querier, Value keeper) {
    RowSpan queries{extents.queries.first(b, querier),
                    extents.queries.count(b, querier)},
        keys{extents.keys.first(b, keeper), extents.keys.count(b, keeper)};
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
      numBatches = b.sub(b.index(b.size(whole.getCumulativeQuery(), 0)), 1);
    auto bound = [&](bool isEnd) {
      return loop(
          numBatches, isEnd ? zero : keys.count, [&](Value n, Value ofBatches) {
            return loop(numHeads, ofBatches, [&](Value h, Value most) {
              RowSpan rows = emitSpanOf(n, h, queries, keys);
              Value end = b.add(rows.first, rows.count);
              Value isAny = b.isLess(zero, rows.count);
              Value better = isEnd ? b.max(most, end) : b.min(most, rows.first);
              return b.select(isAny, better, most);
            });
          });
    };
    Value begin = bound(/*isEnd=*/false), end = bound(/*isEnd=*/true);
    Value count = b.max(b.sub(end, begin), 0);
    Value isAny = b.isLess(zero, count);
    return {b.select(isAny, begin, zero), count};
  }

  /// The same of one batch entry or sequence, and head; the count may be 0 or
  /// less.
  RowSpan emitSpanOf(Value n, Value h, RowSpan queries, RowSpan keys) {
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
      begin = b.add(visible.begin, rows.keyBegin);
      end = b.add(visible.end, rows.keyBegin);
    }
    Value count = b.select(isAny, b.sub(end, begin), 0);
    return {b.sub(begin, keys.first), count};
  }

  IndexBuilder &b;
  AttentionOp whole;
  const AttentionExtents &extents;
};

} // namespace

Value attn::emitVisibleSpans(IndexBuilder &b, AttentionOp whole,
                             const AttentionExtents &extents) {
  return Spans(b, whole, extents).emit();
}
