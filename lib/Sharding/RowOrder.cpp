//===- RowOrder.cpp - In which order rows are split -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Each piece of zig-zag order is cut into a few tiles of rows, and the mask is
// asked for the keys of each, from the first to the last one that it may keep:
//
//   work of a rank      sum of the keys of its tiles
//   what it receives    for each piece of another rank, from the first to the
//                       last key that any of its tiles has
//
// Orders are compared by the most work and the most received rows of any rank.
// Others may receive more in zig-zag order than in that of the rows.
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/RowOrder.h"
#include "lib/Regions/MaskAnalysis.h"
#include "lib/Regions/SymbolicNumber.h"
#include "lib/Sharding/Annotations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

namespace {

/// What prompts have whose length is not known: those that several ranks share
/// are long.
constexpr int64_t kUnknownRows = 1 << 15;
constexpr int64_t kTilesOfPiece = 4;
/// Of many ranks, a few say which order is better.
constexpr int64_t kMostRanks = 8;
/// By how much the most work of a rank has to be less.
constexpr double kLeastGain = 1.1;

struct KeySpan {
  int64_t begin = std::numeric_limits<int64_t>::max(), end = 0;
  void add(KeySpan other) {
    if (other.begin >= other.end)
      return;
    begin = std::min(begin, other.begin);
    end = std::max(end, other.end);
  }
  int64_t size() const { return std::max<int64_t>(end - begin, 0); }
};

/// Of one order of rows, the most that any rank has of it.
struct Load {
  int64_t work = 0, received = 0;
};

/// What the tiles of all pieces see of one attention.
template <typename Op> class Sight {
public:
  Sight(Op op, int64_t numPieces) : op(op), numPieces(numPieces) {
    auto rowsOf = [](ShapedType type) {
      int64_t rows = type.getDimSize(kRows);
      return ShapedType::isDynamic(rows) ? kUnknownRows : rows;
    };
    numQueries = rowsOf(op.getQueryType());
    numKeys = rowsOf(op.getKeyType());
    int64_t tiles = numPieces * kTilesOfPiece;
    for (int64_t tile = 0; tile < tiles; ++tile)
      keysOf.push_back(
          ask(numQueries * tile / tiles, numQueries * (tile + 1) / tiles));
  }

  void addTo(SmallVectorImpl<Load> &loads, bool isZigzag) const {
    auto numRanks = int64_t(loads.size());
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      for (int64_t piece = 0; piece < numPieces; ++piece)
        if (getOwner(piece, numRanks, isZigzag) == rank)
          for (int64_t tile = 0; tile < kTilesOfPiece; ++tile)
            loads[size_t(rank)].work += getKeys(piece, tile).size();
      loads[size_t(rank)].received += countReceived(rank, numRanks, isZigzag);
    }
  }

private:
  static int64_t getOwner(int64_t piece, int64_t numRanks, bool isZigzag) {
    if (!isZigzag)
      return piece / 2;
    return std::min(piece, 2 * numRanks - 1 - piece);
  }
  KeySpan getKeys(int64_t piece, int64_t tile) const {
    return keysOf[size_t(piece * kTilesOfPiece + tile)];
  }

  /// Rows of keys that come to a rank.
  int64_t countReceived(int64_t rank, int64_t numRanks, bool isZigzag) const {
    int64_t received = 0;
    for (int64_t ofKeys = 0; ofKeys < numPieces; ++ofKeys) {
      if (getOwner(ofKeys, numRanks, isZigzag) == rank)
        continue;
      KeySpan seen,
          own{numKeys * ofKeys / numPieces, numKeys * (ofKeys + 1) / numPieces};
      for (int64_t piece = 0; piece < numPieces; ++piece)
        if (getOwner(piece, numRanks, isZigzag) == rank)
          for (int64_t tile = 0; tile < kTilesOfPiece; ++tile) {
            KeySpan keys = getKeys(piece, tile);
            seen.add(
                {std::max(keys.begin, own.begin), std::min(keys.end, own.end)});
          }
      received += seen.size();
    }
    return received;
  }

  /// The keys that some rows see.
  KeySpan ask(int64_t begin, int64_t end) {
    if (!op.hasMask() || op.isPacked() || begin >= end)
      return {0, begin < end ? numKeys : 0};
    int64_t offset = op.getBottomRight() ? numKeys - numQueries : 0;
    APInt known;
    if (op.getOffset() && matchPattern(op.getOffset(), m_ConstantInt(&known)))
      offset = known.getSExtValue();
    OpBuilder b(op);
    EmittedCode code(b);
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(b, op.getLoc(), value);
    };
    Value zero = constant(0);
    VisibleKeys keys =
        emitVisibleKeys(b, op.getLoc(), op.getMask(), zero, zero,
                        {constant(offset + begin), constant(offset + end - 1)},
                        constant(numKeys), op.getMaskCaptures());
    auto read = [](Value bound, int64_t otherwise) {
      APInt value;
      return matchPattern(bound, m_ConstantInt(&value)) ? value.getSExtValue()
                                                        : otherwise;
    };
    KeySpan result{read(keys.begin, 0), read(keys.end, numKeys)};
    code.eraseAllBut({});
    return result;
  }

  Op op;
  int64_t numPieces, numQueries, numKeys;
  /// Of each tile.
  SmallVector<KeySpan> keysOf;
};

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
  Sight<Op> sight(op, 2 * int64_t(inOrder.size()));
  sight.addTo(inOrder, /*isZigzag=*/false);
  sight.addTo(zigzag, /*isZigzag=*/true);
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
