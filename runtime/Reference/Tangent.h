//===- Tangent.h - The float64 oracle for tangents --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// What attn.attention_tangent computes, in double precision. It shares no code
// with the compiler, and no formula: it is the difference quotient of what the
// oracle for attention gives while everything moves along its tangent.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_TANGENT_H
#define ATTN_REFERENCE_TANGENT_H

#include "runtime/Reference/Attention.h"

namespace attn::reference {

struct TangentProblem {
  /// What is differentiated.
  AttentionProblem attention;
  /// How fast query, key and value move, of their shapes, and the sink: of as
  /// many numbers. What is absent does not.
  std::optional<TensorView> query, key, value;
  std::vector<double> sink;
  /// The score where what it captures has moved for some time; empty if it
  /// captures nothing that does. Small differences are those of what is
  /// differentiated: a score that rounds does so at a position as it did when
  /// it was first asked there, which is before anything has moved.
  std::function<decltype(AttentionProblem::score)(double time)> moveScore;
};

/// The tangents of output, (B, Hq, Sq, Dv), and log-sum-exp, (B, Hq, Sq).
struct TangentResult : AttentionResult {
  /// What their errors are relative to (see `compare`): the square root of the
  /// sum of the squares of all that rounding adds, in units of the elements'
  /// type. Negative where a score of the row has a kink or jumps nearby.
  AttentionResult scales;
};

/// The tangents, or which part of the problem is malformed. Where the attention
/// is infinite or NaN nearby, so are they; but 0 of rows that see nothing.
Expected<TangentResult> attentionTangent(const TangentProblem &problem);

} // namespace attn::reference

#endif // ATTN_REFERENCE_TANGENT_H
