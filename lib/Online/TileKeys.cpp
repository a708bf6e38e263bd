//===- TileKeys.cpp - Online attention in blocks of keys ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   state = initial, exact = false
//   do
//     for blocks of the keys that the mask may keep
//       state = attn.online_attention of the block
//     redo = !exact && state is not finite
//     if redo: state = initial, exact = true
//   while redo
//
// On a GPU, whose kernels are to have nothing of the second round in the loop
// that runs, it is written out in a branch behind the first. That one may be
// `bounded`: not right either if a maximum is large.
//
// The second round is for a NaN or an infinity in a value that a mask or a
// score of -inf hides, which the first round multiplies by 0 (A13). Lanes
// without a query are looked at as well: a region that gives no finite score
// there, of a query of 0, costs a second round that changes nothing.
//
//===----------------------------------------------------------------------===//

#include "dialect/AttnOps.h"
#include "dialect/Plan/Target.h"
#include "dialect/Shared/IndexBuilder.h"
#include "dialect/Shared/KnownSizes.h"
#include "dialect/Shared/Philox.h"
#include "lib/Online/CachedRows.h"
#include "lib/Online/KeptValues.h"
#include "lib/Online/OnlineQuery.h"
#include "lib/Online/Passes.h"
#include "lib/Online/SharedRanges.h"
#include "lib/Online/StoredElements.h"
#include "lib/Online/Sums.h"
#include "lib/Online/TilePrefetch.h"
#include "lib/Online/VisibleRange.h"
#include "lib/Plan/Plan.h"

#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace mlir::attn {
#define GEN_PASS_DEF_TILEKEYS
#include "lib/Online/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// First and number of the rows of keys that the mask may keep; see
/// `emitVisibleRange`.
std::pair<OpFoldResult, OpFoldResult>
emitRows(OpBuilder &builder, OnlineAttentionOp op, int64_t block) {
  IndexBuilder b(op.getLoc(), builder);
  auto [begin, end, hasGaps] = emitVisibleRange(b, op, block);
  // With rows of queries, tiles are those of a GPU, or chunks of the keys of a
  // few queries.
  if (auto tiles = dyn_cast<scf::ForallOp>(op->getParentOp());
      tiles && !op.hasRowPerQuery() && op.getNextTile() != 0)
    std::tie(begin, end) = shareAmongHeads(b, tiles, {begin, end});
  // At the beginning of a pack of values. A mask that repeats itself mostly
  // does so at multiples of a block, which can then be trimmed.
  int64_t unit = op.getLayout() == OnlineLayout::Pairs
                     ? OnlineAttentionOp::kKeysPerPack
                     : 1;
  // Four keys have the random words of one counter, which lanes compute once.
  if (op.getLayout() == OnlineLayout::Mma && op.hasDropout())
    unit = kWordsOfCounter;
  if (hasGaps && canTrimBlocks(op) && llvm::isPowerOf2_64(uint64_t(block)))
    unit = std::max(unit, block);
  if (unit > 1)
    begin = b.bitAnd(begin, b.index(-unit));
  return {getAsOpFoldResult(begin), getAsOpFoldResult(b.sub(end, begin))};
}

/// The initial state in the buffers of the current one.
SmallVector<Value> emitReset(IndexBuilder &b, ValueRange initial,
                             ValueRange current) {
  SmallVector<Value> reset;
  for (auto [from, to] : llvm::zip(initial, current)) {
    if (auto fill = from.getDefiningOp<linalg::FillOp>())
      reset.push_back(b.fill(to, fill.value()));
    else
      reset.push_back(linalg::CopyOp::create(b, from, to).getResult(0));
  }
  return reset;
}

/// Whether the sums of `op` begin in its first block, on tiles: nothing then
/// needs to write zeros before it, read them and rescale them.
/// Exact sums are added to what there is.
bool beginsAtZero(OnlineAttentionOp op) {
  auto zeros = op.getAccumulator().getDefiningOp<linalg::FillOp>();
  return op.getLayout() == OnlineLayout::Pairs &&
         getTarget(op).getBf16Tiles() && zeros &&
         matchPattern(zeros.value(), m_AnyZeroFloat()) &&
         matchPattern(op.getExact(), m_Zero());
}

