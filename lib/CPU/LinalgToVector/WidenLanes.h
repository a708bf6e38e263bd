//===- WidenLanes.h - Vectors of narrow elements as f32 ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_LINALGTOVECTOR_WIDENLANES_H
#define ATTN_CPU_LINALGTOVECTOR_WIDENLANES_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Whether contractions in f32 take elements of `type` and convert them: f16,
/// bf16 and i8.
bool isNarrow(Type type);

/// A vector of narrow elements with elements of the float type `type`.
Value widenLanes(OpBuilder &b, Location loc, Value vector, Type type);

} // namespace mlir::attn

#endif // ATTN_CPU_LINALGTOVECTOR_WIDENLANES_H
