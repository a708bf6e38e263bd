//===- LaneValue.h - Values of a region in all lanes at once ----*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_CPU_ATTNTOVECTOR_LANEVALUE_H
#define ATTN_CPU_ATTNTOVECTOR_LANEVALUE_H

#include "lib/CPU/AttnToVector/LaneBuilder.h"

namespace mlir::attn {

/// Where vector code is guarded, positions are smaller in magnitude.
constexpr uint64_t kGuardedPosition = uint64_t(1) << 28;

/// The largest magnitude that an integer can have, saturating. Positions have
/// two bounds: one that always holds, and one that holds where the vector code
/// is guarded by a check that all of them are small.
struct Bound {
  static constexpr uint64_t kUnknown = UINT64_MAX;

  uint64_t always = kUnknown;
  uint64_t guarded = kUnknown;
  bool nonNegative = false;

  static Bound ofConstant(int64_t value);
  Bound operator+(const Bound &other) const;
  Bound operator*(const Bound &other) const;
  /// No bound where a signed i64 may wrap.
  Bound unlessWrapping() const;
  /// The bound of what is either.
  Bound join(const Bound &other) const;
};

/// A value in every lane, in the cheapest of three forms:
///   uniform   one scalar
///   affine    scalar + stride * lane, of type index or i64
///   varying   a vector, in pieces
/// Vectors for index and i64 have elements of i64, or of i32 if every lane is
/// known to fit; vectors for f16 and bf16 may have elements of f32, which then
/// hold f16 or bf16.
struct LaneValue {
  Type type;
  Value scalar;
  int64_t stride = 0;
  Pieces pieces;
  Bound bound;

  bool isUniform() const { return scalar && stride == 0; }
  bool isAffine() const { return scalar && stride != 0; }
  bool isVarying() const { return !scalar; }

  static LaneValue uniform(Value scalar, Bound bound = {});
  static LaneValue affine(Value base, int64_t stride, Bound bound);
  static LaneValue varying(Type type, Pieces pieces, Bound bound = {});
};

/// Whether a value of this type counts positions, which are i64 in vectors.
bool isPositionType(Type type);

/// Operations on lane values.
class LaneArithmetic {
public:
  explicit LaneArithmetic(LaneBuilder &b) : b(b) {}

  /// Whether anything was built that holds only where the guard does.
  bool needsGuard() const { return guardNeeded; }

  /// Whether every lane of a position fits i32, under the guard if need be.
  bool isNarrow(const LaneValue &value) const;
  /// The value as vectors of exactly its type, with i64 for index.
  Pieces toVectors(const LaneValue &value);
  /// A narrow position as vectors of i32.
  Pieces toNarrowVectors(const LaneValue &value);

  /// `lhs + sign * rhs` of positions of which neither varies.
  LaneValue addAffine(const LaneValue &lhs, const LaneValue &rhs, int64_t sign);
  /// `value * factor` of a position that does not vary.
  LaneValue multiplyAffine(const LaneValue &value, int64_t factor);
  /// Compares positions of which neither varies: their difference in lane 0
  /// with the numbers of the lanes, in i32. Fails if the difference may
  /// overflow.
  FailureOr<LaneValue> compareAffine(arith::CmpIPredicate predicate,
                                     const LaneValue &lhs,
                                     const LaneValue &rhs);

private:
  Pieces broadcast(Value scalar, const LaneValue &value, Type elementType);
  FailureOr<LaneValue> compareSigned(arith::CmpIPredicate predicate,
                                     LaneValue lhs, LaneValue rhs);

  LaneBuilder &b;
  bool guardNeeded = false;
};

} // namespace mlir::attn

#endif // ATTN_CPU_ATTNTOVECTOR_LANEVALUE_H
