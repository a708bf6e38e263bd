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
namespace scf {
class ForallOp;
} // namespace scf
} // namespace mlir

namespace mlir::attn {

/// Replaces a pack of padded rows, whose other dimensions are kept, by a
/// parallel loop that transposes the rows of one pack after the other.
LogicalResult lowerPack(RewriterBase &rewriter, linalg::PackOp op);

/// Prefetches the rows that the views of the next iteration of `loop` are of.
void prefetchTiles(scf::ForallOp loop);

} // namespace mlir::attn

#endif // ATTN_MEMORY_TRANSFORMS_H
