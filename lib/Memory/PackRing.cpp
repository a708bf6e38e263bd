//===- PackRing.cpp - Packs that a thread keeps
//-----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Memory/PackRing.h"
#include "lib/Kernel/KeptBuffers.h"
#include "lib/Plan/CacheLine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace mlir::attn;

/// Packs that a ring has room for at least, so that a range that grows seldom
/// outgrows it. A fraction of the second-level cache.
static constexpr int64_t kMinimumCapacity = 32;

static Value index(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

static Value isAtMost(ImplicitLocOpBuilder &b, Value lhs, Value rhs) {
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sle, lhs, rhs);
}

static Value select(ImplicitLocOpBuilder &b, Value condition, Value lhs,
                    Value rhs) {
  return b.createOrFold<arith::SelectOp>(condition, lhs, rhs);
}

/// Packs of a head, and at least `kMinimumCapacity`: in front of the tiles.
static Value emitMost(ImplicitLocOpBuilder &b, SharedPacks &packs) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(packs.tiles);
  MemRefType type = packs.buffer.getType();
  unsigned dim = packs.numLeading();
  if (!type.isDynamicDim(dim))
    return index(b, std::max(type.getDimSize(dim), kMinimumCapacity));
  return b.createOrFold<arith::MaxSIOp>(
      packs.buffer.getDynamicSizes()[type.getDynamicDimIndex(dim)],
      index(b, kMinimumCapacity));
}

PackRing PackRing::emit(ImplicitLocOpBuilder &b, SharedPacks &packs,
                        Value first, Value count) {
  Value most = emitMost(b, packs);
  // A block that goes past the end of the ring finds the first packs there.
  std::optional<int64_t> constant = getConstantIntValue(most);
  int64_t rest = packs.packsPerBlock - 1;
  SmallVector<int64_t> shape = {constant ? *constant + rest
                                         : ShapedType::kDynamic};
  MemRefType type = packs.buffer.getType();
  llvm::append_range(shape, packs.head.getType().getShape().drop_front());
  SmallVector<Value> sizes;
  if (!constant) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(packs.tiles);
    sizes.push_back(b.createOrFold<arith::AddIOp>(most, index(b, rest)));
  }
  PackRing ring;
  ring.buffer =
      memref::AllocOp::create(b, MemRefType::get(shape, type.getElementType()),
                              sizes, b.getI64IntegerAttr(kCacheLineBytes));
  keepBuffer(ring.buffer);

  unsigned numLeading = packs.numLeading();
  SmallVector<OpFoldResult> leading = packs.head.getMixedOffsets();
  Value state = memref::AllocOp::create(
      b, MemRefType::get({numLeading + 3}, b.getIndexType()));
  keepBuffer(state);
  Value lowAt = index(b, numLeading), highAt = index(b, numLeading + 1),
        capacityAt = index(b, numLeading + 2);
  memref::StoreOp::create(b, index(b, -1), state, capacityAt);
  auto load = [&](Value at) -> Value {
    return memref::LoadOp::create(b, state, at);
  };
  Value end = b.createOrFold<arith::AddIOp>(first, count);
  Value capacity = load(capacityAt), low = load(lowAt), high = load(highAt);
  Value isValid = isAtMost(b, count, capacity);
  auto require = [&](Value condition) {
    isValid = b.createOrFold<arith::AndIOp>(isValid, condition);
  };
  for (unsigned dim = 0; dim < numLeading; ++dim)
    if (auto offset = dyn_cast<Value>(leading[dim])) {
      Value at = index(b, dim);
      require(b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, load(at),
                                            offset));
      memref::StoreOp::create(b, offset, state, at);
    }
  require(isAtMost(b, first, high));
  require(isAtMost(b, low, end));
  // New ones at one end only.
  require(b.createOrFold<arith::OrIOp>(isAtMost(b, low, first),
                                       isAtMost(b, end, high)));
  Value room = b.createOrFold<arith::MaxSIOp>(
      b.createOrFold<arith::AddIOp>(count, count), index(b, kMinimumCapacity));
  ring.capacity =
      select(b, isValid, capacity, b.createOrFold<arith::MinSIOp>(room, most));
  low = select(b, isValid, low, first);
  high = select(b, isValid, high, first);
  Value isAbove = isAtMost(b, low, first);
  ring.low = select(b, isAbove, high, first);
  ring.high = select(b, isAbove, end, low);
  // New ones take the place of those that are `capacity` away.
  Value newLow = b.createOrFold<arith::MinSIOp>(low, first),
        newHigh = b.createOrFold<arith::MaxSIOp>(high, end);
  Value lastLow = b.createOrFold<arith::SubIOp>(newHigh, ring.capacity),
        lastHigh = b.createOrFold<arith::AddIOp>(newLow, ring.capacity);
  memref::StoreOp::create(
      b,
      select(b, isAbove, b.createOrFold<arith::MaxSIOp>(newLow, lastLow),
             newLow),
      state, lowAt);
  memref::StoreOp::create(
      b,
      select(b, isAbove, newHigh,
             b.createOrFold<arith::MinSIOp>(newHigh, lastHigh)),
      state, highAt);
  memref::StoreOp::create(b, ring.capacity, state, capacityAt);
  ring.start = b.createOrFold<arith::RemUIOp>(first, ring.capacity);
  return ring;
}

Value PackRing::emitSlot(ImplicitLocOpBuilder &b, Value offset) const {
  Value slot = b.createOrFold<arith::AddIOp>(start, offset);
  Value wrapped = b.createOrFold<arith::SubIOp>(slot, capacity);
  return select(b, isAtMost(b, capacity, slot), wrapped, slot);
}
