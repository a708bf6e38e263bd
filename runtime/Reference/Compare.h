//===- Compare.h - How far a result is from the oracle's --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_COMPARE_H
#define ATTN_REFERENCE_COMPARE_H

#include "attn/element_type.h"
#include "attn/error.h"

#include <cstdint>
#include <span>

namespace attn::reference {

/// The largest error that a result may have, and how it is measured.
struct Tolerance {
  double bound = 0;
  /// max|a-b| / max|b| instead of max|a-b|, where b is the oracle's.
  bool relative = true;
  /// What |a-b| may always be: the distance of the smallest numbers of the type
  /// that the result is stored in, below which there is no relative accuracy.
  double smallest = 0;
  /// Relative to |b| itself: of numbers that are not sums of others.
  bool ofElement = false;
};

/// What a result holds, as far as its tolerance depends on it.
enum class Quantity {
  output,
  multiTokenOutput, ///< Of attention whose scores depend on each other.
  logSumExp,
  gradient
};

/// The tolerance of attention on standard normal inputs of type `inputs`:
///
///   inputs   output            log-sum-exp       gradients
///   f64      1e-12 relative    1e-12 relative    1e-9   relative
///   f32      2e-6  relative    1e-5  absolute    1e-5   relative
///   f16      2e-3  relative    1e-5  absolute    4e-3   relative
///   bf16     1.6e-2 relative   1e-5  absolute    3.2e-2 relative
///
/// Gradients are twice as far from the inputs as outputs: they are sums of
/// products of a weight and a difference of sums. What those of f64 are held to
/// is what a difference quotient gives, by which the oracle differentiates a
/// score.
///
/// The output of multi-token attention is held to 5e-6 in f32. With a kernel of
/// 6 x 11 normal numbers a score is a sum of 66 products, and the largest are
/// about 40 instead of 5: rounded to f32, they are off by 2.4e-6, and so are
/// weights.
///
/// The oracle gets the same inputs, already rounded to their type. Output is
/// stored in the type of the inputs, hence about two units in the last place of
/// the largest element. The log-sum-exp is accumulated and stored in f32 for
/// the three narrow types; its error follows that of the scores, which is
/// absolute. Integers and i1 must be equal: bound 0. Floats of 8 bits are those
/// of caches, whose rows an op may have computed: next to each other.
Tolerance toleranceFor(ElementType inputs, Quantity quantity);

/// The same where keys are multiplied by queries that are rounded to i8. In a
/// row of 128 normal numbers the largest is about 2.7, and rounding moves the
/// others by 0.006 on average: so it does scores, and weights by 0.6 %, each
/// differently. The bounds are three and more of that.
Tolerance toleranceForQuantizedQueries(Quantity quantity);

/// The outcome of comparing a result with the oracle's.
struct Comparison {
  /// Largest error, in the measure of the tolerance. Infinite where a NaN or an
  /// infinity does not meet its equal.
  double error = 0;
  /// Row-major position of the largest error; -1 if nothing differs.
  std::int64_t index = -1;
  double actual = 0, expected = 0; ///< The values there.
  bool passed = true;              ///< error <= bound.
  std::int64_t unknown = 0;        ///< Elements that were not compared.
};

/// Compares element by element. An error if the sizes differ. If every finite
/// expected value is 0, a relative error is 0 or infinite.
///
/// `scales` has a number for each element, or none. Where it is greater than
/// the largest value, a relative error is relative to it: the element is a sum
/// of terms that cancel, which rounding does not. One whose scale is negative
/// is not known.
Expected<Comparison> compare(std::span<const double> actual,
                             std::span<const double> expected,
                             const Tolerance &tolerance,
                             std::span<const double> scales = {});

} // namespace attn::reference

#endif // ATTN_REFERENCE_COMPARE_H