/// The accumulator of such an op, which is 0 if there is no key.
Value emitZerosUnlessAny(OpBuilder &builder, OnlineAttentionOp op,
                         OpFoldResult count) {
  IndexBuilder b(op.getLoc(), builder);
  auto zeros = op.getAccumulator().getDefiningOp<linalg::FillOp>();
  Value any = zeros.getOutputs()[0];
  return emitZerosIf(b, b.isAtMost(count, 0), any, [&] { return any; });
}

/// Keys and values that are read where they lie in a cache.
struct CachedOperands {
  CachedRows key;
  std::optional<CachedRows> value; ///< Nothing if it is in packs.
  /// Rows of a block that lie in several places are copied into buffers for
  /// this many; 0: blocks are slices of the cache.
  int64_t copied = 0;
  bool inPages = false; ///< Blocks are computed page by page.
};

/// The largest block of at most `block` keys that is a slice of the cache
/// wherever it begins at a multiple of itself; 0 if none is worth it.
int64_t findBlockInPlace(OnlineAttentionOp op, CachedOperands &cached,
                         int64_t block) {
  std::optional<int64_t> keyUnit = cached.key.getUnit(), valueUnit = 0;
  if (cached.value)
    valueUnit = cached.value->getUnit();
  if (!keyUnit || !valueUnit)
    return 0;
  int64_t unit = std::gcd(*keyUnit, *valueUnit);
  if (unit == 0)
    return block;
  // Blocks of fewer keys would cost more than copying them. Packs are whole.
  int64_t least = op.getLayout() == OnlineLayout::Pairs
                      ? OnlineAttentionOp::kKeysPerPack
                      : 8;
  int64_t largest =
      std::min<int64_t>(llvm::bit_floor<uint64_t>(block), unit & -unit);
  return largest < least ? 0 : largest;
}

/// Whether keys and packs of a block in pairs lie in pages as products take
/// them.
bool lieInPages(OnlineAttentionOp op, CachedOperands &cached) {
  auto suits = [&](CachedRows &rows, Value operand) {
    return rows.getElementType() == getElementTypeOrSelf(operand) &&
           rows.getRowsOfPack(OnlineAttentionOp::kKeysPerPack) > 0;
  };
  return op.getLayout() == OnlineLayout::Pairs &&
         suits(cached.key, op.getKey()) &&
         (!cached.value || suits(*cached.value, op.getValue()));
}

void remarkIsCopied(OnlineAttentionOp op, CachedOperands &cached) {
  bool isKnown =
      cached.key.getUnit() && (!cached.value || cached.value->getUnit());
  op.emitRemark(
      "copies each block of keys and values out of its cache, because ")
      << (isKnown ? "a page, or a ring, has too few rows, or an odd number"
                  : "how many rows a page, or a ring, has is not known while "
                    "compiling");
}

/// The operands of `op` in a cache, with `block` made what suits them; nothing
/// if they are not in one.
std::optional<CachedOperands> findCached(OnlineAttentionOp op, int64_t &block) {
  auto key = CachedRows::match(op.getKey());
  auto value = CachedRows::match(op.getValue());
  bool hasPacks = op.getPackedValues() || op.getKeepsPacks();
  if (hasPacks)
    value = std::nullopt;
  if (!key || (!value && !hasPacks) || block <= 0)
    return std::nullopt;
  OpFoldResult first = getAsOpFoldResult(op.getFirstKey());
  if (!isEqualConstantIntOrValue(key->getFirst(), first) ||
      (value && !isEqualConstantIntOrValue(value->getFirst(), first)))
    return std::nullopt;
  CachedOperands cached{*key, value};
  int64_t inPlace = findBlockInPlace(op, cached, block);
  if (inPlace == 0 && lieInPages(op, cached))
    cached.inPages = true;
  else if (inPlace == 0)
    cached.copied = block;
  else
    block = inPlace;
  if (!isKnownMultiple(first, block))
    return std::nullopt;
  if (cached.copied != 0)
    remarkIsCopied(op, cached);
  return cached;
}

