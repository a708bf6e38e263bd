//===- RuntimeVerificationModels.h - Checks upstream lacks ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_RUNTIMEVERIFICATIONMODELS_H
#define ATTN_KERNEL_RUNTIMEVERIFICATIONMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::attn {

/// Checks at run time for operations that come without: integer divisions and
/// shifts, steps of loops, tensor operations whose sizes must agree, and the
/// number of queries of a tile.
void registerRuntimeVerificationModels(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTN_KERNEL_RUNTIMEVERIFICATIONMODELS_H
