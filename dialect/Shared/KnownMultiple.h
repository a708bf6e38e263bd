//===- KnownMultiple.h - What indices are multiples of ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_KNOWNMULTIPLE_H
#define ATTN_DIALECT_SHARED_KNOWNMULTIPLE_H

#include "mlir/IR/OpDefinition.h"

namespace mlir::attn {

/// Whether an index is a multiple of `factor`, which is positive, for certain:
/// a constant, a loop's induction variable, or sums, differences, products and
/// bitwise ands of such.
bool isKnownMultiple(OpFoldResult index, int64_t factor);

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_KNOWNMULTIPLE_H
