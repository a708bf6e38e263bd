//===- WidenLanes.cpp - Vectors of narrow elements as f32 -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/CPU/LinalgToVector/WidenLanes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace mlir::attn;

bool attn::isNarrow(Type type) {
  return isa<Float16Type, BFloat16Type>(type) || type.isSignlessInteger(8);
}

Value attn::widenLanes(OpBuilder &b, Location loc, Value vector, Type type) {
  auto from = cast<VectorType>(vector.getType());
  auto to = VectorType::get(from.getShape(), type);
  if (isa<IntegerType>(from.getElementType()))
    return arith::SIToFPOp::create(b, loc, to, vector);
  return arith::ExtFOp::create(b, loc, to, vector);
}
