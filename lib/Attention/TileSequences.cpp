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
// empty.
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/AttentionTile.h"
#include "lib/Attention/Sequences.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Some rows of some heads in a result of a loop.
struct Part {
  Part(OpBuilder &b, Value all, OpFoldResult entry, OpFoldResult head,
       int64_t numHeads, QueryRows rows) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    at = {entry, head, rows.first};
    sizes = {one, b.getIndexAttr(numHeads), rows.count};
    if (auto type = cast<RankedTensorType>(all.getType());
        type.getRank() == 4) {
      at.push_back(zero);
      sizes.push_back(b.getIndexAttr(type.getDimSize(3)));
    }
    strides.assign(at.size(), one);
  }

  Value extract(ImplicitLocOpBuilder &b, Value all) {
    return tensor::ExtractSliceOp::create(b, all, at, sizes, strides);
  }

  /// At the end of an iteration.
  void insert(ImplicitLocOpBuilder &b, scf::ForallOp loop, Value value,
              Value all) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(b, value, all, at, sizes, strides);
  }

  SmallVector<OpFoldResult> at, sizes, strides;
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
    OpFoldResult one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> ends =
        tensor::getMixedSizes(b, b.getLoc(), op.getQuery());
    ends.pop_back();
    scf::ForallOp loop = emitLoop(ends, {one, one, one}, op.getOuts());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
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
    Value count =
        select(isSome, index(0), index(hasElements ? type.getDimSize(3) : 1));
    Value constant = arith::ConstantOp::create(
        b, b.getFloatAttr(type.getElementType(), value));
    auto body = [&](OpBuilder &nested, Location loc, Value i,
                    ValueRange result) {
      SmallVector<Value> indices(3, index(0));
      if (hasElements)
        indices.push_back(i);
      Value inserted = tensor::InsertOp::create(nested, loc, constant,
                                                result.front(), indices);
      scf::YieldOp::create(nested, loc, inserted);
    };
    auto elements = scf::ForOp::create(b, index(0), count, index(1),
                                       part.extract(b, all), body);
    part.insert(b, loop, elements.getResult(0), all);
  }

  FailureOr<scf::ForallOp> emitTiles(const SequenceForm &form,
                                     ValueRange inits) {
    // Without a sequence, no tile would find one.
    Value numSequences = sequences.getNumber();
    Value some = emit<arith::AddIOp>(
        emit<arith::DivUIOp>(sequences.getNumRows(), index(form.queries)),
        numSequences);
    Value isEmpty = compare(arith::CmpIPredicate::eq, numSequences, index(0));
    Value numTiles = select(isEmpty, index(0), some);
    OpFoldResult one = b.getIndexAttr(1);
    scf::ForallOp loop =
        emitLoop({b.getIndexAttr(op.getNumQueryHeads()), numTiles},
                 {b.getIndexAttr(form.heads), one}, inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value head = loop.getInductionVar(0), number = loop.getInductionVar(1);
    Value n = emitSearch(number, form.queries);
    SequenceRows rows = sequences.emitQueryRows(n);
    Value numQueries = cast<Value>(rows.count);
    // A tile that its sequence does not need has no rows. The number of one
    // before the first sequence wraps around.
    Value begin = emit<arith::MulIOp>(
        emit<arith::SubIOp>(number, emitFirstTile(n, form.queries)),
        index(form.queries));
    Value isNeeded = compare(arith::CmpIPredicate::ult, begin, numQueries);
    if (form.moreThan > 0)
      isNeeded = emit<arith::AndIOp>(
          isNeeded,
          compare(arith::CmpIPredicate::ugt, numQueries, index(form.moreThan)));
    if (form.atMost)
      isNeeded = emit<arith::AndIOp>(
          isNeeded,
          compare(arith::CmpIPredicate::ule, numQueries, index(*form.atMost)));
    begin = select(isNeeded, begin, numQueries);
    QueryRows ofSequence =
        emitQueryRows(b, b.getLoc(), begin, numQueries, form.queries);
    QueryRows ofLoop = {affine::makeComposedFoldedAffineApply(
                            b, b.getLoc(),
                            b.getAffineSymbolExpr(0) + b.getAffineSymbolExpr(1),
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
      sequence.getOffsetMutable().assign(
          Value(tensor::ExtractOp::create(b, offset, n)));
    sequence.getQueryMutable().assign(extractRows(op.getQuery(), rows));
    sequence.getKeyMutable().assign(
        extractRows(op.getKey(), sequences.emitKeyRows(n, op.getKey())));
    sequence.getValueMutable().assign(
        extractRows(op.getValue(), sequences.emitKeyRows(n, op.getValue())));
    if (Value sink = op.getSink();
        sink && cast<RankedTensorType>(sink.getType()).getRank() == 2)
      sequence.getSinkMutable().assign(extractSinks(sink, rows));
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
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(b, b.getLoc(), tensor);
    SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)),
        strides(sizes.size(), b.getIndexAttr(1));
    offsets[0] = rows.batch;
    offsets[2] = rows.first;
    sizes[0] = b.getIndexAttr(1);
    sizes[2] = rows.count;
    return tensor::ExtractSliceOp::create(b, tensor, offsets, sizes, strides);
  }

  /// Of a sink for each row, `(Hq, Sq)` (A6).
  Value extractSinks(Value sink, SequenceRows rows) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    return tensor::ExtractSliceOp::create(
        b, sink, ArrayRef{zero, rows.first},
        ArrayRef{OpFoldResult(b.getIndexAttr(op.getNumQueryHeads())),
                 rows.count},
        ArrayRef{one, one});
  }

  /// The number of the first tile of sequence `n`.
  Value emitFirstTile(Value n, int64_t queries) {
    return emit<arith::AddIOp>(
        emit<arith::DivUIOp>(sequences.emitBegin(n), index(queries)), n);
  }

  /// The last sequence whose first tile is at most `number`, or the first one.
  Value emitSearch(Value number, int64_t queries) {
    SmallVector<Type> types(2, b.getIndexType());
    SmallVector<Location> locations(2, b.getLoc());
    auto loop = scf::WhileOp::create(
        b, types, ValueRange{index(0), sequences.getNumber()});
    OpBuilder::InsertionGuard guard(b);
    Block *before = b.createBlock(&loop.getBefore(), {}, types, locations);
    Value low = before->getArgument(0), high = before->getArgument(1);
    Value next = emit<arith::AddIOp>(low, index(1));
    scf::ConditionOp::create(b, compare(arith::CmpIPredicate::ult, next, high),
                             ValueRange{low, high});
    Block *after = b.createBlock(&loop.getAfter(), {}, types, locations);
    low = after->getArgument(0);
    high = after->getArgument(1);
    Value middle =
        emit<arith::DivUIOp>(emit<arith::AddIOp>(low, high), index(2));
    Value isBelow = compare(arith::CmpIPredicate::ule,
                            emitFirstTile(middle, queries), number);
    scf::YieldOp::create(b, ValueRange{select(isBelow, middle, low),
                                       select(isBelow, high, middle)});
    return loop.getResult(0);
  }

  scf::ForallOp emitLoop(ArrayRef<OpFoldResult> ends,
                         ArrayRef<OpFoldResult> steps, ValueRange outs) {
    return scf::ForallOp::create(
        b, SmallVector<OpFoldResult>(ends.size(), b.getIndexAttr(0)), ends,
        steps, outs, /*mapping=*/std::nullopt);
  }

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  template <typename Op> Value emit(Value lhs, Value rhs) {
    return b.createOrFold<Op>(lhs, rhs);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return b.createOrFold<arith::CmpIOp>(predicate, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return b.createOrFold<arith::SelectOp>(condition, yes, no);
  }

  AttentionOp op;
  ImplicitLocOpBuilder b;
  Sequences sequences;
};

} // namespace

LogicalResult attn::tileSequences(RewriterBase &rewriter, AttentionOp op,
                                  ArrayRef<SequenceForm> forms) {
  if (op->getNumResults() == 0 || !op.isRagged() || op.hasDropout())
    return rewriter.notifyMatchFailure(op, "not sequences in parallel");
  rewriter.setInsertionPoint(op);
  FailureOr<ValueRange> results = SequenceTiler(op, rewriter).emit(forms);
  // The heads of a form are one, or a group.
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  return success();
}
