//===- Transforms.h - What its passes do, as functions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_TRANSFORMS_H
#define ATTN_ONLINE_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class RewriterBase;
namespace linalg {
class PackOp;
} // namespace linalg
} // namespace mlir

namespace mlir::attn {

class AttentionOp;
class OnlineAttentionOp;
class SharedOperands;

/// Replaces the attention of a tile of queries of one head by its online form,
/// in the layout that its plan says, with packs of values from `shared`. Fails,
/// without a change, if it has no plan or is no such tile.
LogicalResult convertAttentionToOnline(RewriterBase &rewriter, AttentionOp op,
                                       SharedOperands &shared);

/// Tiles the keys that the mask may keep into blocks.
LogicalResult tileKeys(RewriterBase &rewriter, OnlineAttentionOp op,
                       int64_t block);

/// Replaces the attention of one block of keys by contractions and a softmax
/// step. Fails if the number of keys has no constant bound.
LogicalResult decomposeOnline(RewriterBase &rewriter, OnlineAttentionOp op);

/// Replaces a pack of padded rows, whose other dimensions are kept, by a
/// parallel loop that transposes the rows of one pack after the other.
LogicalResult lowerPack(RewriterBase &rewriter, linalg::PackOp op);

} // namespace mlir::attn

#endif // ATTN_ONLINE_TRANSFORMS_H
