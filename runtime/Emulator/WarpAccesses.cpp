//===- WarpAccesses.cpp - What the lanes of a warp access at once ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Emulator/WarpAccesses.h"

#include <algorithm>
#include <set>

using namespace attn::emulator;

static constexpr std::size_t bytesOfSector = 32, bytesOfWord = 4, numBanks = 32;

void WarpAccesses::add(unsigned lane, const Access &access) {
  Key key = {access.site, access.isStore, access.buffer};
  Site &site = sites[key];
  std::uint64_t number = site.counts[lane]++ - site.numFinished;
  if (site.pending.size() <= number)
    site.pending.resize(number + 1);
  Instruction &instruction = site.pending[number];
  instruction.lanes |= std::uint32_t(1) << lane;
  instruction.addresses[lane] =
      reinterpret_cast<std::uintptr_t>(access.address);
  instruction.bytes = std::max(instruction.bytes, access.bytes);
  while (!site.pending.empty() && site.pending.front().lanes == lanes) {
    count(key, site.pending.front());
    site.pending.pop_front();
    ++site.numFinished;
  }
}

void WarpAccesses::finish() {
  for (auto &[key, site] : sites)
    for (const Instruction &instruction : site.pending)
      count(key, instruction);
  sites.clear();
}

void WarpAccesses::count(const Key &key, const Instruction &instruction) {
  auto [place, isStore, buffer] = key;
  auto forLanes = [&](unsigned first, unsigned end, auto body) {
    for (unsigned lane = first; lane < end; ++lane)
      if (instruction.lanes >> lane & 1)
        body(instruction.addresses[lane]);
  };
  if (buffer) {
    std::set<std::uintptr_t> sectors;
    forLanes(0, numLanes, [&](std::uintptr_t address) {
      for (std::uintptr_t sector = address / bytesOfSector;
           sector * bytesOfSector < address + instruction.bytes; ++sector)
        sectors.insert(sector);
    });
    BufferTraffic &of = traffic.buffers[*buffer];
    (isStore ? of.sectorsStored : of.sectorsLoaded) += sectors.size();
    return;
  }
  // A wavefront has a word of each bank. Of 8 bytes in a lane, half of a warp's
  // lanes are served at a time, of 16 a fourth.
  std::size_t words = std::max<std::size_t>(instruction.bytes / bytesOfWord, 1);
  auto served = unsigned(numLanes / words);
  for (unsigned first = 0; first < numLanes; first += served) {
    std::array<std::set<std::uintptr_t>, numBanks> banks;
    std::size_t most = 0, all = 0;
    forLanes(first, first + served, [&](std::uintptr_t address) {
      for (std::size_t n = 0; n < words; ++n) {
        std::uintptr_t word = address / bytesOfWord + n;
        std::set<std::uintptr_t> &bank = banks[word % numBanks];
        all += bank.insert(word).second;
        most = std::max(most, bank.size());
      }
    });
    traffic.wavefronts += most;
    traffic.leastWavefronts += (all + numBanks - 1) / numBanks;
  }
}
