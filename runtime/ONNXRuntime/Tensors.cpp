//===- Tensors.cpp - Heads, masks and caches of nodes ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/ONNXRuntime/Tensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace attn;
using namespace attn::ort;
using std::string;

Heads ort::readHeads(const string &name, const Shape &shape,
                     std::int64_t heads) {
  switch (shape.size()) {
  case 0:
    return {.heads = heads > 0 ? heads : dynamic};
  case 4:
    return {shape[0], shape[1], shape[2], shape[3]};
  case 3:
    if (heads <= 0)
      refuse(name + ": expected the number of its heads as an attribute, "
                    "because its rank is 3");
    if (shape[2] >= 0 && shape[2] % heads != 0)
      refuse(name + ": expected a last size that is a multiple of its " +
             std::to_string(heads) + " heads, got " + describe(shape));
    return {shape[0], heads, shape[1],
            shape[2] < 0 ? dynamic : shape[2] / heads};
  default:
    refuse(name + ": expected rank 3 or 4, got " + describe(shape));
  }
}

ElementType ort::readFloatType(const GraphNode &node) {
  const GraphValue &first = node.input(0);
  if (!first.type || !isFloat(*first.type))
    decline("its type is not f64, f32, f16 or bf16");
  return *first.type;
}

void ort::checkSoftmaxPrecision(const GraphNode &node, ElementType type) {
  std::int64_t precision = node.integer("softmax_precision", 0);
  bool isDouble = precision == abi::dataDouble;
  if (type == ElementType::f64 ? precision != 0 && !isDouble : isDouble)
    decline("softmax_precision is " + std::to_string(precision));
}

void ort::expectSameKeys(const Heads &query, const Heads &key,
                         const Heads &value) {
  expectSize("batch of K", query.batch, key.batch);
  expectSize("batch of V", query.batch, value.batch);
  expectSize("heads of V", key.heads, value.heads);
  expectSize("length of V", key.length, value.length);
  expectSize("head size of K", query.size, key.size);
  if (query.heads >= 0 && key.heads >= 0 &&
      (key.heads == 0 || query.heads % key.heads != 0))
    refuse("heads of Q: expected a multiple of the " +
           std::to_string(key.heads) + " heads of K, got " +
           std::to_string(query.heads));
}

void ort::expectSize(const string &what, std::int64_t expected,
                     std::int64_t size) {
  if (expected >= 0 && size >= 0 && expected != size)
    refuse(what + ": expected " + std::to_string(expected) + ", got " +
           std::to_string(size));
}

const void *ort::addressOf(const void *data) {
  static const std::byte none[16] = {};
  return data ? data : none;
}

TensorView ort::viewHeads(const void *data, ElementType type,
                          const Heads &heads, std::int64_t tokenStride,
                          bool readOnly) {
  std::array<std::int64_t, 4> sizes = {heads.batch, heads.heads, heads.length,
                                       heads.size};
  if (tokenStride == 0)
    return TensorView(addressOf(data), type, sizes, readOnly);
  std::array<std::int64_t, 4> strides = {heads.length * tokenStride, heads.size,
                                         tokenStride, 1};
  return TensorView(addressOf(data), type, sizes, strides, readOnly);
}

TensorView ort::viewHeads(const TensorValue &tensor, const Heads &heads) {
  return viewHeads(tensor.data, *tensor.type, heads,
                   tensor.shape.size() == 3 ? tensor.shape[2] : 0);
}

