//===- SummarizeTables.h - Ranges of what masks load ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_SUMMARIZETABLES_H
#define ATTN_ATTENTION_SUMMARIZETABLES_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

class AttentionOp;
struct TileShape;

/// Computes the ranges of what the masks of `ops` load, and of what says where
/// their scores load, in blocks of a tile, right after the tables' definitions.
void summarizeTables(RewriterBase &rewriter, ArrayRef<AttentionOp> ops,
                     TileShape tile);

} // namespace mlir::attn

#endif // ATTN_ATTENTION_SUMMARIZETABLES_H