/// The rows of a range that are stored, from a position on that is a multiple
/// of `block`, as that of the first row is.
std::pair<OpFoldResult, OpFoldResult>
emitStoredRange(OpBuilder &builder, OnlineAttentionOp op,
                CachedOperands &cached, OpFoldResult low, OpFoldResult count,
                int64_t block) {
  IndexBuilder b(op.getLoc(), builder);
  Value begin = b.add(low, op.getFirstKey());
  Value end = b.add(begin, count);
  std::tie(begin, end) = cached.key.clampToStored(b, begin, end);
  if (cached.value)
    std::tie(begin, end) = cached.value->clampToStored(b, begin, end);
  begin = b.mul(b.div(begin, block), block);
  return {b.sub(begin, op.getFirstKey()), b.max(b.sub(end, begin), 0)};
}

/// Makes the keys and values of a block those in the cache.
void readFromCache(RewriterBase &rewriter, OnlineAttentionOp block,
                   CachedOperands &cached, int64_t blockSize) {
  rewriter.setInsertionPoint(block);
  IndexBuilder b(block.getLoc(), rewriter);
  OpFoldResult count = b.size(block.getKey(), 0);
  Value first = block.getFirstKey();
  if (cached.inPages) {
    rewriter.modifyOpInPlace(block, [&] {
      block.setInPages(true);
      block.getKeyMutable().assign(cached.key.view(b, first, count));
      if (cached.value)
        block.getValueMutable().assign(cached.value->view(b, first, count));
    });
    return;
  }
  auto read = [&](CachedRows &rows) {
    if (cached.copied == 0)
      return rows.extract(b, first, count);
    Value end = arith::AddIOp::create(b, first, b.index(count));
    CachedRows::Rows all =
        rows.gather(b, first, end, first, rows.allocate(b, cached.copied));
    return CachedRows::take(b, all, count);
  };
  // Narrower floats are converted where they are multiplied, if that is not in
  // pairs, and so are integers in rows, and in the tiles of a GPU.
  bool takesIntegers = block.getLayout() == OnlineLayout::Rows ||
                       block.getLayout() == OnlineLayout::Mma;
  auto convert = [&](CachedRows::Rows rows, Value operand,
                     MutableOperandRange scales) {
    auto type = cast<RankedTensorType>(operand.getType());
    if (rows.scales && takesIntegers)
      scales.assign(rows.scales);
    bool hasType = getElementTypeOrSelf(rows.elements) == type.getElementType();
    if (rows.scales ? takesIntegers
                    : hasType || block.getLayout() != OnlineLayout::Pairs)
      return rows.elements;
    Value to = b.empty({blockSize, type.getDimSize(1)}, type.getElementType());
    to = CachedRows::take(b, {to, {}}, count).elements;
    return emitElements(b, rows.elements, rows.scales, to);
  };
  if (!takesIntegers && getTarget(block).getQuantizeQueries() &&
      cached.key.getElementType().isInteger(8))
    block.emitRemark("multiplies keys of i8 as numbers of f32: there are more "
                     "queries than a vector has lanes");
  rewriter.startOpModification(block);
  Value key =
      convert(read(cached.key), block.getKey(), block.getKeyScalesMutable());
  Value value = block.getValue();
  if (cached.value)
    value = convert(read(*cached.value), value, block.getValueScalesMutable());
  block.getKeyMutable().assign(key);
  block.getValueMutable().assign(value);
  rewriter.finalizeOpModification(block);
}

/// One round over the keys.
struct Round {
  SmallVector<Value> state; ///< After it.
  scf::ForOp keys;
};

