//===- SizeConstraint.h - Sizes of operands that must agree -----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_SIZECONSTRAINT_H
#define ATTN_DIALECT_SHARED_SIZECONSTRAINT_H

#include "mlir/IR/Value.h"

#include <cstdint>

namespace mlir::attn {

/// One dimension of a ranked operand, and the operand's name in messages.
struct OperandSize {
  Value operand;
  int64_t dimension = 0;
  StringRef name;

  OperandSize at(int64_t other) const { return {operand, other, name}; }
};

/// `size == reference + delta` must hold; without a reference operand,
/// `size == delta`. `meaning` says what the size is: "batch size".
struct SizeConstraint {
  OperandSize size;
  OperandSize reference;
  StringRef meaning;
  int64_t delta = 0;
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_SIZECONSTRAINT_H
