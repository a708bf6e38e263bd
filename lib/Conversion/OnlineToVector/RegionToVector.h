//===- RegionToVector.h - Regions as vector code of a tile ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CONVERSION_ONLINETOVECTOR_REGIONTOVECTOR_H
#define ATTN_CONVERSION_ONLINETOVECTOR_REGIONTOVECTOR_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// A scalar, or a vector of which a dimension has size 1, as a vector of
/// `shape`. A vector of rank 1 has one element for each row of a matrix.
Value broadcastTo(OpBuilder &builder, Location loc, Value value,
                  ArrayRef<int64_t> shape);

/// Inlines a block of elementwise operations for vectors in place of its
/// arguments, each of the smallest shape that its operands need. What scalars
/// alone decide stays scalar. Returns what the terminator yields. Emits an
/// error for an operation that is not elementwise.
FailureOr<Value> vectorizeBody(OpBuilder &builder, Block &body,
                               ValueRange arguments);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_ONLINETOVECTOR_REGIONTOVECTOR_H
