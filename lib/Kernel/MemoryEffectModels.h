//===- MemoryEffectModels.h - Effects of upstream's ops ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_MEMORYEFFECTMODELS_H
#define ATTN_KERNEL_MEMORYEFFECTMODELS_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::attn {

/// Lets passes know that an `llvm.call_intrinsic` of an intrinsic that does not
/// access memory, and an `llvm.inline_asm` on numbers without side effects,
/// have no effects. Upstream has them unknown, with which buffers can not be
/// deallocated.
void registerMemoryEffectModels(DialectRegistry &registry);

} // namespace mlir::attn

#endif // ATTN_KERNEL_MEMORYEFFECTMODELS_H
