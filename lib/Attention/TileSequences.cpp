//===- TileSequences.cpp - Ragged batches to parallel tiles ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   attention of N sequences with numbers of queries of their own, the first of
//   which are rows c of S
//
// becomes
//
//   forall entry, head, row
//     if the row is of no sequence: output = 0, log-sum-exp = -inf
//
// and, for each of the forms that it is given, with tiles of Q rows,
//
//   forall heads, tile < S / Q + N
//     n = the last sequence with c[n] / Q + n <= tile
//     attention of tile - (c[n] / Q + n) of sequence n, if it has that many,
//     and as many rows as the form is for
//
// The host knows S and N, not the lengths: there are as many tiles as the worst
// ones need, each sequence of L rows has at least L / Q + 1, and some are
// empty. Of a form for sequences that have one tile, that of sequence n is n.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/AttentionTile.h"

#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Some of the rows (dimension 2) of one batch entry of a tensor.
struct SequenceRows {
  OpFoldResult batch, first, count;
};

/// Emits where the sequences of an op are whose numbers of queries are their
/// own (A7). Batch entries of `counts` rows are laid out as if their rows
/// followed each other, so that both kinds are looked up the same way.
class Sequences {
public:
  Sequences(AttentionOp op, IndexBuilder &builder);

  /// How many sequences there are, and rows of all of them, indices.
  Value getNumber() const { return number; }
  Value getNumRows() const { return numRows; }
  /// The first row of sequence `n`, or what follows the last one's.
  Value emitBegin(Value n);
  /// Whether row `row` of entry `batch` is a sequence's.
  Value emitIsSome(Value batch, Value row);
  SequenceRows emitQueryRows(Value n);
  /// Of a key or a value.
  SequenceRows emitKeyRows(Value n, Value rows);

private:
  /// The range between elements `n` and `n + 1`, of `all` rows.
  SequenceRows emitRange(Value cumulative, Value n, OpFoldResult all);

  AttentionOp op;
  IndexBuilder &b;
  Value rowsOfEntry, number, numRows;
};

} // namespace

Sequences::Sequences(AttentionOp op, IndexBuilder &builder)
    : op(op), b(builder), rowsOfEntry(b.index(b.size(op.getQuery(), 2))) {
  if (op.isPacked()) {
    number = b.sub(b.size(op.getCumulativeQuery(), 0), 1);
    numRows = rowsOfEntry;
    return;
  }
  number = b.index(b.size(op.getQuery(), 0));
  numRows = b.mul(number, rowsOfEntry);
}

Value Sequences::emitBegin(Value n) {
  return op.isPacked() ? b.loadIndex(op.getCumulativeQuery(), n)
                       : b.mul(n, rowsOfEntry);
}

Value Sequences::emitIsSome(Value batch, Value row) {
  if (!op.isPacked())
    return b.isLess(row, b.loadIndex(op.getCounts(), batch));
  Value isAfter = b.isAtMost(emitBegin(b.index(0)), row);
  return b.bitAnd(isAfter, b.isLess(row, emitBegin(number)));
}

Value attn::emitIsOfSequence(IndexBuilder &b, AttentionOp op, Value batch,
                             Value row) {
  return Sequences(op, b).emitIsSome(batch, row);
}

/// At most `all`, as has been checked: analyses of later passes do not know.
static Value limit(IndexBuilder &b, Value count, OpFoldResult all) {
  return b.emit<arith::MinUIOp>(count, b.index(all));
}

SequenceRows Sequences::emitRange(Value cumulative, Value n, OpFoldResult all) {
  Value begin = b.loadIndex(cumulative, n),
        end = b.loadIndex(cumulative, b.add(n, 1));
  return {b.getIndexAttr(0), begin, limit(b, b.sub(end, begin), all)};
}

SequenceRows Sequences::emitQueryRows(Value n) {
  if (op.isPacked())
    return emitRange(op.getCumulativeQuery(), n, rowsOfEntry);
  return {n, b.getIndexAttr(0),
          limit(b, b.loadIndex(op.getCounts(), n), rowsOfEntry)};
}

SequenceRows Sequences::emitKeyRows(Value n, Value rows) {
  if (op.getCumulativeKey())
    return emitRange(op.getCumulativeKey(), n, b.size(rows, 2));
  return {n, b.getIndexAttr(0), b.size(rows, 2)};
}

