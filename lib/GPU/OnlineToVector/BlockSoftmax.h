//===- BlockSoftmax.h - Weights of one block of keys ------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_GPU_ONLINETOVECTOR_BLOCKSOFTMAX_H
#define ATTN_GPU_ONLINETOVECTOR_BLOCKSOFTMAX_H

#include "dialect/AttnOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <array>

namespace mlir::attn {

/// When it is known what weights have to be relative to.
enum class SoftmaxOrder {
  MaximaFirst,
  /// The same, without a branch, in which products of a warpgroup would end.
  WhileProductsRun,
  /// Behind the weights, which are computed once more where they were relative
  /// to something too small. Nobody looks for maxima then, but the product with
  /// values begins behind all weights.
  WeightsFirst
};

struct BlockSoftmax {
  Value weights;
  /// Relative to what weights are relative to, with their sums. The output is
  /// null if products run.
  std::array<Value, 3> state;
  /// Whether rows are rescaled, and by what, where the output has yet to be.
  Value grows = nullptr, factor = nullptr;
};

/// Emits the weights of a block with `scores`, behind those of `state`: vectors
/// of the output, of what weights are relative to, as an exponent of
/// `emitExponents` if it has those, and of sums.
BlockSoftmax emitSoftmax(OpBuilder &builder, OnlineAttentionOp op, Value scores,
                         ArrayRef<Value> state, bool hasExponents,
                         SoftmaxOrder order);

/// A matrix with each row multiplied by one number.
Value multiplyRows(ImplicitLocOpBuilder &builder, Value matrix, Value factor);

} // namespace mlir::attn

#endif // ATTN_GPU_ONLINETOVECTOR_BLOCKSOFTMAX_H
