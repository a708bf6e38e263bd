//===- Transforms.h - What its passes do, as functions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ATTENTION_TRANSFORMS_H
#define ATTN_ATTENTION_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

class AttentionOp;

/// Replaces a packed batch by a loop over its sequences.
void splitSequences(RewriterBase &rewriter, AttentionOp op);

/// Puts beside an op on a dynamic number of queries the same op on one, and a
/// condition that chooses.
LogicalResult specializeQueries(RewriterBase &rewriter, AttentionOp op);

/// Makes the query heads of a group rows of one head, if these are no more than
/// `maximumRows`.
LogicalResult foldGroup(RewriterBase &rewriter, AttentionOp op,
                        int64_t maximumRows);

/// Pads the rows of query and key of bf16 attention with 0, in parallel, to a
/// multiple of `multiple` elements, which changes no score. Not if it will be
/// computed in rows, with vectors of `lanes`.
LogicalResult padHeads(RewriterBase &rewriter, AttentionOp op, int64_t multiple,
                       int64_t lanes);

/// Computes the ranges of what the masks of `ops` load, in blocks of `queries`
/// and `keys`, right after the tables' definitions.
void summarizeTables(RewriterBase &rewriter, ArrayRef<AttentionOp> ops,
                     int64_t queries, int64_t keys);

/// Tiles batch, query heads and query rows by 1, 1 and `queries` into parallel
/// tiles. Fails, without a change, if the op can not be tiled.
LogicalResult tileAttention(RewriterBase &rewriter, AttentionOp op,
                            int64_t queries);

} // namespace mlir::attn

#endif // ATTN_ATTENTION_TRANSFORMS_H
