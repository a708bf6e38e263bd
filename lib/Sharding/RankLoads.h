//===- RankLoads.h - What ranks compute and receive -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SHARDING_RANKLOADS_H
#define ATTN_SHARDING_RANKLOADS_H

#include "dialect/AttnOps.h"

namespace mlir::attn {

/// What prompts have whose length is not known: those that several ranks share
/// are long.
constexpr int64_t kUnknownRows = 1 << 15;

/// The rows of query or key, or `kUnknownRows`.
int64_t getKnownRows(ShapedType type);

/// Of an attention whose rows are split, what each rank has to do with each.
struct RankLoads {
  struct Load {
    /// Pairs of a query of the one rank and a key of the other one that it may
    /// see.
    int64_t pairs = 0;
    /// Rows of keys that go from this to that.
    int64_t rows = 0;
    /// Pairs of a piece of the queries and one of the keys that see each other,
    /// and how many queries these have.
    int64_t pieces = 0, queries = 0;
  };
  int64_t numRanks;
  bool isZigzag;
  SmallVector<Load> loads;

  RankLoads(int64_t numRanks, bool isZigzag)
      : numRanks(numRanks), isZigzag(isZigzag),
        loads(size_t(numRanks * numRanks)) {}
  Load &get(int64_t querier, int64_t keeper) {
    return loads[size_t(querier * numRanks + keeper)];
  }
  const Load &get(int64_t querier, int64_t keeper) const {
    return loads[size_t(querier * numRanks + keeper)];
  }
};

/// What tiles of the rows see of an attention, or its gradients, by its mask.
/// Each piece of zig-zag order is cut into a few tiles, and the mask is asked
/// for the keys of each, from the first to the last one that it may keep. As
/// many pairs are counted as the row in the middle of a tile has, times rows.
template <typename Op> class TileSight {
public:
  TileSight(Op op, int64_t numRanks);

  RankLoads getLoads(bool isZigzag) const;

private:
  struct KeySpan {
    int64_t begin, end;
    int64_t size() const { return std::max<int64_t>(end - begin, 0); }
    KeySpan cut(KeySpan to) const {
      return {std::max(begin, to.begin), std::min(end, to.end)};
    }
  };
  struct Tile {
    int64_t rows;
    KeySpan ofMiddle, ofAll;
  };

  void countPieces(bool isZigzag, RankLoads &loads) const;
  int64_t getOwner(int64_t piece, bool isZigzag) const;
  KeySpan ask(int64_t begin, int64_t end);

  Op op;
  int64_t numRanks, numPieces, numQueries, numKeys;
  SmallVector<Tile> tiles;
};

} // namespace mlir::attn

#endif // ATTN_SHARDING_RANKLOADS_H
