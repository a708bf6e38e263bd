//===- Integers.h - Sizes that graphs compute with --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs compute shapes with nodes: Shape, Gather of one size, Concat, Reshape.
// Tensors of a few integers whose elements are known, as numbers or as sizes of
// other tensors, are followed one by one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_ONNX_INTEGERS_H
#define ATTN_RUNTIME_ONNX_INTEGERS_H

#include "runtime/ONNX/Tensors.h"

#include <optional>

namespace attn::onnx {

/// The elements of a tensor of integers of rank 0 or 1, if they are known and
/// not many.
std::optional<Sizes> findIntegers(Value tensor);

/// The same if all are numbers.
std::optional<SmallVector<std::int64_t>> findConstantIntegers(Value tensor);

/// A tensor of integers that `findIntegers` finds.
Value createIntegers(Builder &b, ArrayRef<OpFoldResult> elements,
                     RankedTensorType type);

} // namespace attn::onnx

#endif // ATTN_RUNTIME_ONNX_INTEGERS_H
