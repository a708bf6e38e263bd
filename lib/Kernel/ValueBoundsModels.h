//===- ValueBoundsModels.h - Sizes that upstream does not know --*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_VALUEBOUNDSMODELS_H
#define ATTN_KERNEL_VALUEBOUNDSMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::attn {

/// Value bounds of upstream operations that come without: arithmetic of the
/// index dialect, and tensors of computed sizes.
void registerValueBoundsModels(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTN_KERNEL_VALUEBOUNDSMODELS_H
