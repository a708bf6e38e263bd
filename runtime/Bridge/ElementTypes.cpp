//===- ElementTypes.cpp - MLIR's element types as the host's -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"

std::optional<attn::ElementType> attn::convertElementType(mlir::Type type) {
  if (type.isF64())
    return ElementType::f64;
  if (type.isF32())
    return ElementType::f32;
  if (type.isF16())
    return ElementType::f16;
  if (type.isBF16())
    return ElementType::bf16;
  if (type.isIndex() || type.isSignlessInteger(64))
    return ElementType::i64;
  if (type.isSignlessInteger(32))
    return ElementType::i32;
  if (type.isSignlessInteger(16))
    return ElementType::i16;
  if (type.isSignlessInteger(8))
    return ElementType::i8;
  if (type.isSignlessInteger(1))
    return ElementType::i1;
  if (llvm::isa<mlir::Float8E4M3FNType>(type))
    return ElementType::f8e4m3fn;
  if (llvm::isa<mlir::Float8E5M2Type>(type))
    return ElementType::f8e5m2;
  return std::nullopt;
}
