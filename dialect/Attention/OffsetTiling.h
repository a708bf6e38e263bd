//===- OffsetTiling.h - The offset of a tile's rows -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_OFFSETTILING_H
#define ATTN_DIALECT_ATTENTION_OFFSETTILING_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// The offset of the tile of batch entries from `offsets[0]`, `sizes[0]` many,
/// and rows from `offsets[2]` on, of an op with `offset`: an integer, a `(B)`
/// tensor of them, or null, which is 0. Either an index or a slice of the
/// tensor. Fails for a tile of several batch entries that each have an offset,
/// unless it begins with row 0.
FailureOr<Value> createTileOffset(OpBuilder &builder, Location loc,
                                  Value offset, ArrayRef<OpFoldResult> offsets,
                                  ArrayRef<OpFoldResult> sizes);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_OFFSETTILING_H
