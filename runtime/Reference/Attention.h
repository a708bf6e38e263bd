//===- Attention.h - The float64 oracle for attention -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attn.attention computes, as plain loops in double precision: the answer
// that every lowering is held to. It shares no code with the compiler.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_ATTENTION_H
#define ATTN_REFERENCE_ATTENTION_H

#include "attn/error.h"
#include "attn/tensor_view.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace attn::reference {

struct AttentionProblem {
  /// (B, Hq, Sq, Dk), (B, Hkv, Skv, Dk) and (B, Hkv, Skv, Dv), of any float
  /// types and strides.
  TensorView query, key, value;

  /// Factor on dot(Q, K); 1 / sqrt(Dk) if absent.
  std::optional<double> scale;

  /// Position of the first query row: none (0), one for all, or one per batch
  /// (in a packed batch, per sequence).
  std::vector<std::int64_t> offsets;

  /// Sets each offset to the key length minus the query length. Excludes
  /// `offsets`.
  bool bottomRight = false;

  /// None, or one logit per query head, or one per query row, `(Hq, Sq)`.
  std::vector<double> sink;

  /// Packed batch: the cumulative lengths of N sequences, N + 1 each, B = 1.
  /// Both empty: a dense batch; `cuKey` empty: packed queries of a dense batch
  /// of N keys and values. Query rows that no sequence covers give O = 0 and
  /// LSE = -inf, with a sink too.
  std::vector<std::int64_t> cuQuery, cuKey;
  /// Of a dense batch: none, or how many query rows of each entry are one's.
  /// The others give O = 0 and LSE = -inf.
  std::vector<std::int64_t> counts;

  struct Dropout {
    double rate = 0; ///< In [0, 1).
    std::uint64_t seed = 0;
    std::uint32_t callOffset = 0;
    /// Of a part of a larger problem: the line of its batch entry 0 and head
    /// 0, the heads of the whole, where they are others, and the key of the
    /// whole that key 0 is: none (0), one for all, or one per batch entry or
    /// sequence.
    std::uint32_t line = 0;
    std::optional<std::int64_t> heads = {};
    std::vector<std::int64_t> keys = {};
  };
  std::optional<Dropout> dropout;

  /// The regions. In a packed batch `b` is the sequence, and `p` and `j` are
  /// positions within it. The mask is asked first and the score only where the
  /// mask keeps; no answer means that the region is undefined there (it divides
  /// by zero or reads outside a tensor), which makes attention() fail.
  std::function<std::optional<double>(double s, std::int64_t b, std::int64_t h,
                                      std::int64_t p, std::int64_t j)>
      score;
  std::function<std::optional<bool>(std::int64_t b, std::int64_t h,
                                    std::int64_t p, std::int64_t j)>
      mask;

  /// How much is lost where a sum is rounded, as a share of what is lost where
  /// an element is: less than 1 where sums are of a wider type. For scales of
  /// errors of derivatives only.
  double sumRounding = 1;

  /// Whether row `j` of the key or the value is absent from the cache that they
  /// are read from, so that keeping it makes attention() fail.
  std::function<bool(std::int64_t b, std::int64_t j)> isAbsent;
};

struct AttentionResult {
  std::vector<double> output;    ///< (B, Hq, Sq, Dv), dense.
  std::vector<double> logSumExp; ///< (B, Hq, Sq), dense.
};

/// Computes attention, or says which part of the problem is malformed.
///
/// - A position whose score is -inf, by the mask or otherwise, adds nothing,
///   whatever its V holds.
/// - A row whose scores are all -inf gives O = 0 and LSE = -inf, or the sink.
/// - Other NaN and Inf go through by the rules of IEEE 754, also V's where
///   dropout made P zero.
Expected<AttentionResult> attention(const AttentionProblem &problem);

} // namespace attn::reference

#endif // ATTN_REFERENCE_ATTENTION_H
