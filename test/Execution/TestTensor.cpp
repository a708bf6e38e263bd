//===- TestTensor.cpp - Tensors of tests in guarded memory ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/TestTensor.h"

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstring>
#include <numeric>
#include <ranges>
#include <type_traits>

using namespace attn;
using namespace attn::test;

/// Calls `visit` with all indices of `shape` in row-major order.
static void forEachIndex(const Shape &shape,
                         const std::function<void(const Shape &)> &visit) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return;
  Shape index(shape.size(), 0);
  while (true) {
    visit(index);
    int dim = int(shape.size()) - 1;
    while (dim >= 0 && ++index[dim] == shape[dim])
      index[dim--] = 0;
    if (dim < 0)
      return;
  }
}

/// Every other buffer begins at a guard page; the others end at one.
static GuardedBuffer::Edge nextEdge() {
  static std::atomic<unsigned> count = 0;
  return count++ % 2 ? GuardedBuffer::Edge::begin : GuardedBuffer::Edge::end;
}

static bool contains(const std::vector<int> &dims, int dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

TestTensor::TestTensor(ElementType type, const Shape &shape,
                       const Layout &layout) {
  int rank = int(shape.size());
  std::vector<int> order = layout.order;
  if (order.empty()) {
    order.resize(shape.size());
    std::iota(order.begin(), order.end(), 0);
  }
  std::vector<Index> strides(shape.size(), 0);
  Index next = 1, low = 0, high = 0;
  bool empty = false;
  for (int dim : order | std::views::reverse) {
    Index size = shape[dim];
    empty |= size == 0;
    if (contains(layout.broadcast, dim))
      continue;
    strides[dim] = contains(layout.reversed, dim) ? -next : next;
    (strides[dim] < 0 ? low : high) +=
        std::max<Index>(size - 1, 0) * strides[dim];
    next *= std::max<Index>(size, 1);
    if (dim == rank - 1)
      next += layout.rowPadding;
  }
  std::size_t elements = empty ? 0 : std::size_t(high - low + 1);
  buffer = std::make_shared<GuardedBuffer>(elements * sizeOf(type), nextEdge());
  tensorView =
      TensorView(buffer->data() + (empty ? 0 : -low * Index(sizeOf(type))),
                 type, shape, strides, /*readOnly=*/false);
}

TestTensor::TestTensor(ElementType type, const Shape &shape,
                       const std::vector<double> &elements)
    : TestTensor(type, shape) {
  auto element = elements.begin();
  fill([&] { return *element++; });
}

std::vector<TestTensor> TestTensor::createPacked(ElementType type, Index batch,
                                                 Index length, Index queryHeads,
                                                 Index keyValueHeads,
                                                 Index headSize) {
  Index heads = queryHeads + 2 * keyValueHeads;
  TestTensor all(type, {batch, length, heads, headSize});
  std::vector<Index> strides = {length * heads * headSize, headSize,
                                heads * headSize, 1};
  std::vector<TestTensor> result;
  Index firstHead = 0;
  for (Index count : {queryHeads, keyValueHeads, keyValueHeads}) {
    Shape shape = {batch, count, length, headSize};
    bool empty = batch * length == 0;
    std::byte *data = all.buffer->data() +
                      (empty ? 0 : firstHead * headSize * Index(sizeOf(type)));
    result.push_back(
        TestTensor(all.buffer, TensorView(data, type, shape, strides, false)));
    firstHead += count;
  }
  return result;
}

TensorView TestTensor::view() const {
  return TensorView(tensorView.data(), tensorView.type(), tensorView.sizes(),
                    tensorView.strides(), /*readOnly=*/true);
}

Shape TestTensor::shape() const {
  auto sizes = tensorView.sizes();
  return {sizes.begin(), sizes.end()};
}

static std::byte *addressOf(const TensorView &view, const Shape &index) {
  Index offset = 0;
  for (std::size_t dim = 0; dim < index.size(); ++dim)
    offset += index[dim] * view.stride(int(dim));
  return static_cast<std::byte *>(view.data()) +
         offset * Index(sizeOf(view.type()));
}

std::optional<double> TestTensor::get(const Shape &index) const {
  for (std::size_t dim = 0; dim < index.size(); ++dim)
    if (index[dim] < 0 || index[dim] >= size(int(dim)))
      return std::nullopt;
  const std::byte *address = addressOf(tensorView, index);
  return visitElementType(type(), [&]<typename T>(std::type_identity<T>) {
    std::conditional_t<std::same_as<T, bool>, std::uint8_t, T> value;
    std::memcpy(&value, address, sizeof(T));
    return double(value);
  });
}

void TestTensor::set(const Shape &index, double value) {
  std::byte *address = addressOf(tensorView, index);
  visitElementType(type(), [&]<typename T>(std::type_identity<T>) {
    T element = T(value);
    std::memcpy(address, &element, sizeof(T));
  });
}

void TestTensor::fill(
    const std::function<double(const Shape &index)> &element) {
  forEachIndex(shape(),
               [&](const Shape &index) { set(index, element(index)); });
}

void TestTensor::fill(const std::function<double()> &element) {
  fill([&](const Shape &) { return element(); });
}

std::vector<double> TestTensor::elements() const {
  std::vector<double> result;
  forEachIndex(shape(),
               [&](const Shape &index) { result.push_back(*get(index)); });
  return result;
}

bool TestTensor::gapsAreUntouched() const {
  std::vector<std::byte> copy = bytes();
  forEachIndex(shape(), [&](const Shape &index) {
    std::ptrdiff_t offset = addressOf(tensorView, index) - buffer->data();
    std::fill_n(copy.begin() + offset, sizeOf(type()), GuardedBuffer::canary);
  });
  auto isCanary = [](std::byte byte) { return byte == GuardedBuffer::canary; };
  auto unused = buffer->unusedBytes();
  return std::all_of(copy.begin(), copy.end(), isCanary) &&
         std::all_of(unused.begin(), unused.end(), isCanary);
}

std::vector<std::byte> TestTensor::bytes() const {
  auto span = buffer->bytes();
  return {span.begin(), span.end()};
}
