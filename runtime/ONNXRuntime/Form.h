//===- Form.h - What a node's kernels differ in -----------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_FORM_H
#define ATTN_RUNTIME_ONNXRUNTIME_FORM_H

#include "attn/attention.h"
#include "attn/kernel.h"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace attn::ort {

/// What a kernel is compiled for: calls of the same form share one.
struct Form {
  ElementType type = ElementType::f32;
  std::int64_t queryHeads = 1, keyValueHeads = 1;
  std::int64_t headSize = 1, valueHeadSize = 1;
  /// Or `dynamic`.
  std::int64_t batch = dynamic, queryLength = dynamic, keyLength = dynamic;
  std::optional<float> scale = {};
  float softcap = 0; ///< None if 0.
  bool isCausal = false;
  /// Keys before and after a query's position; -1 is unbounded.
  std::int64_t left = -1, right = -1;
  /// Tokens before the first query: none, as many for all batches, or a tensor.
  enum class Offsets : std::uint8_t { none, one, ofBatches } offsets = {};
  bool hasSink = false;
  bool hasLengths = false; ///< Of the keys of each batch.
  enum class Mask : std::uint8_t { none, boolean, additive } mask = {};
  /// Dimensions of the mask whose size is 1 and stands for any.
  std::array<bool, 4> isBroadcast = {};

  auto operator<=>(const Form &) const = default;

  /// With a score that comes before the mask, and one more mask.
  Attention attention(const Score &score, const attn::Mask &mask) const;
};

/// The arguments of a call, under their names in the kernel: query, key, value
/// and, as far as the form has them, offset, sink (Hq), lengths (B) of i64,
/// mask of rank 4, and what the score and the mask of `attention` mention.
class Operands {
public:
  Operands &set(std::string_view name, const Argument &argument) {
    named.emplace_back(name, argument);
    return *this;
  }
  /// In the order of the kernel's arguments, all of which have been set.
  std::vector<Argument> arguments(const Signature &signature) const;

private:
  std::vector<std::pair<std::string_view, Argument>> named;
};

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_FORM_H
