//===- SplitKeys.cpp - Parallel chunks of keys ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   forall batch entry, head, tile
//     state = attn.online_attention of all keys
//     output of state
//
// becomes
//
//   count = chunks of the visible keys, the most of any iteration
//   forall batch entry, head, chunk < count, tile
//     states[batch entry, head, chunk, tile] = attn.online_attention of the
//                                              chunk
//   forall batch entry, head, tile
//     state = merge of states[batch entry, head, :, tile]
//     output of state
//
// Flash-Decoding (Dao, Haziza, Massa and Sizov, 2023). What a chunk is depends
// on sizes and masks alone, and states are merged in order, so that results do
// not depend on the number of threads (A15). Tiles of one chunk follow one
// another, so that all but the first find its keys and values in the cache.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/SharedOperands.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Plan/Plan.h"
#include "lib/SplitKV/Passes.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_SPLITKEYS
#include "lib/SplitKV/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Splits the keys of one op.
class Splitting {
public:
  Splitting(RewriterBase &rewriter, OnlineAttentionOp op, int64_t chunk)
      : rewriter(rewriter), b(op.getLoc(), rewriter), op(op),
        loop(dyn_cast<scf::ForallOp>(op->getParentOp())), chunk(chunk) {
    if (!loop)
      return;
    lower = loop.getMixedLowerBound();
    upper = loop.getMixedUpperBound();
    steps = loop.getMixedStep();
    llvm::append_range(ivs, loop.getInductionVars());
    if (!hasOneIteration(loop, loop.getRank() - 1))
      return;
    // The loop over tiles of queries, of which there is one.
    onlyTile = ivs.pop_back_val();
    lower.pop_back();
    upper.pop_back();
    steps.pop_back();
  }

  LogicalResult run() {
    if (failed(findProducers()))
      return failure();
    chunkDim = countLoopsOfKeys();
    b.setInsertionPoint(loop ? loop.getOperation() : op);
    count = emitCount();
    SmallVector<Value> states = emitStates();
    b.setInsertionPoint(op);
    FailureOr<MergeResult> merge =
        op.mergeReductions(b, b.getLoc(), sliceStates(states), keysOnly());
    if (failed(merge))
      return op.emitError("could not merge what its chunks of keys give");
    rewriter.replaceOp(op, merge->replacements);
    return success();
  }

private:
  /// What a thread of its own has to compute of the op's operands; an error if
  /// that needs the results of the loop.
  LogicalResult findProducers() {
    if (!loop) {
      producers.insert(op);
      return success();
    }
    BackwardSliceOptions options;
    options.omitBlockArguments = true;
    options.omitUsesFromAbove = false;
    options.filter = [&](Operation *producer) {
      return producer->getBlock() == loop.getBody();
    };
    if (failed(getBackwardSlice(op, &producers, options)))
      return op.emitError("attn.plan: chunk: could not follow what the op "
                          "reads to the loop around it");
    auto isOut = [&](Value value) {
      return llvm::is_contained(loop.getRegionIterArgs(), value);
    };
    producers.insert(op);
    for (Operation *producer : producers) {
      WalkResult result = producer->walk([&](Operation *nested) {
        return llvm::any_of(nested->getOperands(), isOut)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      });
      if (result.wasInterrupted()) {
        InFlightDiagnostic diag =
            op.emitError("attn.plan: chunk: expected what the op reads not to "
                         "depend on what the loop around it writes");
        diag.attachNote(producer->getLoc()) << "this does";
        return diag;
      }
    }
    return success();
  }

  /// A copy of the op for the iteration `at`.
  OnlineAttentionOp cloneFor(ValueRange at) {
    IRMapping mapping;
    mapping.map(ivs, at);
    if (onlyTile)
      mapping.map(onlyTile, b.index(0));
    clones.clear();
    for (Operation &producer : *op->getBlock())
      if (producers.contains(&producer))
        clones.push_back(b.clone(producer, mapping));
    return cast<OnlineAttentionOp>(clones.back());
  }

  /// Erases the last copy, but for what is used elsewhere.
  void eraseClone() {
    for (Operation *clone : llvm::reverse(clones))
      if (clone->use_empty())
        rewriter.eraseOp(clone);
  }

  /// The most chunks that the keys of an iteration have.
  Value emitCount() {
    scf::LoopNest nest = scf::buildLoopNest(
        b, b.getLoc(), b.indices(lower), b.indices(upper), b.indices(steps),
        b.index(0),
        [&](OpBuilder &nested, Location, ValueRange at, ValueRange most) {
          OpBuilder::InsertionGuard guard(b);
          b.setInsertionPoint(nested.getInsertionBlock(),
                              nested.getInsertionPoint());
          auto [begin, end] =
              emitVisibleStoredRange(b, cloneFor(at), kChunkUnit);
          eraseClone();
          Value size = b.sub(end, begin);
          return scf::ValueVector{b.max(most.front(), size)};
        });
    Value most = hoistMaximum(nest);
    return b.ceilDiv(most, chunk);
  }

