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
//     forall warp < w
//       O, m, l [warp] = attn.online_attention of its share of the part
//     O, m, l [batch entry, head, part] = those of all warps, merged
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
// Where the rows are those of one warp, `w` warps share the keys of a part, and
// merge what they have in workgroup memory. So there are as many warps to wait
// for memory as if each of them was a workgroup, but 1 / w as many states to
// write, and to merge in the end.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Attention/GroupFolding.h"
#include "lib/GPU/LaunchAttributes.h"
#include "lib/GPU/ParallelElements.h"
#include "lib/GPU/PartMerge.h"
#include "lib/GPU/Passes.h"
#include "lib/Online/OnlineTensors.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
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
    occupancy = getOccupancy();
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
        occupancy.workgroups * getTarget(op).getGpuMultiprocessors();
    Value wanted = b.div(workgroups, heads),
          most = b.ceilDiv(b.size(op.getKey(), 2), chunk);
    return b.emit<arith::MaxUIOp>(b.emit<arith::MinUIOp>(wanted, most), 1);
  }

  /// Of multiprocessors, by what parts have in workgroup memory.
  CacheModel::Occupancy getOccupancy() {
    int64_t size = op.getKeyType().getDimSize(3),
            valueSize = op.getValueType().getDimSize(3),
            element = op.getElementType().getIntOrFloatBitWidth() / 8,
            accumulated = type.getIntOrFloatBitWidth() / 8;
    auto getBytes = [&](int64_t count, int64_t columns) {
      return count * (columns * element + kBytesBetweenRows);
    };
    // Of f32, both first factors are there, of rows that there may be.
    bool isFew = rows <= kRowsOfTranspose && lanes == kRowsOfWarp,
         isF32 = op.getElementType().isF32();
    int64_t rowsOfLanes = isFew ? kRowsOfTranspose : kRowsOfWarp, factors = 0;
    if (isF32)
      factors = getBytes(isFew ? llvm::alignTo(rows, 4) : lanes, size) +
                getBytes(isFew ? kRowsOfTranspose : lanes, keys);
    else if (size * rowsOfLanes > kMostInRegisters)
      factors = getBytes(lanes, size);
    // Of scores, and of whether they are hidden.
    int64_t positions = lanes * keys * (accumulated + 1);
    return CacheModel(getTarget(op))
        .getOccupancy(
            keys * getBytesOfKey(element, size, valueSize),
            {factors, positions, rows * (valueSize + 2) * accumulated},
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
    if (failed(occupancy.shares > 1 ? emitShared(loop, ivs)
                                    : emitPart(loop, ivs, count)))
      return failure();
    return SmallVector<Value>(loop.getResults());
  }

  /// Makes the states of the part `at` of `loop` those of its warps, each of
  /// which has a share of the keys.
  LogicalResult emitShared(scf::ForallOp loop, ArrayRef<Value> at) {
    int64_t warps = occupancy.shares;
    auto value = cast<RankedTensorType>(loop.getResultTypes()[0]);
    auto space = gpu::AddressSpaceAttr::get(
        b.getContext(), gpu::GPUDialect::getWorkgroupAddressSpace());
    SmallVector<int64_t> shape = {warps, rows, value.getShape().back()};
    SmallVector<Value> own;
    for (size_t rank : {3, 2, 2})
      own.push_back(bufferization::AllocTensorOp::create(
          b, RankedTensorType::get(ArrayRef(shape).take_front(rank), type),
          ValueRange(), Value(), Value(), space));
    {
      OpBuilder::InsertionGuard guard(b);
      scf::ForallOp shares =
          b.enterForall(OpFoldResult(b.getIndexAttr(warps)), own);
      shares.setMappingAttr(b.getArrayAttr(gpu::GPUWarpMappingAttr::get(
          b.getContext(), gpu::MappingId::LinearDim0)));
      Value warp = shares.getInductionVars().front();
      SmallVector<Value> share(at);
      share.back() = b.add(b.mul(share.back(), warps), warp);
      if (failed(emitPart(shares, share, b.mul(count, warps))))
        return failure();
      own.assign(shares.result_begin(), shares.result_end());
    }
    PartMerge merge(b, own, b.index(warps));
    Value none = real(-std::numeric_limits<double>::infinity());
    for (auto [number, all] : llvm::enumerate(loop.getRegionIterArgs())) {
      SmallVector<OpFoldResult> offsets = getAsOpFoldResult(at),
                                extent = b.ones(3);
      for (int64_t size : ArrayRef(shape).slice(1, number == 0 ? 2 : 1)) {
        offsets.push_back(b.getIndexAttr(0));
        extent.push_back(b.getIndexAttr(size));
      }
      Value slice = b.slice(all, offsets, extent, number == 0 ? 2 : 1);
      Value merged = emitEachElement(b, slice, [&](ArrayRef<Value> ivs) {
        Value maximum = merge.emitMaximum(ivs, none);
        return number == 1 ? maximum
                           : merge
                                 .emitSums(ivs, maximum, real(0.0),
                                           /*withOutput=*/number == 0)
                                 .back();
      });
      b.insertInParallel(loop, merged, all, offsets, extent);
    }
    return success();
  }

  /// Makes the states of an iteration of `loop` what the share `ivs` of a
  /// head's keys leaves, of `number` that each head has.
  LogicalResult emitPart(scf::ForallOp loop, ArrayRef<Value> ivs,
                         Value number) {
    FailureOr<OnlineAttentionOp> part = emitShare(ivs, number);
    if (failed(part))
      return failure();
    for (auto [state, all] :
         llvm::zip(part->getResults(), loop.getRegionIterArgs()))
      insertRows(loop, state, all);
    return success();
  }

  /// Of the share `ivs` of `number`.
  FailureOr<OnlineAttentionOp> emitShare(ArrayRef<Value> ivs, Value number) {
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
          units = b.ceilDiv(keys, kPartUnit), most = b.ceilDiv(units, number);
    // Of empty parts, none begins beyond all keys.
    Value before = b.mul(b.emit<arith::MinUIOp>(b.mul(ivs[2], most), units),
                         kPartUnit),
          first = b.add(begin, before),
          rest = b.min(b.sub(keys, before), b.mul(most, kPartUnit)),
          numKeys = b.max(rest, 0);
    FailureOr<TilingResult> part = online.getTiledImplementation(
        b, {OpFoldResult(first)}, {OpFoldResult(numKeys)});
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
                              extent = b.ones(at.size());
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

  Value emitMaximum(ArrayRef<Value> ivs) {
    return PartMerge(b, states, count)
        .emitMaximum(ivs, op.getSink()
                              ? emitSink(ivs)
                              : real(-std::numeric_limits<double>::infinity()));
  }

  /// L, and of the output's element the sum that is to be divided by it.
  SmallVector<Value> emitSums(ArrayRef<Value> ivs, Value maximum,
                              bool withOutput) {
    Value first = real(0.0);
    if (op.getSink()) {
      // A sink of -inf is none, even if it is the maximum.
      Value sink = emitSink(ivs);
      Value none = real(-std::numeric_limits<double>::infinity());
      first = b.select(
          b.isEqualF(sink, none), first,
          OnlineAttentionOp::createRescaleFactor(b, b.getLoc(), sink, maximum));
    }
    return PartMerge(b, states, count)
        .emitSums(ivs, maximum, first, withOutput);
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
  CacheModel::Occupancy occupancy; ///< Of multiprocessors.
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
