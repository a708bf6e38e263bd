//===- tensor_view.h - Strided views of host memory -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TENSOR_VIEW_H
#define ATTN_TENSOR_VIEW_H

#include "attn/element_type.h"

#include <array>
#include <cstdint>
#include <span>
#include <type_traits>

namespace attn {

/// A non-owning view of a strided tensor in host memory, or, for
/// `Kernel::launch`, in a GPU's: address of the first element, element type,
/// sizes, and strides in elements (not bytes). Strides of inputs may be zero (a
/// broadcast) or negative.
///
/// A kernel accepts views whose last dimension is contiguous, so a
/// (B, S, H, D) buffer is passed as (B, H, S, D) by swapping two sizes and two
/// strides; nothing is copied.
///
/// A view never checks its own contents; `Kernel::run` does, before it runs
/// anything.
class TensorView {
public:
  /// Highest rank of a view. A wider shape makes a view of rank -1, which every
  /// kernel refuses.
  static constexpr int maxRank = 8;

  TensorView() = default;

  /// A view with explicit strides. The view is read-only, and refused as a
  /// kernel's output, if `T` is const.
  template <typename T>
  TensorView(T *data, std::span<const std::int64_t> sizes,
             std::span<const std::int64_t> strides)
      : TensorView(static_cast<const void *>(data),
                   elementTypeOf<std::remove_const_t<T>>, sizes, strides,
                   std::is_const_v<T>) {}

  /// A dense row-major view.
  template <typename T>
  TensorView(T *data, std::span<const std::int64_t> sizes)
      : TensorView(static_cast<const void *>(data),
                   elementTypeOf<std::remove_const_t<T>>, sizes,
                   std::is_const_v<T>) {}

  /// The same with the element type as a value, for buffers whose type is only
  /// known at run time.
  TensorView(const void *data, ElementType type,
             std::span<const std::int64_t> sizes,
             std::span<const std::int64_t> strides, bool readOnly)
      : TensorView(data, type, sizes, readOnly) {
    if (strides.size() != sizes.size())
      viewRank = -1;
    for (int dim = 0; dim < viewRank; ++dim)
      viewStrides[dim] = strides[dim];
  }
  TensorView(const void *data, ElementType type,
             std::span<const std::int64_t> sizes, bool readOnly)
      : pointer(const_cast<void *>(data)), elementType(type),
        isReadOnly(readOnly),
        viewRank(sizes.size() <= maxRank ? int(sizes.size()) : -1) {
    // Unsigned, because absurd sizes may wrap here; the kernel refuses them.
    std::uint64_t stride = 1;
    for (int dim = viewRank - 1; dim >= 0; --dim) {
      viewSizes[dim] = sizes[dim];
      viewStrides[dim] = std::int64_t(stride);
      stride *= std::uint64_t(sizes[dim] > 1 ? sizes[dim] : 1);
    }
  }

  void *data() const { return pointer; }
  ElementType type() const { return elementType; }
  bool readOnly() const { return isReadOnly; }
  /// Number of dimensions; -1 if the view was built from a bad shape.
  int rank() const { return viewRank; }
  std::int64_t size(int dim) const { return viewSizes[dim]; }
  std::int64_t stride(int dim) const { return viewStrides[dim]; }
  std::span<const std::int64_t> sizes() const {
    return {viewSizes.data(), std::size_t(viewRank < 0 ? 0 : viewRank)};
  }
  std::span<const std::int64_t> strides() const {
    return {viewStrides.data(), std::size_t(viewRank < 0 ? 0 : viewRank)};
  }

private:
  void *pointer = nullptr;
  ElementType elementType = ElementType::f32;
  bool isReadOnly = false;
  int viewRank = 0;
  std::array<std::int64_t, maxRank> viewSizes{};
  std::array<std::int64_t, maxRank> viewStrides{};
};

} // namespace attn

#endif // ATTN_TENSOR_VIEW_H
