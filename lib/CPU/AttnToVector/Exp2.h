//===- Exp2.h - Exponentials of vectors -------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_EXP2_H
#define ATTN_CPU_ATTNTOVECTOR_EXP2_H

#include "lib/CPU/AttnToVector/LaneBuilder.h"

#include <optional>

namespace mlir::attn {

// Of pieces of f32, where nothing else is said. NaN gives NaN everywhere.

/// e^x for x <= 5, as weights are of, with a relative error of at most 2e-7 +
/// 8e-8 * |x|, which costs less than that of buildExp and vanishes beside
/// weights of 1. Exact at 0; below about -87 too small by at most 2^-126, and 0
/// at -inf. Of a larger x it gives some number. Of f64, the relative error is
/// at most 4e-16 + 4e-17 * |x|, and below about -708 the result is 0.
Value buildExpOfWeight(LaneBuilder &b, Value x);

/// 2^x for the same, with a relative error of at most 2e-7, or, with
/// `isRounded`, of 1.1e-4, which costs less again. Exact at integers.
Value buildExp2OfWeight(LaneBuilder &b, Value x, bool isRounded);

/// 2^x with a relative error of at most 1.1e-7; 0 below about -125.5, inf from
/// 128 on.
Value buildExp2(LaneBuilder &b, Value x);

/// e^(inner * x) with a relative error of at most 2e-7. `inner` is between
/// 2^-60 and 2^60 in magnitude.
Value buildExp(LaneBuilder &b, Value x, double inner = 1.0);

/// e^x with a relative error of at most 2e-7 + 1e-7 * |x|; 0 below about -87,
/// inf from 88.73 on.
Value buildFastExp(LaneBuilder &b, Value x);

/// 1 / x with a relative error of at most 2e-7, and the sign of x: 0 if x is
/// infinite, and infinite if that is the nearest number. For AVX-512.
Value buildReciprocal(LaneBuilder &b, Value x);

/// factor * tanh(inner * x) of the pieces of a row, with a relative error of at
/// most 5e-7. With `isInOrder`, by the same formula whatever else is in the
/// row.
Pieces buildTanh(LaneBuilder &b, const Pieces &row, bool isInOrder,
                 double inner = 1.0, double factor = 1.0);

/// factor * tanh(inner * x) for |x| <= `limit`, as accurately: x times a
/// polynomial of its square, from the lowest power on.
struct SmallTanh {
  double limit;
  SmallVector<double> coefficients;
};
/// Nothing if these are not normal numbers.
std::optional<SmallTanh> getSmallTanh(double inner, double factor);
Value buildSmallTanh(LaneBuilder &b, const SmallTanh &tanh, Value x);
/// e^(that) * 2^shift.
Value buildExpOfSmallTanh(LaneBuilder &b, const SmallTanh &tanh, Value x,
                          Value shift);

/// tanh(inner * x) with a relative error of at most 1.4e-7, and without a
/// branch.
Value buildTanhOfLanes(LaneBuilder &b, Value x, double inner = 1.0);

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_EXP2_H
