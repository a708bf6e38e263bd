//===- RopeFusion.h - Rows that are rotated where they are used -*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_ROPEFUSION_H
#define ATTN_TRANSFORMS_ROPEFUSION_H

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::attn {

/// The attn.rope that computes `rows`, perhaps as a reshape of its result, if
/// nothing else reads them; or null. Their sizes may be asked for anywhere.
RopeOp getFusableRope(Value rows);

/// Replaces `slice`, of the result of `rope` or of a reshape of it, by an
/// attn.rope of a slice, into a tensor of its own or into `destination`. Fails
/// if the slice tears apart what is rotated together.
FailureOr<RopeOp> fuseRope(RewriterBase &rewriter, RopeOp rope,
                           tensor::ExtractSliceOp slice,
                           Value destination = {});

} // namespace mlir::attn

#endif // ATTN_TRANSFORMS_ROPEFUSION_H
