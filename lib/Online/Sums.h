//===- Sums.h - Sums over loops ---------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_SUMS_H
#define ATTN_ONLINE_SUMS_H

#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// The sums of the products of two inputs over the loops that are not in the
/// last of `indices` (see `createGeneric`), in the type of `init`, which may be
/// wider than theirs, or a float for their integers.
Value emitSumOfProducts(IndexBuilder &b, ValueRange factors, Value init,
                        ArrayRef<ArrayRef<AffineExpr>> indices);

/// The same of values and weights, the first inputs, of which values may be
/// stored in a type with a scale for each row, the third. It leaves out
/// products with a weight of -0.0, which only a hidden position has: others are
/// not negative.
Value emitVisibleSum(IndexBuilder &b, ValueRange inputs, Value init,
                     ArrayRef<ArrayRef<AffineExpr>> indices);

/// A matrix times a factor for each of one of its dimensions.
Value emitProduct(IndexBuilder &b, Value matrix, Value factors,
                  AffineExpr dimension);

//===----------------------------------------------------------------------===//
// Sums that begin at zero
//===----------------------------------------------------------------------===//

// Those of a tile's first block: nothing needs to write zeros for it, read them
// and rescale them.

/// `tensor` filled with zeros if `isFirst`, else what `other` emits for it, as
/// always where `isFirst` is null.
Value emitZerosIf(IndexBuilder &b, Value isFirst, Value tensor,
                  function_ref<Value()> other);

/// `tensor` if `factors`, a vector of f32, are all 1, else what `other` emits
/// for it.
Value emitUnlessOnes(IndexBuilder &b, Value factors, Value tensor,
                     function_ref<Value()> other);

} // namespace mlir::attn

#endif // ATTN_ONLINE_SUMS_H
