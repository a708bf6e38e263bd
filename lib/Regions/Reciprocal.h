//===- Reciprocal.h - Divisions by one number as products -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_RECIPROCAL_H
#define ATTN_REGIONS_RECIPROCAL_H

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Whether a score that a value of its region is part of changes no more than
/// the value.
bool hasSmoothUses(Value value);

/// x / y is x * inverse * power, with a power of two that keeps
/// 1 / (y * power) a normal number. Infinite numbers, zeros and NaN come out as
/// of the division.
struct Reciprocal {
  Value inverse, power;
};

/// Of a scalar of f32.
Reciprocal emitReciprocal(ImplicitLocOpBuilder &b, Value divisor);

} // namespace mlir::attn

#endif // ATTN_REGIONS_RECIPROCAL_H
