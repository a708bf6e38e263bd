//===- ByteRange.cpp - The bytes that a view covers -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Support/ByteRange.h"

#include <algorithm>

using namespace attn;

bool support::isEmpty(const TensorView &view) {
  auto sizes = view.sizes();
  return std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
}

bool support::computeByteRange(const TensorView &view, ByteRange &range) {
  range = {};
  if (isEmpty(view))
    return true;
  std::int64_t low = 0, high = 0; // Offsets of the outermost elements.
  std::int64_t elementSize = std::int64_t(sizeOf(view.type()));
  for (int dim = 0; dim < view.rank(); ++dim) {
    std::int64_t extent;
    if (__builtin_mul_overflow(view.size(dim) - 1, view.stride(dim), &extent) ||
        __builtin_mul_overflow(extent, elementSize, &extent))
      return false;
    std::int64_t &end = extent < 0 ? low : high;
    if (__builtin_add_overflow(end, extent, &end))
      return false;
  }
  auto address = reinterpret_cast<std::uintptr_t>(view.data());
  return !__builtin_add_overflow(high, elementSize, &high) &&
         !__builtin_add_overflow(address, low, &range.begin) &&
         !__builtin_add_overflow(address, high, &range.end);
}
