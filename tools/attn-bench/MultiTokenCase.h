//===- MultiTokenCase.h - Cases of multi-token attention --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_MULTITOKENCASE_H
#define ATTN_TOOLS_ATTN_BENCH_MULTITOKENCASE_H

#include "tools/attn-bench/AttentionCase.h"
#include "tools/attn-bench/Buffer.h"

#include <string>
#include <vector>

namespace attn::bench {

struct MultiTokenCase {
  /// Stages on one side of the softmax.
  struct Side {
    bool convolves = false; ///< By the paper's kernel, 6 queries by 11 keys.
    Index mixed = 1;        ///< Heads that are mixed with each other.
  };

  static constexpr Index headSize = 64, kernelQueries = 6, kernelKeys = 11;

  std::string name;
  Side before, after;
  Index heads, length;

  /// Operations on visible pairs: a multiplication and an addition for each
  /// feature of `products`, and, `stages` times, tap and mixed head.
  double countFlops(double products = 2, double stages = 1) const;
  std::vector<Index> rowSizes() const { return {1, heads, length, headSize}; }
  std::vector<Index> kernelSizes() const {
    return {heads, kernelQueries, kernelKeys};
  }
  std::vector<Index> mixingSizes(const Side &side) const {
    return {heads / side.mixed, side.mixed, side.mixed};
  }
  /// A function of query, key, value and what the stages have.
  std::string text(ElementType type) const;
  AttentionCase causal() const;
};

/// Normal numbers for its arguments.
std::vector<Buffer> createInputs(const MultiTokenCase &attention,
                                 ElementType type);

/// Every placement, of 16 heads.
std::vector<MultiTokenCase> getMultiTokenCases(Index length);

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_MULTITOKENCASE_H
