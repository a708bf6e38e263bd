//===- Transforms.h - Parts of several passes --------------------*- C++
//-*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_TRANSFORMS_H
#define ATTN_KERNEL_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class Operation;
} // namespace mlir

namespace mlir::attn {

/// Type of the buffer that a kernel's caller passes for a tensor: contiguous in
/// the last dimension, any strides in the others.
MemRefType getKernelBufferType(RankedTensorType type);

/// Creates empty and filled tensors in `root` that a loop around only writes to
/// within the loop, once for each operation that does.
void sinkDestinations(Operation *root);

} // namespace mlir::attn

#endif // ATTN_KERNEL_TRANSFORMS_H
