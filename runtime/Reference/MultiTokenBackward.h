//===- MultiTokenBackward.h - The oracle for its gradients ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What attn.multi_token_attention_backward computes, as plain loops in double
// precision over whole matrices, from what multiTokenAttention computes on the
// way. Every element adds to the gradients of what it was computed of.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MULTITOKENBACKWARD_H
#define ATTN_REFERENCE_MULTITOKENBACKWARD_H

#include "runtime/Reference/Backward.h"
#include "runtime/Reference/MultiToken.h"

namespace attn::reference {

struct MultiTokenBackwardProblem {
  /// What is differentiated; `outputLength` is that of the gradient.
  MultiTokenProblem attention;
  /// The gradient of the output, (B, Hq, So, Dv), and that of the log-sum-exp,
  /// if there is one.
  TensorView outputGradient;
  std::optional<TensorView> logSumExpGradient;
  /// As in BackwardProblem.
  decltype(BackwardProblem::visit) visit;
};

/// The gradients of the stages on one side, empty if absent.
struct StageGradients {
  std::vector<double> kernel, mixing;
};

struct MultiTokenBackwardResult {
  BackwardResult attention;
  StageGradients before, after;
  /// As in BackwardResult. Those of `attention` are not known.
  StageGradients scalesBefore, scalesAfter;
};

/// Computes the gradients, or says which part of the problem is malformed.
Expected<MultiTokenBackwardResult>
multiTokenAttentionBackward(const MultiTokenBackwardProblem &problem);

} // namespace attn::reference

#endif // ATTN_REFERENCE_MULTITOKENBACKWARD_H
