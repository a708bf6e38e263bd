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
#include "lib/Plan/CacheLine.h"
#include "lib/Plan/CacheModel.h"

#include "dialect/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
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
        count(op.getCount()), end(emit<arith::AddIOp>(first, count)) {}

  /// What the results of the op are.
  SmallVector<Value> emitResults() { return op.getMost() ? ring() : tile(); }

private:
  SmallVector<Value> tile();
  SmallVector<Value> ring();

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(b, value);
  }
  template <typename Op> Value emit(Value lhs, Value rhs) {
    return b.createOrFold<Op>(lhs, rhs);
  }
  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return b.createOrFold<arith::CmpIOp>(predicate, lhs, rhs);
  }
  Value isAtMost(Value lhs, Value rhs) {
    return compare(arith::CmpIPredicate::sle, lhs, rhs);
  }
  Value select(Value condition, Value lhs, Value rhs) {
    return b.createOrFold<arith::SelectOp>(condition, lhs, rhs);
  }

  Value allocate() {
    SmallVector<Value> sizes;
    if (op.getMost()) {
      // A thread allocates it once where its size is that of all iterations.
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointAfterValue(op.getMost());
      // Places are divided by the capacity.
      most = emit<arith::MaxSIOp>(op.getMost(), index(1));
      sizes = {emit<arith::AddIOp>(most, index(int64_t(op.getOverlap())))};
    }
    Value room =
        memref::AllocOp::create(b, cast<MemRefType>(op.getPacks().getType()),
                                sizes, b.getI64IntegerAttr(kCacheLineBytes));
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
    Value at = index(unset);
    memref::StoreOp::create(b, index(-1), state, at);
  }
  Value load(int64_t number) {
    return memref::LoadOp::create(b, state, index(number));
  }
  void store(Value value, int64_t number) {
    memref::StoreOp::create(b, value, state, index(number));
  }
  /// Whether what is kept is of the same, if `isValid`.
  Value emitIsOfSame(Value isValid) {
    for (auto [i, of] : llvm::enumerate(op.getOf())) {
      auto number = numOwn + int64_t(i);
      Value isSame = compare(arith::CmpIPredicate::eq, load(number), of);
      isValid = emit<arith::AndIOp>(isValid, isSame);
      store(of, number);
    }
    return isValid;
  }

  KeptPacksOp op;
  ImplicitLocOpBuilder b;
  Value first, count, end;
  Value most; ///< At least 1; null for tiles.
  Value state;
  int64_t numOwn = 0;
};

} // namespace

SmallVector<Value> KeptPacks::tile() {
  Value room = allocate();
  allocateState(/*size=*/1, /*unset=*/0);
  Value isSame =
      emitIsOfSame(compare(arith::CmpIPredicate::eq, load(0), first));
  store(first, 0);
  int64_t capacity = cast<MemRefType>(room.getType()).getDimSize(0);
  return {room, select(isSame, end, first), end, index(capacity)};
}

SmallVector<Value> KeptPacks::ring() {
  enum : int64_t { kLow, kHigh, kCapacity, kSize };
  Value room = allocate();
  allocateState(kSize, /*unset=*/kCapacity);
  Value capacity = load(kCapacity), low = load(kLow), high = load(kHigh);
  Value isValid = emitIsOfSame(isAtMost(count, capacity));
  auto require = [&](Value condition) {
    isValid = emit<arith::AndIOp>(isValid, condition);
  };
  require(isAtMost(first, high));
  require(isAtMost(low, end));
  // New ones at one end only.
  require(emit<arith::OrIOp>(isAtMost(low, first), isAtMost(end, high)));
  Value wanted =
      emit<arith::MaxSIOp>(emit<arith::AddIOp>(count, count),
                           index(CacheModel(getTarget(op)).getLeastPacks()));
  capacity = select(isValid, capacity, emit<arith::MinSIOp>(wanted, most));
  low = select(isValid, low, first);
  high = select(isValid, high, first);
  Value isAbove = isAtMost(low, first);
  Value from = select(isAbove, high, first), to = select(isAbove, end, low);
  // New ones take the place of those that are `capacity` away.
  Value newLow = emit<arith::MinSIOp>(low, first),
        newHigh = emit<arith::MaxSIOp>(high, end);
  Value lastLow = emit<arith::SubIOp>(newHigh, capacity),
        lastHigh = emit<arith::AddIOp>(newLow, capacity);
  store(select(isAbove, emit<arith::MaxSIOp>(newLow, lastLow), newLow), kLow);
  store(select(isAbove, newHigh, emit<arith::MinSIOp>(newHigh, lastHigh)),
        kHigh);
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
