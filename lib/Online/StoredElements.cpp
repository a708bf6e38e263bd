//===- StoredElements.cpp - Stored keys and values as floats --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/StoredElements.h"
#include "dialect/Shared/CreateGeneric.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

Value attn::emitElement(OpBuilder &b, Location loc, Value element, Value scale,
                        Type type) {
  if (scale) {
    Value number = arith::SIToFPOp::create(b, loc, scale.getType(), element);
    element = arith::MulFOp::create(b, loc, number, scale);
  }
  return convertScalarToDtype(b, loc, element, type, /*isUnsignedCast=*/false);
}

/// The integers of a row are -kLargest to kLargest.
static constexpr double kLargest = 127;

static Value emitReal(OpBuilder &b, Location loc, double value) {
  return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(float(value)));
}

Value attn::emitRowScale(OpBuilder &b, Location loc, Value largest) {
  Value scale =
      arith::DivFOp::create(b, loc, largest, emitReal(b, loc, kLargest));
  Value isFinite = arith::CmpFOp::create(
      b, loc, arith::CmpFPredicate::OLT, largest,
      emitReal(b, loc, std::numeric_limits<double>::infinity()));
  Value nan = emitReal(b, loc, std::numeric_limits<double>::quiet_NaN());
  return arith::SelectOp::create(b, loc, isFinite, scale, nan);
}

Value attn::emitQuantized(OpBuilder &b, Location loc, Value number,
                          Value scale) {
  Value zero = emitReal(b, loc, 0), low = emitReal(b, loc, -kLargest),
        high = emitReal(b, loc, kLargest);
  Value quotient = arith::DivFOp::create(b, loc, number, scale);
  Value rounded = math::RoundEvenOp::create(b, loc, quotient);
  // Scales that are denormal are not exact.
  rounded = arith::MaximumFOp::create(
      b, loc, low, arith::MinimumFOp::create(b, loc, high, rounded));
  Value hasScale =
      arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OGT, scale, zero);
  rounded = arith::SelectOp::create(b, loc, hasScale, rounded, zero);
  return arith::FPToSIOp::create(b, loc, b.getI8Type(), rounded);
}

Value attn::emitElements(OpBuilder &b, Location loc, Value elements,
                         Value scales, Value to) {
  Type type = cast<RankedTensorType>(to.getType()).getElementType();
  SmallVector<Value> inputs = {elements};
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(2));
  if (scales) {
    inputs.push_back(scales);
    maps.insert(maps.begin() + 1, AffineMap::get(2, 0, b.getAffineDimExpr(0)));
  }
  return createGeneric(b, loc, inputs, to, maps, [&](ValueRange e) {
    return emitElement(b, loc, e[0], scales ? e[1] : Value(), type);
  });
}