  /// The maximum that loops compute, without those that it is the same in.
  Value hoistMaximum(scf::LoopNest &nest) {
    Value most = nest.results.front();
    for (scf::ForOp inner : llvm::reverse(nest.loops)) {
      moveLoopInvariantCode(inner);
      auto maximum =
          inner.getYieldedValues().front().getDefiningOp<arith::MaxSIOp>();
      if (!maximum || !inner.isDefinedOutsideOfLoop(maximum.getRhs()))
        break;
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(inner);
      Value same = b.max(inner.getInitArgs().front(), maximum.getRhs());
      bool isOutermost = inner == nest.loops.front();
      rewriter.replaceOp(inner, same);
      if (isOutermost)
        most = same;
    }
    return most;
  }

  /// Where the chunks are among the loops over states: after those that keys
  /// depend on.
  size_t countLoopsOfKeys() {
    llvm::SetVector<Operation *> slice;
    BackwardSliceOptions options;
    options.inclusive = true;
    options.omitBlockArguments = true;
    options.filter = [&](Operation *producer) {
      return producer->getBlock() == op->getBlock();
    };
    (void)getBackwardSlice(op.getKey(), &slice, options);
    size_t count = 0;
    for (auto [number, iv] : llvm::enumerate(ivs))
      if (llvm::any_of(slice, [iv = iv](Operation *producer) {
            return llvm::is_contained(producer->getOperands(), iv);
          }))
        count = number + 1;
    return count;
  }

  /// `numbers` of the loops over iterations, with that of chunks among them.
  SmallVector<OpFoldResult> withChunk(ArrayRef<OpFoldResult> numbers,
                                      OpFoldResult chunk) const {
    SmallVector<OpFoldResult> all(numbers);
    all.insert(all.begin() + chunkDim, chunk);
    return all;
  }

  /// The numbers of iterations with the induction variables `at`.
  SmallVector<OpFoldResult> getNumbers(ArrayRef<Value> at) {
    SmallVector<OpFoldResult> numbers;
    AffineExpr i, s, t;
    bindSymbols(b.getContext(), i, s, t);
    for (auto [iv, begin, step] : llvm::zip(at, lower, steps))
      numbers.push_back(b.apply((i - s).floorDiv(t), {iv, begin, step}));
    return numbers;
  }

