//===- Rotation.h - Rotary positions of a node's heads ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_ROTATION_H
#define ATTN_RUNTIME_ONNXRUNTIME_ROTATION_H

#include "runtime/ONNXRuntime/Session.h"

#include <functional>
#include <optional>

namespace attn::ort {

/// Of every position, cosines and sines for pairs of elements (Su et al.,
/// arXiv:2104.09864): (positions, pairs), of the heads' type. Elements after
/// the pairs stay as they are.
struct RotaryTables {
  const void *cosine, *sine;
  std::int64_t pairs;
  bool isInterleaved = false; ///< (2k, 2k + 1) rather than (k, k + pairs).
};

/// An error names the table that does not fit.
RotaryTables readRotaryTables(const TensorValue &cosine,
                              const TensorValue &sine, std::int64_t positions,
                              std::int64_t headSize);

/// Heads (B, H, S, D) rotated by their positions, which count from `first(b)`,
/// in a buffer, token by token.
TensorView rotate(const Call &call, const RotaryTables &tables,
                  const TensorView &heads,
                  const std::function<std::int64_t(std::int64_t)> &first,
                  Scratch &scratch, std::optional<Scratch::Buffer> &buffer);

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_ROTATION_H
