//===- SplitSequences.cpp - Packed batches to a loop over sequences -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "lib/Transforms/Passes.h"
#include "lib/Transforms/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITSEQUENCES
#include "lib/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

Value toIndex(OpBuilder &b, Location loc, Value value) {
  return b.createOrFold<arith::IndexCastOp>(loc, b.getIndexType(), value);
}

/// First row and number of rows of sequence `n`, A7.
std::pair<Value, Value> emitRows(OpBuilder &b, Location loc, Value cumulative,
                                 Value n, Value next) {
  Value begin =
      toIndex(b, loc, tensor::ExtractOp::create(b, loc, cumulative, n));
  Value end =
      toIndex(b, loc, tensor::ExtractOp::create(b, loc, cumulative, next));
  return {begin, b.createOrFold<arith::SubIOp>(loc, end, begin)};
}

/// Offsets, sizes and strides of some rows (dimension 2) of a tensor.
struct Rows {
  Rows(OpBuilder &b, Location loc, Value tensor, Value first, Value count)
      : offsets(rank(tensor), b.getIndexAttr(0)),
        sizes(tensor::getMixedSizes(b, loc, tensor)),
        strides(rank(tensor), b.getIndexAttr(1)) {
    offsets[2] = first;
    sizes[0] = b.getIndexAttr(1);
    sizes[2] = count;
  }
  static int64_t rank(Value tensor) {
    return cast<RankedTensorType>(tensor.getType()).getRank();
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};

Value extract(OpBuilder &b, Location loc, Value tensor, const Rows &rows) {
  return tensor::ExtractSliceOp::create(b, loc, tensor, rows.offsets,
                                        rows.sizes, rows.strides);
}

/// `tensor` with `value` in the rows [begin, end).
Value fillRows(OpBuilder &b, Location loc, Value tensor, double value,
               Value begin, Value end) {
  Type type = cast<RankedTensorType>(tensor.getType()).getElementType();
  Value constant =
      arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
  Rows rows(b, loc, tensor, begin,
            b.createOrFold<arith::SubIOp>(loc, end, begin));
  Value filled =
      linalg::FillOp::create(b, loc, constant, extract(b, loc, tensor, rows))
          .getResult(0);
  return tensor::InsertSliceOp::create(b, loc, filled, tensor, rows.offsets,
                                       rows.sizes, rows.strides);
}

} // namespace

void attn::splitSequences(RewriterBase &rewriter, AttentionOp op) {
  OpBuilder &b = rewriter;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  Value bounds =
      b.createOrFold<tensor::DimOp>(loc, op.getCumulativeQuery(), zero);
  Value count = b.createOrFold<arith::SubIOp>(loc, bounds, one);

  // Rows before the first and after the last sequence: output 0, log-sum-exp
  // -inf. There are none between two.
  auto bound = [&](Value n) {
    return toIndex(
        b, loc, tensor::ExtractOp::create(b, loc, op.getCumulativeQuery(), n));
  };
  Value first = bound(zero), last = bound(count);
  Value numRows = tensor::DimOp::create(b, loc, op.getQuery(), 2);
  SmallVector<Value> inits;
  for (Value out : op.getOuts()) {
    double value =
        inits.empty() ? 0.0 : -std::numeric_limits<double>::infinity();
    Value filled = fillRows(b, loc, out, value, zero, first);
    inits.push_back(fillRows(b, loc, filled, value, last, numRows));
  }

  auto body = [&](OpBuilder &b, Location loc, Value n, ValueRange results) {
    Value next = arith::AddIOp::create(b, loc, n, one);
    auto [firstQuery, numQueries] =
        emitRows(b, loc, op.getCumulativeQuery(), n, next);
    auto [firstKey, numKeys] = emitRows(b, loc, op.getCumulativeKey(), n, next);
    auto keyRows = [&](Value tensor) {
      return extract(b, loc, tensor, Rows(b, loc, tensor, firstKey, numKeys));
    };
    Value query = extract(b, loc, op.getQuery(),
                          Rows(b, loc, op.getQuery(), firstQuery, numQueries));
    Value key = keyRows(op.getKey()), value = keyRows(op.getValue());
    SmallVector<Rows> destinations;
    SmallVector<Value> outs;
    for (Value result : results) {
      destinations.emplace_back(b, loc, result, firstQuery, numQueries);
      outs.push_back(extract(b, loc, result, destinations.back()));
    }
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
    SmallVector<Value> written;
    for (auto [result, out, destination, value] :
         llvm::zip(sequence.getResults(), outs, destinations, results)) {
      result.setType(cast<RankedTensorType>(out.getType()));
      written.push_back(tensor::InsertSliceOp::create(
          b, loc, result, value, destination.offsets, destination.sizes,
          destination.strides));
    }
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
