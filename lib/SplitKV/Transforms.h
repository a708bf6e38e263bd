//===- Transforms.h - What its passes do, as functions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_SPLITKV_TRANSFORMS_H
#define ATTN_SPLITKV_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

class OnlineAttentionOp;

/// Splits the keys of the only tile of a head into chunks that are computed in
/// parallel and merged. Fails, without a change, if it is not the only one, or
/// known to be of one chunk.
LogicalResult splitKeys(RewriterBase &rewriter, OnlineAttentionOp op,
                        int64_t chunk);

} // namespace mlir::attn

#endif // ATTN_SPLITKV_TRANSFORMS_H
