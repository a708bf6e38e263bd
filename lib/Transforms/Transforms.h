//===- Transforms.h - The passes' work as functions -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TRANSFORMS_TRANSFORMS_H
#define ATTN_TRANSFORMS_TRANSFORMS_H

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
/// marks its tensor arguments read-only. Nothing may call `func`.
void convertResultsToDestinations(func::FuncOp func);

/// Replaces comparisons in `root` that are always true or always false by
/// constants.
void foldTrivialComparisons(Operation *root);

/// Inserts `cf.assert` before every operation in `root` that is undefined for
/// some values of its operands.
void addRuntimeChecks(Operation *root);

/// One-shot bufferization with tensor arguments of functions as buffers of
/// `getKernelBufferType`.
LogicalResult bufferizeKernels(ModuleOp module);

} // namespace mlir::attn

#endif // ATTN_TRANSFORMS_TRANSFORMS_H
