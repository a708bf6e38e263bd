//===- TileSequences.cpp - Packed batches to parallel tiles ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   attention of a packed batch of N sequences in S rows, cumulative lengths c
//
// becomes, with tiles of Q rows,
//
//   forall head, row < S
//     if the row is of no sequence: output = 0, log-sum-exp = -inf
//   forall head, tile < S / Q + N
//     n = the last sequence with c[n] / Q + n <= tile
//     attention of tile - (c[n] / Q + n) of sequence n, if it has that many
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

/// Some rows of a head in a result of a loop over heads.
struct Part {
  Part(OpBuilder &b, scf::ForallOp loop, Value all, QueryRows rows) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    at = {zero, loop.getInductionVar(0), rows.first};
    sizes = {one, one, rows.count};
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
  SequenceTiler(AttentionOp op, OpBuilder &builder, int64_t queries)
      : op(op), b(op.getLoc(), builder), queries(queries) {}

  FailureOr<ValueRange> emit() {
    numSequences = emitNumSequences(b, op);
    numRows = b.createOrFold<tensor::DimOp>(op.getQuery(), index(2));
    scf::ForallOp fill = emitFill();
    FailureOr<scf::ForallOp> tiles = emitTiles(fill.getResults());
    if (succeeded(tiles))
      return ValueRange(tiles->getResults());
    fill.erase();
    return failure();
  }

private:
  /// Rows of no sequence are 0, with a log-sum-exp of -inf (A7).
  scf::ForallOp emitFill() {
    scf::ForallOp loop = emitLoop(numRows, op.getOuts());
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value row = loop.getInductionVar(1);
    Value isBefore = compare(arith::CmpIPredicate::slt, row,
                             bound(op.getCumulativeQuery(), index(0)));
    Value isAfter = compare(arith::CmpIPredicate::sge, row,
                            bound(op.getCumulativeQuery(), numSequences));
    Value isNone = emit<arith::OrIOp>(isBefore, isAfter);
    for (auto [number, all] : llvm::enumerate(loop.getRegionIterArgs()))
      fillRow(loop, all, isNone,
              number == 0 ? 0.0 : -std::numeric_limits<double>::infinity());
    return loop;
  }

