//===- GalleryCases.h - The variants of the gallery to measure --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_GALLERYCASES_H
#define ATTN_TOOLS_ATTN_BENCH_GALLERYCASES_H

#include "attn/attention.h"
#include "tools/attn-bench/AttentionCase.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attn::bench {

/// A variant of examples/variants on one batch.
struct GalleryCase {
  std::string name; ///< That of the function in the gallery.
  std::function<Attention(Attention)> create;
  /// Which keys a query sees, by their numbers in the tensors, in one head.
  std::function<bool(Index head, Index query, Index key)> sees;
  std::vector<Operand> tensors = {};
  std::map<std::string, Index> scalars = {};
  Index queryLength = 4096, keyLength = 4096;

  static constexpr Index heads = 8, headSize = 64;

  /// The kernel to measure, on inputs of a type.
  Attention attention(ElementType type) const;
  /// A causal mask on the same sizes, and nothing else.
  Attention causal(ElementType type) const;

  /// Pairs of a query and a key in all heads, in blocks of 64 x 64 of which at
  /// least one pair is visible: of the variant, or of its causal kernel.
  Index countPairs() const;
  Index countCausalPairs() const;
};

const std::vector<GalleryCase> &getGalleryCases();

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_GALLERYCASES_H
