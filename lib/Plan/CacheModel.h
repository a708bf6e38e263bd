//===- CacheModel.h - What has to fit where ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Holds the model that the numbers of a plan come from: how much of what a
// kernel works on at a time has to fit into which level of the caches, and how
// much of what it reads has to be under way.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_PLAN_CACHEMODEL_H
#define ATTN_PLAN_CACHEMODEL_H

#include "dialect/Plan/Target.h"

#include <algorithm>

namespace mlir::attn {

/// Bytes of a multiprocessor's workgroup memory that each workgroup takes
/// beside what it asks for.
inline constexpr int64_t kReservedOfWorkgroup = 1 << 10;

/// Elements at most of the 16 rows, or 8, of a first factor of 16 bits that
/// lanes keep in registers. Others are in workgroup memory.
inline constexpr int64_t kMostInRegisters = 128 * 16;

/// Warps at most that share a workgroup, each with keys of its own.
inline constexpr int64_t kMostShares = 4;

/// Bytes between two rows in workgroup memory, so that rows that are read at
/// once begin in different banks.
inline constexpr int64_t kBytesBetweenRows = 16;

/// Bytes, aligned to as many, in which a processor's own prefetchers follow a
/// stream, whatever pages the system has.
inline constexpr int64_t kBytesOfRun = 4096;

/// Bytes of a key and its value in workgroup memory, whose rows are of whole
/// products.
inline int64_t getBytesOfKey(int64_t elementBytes, int64_t headSize,
                             int64_t valueSize) {
  auto pad = [](int64_t size) { return (size + 15) / 16 * 16; };
  return elementBytes * (pad(headSize) + pad(valueSize)) +
         2 * kBytesBetweenRows;
}

class CacheModel {
public:
  explicit CacheModel(TargetAttr target) : target(target) {}

