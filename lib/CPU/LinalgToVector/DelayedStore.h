//===- DelayedStore.h - Stores during the next product ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_DELAYEDSTORE_H
#define ATTN_CPU_LINALGTOVECTOR_DELAYEDSTORE_H

#include "dialect/Shared/IndexBuilder.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// What is computed elementwise of a product in tiles, and stored, in a loop
/// over packs of rows:
///
///     for a pack of A:
///       C = A[pack] * B
///       out[pack] = f(C, ...)
///
/// Software pipelining: the store of a pack is delayed until the product of the
/// next one, whose steps each store some rows, so that vectors and tiles are
/// computed at the same time. The product's sums are in registers until its
/// last step, so that C still has the ones of the pack before. The last pack's
/// store follows the loop.
struct DelayedStore {
  /// That of the last pack; null if nothing is delayed.
  linalg::LinalgOp last;
  /// Its operands of the pack before.
  SmallVector<Value> operands;
  /// Whether steps store the pack before: there is one, of all rows.
  Value isInSteps;
  int64_t rowsPerStep = 0;

  /// Stores what step `step` has to.
  void emitStep(IndexBuilder &b, Value step) const;
  /// Stores all that steps would have to, where there are none.
  void emitInsteadOfSteps(IndexBuilder &b) const;
};

/// Delays the store of `op`, which multiplies `rows` rows in tiles in
/// `numSteps` steps, if it is in a loop that does nothing but this and filling
/// C by `producer`, which may be null. Nothing is delayed if not, nor if the
/// store reads nothing but C: a conversion takes less than what a delay adds.
DelayedStore delayStore(OpBuilder &b, linalg::LinalgOp op,
                        linalg::LinalgOp producer, int64_t rows,
                        int64_t numSteps);

/// Products in tiles whose sums are in memory between blocks of k:
///
///     for a pack of A:
///       tiles = C[pack]
///       for k: tiles += A[pack, k] * B[k]
///       C[pack] = tiles
///       out[pack] = f(C[pack])    // Maybe.
///
/// Software pipelining of these: nothing is multiplied while all tiles of C are
/// stored and those of the next pack are loaded. In loops of this form below
/// `root`, the tiles of a pack are carried to the next one instead, whose first
/// step stores and loads each before the first product that it is needed for,
/// while the ones of other tiles are computed. What is computed of C follows
/// the next pack's product.
void delaySums(RewriterBase &rewriter, Operation *root);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_DELAYEDSTORE_H
