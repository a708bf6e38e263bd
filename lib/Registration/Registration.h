//===- Registration.h - Dialects and passes by name -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGISTRATION_REGISTRATION_H
#define ATTN_REGISTRATION_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace mlir::attn {

/// The attn dialect, every upstream dialect a kernel may be written in, and
/// what the pipelines need to know about those they lower to. What the runtime
/// compiles with.
void registerKernelDialects(DialectRegistry &registry);

/// The dialects of kernels of GPUs, and what their pipelines and the
/// translation to LLVM IR need to know about them.
void registerDeviceDialects(DialectRegistry &registry);

/// The attn dialect and everything upstream. What the tools read.
void registerAllDialects(DialectRegistry &registry);

/// Attn's passes and pipelines.
void registerPasses();

/// Attn's passes and pipelines, and everything upstream.
void registerAllPasses();

} // namespace mlir::attn

#endif // ATTN_REGISTRATION_REGISTRATION_H
