//===- ExternalModels.h - What upstream's ops come without ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_EXTERNALMODELS_H
#define ATTN_KERNEL_EXTERNALMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::attn {

/// Lets passes know that an `llvm.call_intrinsic` of an intrinsic that does not
/// access memory, and an `llvm.inline_asm` on numbers without side effects,
/// have no effects. Upstream has them unknown, with which buffers can not be
/// deallocated.
void registerMemoryEffectModels(DialectRegistry &registry);
/// Checks at run time for operations that come without: integer divisions and
/// shifts, steps of loops, tensor operations whose sizes must agree, and the
/// number of queries of a tile.
void registerRuntimeVerificationModels(DialectRegistry &registry);
/// A shorter way to see that an insertion is into what a slice was of. Comes
/// before upstream's model, of which the first counts.
void registerSubsetModels(DialectRegistry &registry);
/// Value bounds of upstream operations that come without: arithmetic of the
/// index dialect, and tensors of computed sizes.
void registerValueBoundsModels(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTN_KERNEL_EXTERNALMODELS_H
