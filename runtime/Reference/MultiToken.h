//===- MultiToken.h - The oracle for multi-token attention ------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_MULTITOKEN_H
#define ATTN_REFERENCE_MULTITOKEN_H

#include "runtime/Reference/Attention.h"

namespace attn::reference {

/// The stages on one side of the softmax, each optional.
struct MultiTokenStages {
  /// (Hq, cq, ck), or (Hq, ch, cq, ck) with heads; `ck` is odd.
  std::optional<TensorView> kernel;
  /// (Hq / ch, ch, ch): group, head that is read, head that is written.
  std::optional<TensorView> mixing;
};

/// What attn.multi_token_attention computes. Its attention is not packed.
struct MultiTokenProblem {
  AttentionProblem attention;
  MultiTokenStages before, after;
  /// Rows of the output, the last ones; all queries if absent.
  std::optional<std::int64_t> outputLength;
};

/// Computes it with whole matrices, (B, Hq, So, Dv) and (B, Hq, So).
///
/// - A position that the mask does not keep, or whose score is -inf, is hidden:
///   0 in every stage, and without weight after each.
/// - Positions outside of the matrix are 0 in a convolution.
Expected<AttentionResult> multiTokenAttention(const MultiTokenProblem &problem);

} // namespace attn::reference

#endif // ATTN_REFERENCE_MULTITOKEN_H
