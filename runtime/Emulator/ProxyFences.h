//===- ProxyFences.h - What products of warpgroups may read --- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_EMULATOR_PROXYFENCES_H
#define ATTN_RUNTIME_EMULATOR_PROXYFENCES_H

#include "runtime/Emulator/Races.h"

namespace attn::emulator {

/// Knows which stores to shared memory are visible to what reads it by the
/// async proxy, as products of warpgroups do: those after which their thread
/// executed fence.proxy.async, before it let the reader know; and those that a
/// lane of the reading warp knew when it did. PTX also allows for fences of
/// third threads on the way, which nothing needs.
class ProxyFences {
public:
  void reset(std::size_t numThreads, std::size_t numWarps);

  void fence(unsigned thread, unsigned warp, VectorClocks &clocks);

  /// Whether `reader`, an agent of `warp`'s that the store is ordered before,
  /// sees it.
  bool isVisible(const Races::Access &store, unsigned reader, unsigned warp,
                 const VectorClocks &clocks) const;

private:
  /// Until when what each thread did is before a fence of its own.
  std::vector<std::vector<VectorClocks::Time>> times;
  /// What lanes of each warp knew at their last fences.
  std::vector<VectorClocks::Clock> known;
};

} // namespace attn::emulator

#endif // ATTN_RUNTIME_EMULATOR_PROXYFENCES_H