namespace {

/// Some rows of some heads in a result of a loop.
struct Part {
  Part(IndexBuilder &b, Value all, OpFoldResult entry, OpFoldResult head,
       int64_t numHeads, QueryRows rows)
      : at({entry, head, rows.first}),
        sizes({b.getIndexAttr(1), b.getIndexAttr(numHeads), rows.count}) {
    if (cast<RankedTensorType>(all.getType()).getRank() == 4) {
      at.push_back(b.getIndexAttr(0));
      sizes.push_back(b.size(all, 3));
    }
  }

  Value extract(IndexBuilder &b, Value all) { return b.slice(all, at, sizes); }

  /// At the end of an iteration.
  void insert(IndexBuilder &b, scf::ForallOp loop, Value value, Value all) {
    b.insertInParallel(loop, value, all, at, sizes);
  }

  SmallVector<OpFoldResult> at, sizes;
};

/// Emits the tiles of one op.
class SequenceTiler {
public:
  SequenceTiler(AttentionOp op, OpBuilder &builder)
      : op(op), b(op.getLoc(), builder), sequences(op, b) {}

  FailureOr<ValueRange> emit(ArrayRef<SequenceForm> forms) {
    scf::ForallOp last = emitFill();
    for (const SequenceForm &form : forms) {
      FailureOr<scf::ForallOp> tiles = emitTiles(form, last.getResults());
      if (failed(tiles))
        return failure();
      last = *tiles;
    }
    return ValueRange(last.getResults());
  }

private:
  /// Rows of no sequence are 0, with a log-sum-exp of -inf (A7).
  scf::ForallOp emitFill() {
    SmallVector<OpFoldResult> ends = b.sizes(op.getQuery());
    ends.pop_back();
    OpBuilder::InsertionGuard guard(b);
    scf::ForallOp loop = b.enterForall(ends, op.getOuts());
    SmallVector<Value> ivs(loop.getInductionVars());
    Value isSome = sequences.emitIsSome(ivs[0], ivs[2]);
    for (auto [number, all] : llvm::enumerate(loop.getRegionIterArgs()))
      fillRow(loop, all, isSome,
              number == 0 ? 0.0 : -std::numeric_limits<double>::infinity());
    return loop;
  }

  /// Writes `value` to the elements of a row and head, but for `isSome`.
  void fillRow(scf::ForallOp loop, Value all, Value isSome, double value) {
    auto type = cast<RankedTensorType>(all.getType());
    bool hasElements = type.getRank() == 4;
    SmallVector<Value> ivs(loop.getInductionVars());
    Part part(b, all, ivs[0], ivs[1], /*numHeads=*/1,
              {ivs[2], b.getIndexAttr(1)});
    Value count = b.select(isSome, 0, hasElements ? type.getDimSize(3) : 1);
    Value constant = b.real(type.getElementType(), value);
    SmallVector<Value> indices(3, b.index(0));
    Value elements =
        b.loop(0, count, 1, part.extract(b, all), [&](Value i, Value result) {
          SmallVector<Value> at(indices);
          if (hasElements)
            at.push_back(i);
          return b.store(constant, result, at);
        });
    part.insert(b, loop, elements, all);
  }

