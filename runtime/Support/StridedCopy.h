//===- StridedCopy.h - Copies between views ---------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_STRIDEDCOPY_H
#define ATTN_RUNTIME_SUPPORT_STRIDEDCOPY_H

#include "attn/tensor_view.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace attn::support {

/// Copies between views of one type and shape, whose last dimensions are
/// contiguous. From dimension `dim` on, of the elements at these offsets.
inline void copyElements(const TensorView &from, const TensorView &to,
                         int dim = 0, std::int64_t fromOffset = 0,
                         std::int64_t toOffset = 0) {
  if (dim < from.rank() - 1) {
    for (std::int64_t i = 0; i < from.size(dim); ++i)
      copyElements(from, to, dim + 1, fromOffset + i * from.stride(dim),
                   toOffset + i * to.stride(dim));
    return;
  }
  auto bytes = std::int64_t(sizeOf(from.type()));
  std::int64_t count = from.rank() == 0 ? 1 : from.size(dim);
  if (count > 0)
    std::memcpy(static_cast<std::byte *>(to.data()) + toOffset * bytes,
                static_cast<const std::byte *>(from.data()) +
                    fromOffset * bytes,
                std::size_t(count * bytes));
}

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_STRIDEDCOPY_H
