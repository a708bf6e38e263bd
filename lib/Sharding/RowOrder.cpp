//===- RowOrder.cpp - In which order rows are split -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Orders are compared by the most work and the most received rows of any rank.
// Others may receive more in zig-zag order than in that of the rows.
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/RowOrder.h"
#include "lib/Sharding/Annotations.h"
#include "lib/Sharding/RankLoads.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Of many ranks, a few say which order is better.
constexpr int64_t kMostRanks = 8;
/// By how much the most work of a rank has to be less.
constexpr double kLeastGain = 1.1;

/// Of one order of rows, the most that any rank has of it.
struct Load {
  int64_t work = 0, received = 0;
};

void addLoads(const RankLoads &ofOp, SmallVectorImpl<Load> &loads) {
  for (int64_t rank = 0; rank < ofOp.numRanks; ++rank)
    for (int64_t keeper = 0; keeper < ofOp.numRanks; ++keeper) {
      RankLoads::Load load = ofOp.get(rank, keeper);
      loads[size_t(rank)].work += load.pairs;
      if (keeper != rank)
        loads[size_t(rank)].received += load.rows;
    }
}

} // namespace

/// Adds what ranks have of an op in both orders; fails where it may not be
/// split in zig-zag order, or should not be.
template <typename Op>
static LogicalResult addLoads(Op op, int64_t ranks,
                              SmallVectorImpl<Load> &inOrder,
                              SmallVectorImpl<Load> &zigzag) {
  auto divides = [&](ShapedType type) {
    int64_t rows = type.getDimSize(kRows);
    return ShapedType::isDynamic(rows) || rows % (2 * ranks) == 0;
  };
  // Tables may say that rows see few keys before them, as documents do.
  bool hasTables = llvm::any_of(op.getMaskCaptures().getTypes(), [](Type type) {
    return isa<ShapedType>(type);
  });
  if (hasTables || !divides(op.getQueryType()) || !divides(op.getKeyType()))
    return failure();
  TileSight<Op> sight(op, int64_t(inOrder.size()));
  addLoads(sight.getLoads(/*isZigzag=*/false), inOrder);
  addLoads(sight.getLoads(/*isZigzag=*/true), zigzag);
  return success();
}

bool attn::isBalancedByZigzag(ArrayRef<Operation *> ops, int64_t ranks) {
  if (ranks < 2)
    return false;
  int64_t asked = std::min(ranks, kMostRanks);
  SmallVector<Load> inOrder(size_t(asked), Load{}), zigzag(inOrder);
  for (Operation *op : ops)
    if (failed(TypeSwitch<Operation *, LogicalResult>(op)
                   .Case<AttentionOp, AttentionBackwardOp>([&](auto op) {
                     return addLoads(op, ranks, inOrder, zigzag);
                   })))
      return false;
  auto findMost = [](ArrayRef<Load> loads) {
    Load most;
    for (Load load : loads) {
      most.work = std::max(most.work, load.work);
      most.received = std::max(most.received, load.received);
    }
    return most;
  };
  Load first = findMost(inOrder), second = findMost(zigzag);
  return double(first.work) > kLeastGain * double(second.work) &&
         second.received <= first.received;
}
