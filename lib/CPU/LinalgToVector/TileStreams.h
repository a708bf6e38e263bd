//===- TileStreams.h - Operands of tiles on their way -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_TILESTREAMS_H
#define ATTN_CPU_LINALGTOVECTOR_TILESTREAMS_H

#include "mlir/Dialect/Linalg/IR/LinalgInterfaces.h"

namespace mlir::attn {

/// How operands of a block of a matrix product come through the caches. The
/// product is that of a panel of B and of one pack of A after the other:
///
///     for k, for a panel of B, for a pack of A:
///       C[panel, pack] += A[pack, k] * B[k, panel]
///
/// A panel stays in the first-level cache, so that the packs may not: they are
/// read from the second level, for once. Meanwhile that gets the next panel,
/// and the packs' next block of k, which come from beyond it. If blocks of k go
/// by before the next panel, what comes next of B is the panel's next block,
/// and the packs stay. What is stored of C after the last block gets its lines
/// while the product is computed, or stores would wait for them.
struct TileStreams {
  /// A view of what is read or written later, of which each block fetches its
  /// share.
  struct Later {
    /// (steps, rows, columns, 2) of pairs, or (rows, columns) of C, of which
    /// there may be fewer rows than a product has.
    TypedValue<MemRefType> view;
    /// Of the lines of each step, the part with this number; null: all lines,
    /// as many in each step.
    Value share;
    int64_t linesPerStep;
    unsigned locality;
    bool isWritten = false;
  };
  /// Whether loads of A leave the first-level cache alone.
  bool readsAOnce = false;
  SmallVector<Later, 4> later;

  /// Fetches what step `step` of a block has to.
  void emitStep(OpBuilder &b, Location loc, Value step) const;
};

/// The streams of those of the contractions in pairs that have such loops
/// around them, and whose operands are too large for the first-level cache
/// together.
llvm::DenseMap<Operation *, TileStreams>
emitTileStreams(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_TILESTREAMS_H
