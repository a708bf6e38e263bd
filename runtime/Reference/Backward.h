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
  /// Told the gradient of the score at each position that is kept, `s` being
  /// the scaled product; for what the score captures.
  std::function<void(double s, std::int64_t b, std::int64_t h, std::int64_t p,
                     std::int64_t j, double gradient)>
      visit;
};

/// The gradients, dense, in the order of what they are of.
struct BackwardResult {
  std::vector<double> query; ///< (B, Hq, Sq, Dk)
  std::vector<double> key;   ///< (B, Hkv, Skv, Dk)
  std::vector<double> value; ///< (B, Hkv, Skv, Dv)
  std::vector<double> sink;  ///< As many as the attention has.
};

/// Computes the gradients, or says which part of the problem is malformed.
Expected<BackwardResult> attentionBackward(const BackwardProblem &problem);

/// The derivative at 0 of a smooth function: the difference quotient of five
/// points, of steps of `step`, which is exact for polynomials of degree 4.
template <typename Function> double differentiate(Function f, double step) {
  return (8 * (f(step) - f(-step)) - (f(2 * step) - f(-2 * step))) /
         (12 * step);
}

} // namespace attn::reference

#endif // ATTN_REFERENCE_BACKWARD_H