  FailureOr<scf::ForallOp> emitTiles(const SequenceForm &form,
                                     ValueRange inits) {
    // Who has more rows than a tile of such a form is left out.
    bool hasOneTile = form.atMost && *form.atMost <= form.queries;
    Value numSequences = sequences.getNumber(), numTiles = numSequences;
    if (!hasOneTile) {
      Value some =
          b.add(b.div(sequences.getNumRows(), form.queries), numSequences);
      // Without a sequence, no tile would find one.
      numTiles = b.select(b.isEqual(numSequences, 0), 0, some);
    }
    OpBuilder::InsertionGuard guard(b);
    scf::ForallOp loop =
        b.enterForall(b.fold({op.getNumQueryHeads(), numTiles}), inits,
                      b.fold({form.heads, 1}));
    Value head = loop.getInductionVar(0), number = loop.getInductionVar(1);
    Value n = hasOneTile ? number : emitSearch(number, form.queries);
    SequenceRows rows = sequences.emitQueryRows(n);
    Value numQueries = cast<Value>(rows.count);
    // A tile that its sequence does not need has no rows. The number of one
    // before the first sequence wraps around.
    Value begin = b.index(0);
    if (!hasOneTile)
      begin =
          b.mul(b.sub(number, emitFirstTile(n, form.queries)), form.queries);
    auto isBelow = [&](IndexBuilder::Operand x, IndexBuilder::Operand y) {
      return b.compare(arith::CmpIPredicate::ult, x, y);
    };
    Value isNeeded =
        isBelow(hasOneTile ? b.index(form.moreThan) : begin, numQueries);
    if (!hasOneTile && form.moreThan > 0)
      isNeeded = b.bitAnd(isNeeded, isBelow(form.moreThan, numQueries));
    if (form.atMost)
      isNeeded = b.bitAnd(isNeeded, isBelow(numQueries, *form.atMost + 1));
    begin = b.select(isNeeded, begin, numQueries);
    QueryRows ofSequence =
        emitQueryRows(b, b.getLoc(), begin, numQueries, form.queries);
    QueryRows ofLoop = {
        b.apply(b.getAffineSymbolExpr(0) + b.getAffineSymbolExpr(1),
                {rows.first, ofSequence.first}),
        ofSequence.count};
    SmallVector<Part> parts;
    SmallVector<Value> outs;
    for (Value all : loop.getRegionIterArgs()) {
      parts.emplace_back(b, all, rows.batch, head, form.heads, ofLoop);
      outs.push_back(parts.back().extract(b, all));
    }
    auto branch = scf::IfOp::create(b, TypeRange(outs), isNeeded,
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, outs);
    b.setInsertionPointToEnd(branch.thenBlock());
    if (form.fetchesNext) {
      fetchRows(op.getQuery(), {rows.batch, head, ofLoop.first}, rows.first,
                form.queries);
      for (auto [part, all] : llvm::zip(parts, loop.getRegionIterArgs()))
        fetchOut(all, part, rows.first, form.queries);
      for (Value rows : {op.getKey(), op.getValue()})
        fetchNextKeys(rows, n, head, begin, form.queries);
    }
    FailureOr<SmallVector<Value>> results =
        emitTile(form, head, n, rows, ofSequence, outs);
    if (failed(results)) {
      loop.erase();
      return failure();
    }
    scf::YieldOp::create(b, *results);
    for (auto [part, value, all] :
         llvm::zip(parts, branch.getResults(), loop.getRegionIterArgs()))
      part.insert(b, loop, value, all);
    return loop;
  }

  /// Fetches as many rows as a tile has before those at `at`, as far as they
  /// are of the sequence, whose first one is `begin`: a thread goes on with
  /// them.
  void fetchRows(Value all, ArrayRef<OpFoldResult> at, OpFoldResult begin,
                 int64_t queries) {
    SmallVector<Value> indices = b.indices(at);
    Value here = indices.back();
    indices.back() = b.max(b.sub(here, queries), begin);
    PrefetchOp::create(b, all, indices, here);
  }

  /// The same of a result that has rows of elements. Stores of a whole tile
  /// would wait for one line after the other.
  void fetchOut(Value all, const Part &part, OpFoldResult begin,
                int64_t queries) {
    if (part.at.size() != 4)
      return;
    ArrayRef<OpFoldResult> at = ArrayRef(part.at).take_front(3);
    fetchRows(all, at, begin, queries);
    PrefetchOp::create(b, all, b.indices(at), b.add(at[2], part.sizes[2]))
        .setForWrite(true);
  }

  /// Fetches keys, or values, of the sequence after `n`, from its own number
  /// `begin` on. What is in a cache is looked up when it is read.
  void fetchNextKeys(Value all, Value n, Value head, Value begin,
                     int64_t queries) {
    if (all.getDefiningOp<CacheReadOp>())
      return;
    Value entry = b.index(0), first = begin;
    if (op.getCumulativeKey()) { // They follow one another.
      SequenceRows rows = sequences.emitKeyRows(n, all);
      first = b.add(b.add(rows.first, rows.count), begin);
    } else {
      entry = b.min(b.add(n, 1), b.sub(sequences.getNumber(), 1));
    }
    Value end = b.min(b.add(first, queries), b.size(all, 2));
    PrefetchOp::create(b, all,
                       ValueRange{entry, b.div(head, op.getGroupSize()), first},
                       b.max(first, end));
  }

