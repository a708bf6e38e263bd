//===- SplitSequences.cpp - Packed batches to a loop over sequences -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Attention/Passes.h"
#include "lib/Attention/Sequences.h"
#include "lib/Attention/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITSEQUENCES
#include "lib/Attention/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

Value attn::emitNumSequences(OpBuilder &b, AttentionOp op) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value bounds =
      b.createOrFold<tensor::DimOp>(loc, op.getCumulativeQuery(), zero);
  return b.createOrFold<arith::SubIOp>(loc, bounds, one);
}

Value attn::emitBound(OpBuilder &b, Location loc, Value cumulative, Value n) {
  return b.createOrFold<arith::IndexCastOp>(
      loc, b.getIndexType(), tensor::ExtractOp::create(b, loc, cumulative, n));
}

SequenceRows attn::emitSequenceRows(OpBuilder &b, Location loc,
                                    Value cumulative, Value n) {
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value begin = emitBound(b, loc, cumulative, n);
  Value end =
      emitBound(b, loc, cumulative, arith::AddIOp::create(b, loc, n, one));
  return {begin, b.createOrFold<arith::SubIOp>(loc, end, begin)};
}

namespace {

/// Offsets, sizes and strides of some rows (dimension 2) of a tensor.
struct Slice {
  Slice(OpBuilder &b, Location loc, Value tensor, SequenceRows rows)
      : offsets(rank(tensor), b.getIndexAttr(0)),
        sizes(tensor::getMixedSizes(b, loc, tensor)),
        strides(rank(tensor), b.getIndexAttr(1)) {
    offsets[2] = rows.first;
    sizes[0] = b.getIndexAttr(1);
    sizes[2] = rows.count;
  }
  static int64_t rank(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getRank();
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};

Value extract(OpBuilder &b, Location loc, Value tensor, const Slice &slice) {
  return tensor::ExtractSliceOp::create(b, loc, tensor, slice.offsets,
                                        slice.sizes, slice.strides);
}

/// `tensor` with `value` in the rows [begin, end).
Value fillRows(OpBuilder &b, Location loc, Value tensor, double value,
               Value begin, Value end) {
  Type type = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value constant =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  Slice rows(b, loc, tensor,
             {begin, b.createOrFold<arith::SubIOp>(loc, end, begin)});
  Value filled =
      linalg::FillOp::create(b, loc, constant, extract(b, loc, tensor, rows))
          .getResult(0);
  return tensor::InsertSliceOp::create(b, loc, filled, tensor, rows.offsets,
                                       rows.sizes, rows.strides);
}

} // namespace

Value attn::extractRows(OpBuilder &b, Location loc, Value tensor,
                        SequenceRows rows) {
  return extract(b, loc, tensor, Slice(b, loc, tensor, rows));
}

AttentionOp attn::emitSequence(OpBuilder &b, AttentionOp op, Value n,
                               SequenceRows queries, SequenceRows keys,
                               ValueRange outs) {
  Location loc = op.getLoc();
  Value query = extractRows(b, loc, op.getQuery(), queries);
  Value key = extractRows(b, loc, op.getKey(), keys);
  Value value = extractRows(b, loc, op.getValue(), keys);
  Value offset = op.getOffset();
  if (offset && isa<RankedTensorType>(offset.getType()))
    offset = tensor::ExtractOp::create(b, loc, offset, n);

  auto sequence = cast<AttentionOp>(b.clone(*op));
  sequence.getQueryMutable().assign(query);
  sequence.getKeyMutable().assign(key);
  sequence.getValueMutable().assign(value);
  sequence.getOutsMutable().assign(outs);
  sequence.getCumulativeQueryMutable().clear();
  sequence.getCumulativeKeyMutable().clear();
  if (offset)
    sequence.getOffsetMutable().assign(offset);
  sequence.shiftRegionIndex(b, AttentionOp::RegionIndex::Batch, n,
                            b.getIndexAttr(1));
  for (auto [result, out] : llvm::zip(sequence.getResults(), outs))
    result.setType(cast<RankedTensorType>(out.getType()));
  return sequence;
}

void attn::splitSequences(RewriterBase &rewriter, AttentionOp op) {
  OpBuilder &b = rewriter;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value count = emitNumSequences(b, op);

  // Rows before the first and after the last sequence: output 0, log-sum-exp
  // -inf. There are none between two.
  Value first = emitBound(b, loc, op.getCumulativeQuery(), zero);
  Value last = emitBound(b, loc, op.getCumulativeQuery(), count);
  Value numRows = tensor::DimOp::create(b, loc, op.getQuery(), 2);
  SmallVector<Value> inits;
  for (Value out : op.getOuts()) {
    double value =
        inits.empty() ? 0.0 : -std::numeric_limits<double>::infinity();
    Value filled = fillRows(b, loc, out, value, zero, first);
    inits.push_back(fillRows(b, loc, filled, value, last, numRows));
  }

  auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange results) {
    SequenceRows queries = emitSequenceRows(b, loc, op.getCumulativeQuery(), n);
    SequenceRows keys = emitSequenceRows(b, loc, op.getCumulativeKey(), n);
    SmallVector<Slice> destinations;
    SmallVector<Value> outs;
    for (Value result : results) {
      destinations.emplace_back(b, loc, result, queries);
      outs.push_back(extract(b, loc, result, destinations.back()));
    }
    AttentionOp sequence = emitSequence(b, op, n, queries, keys, outs);
    SmallVector<Value> written;
    for (auto [result, destination, value] :
         llvm::zip(sequence.getResults(), destinations, results))
      written.push_back(tensor::InsertSliceOp::create(
          b, loc, result, value, destination.offsets, destination.sizes,
          destination.strides));
    scf::YieldOp::create(b, loc, written);
  };
  auto loop = scf::ForOp::create(b, loc, zero, count, one, inits, body);
  rewriter.replaceOp(op, loop.getResults());
}

namespace {
struct SplitSequences : attn::impl::SplitSequencesBase<SplitSequences> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) {
      // The random numbers of dropout count the sequences of the whole op.
      if (op.isPacked() && !op.hasDropout() && op->getNumResults() != 0)
        ops.push_back(op);
    });
    for (AttentionOp op : ops)
      splitSequences(rewriter, op);
  }
};
} // namespace
