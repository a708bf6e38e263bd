//===- Dropout.h - The factor of dropout ------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_DROPOUT_H
#define ATTN_REFERENCE_DROPOUT_H

#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Philox.h"

namespace attn::reference {

/// The factor of dropout on P: 0, or 1 / (1 - rate).
inline double dropoutFactor(const AttentionProblem::Dropout &dropout,
                            std::int64_t heads, std::int64_t b, std::int64_t h,
                            std::int64_t p, std::int64_t j) {
  heads = dropout.heads.value_or(heads);
  if (!dropout.keys.empty())
    j += dropout.keys[dropout.keys.size() == 1 ? 0 : std::size_t(b)];
  std::uint32_t word = philox4x32(
      {std::uint32_t(j / 4), std::uint32_t(p),
       dropout.line + std::uint32_t(b * heads + h), dropout.callOffset},
      {std::uint32_t(dropout.seed), std::uint32_t(dropout.seed >> 32)})[j % 4];
  return double(word) >= dropout.rate * 0x1p32 ? 1 / (1 - dropout.rate) : 0;
}

} // namespace attn::reference

#endif // ATTN_REFERENCE_DROPOUT_H
