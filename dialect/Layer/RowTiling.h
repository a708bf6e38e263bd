//===- RowTiling.h - Tiles of ops on rows of heads --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What implementations of TilingInterface share whose op computes each row of a
// `(B, H, S, D)` tensor from the same row of another: batch, heads and rows are
// parallel loops, and rows stay whole.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_LAYER_ROWTILING_H
#define ATTN_DIALECT_LAYER_ROWTILING_H

#include "mlir/Interfaces/TilingInterface.h"

namespace mlir::attn {

/// All batch entries, heads and rows of `rows`.
SmallVector<Range> getRowDomain(OpBuilder &b, Location loc, Value rows);

/// A tile of the domain as a part of `rows`.
void getRowPosition(OpBuilder &b, Value rows, ArrayRef<OpFoldResult> offsets,
                    ArrayRef<OpFoldResult> sizes,
                    SmallVectorImpl<OpFoldResult> &rowOffsets,
                    SmallVectorImpl<OpFoldResult> &rowSizes);

/// Whether a part of `rows` has whole rows.
bool hasWholeRows(Value rows, ArrayRef<OpFoldResult> offsets,
                  ArrayRef<OpFoldResult> sizes);

/// A part of a tensor, which is added to `slices`.
Value createRowSlice(OpBuilder &b, Location loc, Value tensor,
                     ArrayRef<OpFoldResult> offsets,
                     ArrayRef<OpFoldResult> sizes,
                     SmallVectorImpl<Operation *> &slices);

} // namespace mlir::attn

#endif // ATTN_DIALECT_LAYER_ROWTILING_H
