//===- StoredElements.cpp - Stored keys and values as floats --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/StoredElements.h"

#include <limits>

using namespace mlir;
using namespace mlir::attn;

Value attn::emitElement(IndexBuilder &b, Value element, Value scale,
                        Type type) {
  if (scale)
    element = b.mulF(b.convert(element, scale.getType()), scale);
  return b.convert(element, type);
}

/// The integers of a row are -kLargest to kLargest.
static constexpr double kLargest = 127;

Value attn::emitRowScale(IndexBuilder &b, Value largest) {
  using Limits = std::numeric_limits<double>;
  Type type = largest.getType();
  Value scale = b.divF(largest, b.real(type, kLargest));
  Value isFinite = arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, largest,
                                         b.real(type, Limits::infinity()));
  return b.select(isFinite, scale, b.real(type, Limits::quiet_NaN()));
}

Value attn::emitQuantized(IndexBuilder &b, Value number, Value scale) {
  Type type = number.getType();
  Value zero = b.real(type, 0), low = b.real(type, -kLargest),
        high = b.real(type, kLargest);
  Value rounded = math::RoundEvenOp::create(b, b.divF(number, scale));
  // Scales that are denormal are not exact.
  rounded = b.maximumF(low, arith::MinimumFOp::create(b, high, rounded));
  Value hasScale =
      arith::CmpFOp::create(b, arith::CmpFPredicate::OGT, scale, zero);
  return arith::FPToSIOp::create(b, b.getI8Type(),
                                 b.select(hasScale, rounded, zero));
}

Value attn::emitElements(IndexBuilder &b, Value elements, Value scales,
                         Value to) {
  Type type = getElementTypeOrSelf(to);
  SmallVector<Value> inputs = {elements};
  SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(2));
  if (scales) {
    inputs.push_back(scales);
    maps.insert(maps.begin() + 1, AffineMap::get(2, 0, b.getAffineDimExpr(0)));
  }
  return b.generic(inputs, to, maps, [&](ValueRange e) {
    return emitElement(b, e[0], scales ? e[1] : Value(), type);
  });
}
