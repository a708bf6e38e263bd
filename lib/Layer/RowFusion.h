//===- RowFusion.h - Rows that are computed where they are used -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LAYER_ROWFUSION_H
#define ATTN_LAYER_ROWFUSION_H

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

/// The ops on rows, attn.rope and attn.head_norm, that `rows` are computed by,
/// perhaps as a reshape of a result, the last one first, as far as nothing else
/// reads what they compute. Its sizes may be asked for anywhere.
SmallVector<TilingInterface> getFusableRows(Value rows);

/// Replaces `slice`, of the result of the first of `ops` or of a reshape of it,
/// by these ops on slices. The last one's slice, which is returned, is a tensor
/// of its own or `destination`. Fails if the slice tears apart what is computed
/// together.
FailureOr<Value> fuseRows(RewriterBase &rewriter, ArrayRef<TilingInterface> ops,
                          tensor::ExtractSliceOp slice, Value destination = {});

} // namespace mlir::attn

#endif // ATTN_LAYER_ROWFUSION_H