  /// The attention of some rows of sequence `n`, written to `outs`.
  FailureOr<SmallVector<Value>> emitTile(const SequenceForm &form, Value head,
                                         Value n, SequenceRows rows,
                                         QueryRows tileRows,
                                         SmallVector<Value> outs) {
    AttentionOp sequence = emitSequence(n, rows);
    FailureOr<TilingResult> tiling = sequence.getTiledImplementation(
        b, {b.getIndexAttr(0), head, tileRows.first},
        {b.getIndexAttr(1), b.getIndexAttr(form.heads), tileRows.count});
    if (failed(tiling))
      return failure();
    auto tile = cast<AttentionOp>(tiling->tiledOps.front());
    tile.getOutsMutable().assign(outs);
    if (form.plan)
      tile->setAttr(PlanAttr::kName, form.plan);
    sequence.erase();
    return SmallVector<Value>(tile.getResults());
  }

  /// The attention of sequence `n`, which is tiled, into no outs of its own.
  AttentionOp emitSequence(Value n, SequenceRows rows) {
    auto sequence = cast<AttentionOp>(b.clone(*op));
    Value offset = op.getOffset();
    if (offset && isa<RankedTensorType>(offset.getType()))
      sequence.getOffsetMutable().assign(b.load(offset, n));
    if (Value key = op.getDropoutKey();
        key && isa<RankedTensorType>(key.getType()))
      sequence.getDropoutKeyMutable().assign(b.load(key, n));
    sequence.getQueryMutable().assign(extractRows(op.getQuery(), rows));
    sequence.getKeyMutable().assign(
        extractRows(op.getKey(), sequences.emitKeyRows(n, op.getKey())));
    sequence.getValueMutable().assign(
        extractRows(op.getValue(), sequences.emitKeyRows(n, op.getValue())));
    if (Value sink = op.getSink();
        sink && cast<RankedTensorType>(sink.getType()).getRank() == 2)
      sequence.getSinkMutable().assign(b.extract(
          sink, {{0, rows.first}, {op.getNumQueryHeads(), rows.count}}));
    SmallVector<Value> outs;
    for (auto [result, all] : llvm::zip(sequence.getResults(), op.getOuts())) {
      outs.push_back(extractRows(all, rows));
      result.setType(cast<RankedTensorType>(outs.back().getType()));
    }
    sequence.getOutsMutable().assign(outs);
    sequence.getCumulativeQueryMutable().clear();
    sequence.getCumulativeKeyMutable().clear();
    sequence.getCountsMutable().clear();
    sequence.shiftRegionIndex(b, AttentionOp::RegionIndex::Batch, n,
                              b.getIndexAttr(1));
    return sequence;
  }

  Value extractRows(Value tensor, SequenceRows rows) {
    SmallVector<IndexBuilder::Operand> offsets = {rows.batch, 0, rows.first},
                                       sizes = {1, b.size(tensor, 1),
                                                rows.count};
    if (cast<RankedTensorType>(tensor.getType()).getRank() == 4) {
      offsets.push_back(0);
      sizes.push_back(b.size(tensor, 3));
    }
    return b.extract(tensor, {offsets, sizes});
  }

  /// The number of the first tile of sequence `n`.
  Value emitFirstTile(Value n, int64_t queries) {
    return b.add(b.div(sequences.emitBegin(n), queries), n);
  }

  /// The last sequence whose first tile is at most `number`, or the first one.
  Value emitSearch(Value number, int64_t queries) {
    return b.findLast(sequences.getNumber(), [&](Value n) {
      return b.compare(arith::CmpIPredicate::ule, emitFirstTile(n, queries),
                       number);
    });
  }

  AttentionOp op;
  IndexBuilder b;
  Sequences sequences;
};

} // namespace

LogicalResult attn::tileSequences(RewriterBase &rewriter, AttentionOp op,
                                  ArrayRef<SequenceForm> forms) {
  if (op->getNumResults() == 0 || !op.isRagged())
    return rewriter.notifyMatchFailure(op, "not sequences in parallel");
  rewriter.setInsertionPoint(op);
  FailureOr<ValueRange> results = SequenceTiler(op, rewriter).emit(forms);
  // The heads of a form are one, or a group.
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  return success();
}
