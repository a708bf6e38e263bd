//===- Rotation.cpp - Rotary positions of a node's heads ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Rotation.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <type_traits>

using namespace attn;
using namespace attn::ort;

RotaryTables ort::readRotaryTables(const TensorValue &cosine,
                                   const TensorValue &sine,
                                   std::int64_t positions,
                                   std::int64_t headSize) {
  for (auto [name, table] :
       {std::pair("cos_cache", &cosine), std::pair("sin_cache", &sine)}) {
    const Shape &shape = table->shape;
    if (shape.size() != 2 || shape[0] < positions || 2 * shape[1] > headSize ||
        shape != cosine.shape)
      refuse(std::string(name) + ": expected at least " +
             std::to_string(positions) + " positions of at most " +
             std::to_string(headSize / 2) + " pairs, got " + describe(shape));
  }
  return {cosine.data, sine.data, cosine.shape[1]};
}

/// One head of one token.
template <typename T>
static void rotateRow(const RotaryTables &tables, std::int64_t position,
                      const T *from, T *to, std::int64_t size) {
  // In the precision of the scores.
  using Real = std::conditional_t<std::same_as<T, double>, double, float>;
  std::int64_t pairs = tables.pairs;
  const T *cosine = static_cast<const T *>(tables.cosine) + position * pairs;
  const T *sine = static_cast<const T *>(tables.sine) + position * pairs;
  std::int64_t step = tables.isInterleaved ? 2 : 1;
  std::int64_t distance = tables.isInterleaved ? 1 : pairs;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    Real a = Real(from[pair * step]), b = Real(from[pair * step + distance]);
    Real c = Real(cosine[pair]), s = Real(sine[pair]);
    to[pair * step] = T(a * c - b * s);
    to[pair * step + distance] = T(b * c + a * s);
  }
  std::copy(from + 2 * pairs, from + size, to + 2 * pairs);
}

template <typename T>
static void rotateTokens(const Call &call, const RotaryTables &tables,
                         const TensorView &heads,
                         const std::function<std::int64_t(std::int64_t)> &first,
                         T *to) {
  std::int64_t numHeads = heads.size(1), length = heads.size(2),
               size = heads.size(3);
  const T *from = static_cast<const T *>(heads.data());
  auto rotateToken = [&](std::int64_t batch, std::int64_t token) {
    const T *source = from + batch * heads.stride(0) + token * heads.stride(2);
    T *target = to + (batch * length + token) * numHeads * size;
    for (std::int64_t head = 0; head < numHeads; ++head)
      rotateRow(tables, first(batch) + token, source + head * heads.stride(1),
                target + head * size, size);
  };
  constexpr std::int64_t tokensOfTask = 64;
  std::int64_t tasks = (length + tokensOfTask - 1) / tokensOfTask;
  auto rotateSome = [&](int task) {
    std::int64_t begin = task % tasks * tokensOfTask;
    std::int64_t end = std::min(begin + tokensOfTask, length);
    for (std::int64_t token = begin; token < end; ++token)
      rotateToken(task / tasks, token);
  };
  int count = int(heads.size(0) * tasks);
  if (tasks > 1)
    call.parallelFor(count, rotateSome);
  else
    for (int task = 0; task < count; ++task)
      rotateSome(task);
}

TensorView ort::rotate(const Call &call, const RotaryTables &tables,
                       const TensorView &heads,
                       const std::function<std::int64_t(std::int64_t)> &first,
                       Scratch &scratch,
                       std::optional<Scratch::Buffer> &buffer) {
  std::int64_t token = heads.size(1) * heads.size(3);
  buffer.emplace(scratch,
                 heads.size(0) * heads.size(2) * token * sizeOf(heads.type()));
  void *data = buffer->data();
  visitElementType(heads.type(), [&]<typename T>(std::type_identity<T>) {
    if constexpr (!std::integral<T>)
      rotateTokens(call, tables, heads, first, static_cast<T *>(data));
  });
  std::array<std::int64_t, 4> strides = {heads.size(2) * token, heads.size(3),
                                         token, 1};
  return TensorView(data, heads.type(), heads.sizes(), strides,
                    /*readOnly=*/true);
}
