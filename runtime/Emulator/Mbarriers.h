//===- Mbarriers.h - Barriers in shared memory ---------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_MBARRIERS_H
#define ATTN_RUNTIME_EMULATOR_MBARRIERS_H

#include "runtime/Emulator/VectorClocks.h"

#include <map>

namespace attn::emulator {

/// An mbarrier: arrivals of its phases, which are complete one after another.
struct Mbarrier {
  static constexpr std::size_t bytes = 8;
  static constexpr unsigned maximumCount = (1 << 20) - 1;

  const char *site = nullptr; ///< Where it was initialised.
  unsigned expected = 0;      ///< Arrivals of each phase.
  unsigned missing = 0;       ///< Of this phase.
  std::uint64_t phase = 0;
  /// What those know that have arrived in this phase, and in those before.
  VectorClocks::Clock arriving, completed;
  std::vector<unsigned> waiting; ///< Threads.
  /// Arrivals of copies that are on their way.
  unsigned numCopying = 0;

  /// Whether the last phase of this parity is complete.
  bool isComplete(unsigned parity) const { return phase % 2 != parity; }

  /// Adds arrivals, of those that are missing. True if the phase is complete.
  bool arrive(unsigned count);
};

/// The mbarriers of a block. Their state is kept here, not in shared memory,
/// where nothing else may access their bytes.
class Mbarriers {
public:
  void reset() { all.clear(); }

  Mbarrier &init(std::size_t offset, unsigned count, const char *site);
  /// Null if there is none.
  Mbarrier *find(std::size_t offset);
  void erase(std::size_t offset) { all.erase(offset); }

  /// One with bytes in this range, or null.
  const Mbarrier *findOverlap(std::size_t offset, std::size_t bytes) const {
    return all.empty() ? nullptr : findAnyOverlap(offset, bytes);
  }

private:
  const Mbarrier *findAnyOverlap(std::size_t offset, std::size_t bytes) const;

  std::map<std::size_t, Mbarrier> all; ///< By offset in shared memory.
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_MBARRIERS_H
