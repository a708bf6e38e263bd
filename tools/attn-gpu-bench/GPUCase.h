//===- GPUCase.h - One attention on a GPU -----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_GPU_BENCH_GPUCASE_H
#define ATTN_TOOLS_ATTN_GPU_BENCH_GPUCASE_H

#include "attn/element_type.h"
#include "runtime/Reference/Attention.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attn::gpubench {

using Index = std::int64_t;

/// Which keys a query sees, and what becomes of its scores.
struct Pattern {
  std::string name;
  std::string clauses; ///< What follows `outs` in the op.
  /// Whether position `p` sees key `j`; all do if it is empty.
  std::function<bool(Index p, Index j)> sees;
  /// How many keys it sees, of more than `p`.
  std::function<Index(Index p)> countSeen;
  std::function<double(double s)> score; ///< Empty: it stays.
};

/// What a case is there for.
enum class Family {
  check,   ///< Only checked: every type, head size and way to hide keys.
  longer,  ///< The same, of long sequences.
  prefill, ///< As many queries as keys.
  decode,  ///< One query, whose keys and values come from memory.
  variant, ///< As prefill, with other scores and masks.
};

/// Name of a family, as cases' names begin.
const char *nameOf(Family family);

struct GPUCase {
  Family family;
  ElementType type;
  Index batches, queryHeads, keyValueHeads, queries, keys, headSize;
  Pattern pattern;
  /// Whether only a call knows how many queries and keys there are: kernels are
  /// those of many then, also of a call with few.
  bool hasAnyLength = false;

  /// "prefill/D128-S8192-f16-causal", say; no two cases have the same.
  std::string name() const;
  std::vector<Index> querySizes() const {
    return {batches, queryHeads, queries, headSize};
  }
  std::vector<Index> keySizes() const {
    return {batches, keyValueHeads, keys, headSize};
  }
  /// A module with one function on (query, key, value).
  std::string text() const;
  /// What is done for a call: 10^9 operations, two products of two for each
  /// visible pair and dimension; or, of decode, 10^6 bytes of keys and values.
  /// Divided by milliseconds, that is `unit`.
  double work() const;
  const char *unit() const {
    return family == Family::decode ? "GB/s" : "TFLOP/s";
  }
  /// Has `problem`, which has operands and offsets, follow the pattern.
  void describe(reference::AttentionProblem &problem) const;
};

/// All cases, in the order in which they are run.
std::vector<GPUCase> listCases();

} // namespace attn::gpubench

#endif // ATTN_TOOLS_ATTN_GPU_BENCH_GPUCASE_H
