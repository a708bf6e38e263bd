//===- KernelForm.h - What a kernel may be written in -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_KERNELFORM_H
#define ATTN_KERNEL_KERNELFORM_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace mlir::attn {

/// Emits an error for everything in a prepared module that a kernel may not
/// contain: operations on memory that is not its own, calls that could not be
/// inlined, constants too large to compile.
LogicalResult verifyKernelForm(ModuleOp module);

} // namespace mlir::attn

#endif // ATTN_KERNEL_KERNELFORM_H
