//===- Transforms.h - What its passes do, as functions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_MEMORY_TRANSFORMS_H
#define ATTN_MEMORY_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class OpBuilder;
class RewriterBase;
namespace linalg {
class PackOp;
} // namespace linalg
} // namespace mlir

namespace mlir::attn {

class PrefetchOp;

/// Replaces a pack of padded rows, whose other dimensions are kept, by a
/// parallel loop that transposes the rows of one pack after the other.
LogicalResult lowerPack(RewriterBase &rewriter, linalg::PackOp op);

/// Prefetches the cache lines of row `row` of what `op`, which is on buffers,
/// fetches; nothing where elements of a row are no neighbours.
void emitPrefetchOfRow(OpBuilder &builder, Location loc, PrefetchOp op,
                       Value row);

/// Replaces a prefetch on buffers by a loop over its rows.
LogicalResult lowerPrefetch(RewriterBase &rewriter, PrefetchOp op);

} // namespace mlir::attn

#endif // ATTN_MEMORY_TRANSFORMS_H
