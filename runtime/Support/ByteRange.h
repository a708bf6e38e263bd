//===- ByteRange.h - The bytes that a view covers ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_SUPPORT_BYTERANGE_H
#define ATTN_RUNTIME_SUPPORT_BYTERANGE_H

#include "attn/tensor_view.h"

#include <cstdint>

namespace attn::support {

/// Addresses from `begin` up to `end`; none if they are equal.
struct ByteRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  std::size_t size() const { return end - begin; }
  bool overlaps(const ByteRange &other) const {
    return begin < other.end && other.begin < end;
  }
};

/// Whether the view has no elements.
bool isEmpty(const TensorView &view);

/// Sets `range` to the bytes that `view`, of a valid rank, covers. False if
/// there are no such addresses.
bool computeByteRange(const TensorView &view, ByteRange &range);

} // namespace attn::support

#endif // ATTN_RUNTIME_SUPPORT_BYTERANGE_H
