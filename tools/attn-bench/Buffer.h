//===- Buffer.h - Tensors for measurements ----------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TOOLS_ATTN_BENCH_BUFFER_H
#define ATTN_TOOLS_ATTN_BENCH_BUFFER_H

#include "attn/tensor_view.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace attn::bench {

/// A dense tensor in memory of its own, in huge pages where the system has
/// them, so that address translation is the same in every run.
class Buffer {
public:
  Buffer(ElementType type, std::vector<std::int64_t> sizes);

  /// Fills it with numbers from the standard normal distribution.
  void fillNormal(std::mt19937_64 &random);
  /// Sets every element to a function of its row-major position.
  void fill(const std::function<double(std::int64_t)> &valueAt);

  /// Takes the elements of another buffer of the same type and sizes.
  void copyFrom(const Buffer &other);

  const std::byte *data() const { return memory.get(); }
  std::size_t bytes() const { return std::size_t(count) * sizeOf(elementType); }
  TensorView view() const {
    return {memory.get(), elementType, sizes, /*readOnly=*/false};
  }
  /// A view of other sizes that begins at an element.
  TensorView viewAt(std::int64_t position,
                    const std::vector<std::int64_t> &viewSizes) const;
  TensorView viewAt(std::int64_t position,
                    const std::vector<std::int64_t> &viewSizes,
                    const std::vector<std::int64_t> &strides) const;

private:
  struct Free {
    void operator()(std::byte *memory) const { std::free(memory); }
  };
  ElementType elementType;
  std::vector<std::int64_t> sizes;
  std::int64_t count;
  std::unique_ptr<std::byte, Free> memory;
};

} // namespace attn::bench

#endif // ATTN_TOOLS_ATTN_BENCH_BUFFER_H