/// Replaces an op by rounds over the blocks of the keys that the mask may keep.
class RoundsEmitter {
public:
  RoundsEmitter(RewriterBase &rewriter, OnlineAttentionOp op, int64_t block)
      : rewriter(rewriter), loc(op.getLoc()), op(op), block(block) {
    rewriter.setInsertionPoint(op);
    cached = findCached(op, this->block);
    std::tie(low, count) = emitRows(rewriter, op, this->block);
    if (cached)
      std::tie(low, count) =
          emitStoredRange(rewriter, op, *cached, low, count, this->block);
    if (op.getKeepsPacks()) {
      kept = KeptValues::emit(rewriter, op, low, count, this->block);
      if (!kept)
        op.emitRemark("values are packed in each block, because it is not "
                      "known of which head they are");
      rewriter.modifyOpInPlace(op, [&] { op.setKeepsPacks(false); });
    }
    emitLaterKeys(rewriter, op, low, count);
  }

  LogicalResult emit() {
    bool isWrittenOut = op.getLayout() == OnlineLayout::Mma &&
                        matchPattern(op.getExact(), m_Zero());
    return isWrittenOut ? emitBranch() : emitLoop();
  }

private:
  /// The second round in a branch behind the first.
  LogicalResult emitBranch() {
    SmallVector<Value> initial(op.getOuts());
    bool isBounded = findFusedScale(op).has_value();
    FailureOr<Round> first = emitRound(initial, op.getExact(), isBounded);
    if (failed(first))
      return failure();
    IndexBuilder b(loc, rewriter);
    Value isRight = AllFiniteOp::create(b, first->state[0]);
    if (isBounded)
      isRight = b.bitAnd(isRight, AllBoundedOp::create(b, first->state[1]));
    auto branch = scf::IfOp::create(b, op.getResultTypes(), isRight,
                                    /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, first->state);
    b.setInsertionPointToStart(branch.elseBlock());
    Value exact = b.boolean(true);
    rewriter.setInsertionPointAfterValue(exact);
    FailureOr<Round> second = emitRound(initial, exact);
    if (failed(second))
      return failure();
    scf::YieldOp::create(rewriter, loc, second->state);
    rewriter.replaceOp(op, branch);
    return success();
  }

  /// Both rounds as one, in a loop.
  LogicalResult emitLoop() {
    Value yes = IndexBuilder(loc, rewriter).boolean(true);
    SmallVector<Value> initial(op.getOuts());
    SmallVector<Value> carried(initial);
    hasFirst = beginsAtZero(op);
    if (hasFirst)
      carried[0] = emitZerosUnlessAny(rewriter, op, count);
    carried.push_back(op.getExact());
    SmallVector<Type> types = llvm::to_vector(ValueRange(carried).getTypes());
    auto loop = scf::WhileOp::create(rewriter, loc, types, carried);
    SmallVector<Location> locations(types.size(), loc);

    Block *before =
        rewriter.createBlock(&loop.getBefore(), {}, types, locations);
    Value exact = before->getArgument(3);
    FailureOr<Round> round =
        emitRound(before->getArguments().take_front(3), exact);
    if (failed(round)) {
      rewriter.eraseOp(loop);
      return failure();
    }
    spreadPrefetches(rewriter, loop, round->keys, count, block);
    IndexBuilder b(loc, rewriter);
    b.setInsertionPointToEnd(before);
    Value isFinite = AllFiniteOp::create(b, round->state[0]);
    Value done = b.bitOr(exact, isFinite);
    Value redo = arith::XOrIOp::create(b, done, yes);
    SmallVector<Value> forwarded(round->state);
    forwarded.push_back(exact);
    scf::ConditionOp::create(b, redo, forwarded);

    Block *after = b.createBlock(&loop.getAfter(), {}, types, locations);
    SmallVector<Value> reset =
        emitReset(b, initial, after->getArguments().take_front(3));
    reset.push_back(yes);
    scf::YieldOp::create(b, reset);
    rewriter.replaceOp(op, loop.getResults().take_front(3));
    return success();
  }

