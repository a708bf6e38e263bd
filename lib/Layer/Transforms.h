//===- Transforms.h - What its passes do, as functions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LAYER_TRANSFORMS_H
#define ATTN_LAYER_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

class MultiHeadAttentionOp;

/// Replaces a layer by the ops that it is made of.
void decomposeLayer(RewriterBase &rewriter, MultiHeadAttentionOp op);

} // namespace mlir::attn

#endif // ATTN_LAYER_TRANSFORMS_H
