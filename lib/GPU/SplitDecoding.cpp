//===- SplitDecoding.cpp - Few queries against parts of their keys --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   attention of r queries for each of B * H heads
//
// or of r / G queries for each of B * H * G query heads, of which the G that
// share keys are r rows, becomes
//
//   n = parts of each head's keys, so that multiprocessors have room for all
//     B * H * n at once, and each has about `chunk` keys at least
//   forall batch entry, head, part < n
//     O, m, l [batch entry, head, part] = attn.online_attention of the part
//   forall batch entry, query head, query, element
//     M = max of m, L = sum of exp(m - M) * l
//     output = sum of exp(m - M) * O / L
//   forall batch entry, query head, query       (if it is asked for)
//     log-sum-exp = M + log(L)
//
// Flash-Decoding (Dao, Haziza, Massa and Sizov, 2023). A sink joins M and L in
// the merge, once (A6). How many parts there are depends on sizes alone, and
// they are merged in order (A15). A thread merges an element, not a row, as
// `attn.merge` does on a CPU: a step has too few rows for a GPU's threads.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/GroupFolding.h"
#include "lib/GPU/ParallelElements.h"
#include "lib/GPU/Passes.h"
#include "lib/Online/OnlineTensors.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITDECODING
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Parts begin at multiples of it, as blocks of keys do that never leave a
/// page.
constexpr int64_t kPartUnit = 64;

/// Splits the keys of one op, whose queries are one tile, as its plan says.
class DecodingSplitter {
public:
  DecodingSplitter(RewriterBase &rewriter, AttentionOp op, PlanAttr plan)
      : rewriter(rewriter), b(op.getLoc(), rewriter), whole(op), op(op),
        type(op.getAccumulationType()), keys(plan.getKeys()),
        chunk(plan.getChunk()), heads(op.getGroupSize()),
        rows(op.getQueryType().getDimSize(2) * heads),
        warpRows(plan.getLanes()), lanes(llvm::alignTo(rows, warpRows)) {}

  LogicalResult run() {
    b.setInsertionPoint(whole);
    if (heads > 1)
      op = emitFoldedGroups(b, whole);
    sizes = b.sizes(op.getOutput());
    count = emitCount();
    FailureOr<SmallVector<Value>> parts = emitParts();
    if (failed(parts))
      return failure();
    states = *parts;
    SmallVector<Value> results = {
        emitElements(whole.getOutput(), &DecodingSplitter::emitOutput)};
    if (whole.getLogSumExp())
      results.push_back(
          emitElements(whole.getLogSumExp(), &DecodingSplitter::emitLogSumExp));
    rewriter.replaceOp(whole, results);
    if (op != whole)
      eraseFolded();
    return success();
  }

private:
  Value real(double value) { return b.real(type, value); }

  /// With the empty tensors that nothing is written to.
  void eraseFolded() {
    SmallVector<Value> outs(op.getOuts());
    rewriter.eraseOp(op);
    for (Value out : outs)
      if (Operation *empty = out.getDefiningOp(); empty->use_empty())
        rewriter.eraseOp(empty);
  }

  /// The number of parts of a head's keys, at least 1. All parts are computed
  /// at once: one more than have room would take as long again.
  Value emitCount() {
    Value heads = b.emit<arith::MaxUIOp>(b.mul(sizes[0], sizes[1]), 1);
    int64_t workgroups =
        getWorkgroupsOfMultiprocessor() * getTarget(op).getGpuMultiprocessors();
    Value wanted = b.div(workgroups, heads),
          most = b.ceilDiv(b.size(op.getKey(), 2), chunk);
    return b.emit<arith::MaxUIOp>(b.emit<arith::MinUIOp>(wanted, most), 1);
  }

  int64_t getWorkgroupsOfMultiprocessor() {
    int64_t size = op.getKeyType().getDimSize(3),
            valueSize = op.getValueType().getDimSize(3),
            element = op.getElementType().getIntOrFloatBitWidth() / 8;
    return CacheModel(getTarget(op))
        .getWorkgroups(keys * getBytesOfKey(element, size, valueSize),
                       {lanes / warpRows, warpRows, std::max(size, valueSize)});
  }

  //===--------------------------------------------------------------------===//
  // Parts
  //===--------------------------------------------------------------------===//

