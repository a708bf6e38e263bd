//===- BackwardLowering.h - Reference lowering of gradients -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_BACKWARDLOWERING_H
#define ATTN_REFERENCE_BACKWARDLOWERING_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace mlir::attn {

void populateBackwardLowering(RewritePatternSet &patterns);

} // namespace mlir::attn

#endif // ATTN_REFERENCE_BACKWARDLOWERING_H
