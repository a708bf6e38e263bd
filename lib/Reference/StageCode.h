//===- StageCode.h - Convolutions and mixing of heads -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_REFERENCE_STAGECODE_H
#define ATTN_REFERENCE_STAGECODE_H

#include "dialect/AttnOps.h"
#include "lib/Reference/TensorCode.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace mlir::attn {

/// Emits the reference form of the stages of attn.multi_token_attention, on
/// strips (Hq, rows, Skv).
class StageCode : TensorCode {
public:
  using Stages = MultiTokenAttentionOp::Stages;

  using TensorCode::TensorCode;

  /// Kernels and weights with elements of another type.
  Stages convertElements(Stages stages, Type type);

  /// New strips of the same shape.
  Value emitConvolution(Stages stages, Value strip);
  Value emitMixing(Stages stages, Value strip);

  // Gradients.

  /// A kernel turned around, of which heads that are read are those that were
  /// written; weights of mixing likewise.
  Stages transpose(Stages stages);
  /// What a strip's gradient is behind a convolution by a kernel of which
  /// `transposed` has been made.
  Value emitTransposedConvolution(Stages transposed, Value gradient);
  /// Adds to the gradient of a kernel, or of weights, what it is by a strip
  /// that was read and the gradient of what was made of it.
  Value addToKernel(Stages stages, Value strip, Value gradient, Value sums);
  Value addToMixing(Stages stages, Value strip, Value gradient, Value sums);

private:
  /// How many query rows of a kernel, beside the one at a row itself, reach
  /// into so many rows of a strip.
  Value emitQueryHalo(Stages stages, Value rows);
  /// A strip with 0 around it: columns that a kernel reads, and `queries` rows,
  /// of which `before` are before it.
  Value emitPadded(Stages stages, Value strip, Value queries, Number before);
  /// `count` query rows of a kernel, or of its gradient.
  Box getRows(Stages stages, Number first, Value count);
  /// Of a padded strip and so many rows of a kernel, in place of `result`.
  Value convolve(Stages stages, Value padded, Value kernel, Value result);
  /// `(Hq, ...)` as `(Hq / mixed, mixed, ...)`, and back.
  Value split(Value tensor, int64_t mixed);
  Value join(Value tensor);
  /// 0 in the shape of a strip.
  Value zerosLike(Value strip);
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_STAGECODE_H
