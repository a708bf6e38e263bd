//===- Warpgroups.h - The products of warpgroups -------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_WARPGROUPS_H
#define ATTN_RUNTIME_EMULATOR_WARPGROUPS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace attn::emulator {

/// A matrix in shared memory as wgmma takes it: tiles of 8 rows of 128 bytes,
/// with their parts of 16 bytes swizzled. PTX ISA 8.5, 9.7.15.5.1.
struct MatrixDescriptor {
  std::uint64_t bits;

  std::size_t start() const { return field(0); }
  std::size_t leadingOffset() const { return field(16); }
  std::size_t strideOffset() const { return field(32); }

  /// What is wrong with it, or not emulated; null: nothing.
  const char *check() const;

  /// The offset of chunk `i` of 16 bytes, of the two that each of `columns`
  /// has: for a matrix that is K-major, of a column, the rows from 8 (i % 2)
  /// on; for one that is not, of a row, the columns from 8 (i % (columns / 8))
  /// on.
  std::size_t getChunk(unsigned i, unsigned columns, bool isTransposed) const;

private:
  std::size_t field(unsigned at) const {
    return std::size_t(bits >> at & 0x3FFF) << 4;
  }
};

/// The products that the warps of a block have issued. One is computed at some
/// moment before its warp has waited for it.
class Warpgroups {
public:
  static constexpr unsigned numWarps = 4;  ///< Of a warpgroup.
  static constexpr unsigned numRows = 16;  ///< Of a warp.
  static constexpr unsigned stepRows = 16; ///< Of the second factor.
  static constexpr unsigned chunkBytes = 16;

  /// The rows of a product that a warp computes.
  struct Product {
    const char *site = nullptr;
    std::uint32_t number = 0; ///< Bits of what sums are until they are there.
    /// Where each lane wants its sums.
    std::array<float *, 32> targets = {};
    unsigned columns = 0;
    bool isTransposed = false, isBF16 = false;
    bool readsBoth = false;  ///< Chunks of the first factor follow the others.
    std::vector<float> lhs;  ///< By columns of `numRows`.
    std::vector<float> sums; ///< Likewise.
    /// Offsets of what is read of shared memory, in the descriptors' order.
    std::vector<std::size_t> chunks;
    bool isComputed = false;
  };

  /// Bits of those of both factors; of the first one 0 if it has none.
  using Descriptors = std::array<std::uint64_t, 2>;

  /// A warp that has not issued what another one of its warpgroup has.
  struct Absence {
    const char *site;
    unsigned warp;
  };

  void reset(std::size_t numWarps, std::size_t sharedBytes);

  /// Begins a product of a warp, which is to be filled in. Gives the warp with
  /// which it should have been the same, if that has issued another one.
  std::optional<unsigned> begin(unsigned warp, const char *site,
                                Descriptors descriptors);
  Product &getYoungest(unsigned warp) { return warps[warp].products.back(); }
  /// Whether a pending product gives its sums there in lane 0.
  bool isTarget(unsigned warp, const float *sums) const;
  /// Adds a chunk to what the youngest product of a warp reads.
  void addChunk(unsigned warp, std::size_t offset);

  std::size_t countPending(unsigned warp) const {
    return warps[warp].products.size();
  }
  const Product &getOldest(unsigned warp) const {
    return warps[warp].products.front();
  }
  /// Ends the oldest product of a warp: its lanes get their sums.
  void end(unsigned warp, const char *shared);
  /// Where a lane wants the sums of one of the last products of its warp,
  /// pending or not; null if none has the number.
  float *findTarget(unsigned warp, unsigned lane, std::uint32_t number) const;
  /// Computes the next product of a warp, if there is one.
  void computeNext(unsigned warp, const char *shared);

  bool hasPending() const { return numPending != 0; }
  /// The place of a product that reads some of these bytes, or null.
  const char *findReader(std::size_t offset, std::size_t bytes) const {
    return hasPending() ? findPendingReader(offset, bytes) : nullptr;
  }
  /// The place of a product of a warp, or null.
  const char *findPending(unsigned warp) const {
    return warps[warp].products.empty() ? nullptr
                                        : warps[warp].products.front().site;
  }
  /// Of all products of warpgroups, after the last one.
  std::optional<Absence> findAbsence() const;

  /// Which agent reads shared memory for each warp, if it has issued a product.
  std::vector<std::optional<unsigned>> agents;

private:
  struct Warp {
    std::deque<Product> products;
    std::deque<Product> ended; ///< The last ones, for their targets.
    std::size_t numIssued = 0;
  };
  struct Issued {
    const char *site;
    Descriptors descriptors;
    unsigned warp; ///< The first one.
  };

  const char *findPendingReader(std::size_t offset, std::size_t bytes) const;

  std::vector<Warp> warps;
  std::vector<std::vector<Issued>> issued; ///< Of each warpgroup.
  std::size_t numPending = 0;
  std::uint32_t numBegun = 0;         ///< By all warps.
  std::size_t numChunks = 0;          ///< Of shared memory.
  std::vector<std::uint32_t> readers; ///< Of each chunk, from the first one on.
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_WARPGROUPS_H