void *ort::allocate(Scratch &scratch, const Heads &heads, ElementType type,
                    std::optional<Scratch::Buffer> &buffer) {
  buffer.emplace(scratch, heads.batch * heads.heads * heads.length *
                              heads.size * sizeOf(type));
  return buffer->data();
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

std::array<std::int64_t, 4> ort::toRank4(const Shape &shape) {
  if (shape.size() > 4)
    refuse("expected a rank of at most 4, got " + describe(shape));
  std::array<std::int64_t, 4> sizes = {1, 1, 1, 1};
  std::copy(shape.begin(), shape.end(), sizes.end() - shape.size());
  return sizes;
}

std::array<bool, 4>
ort::broadcastMask(const Shape &known, const Shape &mask,
                   const std::array<std::int64_t, 4> &sizes) {
  std::array<std::int64_t, 4> ofGraph = toRank4(known), ofCall = toRank4(mask);
  std::array<bool, 4> isBroadcast = {};
  for (int dim = 0; dim < 3; ++dim) {
    bool isOne = ofCall[dim] == 1;
    isBroadcast[dim] = isOne && (ofGraph[dim] == 1 || sizes[dim] != 1);
    if (!isOne && ofCall[dim] >= 0 && sizes[dim] >= 0 &&
        ofCall[dim] != sizes[dim])
      refuse("mask: expected a shape that broadcasts to " +
             describe({sizes.begin(), sizes.end()}) + ", got " +
             describe(mask));
  }
  if (sizes[3] >= 0 && ofCall[3] > sizes[3])
    refuse("mask: expected at most " + std::to_string(sizes[3]) +
           " keys, got " + describe(mask));
  return isBroadcast;
}

TensorView ort::viewMask(const TensorValue &mask, std::int64_t keyLength,
                         Scratch &scratch,
                         std::optional<Scratch::Buffer> &buffer) {
  std::array<std::int64_t, 4> sizes = toRank4(mask.shape);
  ElementType type = *mask.type;
  std::int64_t has = sizes[3];
  sizes[3] = keyLength;
  if (has == keyLength)
    return TensorView(addressOf(mask.data), type, sizes, /*readOnly=*/true);

  std::size_t rows = sizes[0] * sizes[1] * sizes[2], size = sizeOf(type);
  buffer.emplace(scratch, rows * keyLength * size);
  std::byte hidden[8] = {}; // False.
  auto store = [&](auto value) { std::memcpy(hidden, &value, sizeof(value)); };
  float infinity = std::numeric_limits<float>::infinity();
  if (type == ElementType::f64)
    store(-double(infinity));
  else if (type == ElementType::f32)
    store(-infinity);
  else if (type == ElementType::f16)
    store(f16(-infinity));
  else if (type == ElementType::bf16)
    store(bf16(-infinity));
  const auto *from = static_cast<const std::byte *>(mask.data);
  std::byte *to = buffer->data();
  for (std::size_t row = 0; row < rows; ++row) {
    to = std::copy_n(from + row * has * size, has * size, to);
    for (std::int64_t key = has; key < keyLength; ++key)
      to = std::copy_n(hidden, size, to);
  }
  return TensorView(buffer->data(), type, sizes, /*readOnly=*/true);
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

void ort::append(const Call &call, const Append &append,
                 const std::function<std::int64_t(std::int64_t)> &first) {
  const TensorView &fresh = append.fresh;
  std::int64_t heads = fresh.size(1), length = fresh.size(2);
  std::size_t rowSize = fresh.size(3) * sizeOf(fresh.type());
  const auto *past = static_cast<const std::byte *>(append.past);
  const auto *source = static_cast<const std::byte *>(fresh.data());
  auto *present = static_cast<std::byte *>(append.present);
  auto copyHead = [&](int index) {
    std::int64_t batch = index / heads, head = index % heads;
    std::int64_t before = first(batch), after = before + length;
    std::byte *to = present + index * append.presentLength * rowSize;
    bool isInPlace = past == present;
    if (!isInPlace && before > 0)
      std::memcpy(to, past + index * append.pastLength * rowSize,
                  before * rowSize);
    const std::byte *from =
        source + (batch * fresh.stride(0) + head * fresh.stride(1)) *
                     std::int64_t(sizeOf(fresh.type()));
    std::size_t stride = fresh.stride(2) * sizeOf(fresh.type());
    if (stride == rowSize)
      std::memcpy(to + before * rowSize, from, length * rowSize);
    else
      for (std::int64_t row = 0; row < length; ++row)
        std::memcpy(to + (before + row) * rowSize, from + row * stride,
                    rowSize);
    if (!isInPlace)
      std::memset(to + after * rowSize, 0,
                  (append.presentLength - after) * rowSize);
  };
  int count = int(fresh.size(0) * heads);
  if (rowSize == 0 || append.presentLength == 0)
    return;
  // What is copied sooner than other threads wake up.
  constexpr std::size_t small = 1 << 16;
  if (count * append.presentLength * rowSize >= small)
    call.parallelFor(count, copyHead);
  else
    for (int index = 0; index < count; ++index)
      copyHead(index);
}
