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

/// Replaces a prefetch on buffers by a loop over its rows.
LogicalResult lowerPrefetch(RewriterBase &rewriter, PrefetchOp op);

} // namespace mlir::attn

#endif // ATTN_MEMORY_TRANSFORMS_H
