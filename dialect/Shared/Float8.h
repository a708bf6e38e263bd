//===- Float8.h - Floats of 8 bits ------------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_FLOAT8_H
#define ATTN_DIALECT_SHARED_FLOAT8_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir::attn {

/// Whether `type` is one of the floats of 8 bits that caches store (C4).
inline bool isFloat8(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_FLOAT8_H
