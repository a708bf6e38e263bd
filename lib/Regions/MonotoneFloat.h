//===- MonotoneFloat.h - Floats that rise or fall with an integer -*- C++ -*-=//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A number of a region such as `log(float(p - j) + 1) * 0.5`: it is made of one
// integer and of constants, and never falls (or never rises) as the integer
// grows. Where it is below a constant, the integer is on one side of a
// threshold, which bisection finds while compiling. Rounding is directed: a
// number is an interval that is wider than any pipeline's error, so that the
// threshold is never wrong, and perhaps a little too far.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REGIONS_MONOTONEFLOAT_H
#define ATTN_REGIONS_MONOTONEFLOAT_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace mlir::attn {

/// From one number to another, both included.
struct FloatRange {
  double low, high;
};

class MonotoneFloat {
public:
  /// None if `value` is something else.
  static std::optional<MonotoneFloat> match(Value value);

  /// The integer.
  Value getRoot() const { return root; }
  /// The integer is read as an unsigned number.
  bool isOfUnsigned() const;
  bool rises() const { return isRising; }

  /// What it may be where the root is `integer`; none where it may be
  /// undefined, as the logarithm of a number below 0.
  std::optional<FloatRange> evaluate(int64_t integer) const;

  /// The first and the last of the integers from `low` to `high` for which it
  /// is defined; none if there is none.
  std::optional<std::pair<int64_t, int64_t>> findDomain(int64_t low,
                                                        int64_t high) const;

private:
  explicit MonotoneFloat(Value root) : root(root) {}
  bool append(Operation *op, Value operand);
  bool restrict();

  Value root;
  /// From the conversion of the root on, and of each the constant beside it.
  struct Step {
    Operation *op;
    double constant;
    bool isFirst; ///< The constant is the first operand.
  };
  SmallVector<Step> steps;
  bool isRising = true;
  /// Defined above, or below, some integer; everywhere if there is none.
  std::optional<bool> isDefinedAbove;
};

/// The first of the integers from `low` to `high` for which `isTrue`, which
/// holds for all after it; `high + 1` if there is none.
int64_t findFirst(int64_t low, int64_t high,
                  function_ref<bool(int64_t)> isTrue);

} // namespace mlir::attn

#endif // ATTN_REGIONS_MONOTONEFLOAT_H
