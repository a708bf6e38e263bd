//===- KnownSizes.h - What is known of sizes and indices --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_KNOWNSIZES_H
#define ATTN_DIALECT_SHARED_KNOWNSIZES_H

#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace mlir::attn {

/// Whether an index is a multiple of `factor`, which is positive, for certain:
/// a constant, a loop's induction variable, or sums, differences, products and
/// bitwise ands of such.
bool isKnownMultiple(OpFoldResult index, int64_t factor);

/// The most that dimension `dim` of a tensor or buffer has, if that is known.
std::optional<int64_t> getKnownMost(Value shaped, int64_t dim);

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_KNOWNSIZES_H
