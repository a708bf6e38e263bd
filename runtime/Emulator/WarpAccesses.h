//===- WarpAccesses.h - What the lanes of a warp access at once -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_WARPACCESSES_H
#define ATTN_RUNTIME_EMULATOR_WARPACCESSES_H

#include "runtime/Emulator/Launch.h"

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

namespace attn::emulator {

/// Puts the accesses of a warp's lanes together, which execute one by one here
/// and at once on a GPU, and counts what memory does for them. Accesses belong
/// together that are the n-th of their lanes at a place of the source.
class WarpAccesses {
public:
  struct Access {
    const char *site;
    bool isStore;
    std::optional<std::size_t> buffer; ///< Nothing: to shared memory.
    const void *address;
    std::size_t bytes;
  };

  /// Of a warp that has these lanes. Adds to `traffic`.
  WarpAccesses(std::uint32_t lanes, Traffic &traffic)
      : lanes(lanes), traffic(traffic) {}

  void add(unsigned lane, const Access &access);

  /// Counts what some lanes did not take part in. Before the next block.
  void finish();

private:
  static constexpr unsigned numLanes = 32;

  /// An instruction that a warp executes.
  struct Instruction {
    std::uint32_t lanes = 0; ///< Which have executed it.
    std::array<std::uintptr_t, numLanes> addresses = {};
    std::size_t bytes = 0; ///< Of a lane.
  };
  struct Site {
    std::array<std::uint64_t, numLanes> counts = {}; ///< Of each lane.
    std::uint64_t numFinished = 0;
    std::deque<Instruction> pending;
  };
  using Key = std::tuple<const char *, bool, std::optional<std::size_t>>;

  void count(const Key &key, const Instruction &instruction);

  const std::uint32_t lanes;
  Traffic &traffic;
  std::map<Key, Site> sites;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_WARPACCESSES_H
