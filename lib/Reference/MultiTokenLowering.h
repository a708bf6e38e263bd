//===- MultiTokenLowering.h - attn.multi_token_attention --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MULTITOKENLOWERING_H
#define ATTN_REFERENCE_MULTITOKENLOWERING_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace mlir::attn {

/// Lowers attn.multi_token_attention on tensors.
void populateMultiTokenLowerings(RewritePatternSet &patterns);

} // namespace mlir::attn

#endif // ATTN_REFERENCE_MULTITOKENLOWERING_H
