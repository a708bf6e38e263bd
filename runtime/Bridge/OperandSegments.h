//===- OperandSegments.h - Operands upstream does not count -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_BRIDGE_OPERANDSEGMENTS_H
#define ATTN_RUNTIME_BRIDGE_OPERANDSEGMENTS_H

#include "mlir/IR/Operation.h"

namespace attn {

/// Verifies that upstream's operations within `root` have the operands that
/// their own verifiers read without looking whether they are there. The generic
/// form says freely how many operands a segment has, and what ODS generates
/// only checks that they add up.
llvm::LogicalResult verifyOperandSegments(mlir::Operation *root);

} // namespace attn

#endif // ATTN_RUNTIME_BRIDGE_OPERANDSEGMENTS_H
