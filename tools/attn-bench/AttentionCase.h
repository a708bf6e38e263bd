//===- AttentionCase.h - One attention to measure ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_ATTENTIONCASE_H
#define ATTN_TOOLS_ATTN_BENCH_ATTENTIONCASE_H

#include "attn/element_type.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attn::bench {

using Index = std::int64_t;

/// The key columns that a query row sees: a contiguous range, since every mask
/// that is measured keeps one. Absent bounds reach to the end of the keys.
struct Visibility {
  std::optional<Index> before; ///< Keys before the row's own position.
  std::optional<Index> after;  ///< Keys after it.

  bool sees(Index position, Index key) const {
    return (!before || key >= position - *before) &&
           (!after || key <= position + *after);
  }
};

/// Whether a node is another, or behind it in a binary tree whose nodes are
/// numbered level by level.
inline bool isAncestor(Index node, Index other) {
  while (node > other)
    node = (node - 1) / 2;
  return node == other;
}

/// A tensor that a score or mask captures.
struct Operand {
  std::string name;
  std::optional<ElementType> type; ///< That of the query if absent.
  std::vector<Index> sizes;
  /// Element by row-major position, which the type holds exactly.
  std::function<double(Index)> valueAt;
};

/// How scores and masks are written, and what they should do.
struct Variant {
  /// What follows `outs` in the op. "$name" stands for an operand, "$name:" for
  /// its type.
  std::string clauses;
  Visibility visibility;
  std::vector<Operand> operands;
  /// Score of head, position and key; nothing if it stays.
  std::function<double(double score, Index head, Index position, Index key)>
      score;
  /// Of probabilities. 0: none is dropped.
  double dropoutRate = 0;
};

/// An attention of as many queries as keys, in one batch.
struct AttentionCase {
  std::string name;
  Index queryHeads, keyValueHeads, length, headSize;
  Variant variant;
  /// Writes the length as `?`.
  bool dynamicLength = false;
  /// Of values and outputs; headSize if absent.
  std::optional<Index> valueHeadSize = {};

  /// Keys and values are views of memory in the order BSHD: batch, length,
  /// heads, size.
  bool isBSHD = false;

  /// Keys, if they are not as many as queries, which all see all of them then.
  std::optional<Index> keyLength = {};

  Index valueSize() const { return valueHeadSize.value_or(headSize); }
  Index numKeys() const { return keyLength.value_or(length); }
  /// Pairs of a query row and a key that it sees, in one head.
  Index countVisiblePairs() const;
  /// Two products of two operations each for every pair and dimension.
  double countFlops() const {
    return 2.0 * double(countVisiblePairs()) *
           double((headSize + valueSize()) * queryHeads);
  }
  /// A module with one function on (query, key, value, operands...), and with
  /// dropout on (..., seed, call), which gives the output and, if asked, the
  /// log-sum-exp.
  std::string text(ElementType type, bool logSumExp = false) const;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_ATTENTIONCASE_H
