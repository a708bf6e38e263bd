//===- DelayedSums.h - Sums of tiles stored by the next product -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_DELAYEDSUMS_H
#define ATTN_CPU_LINALGTOVECTOR_DELAYEDSUMS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

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

#endif // ATTN_CPU_LINALGTOVECTOR_DELAYEDSUMS_H
