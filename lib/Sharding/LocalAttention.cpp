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
//   state = nothing, or the sink
//   for each step < ranks
//     keys, values = what is visible of those of rank (self - step)
//     state = merge of state and attention(query, keys, values)
//
// Where keys alone are split, as in tree attention (Shyam et al.,
// arXiv:2408.04093), with the parts of all ranks merged in their order on each
// of them, so that all get the same bits:
//
//   parts = gathered attention(query, keys, values)
//   state = merge of nothing, or the sink, and all parts
//
// States are outputs, in the type of sums, and log-sum-exps. With dropout, the
// mask hides what is dropped from one attention, and another one, of a value of
// one element, gives the log-sum-exp of all:
//
//   output = output of the kept * exp(lse of the kept - lse) / (1 - rate)
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/LocalAttention.h"
#include "dialect/Sharding/RankOps.h"
#include "lib/Reference/TensorCode.h"
#include "lib/Sharding/BlockForm.h"
#include "lib/Sharding/VisibleSpans.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Emits one op.
class LocalAttention {
public:
  LocalAttention(IndexBuilder &b, AttentionOp whole,
                 const AttentionExtents &extents)
      : code(b.getLoc(), b), b(code), whole(whole), extents(extents),
        sums(whole.getAccumulationType()), query(whole.getQuery()),
        queries{extents.queries.first(b), extents.queries.count(b)},
        rows(b.sizes(query)) {
    rows.pop_back();
    output = rows;
    output.push_back(b.size(whole.getValue(), 3));
  }

  SmallVector<Value> emit() {
    if (extents.numKeyRanks > 1)
      return finish(extents.isRing ? goAround() : gather());
    RowSpan keys{extents.keys.first(b), extents.keys.count(b)};
    if (whole.hasDropout())
      return finish(
          merge(createInitial(),
                computeBlock(whole.getKey(), whole.getValue(), keys)));
    return computeAlone(keys);
  }

private:
  /// Output and log-sum-exp, and with dropout the log-sum-exp of all keys.
  using State = SmallVector<Value>;

  /// All keys are here: what one process computes of these rows and heads.
  SmallVector<Value> computeAlone(RowSpan keys) {
    SmallVector<Value> outs = {code.empty(output, whole.getElementType())};
    if (whole.getLogSumExp())
      outs.push_back(code.empty(rows, sums));
    AttentionOp op = emitBlock(b, whole, extents, {query, queries},
                               whole.getKey(), whole.getValue(), keys, outs);
    if (Value sink = whole.getSink()) {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(op);
      OpFoldResult first = extents.heads.first(b),
                   count = b.getIndexAttr(op.getNumQueryHeads());
      op.getSinkMutable().assign(b.slice(sink, {first}, {count}));
    }
    return op.getResults();
  }

  State createInitial() {
    State state = {
        code.fill(code.empty(output, sums), 0.0),
        code.fill(code.empty(rows, sums), -kInfinity),
    };
    if (whole.hasDropout())
      state.push_back(code.fill(code.empty(rows, sums), -kInfinity));
    // Joins each row once (M3), but those that are no queries (A7).
    if (Value sink = whole.getSink())
      state.back() = broadcastSink(sink, state.back());
    return state;
  }