  /// Writes `value` to the elements of a row and head if `isNone`.
  void fillRow(scf::ForallOp loop, Value all, Value isNone, double value) {
    auto type = cast<RankedTensorType>(all.getType());
    bool hasElements = type.getRank() == 4;
    Part part(b, loop, all, {loop.getInductionVar(1), b.getIndexAttr(1)});
    Value count =
        select(isNone, index(hasElements ? type.getDimSize(3) : 1), index(0));
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

  FailureOr<scf::ForallOp> emitTiles(ValueRange inits) {
    // Without a sequence, no tile would find one.
    Value some = emit<arith::AddIOp>(
        emit<arith::DivUIOp>(numRows, index(queries)), numSequences);
    Value isEmpty = compare(arith::CmpIPredicate::eq, numSequences, index(0));
    scf::ForallOp loop = emitLoop(select(isEmpty, index(0), some), inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = loop.getInductionVar(1);
    Value n = emitSearch(number);
    SequenceRows rows =
        emitSequenceRows(b, b.getLoc(), op.getCumulativeQuery(), n);
    // A tile that its sequence does not need has no rows. The number of one
    // before the first sequence wraps around.
    Value begin = emit<arith::MulIOp>(
        emit<arith::SubIOp>(number, emitFirstTile(n)), index(queries));
    Value isNeeded = compare(arith::CmpIPredicate::ult, begin, rows.count);
    begin = select(isNeeded, begin, rows.count);
    QueryRows ofSequence =
        emitQueryRows(b, b.getLoc(), begin, rows.count, queries);
    QueryRows ofLoop = {affine::makeComposedFoldedAffineApply(
                            b, b.getLoc(),
                            b.getAffineSymbolExpr(0) + b.getAffineSymbolExpr(1),
                            {OpFoldResult(rows.first), ofSequence.first}),
                        ofSequence.count};
    SmallVector<Part> parts;
    SmallVector<Value> outs;
    for (Value all : loop.getRegionIterArgs()) {
      parts.emplace_back(b, loop, all, ofLoop);
      outs.push_back(parts.back().extract(b, all));
    }
    auto branch = scf::IfOp::create(b, TypeRange(outs), isNeeded,
                                    /*addThenBlock=*/true,
                                    /*addElseBlock=*/true);
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, outs);
    b.setInsertionPointToEnd(branch.thenBlock());
    if (failed(emitTile(loop, n, rows, ofSequence, outs))) {
      loop.erase();
      return failure();
    }
    for (auto [part, value, all] :
         llvm::zip(parts, branch.getResults(), loop.getRegionIterArgs()))
      part.insert(b, loop, value, all);
    return loop;
  }

  /// Yields the attention of some rows of sequence `n`, written to `outs`.
  LogicalResult emitTile(scf::ForallOp loop, Value n, SequenceRows rows,
                         QueryRows tileRows, ValueRange outs) {
    SequenceRows keys =
        emitSequenceRows(b, b.getLoc(), op.getCumulativeKey(), n);
    SmallVector<Value> whole;
    for (Value all : loop.getRegionIterArgs())
      whole.push_back(extractRows(b, b.getLoc(), all, rows));
    AttentionOp sequence = emitSequence(b, op, n, rows, keys, whole);
    OpFoldResult one = b.getIndexAttr(1);
    FailureOr<TilingResult> tiling = sequence.getTiledImplementation(
        b, {b.getIndexAttr(0), loop.getInductionVar(0), tileRows.first},
        {one, one, tileRows.count});
    if (failed(tiling))
      return failure();
    cast<AttentionOp>(tiling->tiledOps.front()).getOutsMutable().assign(outs);
    scf::YieldOp::create(b, tiling->tiledValues);
    sequence.erase();
    return success();
  }

  /// The number of the first tile of sequence `n`.
  Value emitFirstTile(Value n) {
    Value first = bound(op.getCumulativeQuery(), n);
    return emit<arith::AddIOp>(emit<arith::DivUIOp>(first, index(queries)), n);
  }

  /// The last sequence whose first tile is at most `number`, or the first one.
  Value emitSearch(Value number) {
    SmallVector<Type> types(2, b.getIndexType());
    SmallVector<Location> locations(2, b.getLoc());
    auto loop =
        scf::WhileOp::create(b, types, ValueRange{index(0), numSequences});
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
    Value isBelow =
        compare(arith::CmpIPredicate::ule, emitFirstTile(middle), number);
    scf::YieldOp::create(b, ValueRange{select(isBelow, middle, low),
                                       select(isBelow, high, middle)});
    return loop.getResult(0);
  }

  /// A loop over query heads and `count`, which writes `outs`.
  scf::ForallOp emitLoop(Value count, ValueRange outs) {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    SmallVector<OpFoldResult> ends = {
        b.getIndexAttr(op.getQueryType().getDimSize(1)),
        getAsOpFoldResult(count)};
    return scf::ForallOp::create(b, ArrayRef{zero, zero}, ends,
                                 ArrayRef{one, one}, outs,
                                 /*mapping=*/std::nullopt);
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
  Value bound(Value cumulative, Value n) {
    return emitBound(b, b.getLoc(), cumulative, n);
  }

  AttentionOp op;
  ImplicitLocOpBuilder b;
  int64_t queries;
  Value numSequences, numRows;
};

} // namespace

LogicalResult attn::tileSequences(RewriterBase &rewriter, AttentionOp op,
                                  int64_t queries) {
  if (op->getNumResults() == 0 || !op.isPacked() || op.hasDropout())
    return rewriter.notifyMatchFailure(op, "not packed sequences in parallel");
  rewriter.setInsertionPoint(op);
  FailureOr<ValueRange> results = SequenceTiler(op, rewriter, queries).emit();
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  return success();
}
