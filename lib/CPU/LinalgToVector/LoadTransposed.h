//===- LoadTransposed.h - Transposition in registers ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_LOADTRANSPOSED_H
#define ATTN_CPU_LINALGTOVECTOR_LOADTRANSPOSED_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// What machines shuffle with instructions that need no table of indices, and
/// insert from memory into a wider register without a shuffle.
inline constexpr int64_t transposedBits = 128;

/// Transposes squares in each part of `rows`, registers whose number is a power
/// of two and that of a part's units, of `unit` elements each.
void transposeParts(OpBuilder &b, Location loc, MutableArrayRef<Value> rows,
                    int64_t unit);

/// The `size` columns of `width` rows, each a vector of `width` elements.
/// `load` gives the `size` elements of a row. Both are powers of two, and
/// `size` elements should fill `transposedBits`.
SmallVector<Value> loadTransposed(OpBuilder &b, Location loc, int64_t size,
                                  int64_t width,
                                  function_ref<Value(int64_t row)> load);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_LOADTRANSPOSED_H
