//===- CacheLowering.h - Ops beside attention as loops --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_CACHELOWERING_H
#define ATTN_REFERENCE_CACHELOWERING_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace mlir::attn {

/// Lowers attn.cache_append and attn.cache_read on tensors.
void populateCacheLowerings(RewritePatternSet &patterns);

/// Lowers attn.rope and attn.merge on tensors.
void populateLayerLowerings(RewritePatternSet &patterns);

/// Lowers attn.projection on tensors.
void populateProjectionLowerings(RewritePatternSet &patterns);

/// Lowers attn.head_norm and attn.dropout on tensors.
void populateRowLowerings(RewritePatternSet &patterns);

} // namespace mlir::attn

#endif // ATTN_REFERENCE_CACHELOWERING_H
