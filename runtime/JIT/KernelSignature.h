//===- KernelSignature.h - Signatures of functions --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_KERNELSIGNATURE_H
#define ATTN_RUNTIME_JIT_KERNELSIGNATURE_H

#include "attn/kernel.h"

#include "mlir/Support/LLVM.h"

namespace mlir {
namespace func {
class FuncOp;
} // namespace func
namespace attn {
struct LinearSize;
} // namespace attn
} // namespace mlir

namespace attn::jit {

/// What callers of a prepared function must know. Emits an error where an
/// argument, a result or a size is nothing that a caller can provide. Names of
/// arguments are left empty.
mlir::FailureOr<Signature> computeKernelSignature(mlir::func::FuncOp entry);

SizeExpr convertSize(const mlir::attn::LinearSize &size);

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_KERNELSIGNATURE_H
