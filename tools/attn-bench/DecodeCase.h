//===- DecodeCase.h - One decode step to measure -------------- -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_DECODECASE_H
#define ATTN_TOOLS_ATTN_BENCH_DECODECASE_H

#include "tools/attn-bench/AttentionCase.h"

namespace attn::bench {

/// A few new tokens of each sequence against a cache that holds them already,
/// as the last.
struct DecodeCase {
  std::string name;
  Index batches, queryHeads, keyValueHeads, keyLength;
  /// More than one: the nodes of a tree of guesses, of which each sees its
  /// ancestors.
  Index queryLength = 1;

  static constexpr Index headSize = 128;

  std::vector<Index> querySizes() const {
    return {batches, queryHeads, queryLength, headSize};
  }
  /// Of the keys, and of the values.
  std::vector<Index> cacheSizes() const {
    return {batches, keyValueHeads, keyLength, headSize};
  }

  /// What tensors the kernel takes after query, key and value.
  std::vector<Operand> operands() const;
  bool sees(Index query, Index key) const;
  /// Two products of two operations each for every visible pair and dimension.
  double countFlops() const;
  /// Keys and values that have to be read.
  double countBytes(ElementType type) const;
  /// A module with one function on (query, key, value, operands...), whose key
  /// length is dynamic.
  std::string text(ElementType type) const;
};

const std::vector<DecodeCase> &getDecodeCases();

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_DECODECASE_H
