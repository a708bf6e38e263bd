//===- Npy.h - NumPy array files --------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the .npy format, versions 1.0, 2.0 and 3.0:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
// No C++ library in Debian reads it without asserting or throwing on bad files.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_NPY_NPY_H
#define ATTN_NPY_NPY_H

#include "attn/error.h"
#include "attn/tensor_view.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <vector>

namespace attn {

/// A dense row-major array that owns its elements.
class NpyArray {
public:
  /// Alignment of the first element in bytes: a cache line, and what AVX-512
  /// loads like best.
  static constexpr std::size_t alignment = 64;

  /// An array of zeros. An error for a negative size, a rank above
  /// TensorView::maxRank, or too many elements for the memory.
  static Expected<NpyArray> allocate(ElementType type,
                                     std::vector<std::int64_t> shape);

  ElementType type() const { return elementType; }
  const std::vector<std::int64_t> &shape() const { return sizes; }
  std::span<std::byte> bytes() { return {data.get(), byteCount}; }
  std::span<const std::byte> bytes() const { return {data.get(), byteCount}; }

  TensorView view() { return {data.get(), elementType, sizes, false}; }
  TensorView view() const { return {data.get(), elementType, sizes, true}; }

private:
  struct Free {
    void operator()(std::byte *data) const {
      ::operator delete[](data, std::align_val_t{alignment});
    }
  };

  NpyArray() = default;

  ElementType elementType = ElementType::f32;
  std::vector<std::int64_t> sizes;
  std::unique_ptr<std::byte[], Free> data;
  std::size_t byteCount = 0;
};

/// Reads the contents of a .npy file: C order, little-endian f2, f4, f8, i1,
/// i2, i4, i8 or b1. Anything else, and any malformed, truncated or overlong
/// input, is an error that says what was expected and what came.
Expected<NpyArray> parseNpy(std::span<const std::byte> bytes);

/// Contents of a .npy file (version 1.0) with the elements of `view`, in C
/// order whatever its strides. NumPy has neither bf16 nor floats of 8 bits:
/// they are written as f4, exactly.
Expected<std::vector<std::byte>> serializeNpy(const TensorView &view);

/// parseNpy and serializeNpy on a file; errors begin with the path. A file
/// appears complete or not at all: it is written under another name beside its
/// own, then renamed.
Expected<NpyArray> readNpy(const std::string &path);
Status writeNpy(const std::string &path, const TensorView &view);

} // namespace attn

#endif // ATTN_NPY_NPY_H
