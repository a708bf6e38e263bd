//===- Philox.h - The random numbers of dropout -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_PHILOX_H
#define ATTN_DIALECT_SHARED_PHILOX_H

#include <cmath>
#include <cstdint>

namespace mlir::attn {

// Philox-4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
// SC 2011). A round replaces the words of a counter by
//
//   hi(m1 * c2) ^ c1 ^ k0,  lo(m1 * c2),  hi(m0 * c0) ^ c3 ^ k1,  lo(m0 * c0)
//
// and between rounds, the words of the key grow.
inline constexpr int kPhiloxRounds = 10;
inline constexpr int kWordsOfCounter = 4;
inline constexpr uint32_t kPhiloxMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
inline constexpr uint32_t kPhiloxGrowth[2] = {0x9E3779B9, 0xBB67AE85};

/// The least word, up to 2^32, that keeps an element with a rate in [0, 1).
inline int64_t getLeastKeptWord(double rate) {
  return int64_t(std::ceil(std::ldexp(rate, 32)));
}

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_PHILOX_H
