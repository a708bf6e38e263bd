//===- Philox.h - The Philox-4x32-10 generator ------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The counter-based generator of J. Salmon, M. Moraes, R. Dror and D. Shaw,
// "Parallel random numbers: as easy as 1, 2, 3" (SC11). Dropout draws from it,
// because any position's bits can be computed alone.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_PHILOX_H
#define ATTN_REFERENCE_PHILOX_H

#include <array>
#include <cstdint>

namespace attn::reference {

/// The four words that Philox-4x32-10 gives for a counter and a key.
constexpr std::array<std::uint32_t, 4>
philox4x32(std::array<std::uint32_t, 4> counter,
           std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t product0 = std::uint64_t(0xD2511F53) * counter[0];
    std::uint64_t product1 = std::uint64_t(0xCD9E8D57) * counter[2];
    counter = {std::uint32_t(product1 >> 32) ^ counter[1] ^ key[0],
               std::uint32_t(product1),
               std::uint32_t(product0 >> 32) ^ counter[3] ^ key[1],
               std::uint32_t(product0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

} // namespace attn::reference

#endif // ATTN_REFERENCE_PHILOX_H
