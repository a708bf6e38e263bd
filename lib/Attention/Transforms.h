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
enum class Device;
struct TileShape;

/// Lets regions that may have no value yield the position that messages name.
void recordPositions(AttentionOp op);

/// Puts beside an op on a dynamic number of queries the same op on few, once
/// for each form that `planFewQueries` says, and conditions that choose.
LogicalResult specializeQueries(RewriterBase &rewriter, AttentionOp op,
                                Device device);

/// Makes a ragged batch tiles of its sequences, in a form of its own for each
/// of the numbers of queries that `planFewQueries` says.
LogicalResult specializeSequences(RewriterBase &rewriter, AttentionOp op);

/// Makes the query heads of a group rows of one head, if there is a group.
LogicalResult foldGroup(RewriterBase &rewriter, AttentionOp op);

/// Pads the rows of query and key with 0, in parallel, to `padded` elements,
/// which changes no score.
void padHeads(RewriterBase &rewriter, AttentionOp op, int64_t padded);

/// Computes the ranges of what the masks of `ops` load, in blocks of a tile,
/// right after the tables' definitions.
void summarizeTables(RewriterBase &rewriter, ArrayRef<AttentionOp> ops,
                     TileShape tile);

/// Tiles batch, query heads and query rows by 1, 1 and `queries` into parallel
/// tiles. Fails, without a change, if the op can not be tiled.
LogicalResult tileAttention(RewriterBase &rewriter, AttentionOp op,
                            int64_t queries);

} // namespace mlir::attn

#endif // ATTN_ATTENTION_TRANSFORMS_H
