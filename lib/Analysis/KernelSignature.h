//===- KernelSignature.h - What a kernel takes and gives --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_KERNELSIGNATURE_H
#define ATTN_ANALYSIS_KERNELSIGNATURE_H

#include "attn/kernel.h"

#include "mlir/Support/LLVM.h"

namespace mlir {
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace mlir::attn {

/// Reads off a prepared function on tensors what its callers must know:
/// parameters, the size of every result in terms of the arguments, and which
/// sizes must agree. Emits an error where an argument, a result or a size is
/// nothing that a caller can provide. Names are left empty.
FailureOr<::attn::Signature> computeKernelSignature(func::FuncOp entry);

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_KERNELSIGNATURE_H