  /// The states of all chunks, `(batch entries, heads, chunks, tiles, ...)`.
  SmallVector<Value> emitStates() {
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1),
                 chunks = getAsOpFoldResult(count);
    SmallVector<OpFoldResult> numbers;
    AffineExpr first, last, by;
    bindSymbols(b.getContext(), first, last, by);
    for (auto [begin, end, step] : llvm::zip(lower, upper, steps))
      numbers.push_back(
          b.apply((last - first).ceilDiv(by), {begin, end, step}));
    numbers = withChunk(numbers, chunks);
    SmallVector<Value> empty;
    for (Value init : op.getOuts()) {
      auto type = cast<RankedTensorType>(init.getType());
      SmallVector<OpFoldResult> sizes(numbers);
      llvm::append_range(
          sizes, getAsIndexOpFoldResult(b.getContext(), type.getShape()));
      empty.push_back(b.empty(sizes, type.getElementType()));
    }
    auto all = scf::ForallOp::create(
        b, withChunk(lower, zero), withChunk(upper, chunks),
        withChunk(steps, one), empty, /*mapping=*/std::nullopt);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(all.getBody());
    SmallVector<Value> at(all.getInductionVars());
    Value chunk = at[chunkDim];
    at.erase(at.begin() + chunkDim);
    SmallVector<OpFoldResult> offsets = withChunk(getNumbers(at), chunk);
    SmallVector<Value> state = emitChunk(at, chunk);
    for (auto [part, result] : llvm::zip(state, all.getRegionIterArgs())) {
      auto [at, extent] = getPlace(part, offsets, one);
      b.insertInParallel(all, part, result, at, extent);
    }
    return all.getResults();
  }

  /// The state of one chunk, from nothing.
  SmallVector<Value> emitChunk(ArrayRef<Value> at, Value number) {
    OnlineAttentionOp whole = cloneFor(at);
    whole.setNextTile(0); // Of the same keys.
    auto [first, end] = emitVisibleStoredRange(b, whole, kChunkUnit);
    Value begin = b.add(first, b.mul(number, chunk));
    Value next = b.add(begin, chunk);
    Value size = b.sub(b.min(next, end), begin);
    size = b.max(size, 0);
    OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
    FailureOr<SmallVector<Value>> nothing =
        whole.generateInitialTensorForPartialReduction(b, b.getLoc(), one,
                                                       keysOnly());
    assert(succeeded(nothing) && "online attention has an empty state");
    FailureOr<TilingResult> tile = whole.tileToPartialReduction(
        b, b.getLoc(), ReductionTilingStrategy::PartialReductionOuterParallel,
        *nothing, OpFoldResult(begin), OpFoldResult(size), keysOnly(), zero);
    assert(succeeded(tile) && "chunks begin at multiples of packs");
    eraseClone();
    return tile->tiledValues;
  }

  /// The states of the chunks of the loop's iteration.
  SmallVector<Value> sliceStates(ArrayRef<Value> states) {
    OpFoldResult zero = b.getIndexAttr(0), chunks = getAsOpFoldResult(count);
    SmallVector<OpFoldResult> at = withChunk(getNumbers(ivs), zero);
    SmallVector<Value> slices;
    for (auto [stack, init] : llvm::zip(states, op.getOuts())) {
      auto [offsets, extent] = getPlace(init, at, chunks);
      SmallVector<OpFoldResult> kept = b.sizes(init);
      kept.insert(kept.begin(), chunks);
      slices.push_back(b.slice(stack, offsets, extent, kept));
    }
    return slices;
  }

  /// Where `chunks` states of the shape of `state` are in all, from `at` on.
  std::pair<SmallVector<OpFoldResult>, SmallVector<OpFoldResult>>
  getPlace(Value state, ArrayRef<OpFoldResult> at, OpFoldResult chunks) {
    SmallVector<OpFoldResult> offsets(at), extent = b.ones(at.size());
    extent[chunkDim] = chunks;
    llvm::append_range(extent, b.sizes(state));
    offsets.resize(extent.size(), b.getIndexAttr(0));
    return {offsets, extent};
  }

  static SetVector<unsigned> keysOnly() {
    SetVector<unsigned> dims;
    dims.insert(0);
    return dims;
  }

  RewriterBase &rewriter;
  IndexBuilder b;
  OnlineAttentionOp op;
  /// The loop over heads; null if there is one head and nothing else.
  scf::ForallOp loop;
  /// Of batch, heads, and tiles if there are several.
  SmallVector<OpFoldResult> lower, upper, steps;
  SmallVector<Value> ivs; ///< The same.
  Value onlyTile;         ///< Counts tiles where there is one; or null.
  size_t chunkDim = 0;    ///< Of states.
  int64_t chunk;
  SetVector<Operation *> producers;
  SmallVector<Operation *> clones; ///< The last copy of the producers.
  Value count;                     ///< Of chunks.
};

} // namespace

/// Splits the keys of an op into chunks that are computed in parallel and
/// merged. Leaves it alone if it is known to have no more than one chunk; an
/// error, without a change, if the op is a part of an iteration.
static LogicalResult splitKeys(RewriterBase &rewriter, OnlineAttentionOp op,
                               int64_t chunk) {
  if (op.isDelayed())
    return op.emitError("attn.plan: chunk: expected attention whose product is "
                        "not delayed");
  // What is in no loop is the tile of the only head.
  auto loop = op->getParentOfType<scf::ForallOp>();
  if (loop && loop != op->getParentOp())
    return op.emitError("attn.plan: chunk: expected the op itself in the "
                        "parallel loop around it, got it in an '")
           << op->getParentOp()->getName() << "' of the loop";
  int64_t keys = cast<ShapedType>(op.getKey().getType()).getDimSize(0);
  if (!ShapedType::isDynamic(keys) && keys <= chunk)
    return success();
  return Splitting(rewriter, op, chunk).run();
}

namespace {
struct SplitKeys : attn::impl::SplitKeysBase<SplitKeys> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<OnlineAttentionOp> ops;
    getOperation()->walk([&](OnlineAttentionOp op) { ops.push_back(op); });
    for (OnlineAttentionOp op : ops)
      if (PlanAttr plan = getPlan(op); plan && plan.getChunk() > 0) {
        if (plan.getChunk() % kChunkUnit != 0) {
          op.emitError("expected an attn.plan with a multiple of ")
              << kChunkUnit << " as 'chunk', got " << plan.getChunk();
          return signalPassFailure();
        }
        if (failed(splitKeys(rewriter, op, plan.getChunk())))
          return signalPassFailure();
      }
  }
};
} // namespace
