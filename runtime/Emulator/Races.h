//===- Races.h - Accesses to shared memory without an order -- -*- C++ -*--===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_RACES_H
#define ATTN_RUNTIME_EMULATOR_RACES_H

#include "runtime/Emulator/VectorClocks.h"

namespace attn::emulator {

/// Finds accesses to shared memory that no barrier orders, in whatever order
/// they were executed: of two threads, at least one of them a store. Of several
/// loads of a byte since its last store it keeps one, so it can miss a store
/// after a load; never does it find what is ordered.
class Races {
public:
  struct Access {
    const char *site = nullptr;
    VectorClocks::Time time = 0; ///< 0: there was none.
    unsigned thread = 0;
  };

  void reset(std::size_t numThreads, std::size_t bytes);

  /// Notes that a thread loads or stores. Gives an access of another one that
  /// is not ordered before it, or null.
  const Access *load(unsigned thread, std::size_t offset, std::size_t count,
                     const char *site);
  const Access *store(unsigned thread, std::size_t offset, std::size_t count,
                      const char *site);
  const Access &getLastStore(std::size_t offset) const {
    return cells[offset].store;
  }
  /// Notes that a store, which began earlier, has ended.
  void finishStore(unsigned thread, std::size_t offset, std::size_t count,
                   const char *site);
  /// Atomic operations of the block are ordered as they are executed.
  void updateAtomically(unsigned thread);

  VectorClocks clocks;

private:
  /// The last accesses to a byte.
  struct Cell {
    Access store, load;
  };

  bool isOrdered(const Access &earlier, unsigned thread) const {
    return clocks.knows(thread, earlier.thread, earlier.time);
  }

  std::vector<Cell> cells;
  VectorClocks::Clock atomics;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_RACES_H
