//===- KernelLimits.h - How large a kernel may be ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_KERNELLIMITS_H
#define ATTN_KERNEL_KERNELLIMITS_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::attn {

/// Emits an error for types that no pass may meet: folding computes with
/// integers of any width, and some work grows with the square of the rank, of
/// the elements of a vector, or of what a function takes and gives.
LogicalResult verifyTypes(ModuleOp module);

/// Emits an error for a function that is too large to compile once all that it
/// calls is part of it: functions that each call the next one twice double with
/// every one of them.
LogicalResult verifyInlinedSizes(ModuleOp module);

/// Emits an error for score and mask regions that are too large to compile, or
/// take too long.
LogicalResult verifyRegionSizes(Operation *root);

} // namespace mlir::attn

#endif // ATTN_KERNEL_KERNELLIMITS_H
