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

  StageCode(OpBuilder &b, Location loc) : TensorCode{b, loc} {}

  /// New strips of the same shape.
  Value emitConvolution(Stages stages, Value strip);
  Value emitMixing(Stages stages, Value strip);

private:
  /// The last `count` query rows of a kernel.
  Value emitLastRows(Stages stages, Value count);
  /// `(Hq, ...)` as `(Hq / mixed, mixed, ...)`, and back.
  Value split(Value tensor, int64_t mixed);
  Value join(Value tensor);
  static SmallVector<ReassociationIndices> getHeadDims(int64_t rank);
  /// 0 in the shape of a strip.
  Value zerosLike(Value strip);
};

} // namespace mlir::attn

#endif // ATTN_REFERENCE_STAGECODE_H
