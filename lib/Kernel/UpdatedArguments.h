//===- UpdatedArguments.h - Arguments that results replace ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_KERNEL_UPDATEDARGUMENTS_H
#define ATTN_KERNEL_UPDATEDARGUMENTS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir {
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace mlir::attn {

/// For every result of a function, the argument that it updates in place: a
/// tensor that is `bufferization.writable`, and the destination of the ops that
/// compute the result. Emits an error for a writable argument that not exactly
/// one result updates.
FailureOr<SmallVector<std::optional<unsigned>>>
findUpdatedArguments(func::FuncOp func);

} // namespace mlir::attn

#endif // ATTN_KERNEL_UPDATEDARGUMENTS_H
