//===- Lanes.h - Widening and rearranging vectors ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_LANES_H
#define ATTN_CPU_LINALGTOVECTOR_LANES_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <utility>

namespace mlir::attn {

/// Whether contractions in f32 take elements of `type` and convert them: f16,
/// bf16, i8 and floats of 8 bits.
bool isNarrow(Type type);

/// A vector of narrow elements with elements of the float type `type`.
Value widenLanes(ImplicitLocOpBuilder &b, Value vector, Type type);

// bf16 is the upper half of f32, so that a vector of 32 bits that holds two of
// them becomes the even ones by a shift and the odd ones by a mask: half of
// what widening them in their order costs. Floats of 8 bits are at the top of
// f16, or nearly so, and a vector of 16 bits holds two of them.

/// Whether `loadSplit` takes elements of `type`.
bool canSplit(Type type);

/// Loads `2 * width` contiguous elements as f32, the even and the odd ones.
std::pair<Value, Value> loadSplit(ImplicitLocOpBuilder &b, Value buffer,
                                  ValueRange indices, int64_t width);

/// The even and the odd lanes of two vectors, one after the other.
std::pair<Value, Value> splitLanes(ImplicitLocOpBuilder &b, Value first,
                                   Value second);

/// The reverse of that.
std::pair<Value, Value> joinLanes(ImplicitLocOpBuilder &b, Value even,
                                  Value odd);

/// What machines shuffle with instructions that need no table of indices, and
/// insert from memory into a wider register without a shuffle.
inline constexpr int64_t transposedBits = 128;

/// Transposes squares in each part of `rows`, registers whose number is a power
/// of two and that of a part's units, of `unit` elements each.
void transposeParts(ImplicitLocOpBuilder &b, MutableArrayRef<Value> rows,
                    int64_t unit);

/// The `size` columns of `width` rows, each a vector of `width` elements.
/// `load` gives the `size` elements of a row. Both are powers of two, and
/// `size` elements should fill `transposedBits`.
SmallVector<Value> loadTransposed(ImplicitLocOpBuilder &b, int64_t size,
                                  int64_t width,
                                  function_ref<Value(int64_t row)> load);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_LANES_H