  /// Emits one round from a state on, and continues behind it.
  FailureOr<Round> emitRound(ValueRange state, Value exact,
                             bool isBounded = false) {
    auto round = cast<OnlineAttentionOp>(rewriter.clone(*op));
    round.getOutsMutable().assign(state);
    round.getExactMutable().assign(exact);
    round.setBounded(isBounded);
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(round);
    // The visible keys as an op of their own, then that in blocks.
    FailureOr<TilingResult> visible =
        round.getTiledImplementation(rewriter, {low}, {count});
    if (failed(visible))
      return failure();
    auto tile = cast<TilingInterface>(visible->tiledOps.front());
    scf::SCFTilingOptions options;
    options.setTileSizes({rewriter.getIndexAttr(block)});
    rewriter.setInsertionPoint(tile);
    FailureOr<scf::SCFTilingResult> tiled =
        scf::tileUsingSCF(rewriter, tile, options);
    if (failed(tiled))
      return failure();
    rewriter.eraseOp(tile);
    rewriter.eraseOp(round);
    Round result = {tiled->replacements,
                    cast<scf::ForOp>(tiled->loops.front().getOperation())};
    result.keys.walk([&](OnlineAttentionOp one) { finish(one, result.keys); });
    return result;
  }

  /// Gives the op of one block what is its own.
  void finish(OnlineAttentionOp tile, scf::ForOp keys) {
    rewriter.modifyOpInPlace(tile, [&] { tile.setNextTile(0); });
    if (cached)
      readFromCache(rewriter, tile, *cached, block);
    if (kept)
      kept->assignTo(rewriter, tile);
    if (!hasFirst)
      return;
    rewriter.setInsertionPoint(tile);
    Value isFirst =
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                              keys.getInductionVar(), keys.getLowerBound());
    rewriter.modifyOpInPlace(tile,
                             [&] { tile.getFirstMutable().assign(isFirst); });
  }

  RewriterBase &rewriter;
  Location loc;
  OnlineAttentionOp op;
  int64_t block;
  std::optional<CachedOperands> cached;
  OpFoldResult low, count; ///< Of the keys.
  std::optional<KeptValues> kept;
  bool hasFirst = false; ///< Blocks tell whether they are the `first`.
};

} // namespace

/// Tiles the keys that the mask may keep into blocks.
static LogicalResult tileKeys(RewriterBase &rewriter, OnlineAttentionOp op,
                              int64_t block) {
  if (op.getFirst() || op.isDelayed())
    return rewriter.notifyMatchFailure(op, "a block already");
  return RoundsEmitter(rewriter, op, block).emit();
}

namespace {
struct TileKeys : attn::impl::TileKeysBase<TileKeys> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<OnlineAttentionOp> ops;
    getOperation()->walk([&](OnlineAttentionOp op) { ops.push_back(op); });
    for (OnlineAttentionOp op : ops) {
      PlanAttr plan = getPlan(op);
      if (!plan || plan.getKeys() == 0) {
        op.emitError(
            "expected an attn.plan with 'keys', as attn-plan attaches");
        return signalPassFailure();
      }
      if (op.getLayout() == OnlineLayout::Pairs &&
          plan.getKeys() % OnlineAttentionOp::kKeysPerPack != 0) {
        op.emitError("expected an attn.plan with a multiple of ")
            << OnlineAttentionOp::kKeysPerPack << " 'keys', got "
            << plan.getKeys();
        return signalPassFailure();
      }
      if (failed(tileKeys(rewriter, op, plan.getKeys()))) {
        op.emitError("could not be tiled");
        return signalPassFailure();
      }
    }
    if (failed(eraseUnreadCaches(getOperation())))
      return signalPassFailure();
    llvm::SmallPtrSet<Operation *, 4> inPages;
    getOperation()->walk([&](OnlineAttentionOp op) {
      for (Value rows : {op.getKey(), op.getValue()})
        if (auto cached = CachedRows::match(rows); cached && op.getInPages())
          inPages.insert(cached->getRead());
    });
    getOperation()->walk([&](CacheReadOp read) {
      if (!inPages.contains(read))
        remarkIfGathered(read);
    });
  }

private:
  static void remarkIfGathered(CacheReadOp read) {
    if (llvm::any_of(read->getUsers(), [](Operation *user) {
          return isa<tensor::ExtractSliceOp>(user) &&
                 user->getParentOfType<scf::ForallOp>();
        }))
      read.emitRemark(
          "is written out as a whole in every call: attention reads keys "
          "and values where they lie if both are in caches");
  }
};
} // namespace