  /// O `(B, H, n, r, Dv)`, m and l `(B, H, n, r)` of all parts.
  FailureOr<SmallVector<Value>> emitParts() {
    SmallVector<OpFoldResult> upper = {sizes[0], sizes[1],
                                       getAsOpFoldResult(count)};
    SmallVector<OpFoldResult> ofRows(upper);
    ofRows.push_back(b.getIndexAttr(rows));
    SmallVector<OpFoldResult> ofElements(ofRows);
    ofElements.push_back(sizes[3]);
    SmallVector<Value> empty = {b.empty(ofElements, type),
                                b.empty(ofRows, type), b.empty(ofRows, type)};
    OpBuilder::InsertionGuard guard(b);
    scf::ForallOp loop = b.enterForall(upper, empty);
    SmallVector<Value> ivs(loop.getInductionVars());
    FailureOr<OnlineAttentionOp> part = emitPart(ivs);
    if (failed(part))
      return failure();
    for (auto [state, all] :
         llvm::zip(part->getResults(), loop.getRegionIterArgs()))
      insertRows(loop, state, all);
    return SmallVector<Value>(loop.getResults());
  }

  FailureOr<OnlineAttentionOp> emitPart(ArrayRef<Value> ivs) {
    OpFoldResult one = b.getIndexAttr(1);
    // Neither a sink nor a log-sum-exp.
    auto all = cast<AttentionOp>(b.clone(*op));
    all.getSinkMutable().clear();
    SmallVector<OpFoldResult> offsets = {ivs[0], ivs[1], b.getIndexAttr(0)},
                              extent = {one, one, b.getIndexAttr(rows)};
    FailureOr<TilingResult> tiled =
        all.getTiledImplementation(b, offsets, extent);
    if (failed(tiled))
      return failure();
    auto tile = cast<AttentionOp>(tiled->tiledOps.front());
    OnlineAttentionOp online = emitOnlineInMatrices(b, tile, lanes);
    rewriter.eraseOp(tile);
    rewriter.eraseOp(all);
    auto [begin, end] = emitVisibleStoredRange(b, online, kPartUnit);
    // As many whole units for each part.
    Value keys = b.max(b.sub(end, begin), 0),
          units = b.ceilDiv(keys, kPartUnit), most = b.ceilDiv(units, count);
    // Of empty parts, none begins beyond all keys.
    Value before = b.mul(b.emit<arith::MinUIOp>(b.mul(ivs[2], most), units),
                         kPartUnit),
          first = b.add(begin, before),
          rest = b.min(b.sub(keys, before), b.mul(most, kPartUnit)),
          number = b.max(rest, 0);
    FailureOr<TilingResult> part = online.getTiledImplementation(
        b, {OpFoldResult(first)}, {OpFoldResult(number)});
    rewriter.eraseOp(online);
    if (failed(part))
      return failure();
    return cast<OnlineAttentionOp>(part->tiledOps.front());
  }

  /// Makes the rows of `state` that are queries those of the part in `all`.
  void insertRows(scf::ForallOp loop, Value state, Value all) {
    SmallVector<OpFoldResult> shape = b.sizes(state);
    shape[0] = b.getIndexAttr(rows);
    Value used = b.slice(state, b.zeros(shape.size()), shape);
    SmallVector<OpFoldResult> at = getAsOpFoldResult(
                                  ValueRange(loop.getInductionVars())),
                              extent = b.ones(3);
    at.append(b.zeros(shape.size()));
    extent.append(shape);
    Value slice =
        b.insert(used, b.slice(all, at, extent), b.zeros(at.size()), extent);
    b.insertInParallel(loop, slice, all, at, extent);
  }

  //===--------------------------------------------------------------------===//
  // Merge
  //===--------------------------------------------------------------------===//

  /// The elements of `init`, each of which `element` emits of its indices.
  Value emitElements(Value init,
                     Value (DecodingSplitter::*element)(ArrayRef<Value>)) {
    return emitEachElement(b, init, [&](ArrayRef<Value> ivs) {
      return (this->*element)(findRow(ivs));
    });
  }

  /// Batch entry, head, row and the rest of an element of the output of a query
  /// head.
  SmallVector<Value> findRow(ArrayRef<Value> ivs) {
    SmallVector<Value> at(ivs);
    if (heads == 1)
      return at;
    at[1] = b.div(ivs[1], heads);
    at[2] = b.add(b.mul(ivs[2], heads), b.rem(ivs[1], heads));
    return at;
  }

  Value emitOutput(ArrayRef<Value> ivs) {
    Value maximum = emitMaximum(ivs);
    SmallVector<Value> sums = emitSums(ivs, maximum, /*withOutput=*/true);
    // 0 for an empty row (A14).
    Value quotient = b.select(b.isEqualF(sums[0], real(0.0)), real(0.0),
                              b.divF(sums[1], sums[0]));
    return b.convert(quotient, op.getElementType());
  }

