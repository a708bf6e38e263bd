//===- Sums.h - Sums over loops ---------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_SUMS_H
#define ATTN_TRANSFORMS_SUMS_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

using SumBody = function_ref<void(OpBuilder &, Location, ValueRange)>;

/// A linalg.generic that sums what `body` yields over the loops that are not in
/// the last of `indices`, which are those of the inputs and of `init`.
Value emitSum(OpBuilder &b, Location loc, ValueRange inputs, Value init,
              ArrayRef<ArrayRef<AffineExpr>> indices, SumBody body);

/// The same of the products of two inputs, in the type of `init`, which may be
/// wider than theirs, or a float for their integers.
Value emitSumOfProducts(OpBuilder &b, Location loc, ValueRange factors,
                        Value init, ArrayRef<ArrayRef<AffineExpr>> indices);

} // namespace mlir::attn

#endif // ATTN_TRANSFORMS_SUMS_H
