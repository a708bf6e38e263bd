//===- TestTensor.h - Tensors of tests in guarded memory --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_TESTTENSOR_H
#define ATTN_TEST_EXECUTION_TESTTENSOR_H

#include "attn/tensor_view.h"
#include "test/Execution/GuardedBuffer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace attn::test {

using Index = std::int64_t;
using Shape = std::vector<Index>;

/// How a tensor lies in memory. The last dimension is always contiguous.
struct Layout {
  /// Dimensions from the outermost in memory to the innermost; empty: as they
  /// are numbered.
  std::vector<int> order;
  /// Elements of no meaning after every row of the last dimension.
  Index rowPadding = 0;
  /// Dimensions of stride 0, all of whose indices share elements.
  std::vector<int> broadcast;
  /// Dimensions of negative stride.
  std::vector<int> reversed;
};

/// A strided tensor that ends, or begins, at a page that may not be touched. A
/// new tensor holds the canary, which is NaN in every float type.
class TestTensor {
public:
  TestTensor(ElementType type, const Shape &shape, const Layout &layout = {});
  /// Dense, with these elements in row-major order.
  TestTensor(ElementType type, const Shape &shape,
             const std::vector<double> &elements);

  /// Query, key and value side by side in every row of one buffer of shape
  /// (B, S, Hq + 2 Hkv, D).
  static std::vector<TestTensor> createPacked(ElementType type, Index batch,
                                              Index length, Index queryHeads,
                                              Index keyValueHeads,
                                              Index headSize);

  TensorView view() const; ///< Read-only.
  TensorView mutableView() const { return tensorView; }
  operator TensorView() const { return view(); }
  ElementType type() const { return tensorView.type(); }
  Shape shape() const;
  Index size(int dim) const { return tensorView.size(dim); }

  /// The element, or nothing if there is none at `index`.
  std::optional<double> get(const Shape &index) const;
  void set(const Shape &index, double value);
  /// Sets all elements, in row-major order.
  void fill(const std::function<double(const Shape &index)> &element);
  void fill(const std::function<double()> &element);
  /// All elements in row-major order.
  std::vector<double> elements() const;

  /// True if no byte but those of the elements has changed.
  bool gapsAreUntouched() const;
  /// The bytes of the buffer, to see whether they change.
  std::vector<std::byte> bytes() const;

private:
  TestTensor(std::shared_ptr<GuardedBuffer> buffer, const TensorView &view)
      : buffer(std::move(buffer)), tensorView(view) {}

  std::shared_ptr<GuardedBuffer> buffer;
  TensorView tensorView;
};

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_TESTTENSOR_H
