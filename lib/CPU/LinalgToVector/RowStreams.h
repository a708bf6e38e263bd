//===- RowStreams.h - Operands of vectors on their way ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_ROWSTREAMS_H
#define ATTN_CPU_LINALGTOVECTOR_ROWSTREAMS_H

#include "lib/CPU/LinalgToVector/RowPrefetch.h"

namespace mlir::attn {

/// A matrix that is read later, of which each of several products fetches its
/// share into the second-level cache.
struct LaterRows {
  RowPrefetch prefetch; ///< Of all its rows, which are of a static number.
  Value share;          ///< The number of the product's share.
  int64_t numShares;    ///< At most.
};

/// What products of rows of packs and panels of a weight fetch, where a loop
/// over packs is in one over panels: of the next panel, as all packs are
/// multiplied by this one, and of all packs what is read after the last panel.
/// A panel is more than the first-level cache holds.
llvm::DenseMap<Operation *, SmallVector<LaterRows, 2>>
emitRowStreams(OpBuilder &b, ArrayRef<linalg::LinalgOp> contractions);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_ROWSTREAMS_H
