//===- Tensors.h - Heads, masks and caches of nodes -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNXRUNTIME_TENSORS_H
#define ATTN_RUNTIME_ONNXRUNTIME_TENSORS_H

#include "runtime/ONNXRuntime/Session.h"

#include <array>
#include <functional>
#include <optional>
#include <string>

namespace attn::ort {

/// Heads in a tensor: (B, H, S, D), or (B, S, H * D). `dynamic` where a size is
/// not known.
struct Heads {
  std::int64_t batch = dynamic, heads = dynamic, length = dynamic,
               size = dynamic;
};

/// Of a shape, in which there are `heads` heads if its rank is 3. An unknown
/// rank (an empty shape) leaves all sizes but theirs unknown. Another rank, and
/// a hidden size that is no multiple, is an error that names the input.
Heads readHeads(const std::string &name, const Shape &shape,
                std::int64_t heads);

/// The type of the first input, which kernels compute in; another than a float
/// is declined.
ElementType readFloatType(const GraphNode &node);
/// Declines a softmax in a type that kernels do not have: they have f64 for
/// f64, and f32, which is no less precise than 16 bits, for all others.
void checkSoftmaxPrecision(const GraphNode &node, ElementType type);

/// An error if heads that are known do not belong together.
void expectSameKeys(const Heads &query, const Heads &key, const Heads &value);
/// An error if two sizes that are known differ.
void expectSize(const std::string &what, std::int64_t expected,
                std::int64_t size);

/// Heads at an address, as (B, H, S, D), where they lie as (B, S, H, D), with
/// this many elements from token to token, or as (B, H, S, D) if that is 0.
TensorView viewHeads(const void *data, ElementType type, const Heads &heads,
                     std::int64_t tokenStride, bool readOnly = true);
/// Of an input.
TensorView viewHeads(const TensorValue &tensor, const Heads &heads);
/// Memory for heads, dense.
void *allocate(Scratch &scratch, const Heads &heads, ElementType type,
               std::optional<Scratch::Buffer> &buffer);
/// Where a tensor without elements has no address.
const void *addressOf(const void *data);

/// Sizes with leading ones; a rank above 4 is an error.
std::array<std::int64_t, 4> toRank4(const Shape &shape);

/// Which dimensions of a mask stand for any index in a call of these sizes
/// (B, Hq, Sq, Skv): those of a size of 1 that the graph knows, or that are
/// others in the call. Its last dimension may be shorter than the keys: those
/// that it lacks are hidden. Any other difference is an error.
std::array<bool, 4> broadcastMask(const Shape &known, const Shape &mask,
                                  const std::array<std::int64_t, 4> &sizes);

/// A mask of rank 4 that has all keys. The buffer is used if it lacks some.
TensorView viewMask(const TensorValue &mask, std::int64_t keyLength,
                    Scratch &scratch, std::optional<Scratch::Buffer> &buffer);

/// Adds the rows of `fresh` (B, H, S, D) to those of `past` (B, H, P, D), in
/// `present` (B, H, P', D): of batch b, the first `first(b)` rows are those of
/// the past, then come the fresh ones, and what is after them is 0, unless past
/// and present are the same memory.
struct Append {
  const void *past = nullptr; ///< Dense; null if there is none.
  std::int64_t pastLength = 0;
  TensorView fresh;
  void *present; ///< Dense.
  std::int64_t presentLength;
};
void append(const Call &call, const Append &append,
            const std::function<std::int64_t(std::int64_t)> &first);

} // namespace attn::ort

#endif // ATTN_RUNTIME_ONNXRUNTIME_TENSORS_H