  Value emitLogSumExp(ArrayRef<Value> ivs) {
    Value maximum = emitMaximum(ivs);
    Value sum = emitSums(ivs, maximum, /*withOutput=*/false).front();
    Value infinity = real(std::numeric_limits<double>::infinity());
    // A16: also where the sum is no number.
    return b.select(b.isEqualF(maximum, infinity), maximum,
                    b.addF(maximum, b.log(sum)));
  }

  /// Element of `state` that belongs to a query and a part.
  Value extract(Value state, ArrayRef<Value> ivs, Value part) {
    SmallVector<Value> at = {ivs[0], ivs[1], part};
    auto rank = cast<RankedTensorType>(state.getType()).getRank();
    llvm::append_range(at, ivs.slice(2, rank - 3));
    return b.load(state, at);
  }

  Value emitMaximum(ArrayRef<Value> ivs) {
    Value first = op.getSink() ? emitSink(ivs)
                               : real(-std::numeric_limits<double>::infinity());
    return b.loop(0, count, 1, first, [&](Value part, Value soFar) {
      return b.maximumF(soFar, extract(states[1], ivs, part));
    });
  }

  /// L, and of the output's element the sum that is to be divided by it.
  SmallVector<Value> emitSums(ArrayRef<Value> ivs, Value maximum,
                              bool withOutput) {
    SmallVector<Value> inits = {real(0.0)};
    if (op.getSink()) {
      // A sink of -inf is none, even if it is the maximum.
      Value sink = emitSink(ivs);
      Value none = real(-std::numeric_limits<double>::infinity());
      inits[0] = b.select(b.isEqualF(sink, none), real(0.0),
                          emitRescaleFactor(sink, maximum));
    }
    if (withOutput)
      inits.push_back(real(0.0));
    return b.loop(0, count, 1, inits, [&](Value part, ValueRange so) {
      Value factor = emitRescaleFactor(extract(states[1], ivs, part), maximum);
      Value terms[] = {extract(states[2], ivs, part),
                       withOutput ? extract(states[0], ivs, part) : Value()};
      SmallVector<Value> sums;
      for (auto [sum, term] : llvm::zip_first(so, terms))
        sums.push_back(b.addF(sum, b.mulF(factor, term)));
      return sums;
    });
  }

  Value emitRescaleFactor(Value part, Value whole) {
    return OnlineAttentionOp::createRescaleFactor(b, b.getLoc(), part, whole);
  }

  /// The sink of a query: of its head, or its own.
  Value emitSink(ArrayRef<Value> ivs) {
    auto sinks = cast<RankedTensorType>(op.getSink().getType());
    return b.convert(b.load(op.getSink(), ivs.slice(1, sinks.getRank())), type);
  }

  RewriterBase &rewriter;
  IndexBuilder b;
  AttentionOp whole;       ///< As it is given.
  AttentionOp op;          ///< With heads of a group as rows.
  FloatType type;          ///< Of states.
  int64_t keys;            ///< Of a block.
  int64_t chunk;           ///< About as many keys as a part has at least.
  int64_t heads, rows;     ///< Of a group, and a part.
  int64_t warpRows, lanes; ///< Of its warps, and its vectors.
  SmallVector<OpFoldResult> sizes; ///< Of the output of `op`.
  Value count;                     ///< Of parts.
  SmallVector<Value> states;       ///< Of all parts.
};

} // namespace

namespace {
struct SplitDecoding : attn::impl::SplitDecodingBase<SplitDecoding> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    for (AttentionOp op : ops) {
      PlanAttr plan = getPlan(op);
      if (!plan || plan.getChunk() == 0)
        continue;
      int64_t queries = op.getQueryType().getDimSize(2),
              heads = op.getGroupSize();
      if (plan.getLanes() == 0 || op.isRagged() ||
          (heads != 1 && (plan.getHeads() != heads || op.hasDropout())) ||
          ShapedType::isDynamic(queries) || queries > plan.getRows() / heads) {
        op.emitError("expected an attn.plan with 'lanes', and with 'rows' for "
                     "all queries of all heads that share keys, without "
                     "dropout, to split keys into parts of a 'chunk'");
        return signalPassFailure();
      }
      if (failed(DecodingSplitter(rewriter, op, plan).run())) {
        op.emitError("could not be split");
        return signalPassFailure();
      }
    }
  }
};
} // namespace
