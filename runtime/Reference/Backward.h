//===- Backward.h - The float64 oracle for gradients -------------*- C++ -*===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What attn.attention_backward computes, as plain loops in double precision. It
// shares no code with the compiler: the derivative of a score is a difference
// of what the score gives.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_BACKWARD_H
#define ATTN_REFERENCE_BACKWARD_H

#include "runtime/Reference/Attention.h"

#include <cmath>

namespace attn::reference {

struct BackwardProblem {
  /// What is differentiated.
  AttentionProblem attention;
  /// Its results, (B, Hq, Sq, Dv) and (B, Hq, Sq).
  TensorView output, logSumExp;
  /// The gradient of the output, of its shape, and that of the log-sum-exp, if
  /// there is one.
  TensorView outputGradient;
  std::optional<TensorView> logSumExpGradient;
  /// The gradient of a score, and what its error is relative to: as much as
  /// is its own, and what those of a row have in common.
  struct OfScore {
    double gradient = 0, ownScale = 0, sharedScale = 0;
  };
  /// Told that at each position that is kept, row by row, `s` being the scaled
  /// product; for what the score captures.
  std::function<void(double s, std::int64_t b, std::int64_t h, std::int64_t p,
                     std::int64_t j, const OfScore &of)>
      visit;
};

/// Numbers for each element, dense, in the order of what gradients are of.
struct BackwardNumbers {
  std::vector<double> query; ///< (B, Hq, Sq, Dk)
  std::vector<double> key;   ///< (B, Hkv, Skv, Dk)
  std::vector<double> value; ///< (B, Hkv, Skv, Dv)
  std::vector<double> sink;  ///< As many as the attention has.
};

/// The gradients.
struct BackwardResult : BackwardNumbers {
  /// What their errors are relative to (see `compare`): the square root of the
  /// sum of the squares of all that rounding adds, in units of the elements'
  /// type. Negative where a score has a kink or jumps nearby.
  BackwardNumbers scales;
};

/// Computes the gradients, or says which part of the problem is malformed.
Expected<BackwardResult> attentionBackward(const BackwardProblem &problem);

/// The difference quotient at 0 of the values that a function has there and at
/// some steps before and after.
struct Quotient {
  double at0, after, before, after2, before2, step;

  /// Exact for polynomials of degree 4.
  double get() const {
    return (8 * (after - before) - (after2 - before2)) / (12 * step);
  }
  /// Whether those of the points on either side agree, as they do of a function
  /// that is smooth in between. With a fourth derivative `d`, they are
  /// `step^3 * d / 2` apart.
  bool isSmooth(double tolerance = 1e-6) const {
    double right = (4 * after - after2 - 3 * at0) / (2 * step),
           left = (3 * at0 - 4 * before + before2) / (2 * step),
           size = std::fmax(1, std::fmax(std::fabs(right), std::fabs(left)));
    return std::fabs(right - left) <=
           tolerance * size + 1e-14 * std::fabs(at0) / step;
  }
};

/// The derivative at 0 of a smooth function.
template <typename Function> double differentiate(Function f, double step) {
  return Quotient{0, f(step), f(-step), f(2 * step), f(-2 * step), step}.get();
}

/// A derivative, which may be wrong where the function is not smooth nearby.
struct Slope {
  double value = 1;
  bool isKnown = true;
};

/// The derivative at 0 of a function that may have kinks, with steps of `step`
/// or, where these reach over one, of down to a thousandth of that.
template <typename Function> Slope findSlope(Function f, double step) {
  double at0 = f(0);
  for (double last = step / 2000;; step /= 10) {
    Quotient quotient{at0, f(step), f(-step), f(2 * step), f(-2 * step), step};
    bool isSmooth = !std::isfinite(at0) || quotient.isSmooth();
    if (isSmooth || step < 2 * last)
      return {quotient.get(), isSmooth};
  }
}

} // namespace attn::reference

#endif // ATTN_REFERENCE_BACKWARD_H