  /// Query rows of a tile whose scores nothing changes: as many vectors as a
  /// product keeps in registers beside each key, but enough rows of narrow ones
  /// to make use of a key once it is loaded.
  int64_t getPlainRows() const;
  /// The same with a score or a mask, or with weights that are kept in pairs. A
  /// mask that ends within a tile wastes part of it, more so of a large one,
  /// and captured tensors and weights need room beside the scores. But where
  /// the `elements` that a key and its value have are so many that each tile
  /// reads a block from the second level, enough rows to make use of that.
  int64_t getVariantRows(int64_t elements = 0) const;
  /// Rows, of vectors of `lanes`, that are computed while a core reads keys and
  /// values that no other tile left in its caches.
  int64_t getRowsOfReading(int64_t lanes) const { return 2 * lanes; }
  /// Keys of a block: it and its values, of heads of 64 elements of f32, fit
  /// into the first level.
  int64_t getKeys() const;
  /// Keys of a block that are converted to f32 rows of `size` elements, which
  /// leave half of the first level to the state, or more of one that is larger
  /// than a power of two.
  int64_t getConvertedKeys(int64_t size) const;
  /// Keys of a block of which each row has `bytes`. Products of keys and of
  /// values fetch for each other: in turns of a fourth of what is under way,
  /// neither finds its lines late. Integers wait for conversions in any case,
  /// so that theirs are twice as long.
  /// Where each byte has several `products`, with rows that share keys, turns
  /// are as much longer: they take longer than reading it, and what is done
  /// once for a block, as sums across lanes, counts, the more the wider vectors
  /// are. Turns shorter than a run save nothing, unless a byte has less than
  /// one product and much has to be under way: then half of one has products of
  /// both at once among the instructions that a processor looks at.
  int64_t getStreamedKeys(int64_t bytes, bool isInteger,
                          int64_t products = 1) const;
  /// Whether more than a processor's own prefetchers fetch has to be under way.
  bool isMemoryFar() const;
  /// Whether rows of a stream, of `bytes` each, are multiplied one after the
  /// other, as the processor's own prefetchers expect, and not a few of them
  /// side by side, which takes fewer instructions: where each byte has less
  /// than one product, or one, and rows are long. Then a processor that loads
  /// whole lines sees by itself what is read next, as it looks a few hundred
  /// instructions ahead, and does not where lines that are fetched far ahead
  /// take the place of those.
  bool readsRowsInTurn(int64_t bytes, int64_t products) const;
  /// Keys of a chunk: so many blocks that merging its state with others takes
  /// no time to speak of.
  int64_t getChunk() const;
  /// Parallel iterations that leave no thread without one.
  int64_t getIterations() const { return target.getCores(); }
  /// Of a tile of a projection, and features of a block.
  struct ProjectionSizes {
    int64_t rows, columns, features;
  };
  /// Sums of a tile fit into three fourths of the second level, so that rows
  /// and weights are read from beyond it once for so many of the other; what a
  /// block of features has of a panel of the weight stays in the first or the
  /// second while all rows of the tile are multiplied by it.
  ProjectionSizes getProjectionSizes(bool inPairs, int64_t numParts) const;
  /// Rows of a projection that its weight is read for as it lies: no more than
  /// it takes to pay for packing them, and for converting the weight. Products
  /// on tiles soon do.
  int64_t getFewRows() const { return target.getBf16Tiles() ? 16 : 64; }
  /// Features of a block that few rows are multiplied with, which the second
  /// level has room for and for the next one, which is fetched meanwhile: of a
  /// panel of the weight, or, where it has none, of the columns of a tile of
  /// it, so that its rows are read in long runs. Half the level is left then,
  /// as rows that are apart do not fill it evenly.
  int64_t getStreamedFeatures(bool hasPanels) const;
  /// Rows of a tile of multi-token attention, at most: what is done once for a
  /// block of keys, such as transposing it, is then little for each row.
  int64_t getMultiTokenRows() const { return 64; }
  /// The same of its gradients, which have more strips.
  int64_t getMultiTokenBackwardRows() const { return 48; }
  /// Of a tile of multi-token attention, at most: rows with a strip of all
  /// keys, and of all heads, but of the smallest strips; elements of the strip
  /// of a chunk of keys, but of the smallest, which stay in the second level.
  /// More keys of a chunk make a strip larger, and what is done once for it no
  /// cheaper. Tiles have at least so many rows where the last one is fuller
  /// with fewer.
  struct StripSizes {
    int64_t rows, rowsOfHeads, elementsOfChunk, keysOfChunk, leastRows;
  };
  StripSizes getStripSizes() const {
    return {.rows = 48,
            .rowsOfHeads = 384,
            .elementsOfChunk = target.getL2Bytes() / 16,
            .keysOfChunk = 512,
            .leastRows = 48};
  }
  /// Keys that are fetched ahead are so far away at most, a power of 2: they
  /// stay in the second level until tiles read them.
  int64_t getKeysAhead() const { return 1024; }
  /// Packs that a ring has room for at least, a fraction of the second level: a
  /// range that grows seldom outgrows it.
  int64_t getLeastPacks() const { return 32; }
  /// Bytes of what is read again while other operands go by. Where tiles are
  /// multiplied, it stays in the second level, whose rest is for two blocks of
  /// those and for sums; other products are slow enough for some of it to come
  /// from the third.
  int64_t getResidentBytes() const;
  /// Bytes of a stream that have to be under way for the memory never to wait:
  /// those that it delivers between a prefetch and its line.
  int64_t getBytesUnderWay() const;
  /// Whether what tiles read block by block, `bytes` in all, is waited for
  /// unless it is fetched ahead: it is more than the second level holds beside
  /// others, and the third is farther than a processor looks ahead by itself.
  bool waitsForL3(int64_t bytes) const;
  /// Bytes of a stream of few rows' weight that are fetched ahead. In a panel,
  /// the processor fetches ahead, too, but only to the end of a run. It does
  /// not see that rows which are apart are one stream.
  int64_t getBytesAhead(bool hasPanels) const {
    return hasPanels ? std::min(getBytesUnderWay(), kBytesOfRun / 2)
                     : getBytesUnderWay();
  }
  /// A workgroup of a GPU: its warps, the rows of each, and how many elements
  /// the longest row of a key or a value has.
  struct Workgroup {
    int64_t warps, warpRows, rowSize;
  };
  /// Blocks of `bytes` that workgroups of a GPU copy ahead, beside queries of
  /// `queryBytes`: as many as the workgroups of a multiprocessor have room for
  /// in what it has of workgroup memory, of which each takes some for itself:
  /// three, whose registers it has for few short rows, else two; but all that
  /// 48 KB have room for. Two if 96 KB have room for them, beside which 164 KB
  /// of sm_80 have some for queries; else 1. Of fewer warps, there are so many
  /// workgroups that a multiprocessor has 8 warps, if these have two blocks.
  int64_t getStages(int64_t bytes, int64_t queryBytes,
                    Workgroup workgroup) const;
  /// Whether workgroups of fewer warps have room for one block at most, if so
  /// many of them are to run: then keys and values are copied in turns, each
  /// where those of the block before have been read.
  bool takesTurns(int64_t bytes, int64_t queryBytes, Workgroup workgroup) const;
  /// The same of workgroups whose warpgroups multiply, of which the registers
  /// of a multiprocessor have room for one, with `otherBytes` beside them.
  int64_t getStagesOfWarpgroups(int64_t bytes, int64_t otherBytes) const;
  /// Workgroups that have room on a multiprocessor of a GPU at once, and how
  /// often each has such warps, with keys of their own.
  struct Occupancy {
    int64_t workgroups, shares;
  };
  /// What each warp has beside blocks, in bytes: what its queries and weights
  /// take, what regions that ask for positions may take, and the state that it
  /// leaves where blocks were.
  struct BesideBlocks {
    int64_t factors, positions, state;
  };
  /// Those of warps with blocks of `bytes`. Of one warp, there are up to four
  /// in a workgroup, which merge their states: as many as let a multiprocessor
  /// have 8 warps, or else most of them.
  Occupancy getOccupancy(int64_t bytes, BesideBlocks beside,
                         Workgroup workgroup) const;
  /// At most as many keys of a block, a power of 2, as let a multiprocessor of
  /// a GPU have 8 warps, which compute while others wait, with a block each; no
  /// bound where there are as many anyway. A key takes `bytes` with its value.
  int64_t getMostKeys(int64_t bytes, Workgroup workgroup) const;
  /// Blocks of which it is looked up where they begin that have to be known
  /// before one is read, for its first lines to be there.
  int64_t getBlocksLookedUp() const { return 3; }
  /// Whether a product of `rows` rows with others takes long enough to fetch as
  /// many of these meanwhile.
  bool hasTimeToFetch(int64_t rows) const { return rows >= 24; }

private:
  /// Warps that a multiprocessor is to have, which compute while others wait.
  static constexpr int64_t kWantedWarps = 8;
  /// Workgroups that a multiprocessor is to have room for: of four warps, and
  /// of fewer.
  static int64_t getUsualWorkgroups(Workgroup workgroup);
  static int64_t getWantedWorkgroups(Workgroup workgroup);
  static bool wantsMoreWorkgroups(Workgroup workgroup);
  /// Blocks that each of the wanted ones has room for.
  int64_t getBlocksOfWanted(int64_t bytes, int64_t queryBytes,
                            Workgroup workgroup) const;
  /// What each of so many has for blocks.
  int64_t getFreeBytes(int64_t workgroups, int64_t queryBytes) const;

  TargetAttr target;
};

} // namespace mlir::attn

#endif // ATTN_PLAN_CACHEMODEL_H
