//===- MultiTokenStages.h - Stages around a softmax -------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_ATTENTION_MULTITOKENSTAGES_H
#define ATTN_DIALECT_ATTENTION_MULTITOKENSTAGES_H

#include "mlir/IR/Value.h"

namespace mlir::attn {

/// The stages of multi-token attention on one side of the softmax: a kernel
/// `(Hq, [ch,] cq, ck)` and the weights of mixing `(Hq / ch, ch, ch)`, each
/// null if absent.
struct MultiTokenStages {
  Value kernel, mixing;
  /// `cq - 1`, 0 without a kernel.
  int64_t getQueryHalo();
  /// `(ck - 1) / 2`, 0 without a kernel.
  int64_t getKeyHalo();
  /// Heads whose scores are summed, 1 if every head stands alone.
  int64_t getNumMixedHeads();
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTENTION_MULTITOKENSTAGES_H