  Value broadcastSink(Value sink, Value rows) {
    Value numSequences;
    if (whole.isPacked())
      numSequences = b.sub(b.index(b.size(whole.getCumulativeQuery(), 0)), 1);
    Value infinity = code.real(sums, -kInfinity);
    Value firstHead = extents.heads.first(b),
          firstBatch = extents.batch.first(b);
    auto loop = linalg::GenericOp::create(
        b, TypeRange{rows.getType()}, ValueRange{}, ValueRange{rows},
        ArrayRef<AffineMap>{b.getMultiDimIdentityMap(3)},
        SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel),
        [&](OpBuilder &, Location, ValueRange) {});
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToEnd(loop.getBody());
    Value batch = linalg::IndexOp::create(b, 0),
          head = linalg::IndexOp::create(b, 1),
          row = linalg::IndexOp::create(b, 2);
    Value at = b.add(head, firstHead);
    Value element = code.convert(tensor::ExtractOp::create(b, sink, at), sums);
    row = b.add(row, queries.first);
    Value isQuery;
    if (whole.isPacked()) {
      Value begin = code.loadIndex(whole.getCumulativeQuery(), b.index(0)),
            end = code.loadIndex(whole.getCumulativeQuery(), numSequences);
      isQuery = b.bitAnd(b.isAtMost(begin, row), b.isLess(row, end));
    } else if (Value counts = whole.getCounts()) {
      Value n = b.add(batch, firstBatch);
      isQuery = b.isLess(row, code.loadIndex(counts, n));
    }
    if (isQuery)
      element = arith::SelectOp::create(b, isQuery, element, infinity);
    linalg::YieldOp::create(b, element);
    return loop.getResult(0);
  }

  /// What some keys give.
  State computeBlock(Value key, Value value, RowSpan keys) {
    Type element = whole.getElementType();
    SmallVector<Value> outs = {code.empty(output, element),
                               code.empty(rows, sums)};
    BlockOperands part{query, queries};
    AttentionOp op = emitBlock(b, whole, extents, part, key, value, keys, outs);
    State state(op.getResults());
    if (element != sums)
      state[0] =
          code.map({state[0]}, code.empty(output, sums),
                   [&](ValueRange e) { return code.convert(e[0], sums); });
    if (whole.hasDropout()) {
      SmallVector<OpFoldResult> sizes = b.sizes(value), thin = output;
      sizes[3] = thin[3] = b.getIndexAttr(1);
      Value column = b.slice(value, b.zeros(4), sizes);
      SmallVector<Value> ofAll = {code.empty(thin, element),
                                  code.empty(rows, sums)};
      state.push_back(emitBlock(b, whole, extents, part, key, column, keys,
                                ofAll, /*keepsAll=*/true)
                          .getResult(1));
    }
    return state;
  }

  State merge(const State &first, const State &second) {
    auto mergeParts = [&](Value output1, Value lse1, Value output2,
                          Value lse2) {
      // Of sizes that a loop is seen to carry along.
      Value outs[] = {code.empty(b.sizes(output1), sums),
                      code.empty(b.sizes(lse1), sums)};
      return MergeOp::create(b, ValueRange(outs).getTypes(), output1, lse1,
                             output2, lse2, outs);
    };
    MergeOp merged = mergeParts(first[0], first[1], second[0], second[1]);
    State state(merged.getResults());
    if (whole.hasDropout()) {
      // Of no output.
      SmallVector<OpFoldResult> thin = output;
      thin[3] = b.getIndexAttr(1);
      Value nothing = code.fill(code.empty(thin, sums), 0.0);
      state.push_back(
          mergeParts(nothing, first[2], nothing, second[2]).getResult(1));
    }
    return state;
  }

  /// A loop over the ranks that carries the state along.
  State forEachRank(function_ref<State(Value, const State &)> body) {
    auto loop = scf::ForOp::create(b, b.index(0), b.index(extents.numKeyRanks),
                                   b.index(1), ValueRange(createInitial()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    State state = body(loop.getInductionVar(), State(loop.getRegionIterArgs()));
    scf::YieldOp::create(b, state);
    return State(loop.getResults());
  }

  State goAround() {
    int64_t ranks = extents.numKeyRanks;
    Value spans = emitVisibleSpans(b, whole, extents);
    Value key = whole.getKey(), value = whole.getValue();
    auto blockType = [](Value of) {
      auto type = cast<RankedTensorType>(of.getType());
      auto shape = llvm::to_vector(type.getShape());
      shape[2] = ShapedType::kDynamic;
      return RankedTensorType::get(shape, type.getElementType());
    };
    return forEachRank([&](Value step, const State &state) {
      Value from = b.rem(b.sub(b.add(extents.keys.self, ranks), step), ranks);
      Value first =
          tensor::ExtractOp::create(b, spans, ValueRange{step, b.index(2)});
      Value count =
          tensor::ExtractOp::create(b, spans, ValueRange{step, b.index(3)});
      auto block =
          RankBlockOp::create(b, blockType(key), blockType(value), step, key,
                              value, spans, count, uint64_t(extents.keyStride));
      Value firstKey = b.add(extents.keys.first(b, from), first);
      State part =
          computeBlock(block.getKeys(), block.getValues(), {firstKey, count});
      return merge(state, part);
    });
  }

  State gather() {
    int64_t ranks = extents.numKeyRanks;
    State own = computeBlock(whole.getKey(), whole.getValue(),
                             {extents.keys.first(b), extents.keys.count(b)});
    State all;
    for (Value part : own) {
      SmallVector<OpFoldResult> sizes = b.sizes(part);
      sizes.insert(sizes.begin(), b.getIndexAttr(ranks));
      Value init = code.empty(sizes, sums);
      all.push_back(AllGatherOp::create(b, init.getType(), part, init,
                                        uint64_t(extents.keyStride))
                        .getResult());
    }
    return forEachRank([&](Value rank, const State &state) {
      State part;
      for (auto [ofAll, ofOne] : llvm::zip(all, own)) {
        SmallVector<OpFoldResult> sizes = b.sizes(ofAll),
                                  offsets = b.zeros(sizes.size());
        sizes[0] = b.getIndexAttr(1);
        offsets[0] = rank;
        part.push_back(
            b.slice(ofAll, offsets, sizes, int64_t(sizes.size()) - 1));
      }
      return merge(state, part);
    });
  }

  /// The results of the op, from the state of all keys.
  SmallVector<Value> finish(const State &state) {
    Type element = whole.getElementType();
    Value result = state[0], lse = state.back();
    if (whole.hasDropout()) {
      Value infinity = code.real(sums, -kInfinity), zero = code.real(sums, 0.0);
      Value factor = code.real(
          sums, 1 / (1 - whole.getDropoutRateAttr().getValueAsDouble()));
      result = code.map(
          {result, state[1], lse}, code.empty(output, element),
          [&](ValueRange e) -> Value {
            Value share =
                math::ExpOp::create(b, arith::SubFOp::create(b, e[1], e[2]));
            Value scaled = arith::MulFOp::create(
                b, arith::MulFOp::create(b, e[0], share), factor);
            Value isNothing = code.isEqualF(e[1], infinity);
            Value number = arith::SelectOp::create(b, isNothing, zero, scaled);
            return code.convert(number, element);
          });
    } else if (element != sums) {
      result =
          code.map({result}, code.empty(output, element),
                   [&](ValueRange e) { return code.convert(e[0], element); });
    }
    SmallVector<Value> results = {result};
    if (whole.getLogSumExp())
      results.push_back(lse);
    return results;
  }

  TensorCode code;
  IndexBuilder &b;
  AttentionOp whole;
  const AttentionExtents &extents;
  FloatType sums;
  Value query;
  RowSpan queries;
  /// Sizes of log-sum-exps and of outputs.
  SmallVector<OpFoldResult> rows, output;
};

} // namespace

SmallVector<Value> attn::emitLocalAttention(IndexBuilder &b, AttentionOp whole,
                                            const AttentionExtents &extents) {
  return LocalAttention(b, whole, extents).emit();
}
