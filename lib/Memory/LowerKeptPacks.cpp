//===- LowerKeptPacks.cpp - Room for packs that a thread keeps ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   packs, from, to, capacity = attn.kept_packs [first, count] of(head)
//
// becomes
//
//   packs = room, and state = {head, low, high, capacity}, both kept from the
//     iteration before
//   if packs [low, high) are of another head, or not next to those of the tile
//     packs = none, with room for twice as many
//   from, to = those of [first, first + count) that are not in [low, high)
//   state = {head, [low, high) and what is new, less what gives way to it}
//
// For tiles that find all of their packs or none, the state is {head, first}.
//

#include "lib/Kernel/KeptBuffers.h"
#include "lib/Memory/Passes.h"
#include "lib/Plan/CacheModel.h"

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_LOWERKEPTPACKS
#include "lib/Memory/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits the room for some packs, and which of them it lacks.
class KeptPacks {
public:
  KeptPacks(KeptPacksOp op, RewriterBase &rewriter)
      : op(op), b(op.getLoc(), rewriter), first(op.getFirst()),
        count(op.getCount()), end(b.add(first, count)) {}

  /// What the results of the op are.
  SmallVector<Value> emitResults() { return op.getMost() ? ring() : tile(); }

private:
  SmallVector<Value> tile();
  SmallVector<Value> ring();

  Value allocate() {
    SmallVector<Value> sizes;
    if (op.getMost()) {
      // A thread allocates it once where its size is that of all iterations.
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfterValue(op.getMost());
      // Places are divided by the capacity.
      most = b.max(op.getMost(), 1);
      sizes = {b.add(most, int64_t(op.getOverlap()))};
    }
    Value room = memref::AllocOp::create(
        b, cast<MemRefType>(op.getPacks().getType()), sizes,
        b.getI64IntegerAttr(getTarget(op).getLineBytes()));
    keepBuffer(room);
    return room;
  }
  /// Numbers that are kept: some, of which number `unset` is -1 before a
  /// thread's first iteration, and then what packs are of.
  void allocateState(int64_t size, int64_t unset) {
    numOwn = size;
    auto type =
        MemRefType::get({size + int64_t(op.getOf().size())}, b.getIndexType());
    state = memref::AllocOp::create(b, type);
    keepBuffer(state);
    Value at = b.index(unset);
    memref::StoreOp::create(b, b.index(-1), state, at);
  }
  Value load(int64_t number) {
    return memref::LoadOp::create(b, state, b.index(number));
  }
  void store(Value value, int64_t number) {
    memref::StoreOp::create(b, value, state, b.index(number));
  }
  /// Whether what is kept is of the same, if `isValid`.
  Value emitIsOfSame(Value isValid) {
    for (auto [i, of] : llvm::enumerate(op.getOf())) {
      auto number = numOwn + int64_t(i);
      isValid = b.bitAnd(isValid, b.isEqual(load(number), of));
      store(of, number);
    }
    return isValid;
  }

  KeptPacksOp op;
  IndexBuilder b;
  Value first, count, end;
  Value most; ///< At least 1; null for tiles.
  Value state;
  int64_t numOwn = 0;
};

} // namespace

SmallVector<Value> KeptPacks::tile() {
  Value room = allocate();
  allocateState(/*size=*/1, /*unset=*/0);
  Value isSame = emitIsOfSame(b.isEqual(load(0), first));
  store(first, 0);
  int64_t capacity = cast<MemRefType>(room.getType()).getDimSize(0);
  return {room, b.select(isSame, end, first), end, b.index(capacity)};
}

SmallVector<Value> KeptPacks::ring() {
  enum : int64_t { kLow, kHigh, kCapacity, kSize };
  Value room = allocate();
  allocateState(kSize, /*unset=*/kCapacity);
  Value capacity = load(kCapacity), low = load(kLow), high = load(kHigh);
  Value isValid = emitIsOfSame(b.isAtMost(count, capacity));
  // New ones at one end only.
  for (Value condition :
       {b.isAtMost(first, high), b.isAtMost(low, end),
        b.bitOr(b.isAtMost(low, first), b.isAtMost(end, high))})
    isValid = b.bitAnd(isValid, condition);
  Value wanted =
      b.max(b.add(count, count), CacheModel(getTarget(op)).getLeastPacks());
  capacity = b.select(isValid, capacity, b.min(wanted, most));
  low = b.select(isValid, low, first);
  high = b.select(isValid, high, first);
  Value isAbove = b.isAtMost(low, first);
  Value from = b.select(isAbove, high, first), to = b.select(isAbove, end, low);
  // New ones take the place of those that are `capacity` away.
  Value newLow = b.min(low, first), newHigh = b.max(high, end);
  Value lastLow = b.sub(newHigh, capacity), lastHigh = b.add(newLow, capacity);
  store(b.select(isAbove, b.max(newLow, lastLow), newLow), kLow);
  store(b.select(isAbove, newHigh, b.min(newHigh, lastHigh)), kHigh);
  store(capacity, kCapacity);
  return {room, from, to, capacity};
}

/// Whether the room can be allocated once for a thread.
static bool isSizeKnownToThread(KeptPacksOp op) {
  for (auto loop = op->getParentOfType<scf::ForallOp>(); loop && op.getMost();
       loop = loop->getParentOfType<scf::ForallOp>())
    if (!loop.isDefinedOutsideOfLoop(op.getMost()))
      return false;
  return true;
}

namespace {
struct LowerKeptPacks : attn::impl::LowerKeptPacksBase<LowerKeptPacks> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<KeptPacksOp> ops;
    getOperation()->walk([&](KeptPacksOp op) { ops.push_back(op); });
    for (KeptPacksOp op : ops) {
      if (!isa<MemRefType>(op.getPacks().getType()))
        op.emitOpError("expected a memref of packs; it must be bufferized "
                       "first");
      else if (!isSizeKnownToThread(op))
        op.emitOpError("operand 'most': expected a number that is computed "
                       "before the parallel loops around it");
      else {
        rewriter.setInsertionPoint(op);
        rewriter.replaceOp(op, KeptPacks(op, rewriter).emitResults());
        continue;
      }
      return signalPassFailure();
    }
  }
};
} // namespace
