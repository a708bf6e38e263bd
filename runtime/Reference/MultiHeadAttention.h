//===- MultiHeadAttention.h - The oracle for a layer ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MULTIHEADATTENTION_H
#define ATTN_REFERENCE_MULTIHEADATTENTION_H

#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Cache.h"

#include <optional>

namespace attn::reference {

/// What attn.multi_head_attention computes: in double precision, with what lies
/// between its parts rounded to the element type of the input (L1).
struct MultiHeadAttentionProblem {
  std::int64_t queryHeads = 1, keyValueHeads = 1, keySize = 1, valueSize = 1;

  TensorView input;                 ///< (B, S, M).
  std::optional<TensorView> source; ///< (B, Skv, M').
  /// Finished keys and values, (B, Hkv, Skv, D); none or two.
  std::vector<TensorView> memory;

  /// As an attn.projection has them (P3 to P5).
  struct Map {
    std::optional<TensorView> weight, scales, bias;
  };
  /// Without weights where there are none; `qkv` excludes the next three.
  Map qkv, query, key, value, output, gate;
  std::int64_t outputWidth = 1;
  std::int64_t gateSize = 1; ///< Elements for each head, 1 or `valueSize`.

  std::vector<TensorView> norms; ///< None, or of queries, and of keys.
  std::optional<TensorView> outputNorm;
  std::optional<std::int64_t> layer; ///< For the scale of `outputNorm`, N4.
  double epsilon = 1e-5;

  std::vector<TensorView> rope; ///< None, or cosine and sine.
  bool interleaved = false;
  /// Of the rotation, (B, S), row-major; from the offsets if empty.
  std::vector<std::int64_t> positions;

  std::vector<Cache> caches; ///< None, or of keys and of values.
  std::vector<std::int64_t> lengths, counts;
  std::int64_t size = 0; ///< Positions that are read from the caches.

  /// All but the rows. If there are caches, offsets are the caches' lengths,
  /// and the mask also hides what comes after a sequence's last token.
  AttentionProblem attention;

  double outputRate = 0; ///< Of the dropout of the output, in [0, 1).
  std::uint64_t seed = 0;
  std::uint32_t call = 0;
};

struct MultiHeadAttentionResult {
  std::vector<double> output; ///< (B, S, outputWidth), dense.
  std::vector<Cache> caches;  ///< With the new rows.
};

Expected<MultiHeadAttentionResult>
multiHeadAttention(const MultiHeadAttentionProblem &problem);

} // namespace attn::reference

#endif // ATTN_REFERENCE_MULTIHEADATTENTION_H
