//===- Transforms.h - What its passes do, as functions ----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_TRANSFORMS_H
#define ATTN_KERNEL_TRANSFORMS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class ModuleOp;
class Operation;
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace mlir::attn {

/// Type of the buffer that a kernel's caller passes for a tensor: contiguous in
/// the last dimension, any strides in the others.
MemRefType getKernelBufferType(RankedTensorType type);

/// Turns the ranked tensor results of `func` into trailing buffer arguments and
/// marks its tensor arguments read-only; but an argument that a result updates
/// becomes a buffer that the result is written into. Nothing may call `func`.
/// Emits an error for a writable argument that no result updates.
LogicalResult convertResultsToDestinations(func::FuncOp func);

/// Replaces comparisons in `root` that are always true or always false by
/// constants.
void foldTrivialComparisons(Operation *root);

/// Makes casts in `root` between an index and an integer of another width than
/// 64 bits casts of i64 and truncations or extensions.
void splitIndexCasts(Operation *root);

/// Inserts `cf.assert` before every operation in `root` that is undefined for
/// some values of its operands.
void addRuntimeChecks(Operation *root);

/// Creates empty and filled tensors in `root` that a loop around only writes to
/// within the loop, once for each operation that does.
void sinkDestinations(Operation *root);

/// Replaces empty tensors that several results are computed from by buffers of
/// their own, as upstream's elimination of empty tensors expects.
void separateResults(Operation *root);

/// One-shot bufferization with tensor arguments of functions as buffers of
/// `getKernelBufferType`.
LogicalResult bufferizeKernels(ModuleOp module);

} // namespace mlir::attn

#endif // ATTN_KERNEL_TRANSFORMS_H
