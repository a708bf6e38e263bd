//===- BlockMap.h - The blocks that a kernel computes -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For given sizes, what the code of the mask analysis answers in a kernel: the
// same functions, with constants in place of what a kernel learns when it runs.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BLOCKMAP_BLOCKMAP_H
#define ATTN_BLOCKMAP_BLOCKMAP_H

#include "mlir/Support/LLVM.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::attn {

enum class BlockKind : uint8_t {
  Empty,   ///< Skipped.
  Partial, ///< Masked position by position.
  Full,    ///< Computed without the mask.
  Unknown, ///< One of these, by what captured data or scalars hold.
};

/// A tile of queries and the blocks of keys that it goes through. The keys
/// before and after them are never looked at.
struct BlockRow {
  int64_t firstKey;
  /// One past the last key of the last block, which may be a short one.
  int64_t endKey;
  std::vector<BlockKind> blocks;
  bool operator==(const BlockRow &) const = default;
};

/// What some batch entries and heads have in common.
struct BlockPattern {
  /// Position of the first query.
  int64_t offset;
  std::vector<BlockRow> rows;
  /// Pairs of a batch entry and a head, in order.
  std::vector<std::pair<int64_t, int64_t>> places;
};

/// Blocks of a kind, over all the rows of a pattern.
struct BlockCounts {
  int64_t full = 0, partial = 0, unknown = 0;
  /// Of a grid without any mask.
  int64_t all = 0;
};

/// The blocks of one op.
struct BlockMap {
  /// Name of the function that it is in.
  std::string function;
  int64_t numBatches, numHeads, numQueries, numKeys;
  int64_t queryBlock, keyBlock;
  /// If not, the patterns' places are those of batch entry 0 (head 0), and the
  /// others are like it.
  bool batchesDiffer = false, headsDiffer = false;
  /// Why the op is lowered by the reference path, which has no blocks; empty if
  /// it is not.
  std::string obstacle;
  std::vector<BlockPattern> patterns;

  int64_t getNumRows() const;
  /// The first query of a row of blocks, or the end. The first row is the one
  /// that may be smaller, as in kernels.
  int64_t getFirstQuery(int64_t row) const;
  int64_t getNumColumns() const;
  BlockCounts count(const BlockPattern &pattern) const;
};

/// What the text leaves open, and the blocks. For a packed batch, the lengths
/// are those of one sequence.
struct BlockMapOptions {
  std::optional<int64_t> batch, queryLength, keyLength, offset;
  /// Rows of a block; as in kernels for the module's target if not given.
  std::optional<int64_t> queryBlock, keyBlock;
};

/// The blocks of every op. Fails with an error if something is missing, or said
/// of ops that do not leave it open, or if there are too many blocks to show.
FailureOr<std::vector<BlockMap>>
computeBlockMaps(ModuleOp module, const BlockMapOptions &options);

/// "attend: 64 queries, 128 keys".
std::string describeSizes(const BlockMap &map);
/// "batch 0-1, head 3".
std::string describePlaces(const BlockMap &map, const BlockPattern &pattern);
/// "10 of 16 blocks computed (62.5%)".
std::string describeShare(const BlockCounts &counts);

/// A line for each tile of queries, with a character for each block of keys.
void printBlockMaps(llvm::raw_ostream &os, ArrayRef<BlockMap> maps);

/// An SVG document with a picture of each pattern.
void drawBlockMaps(llvm::raw_ostream &os, ArrayRef<BlockMap> maps);

} // namespace mlir::attn

#endif // ATTN_BLOCKMAP_BLOCKMAP_H
