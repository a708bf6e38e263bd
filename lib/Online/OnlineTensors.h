//===- OnlineTensors.h - Tensors of a tile in its online form ---*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ONLINE_ONLINETENSORS_H
#define ATTN_ONLINE_ONLINETENSORS_H

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"

namespace mlir::attn {

/// What emits the operations on tensors that the online form of a tile, the
/// attention of one head of one sequence, is made of.
class OnlineTensors {
protected:
  OnlineTensors(OpBuilder &builder, AttentionOp op)
      : op(op), b(op.getLoc(), builder), type(op.getAccumulationType()) {}

  /// The factor of query and key's dot product, A4.
  Value emitScale() {
    if (std::optional<double> scale = op.getConstantScale())
      return real(*scale);
    return op.getScale();
  }

  /// The only batch entry and head of a tensor, as a matrix.
  Value slice(Value tensor) {
    SmallVector<OpFoldResult> sizes = b.sizes(tensor);
    sizes[0] = sizes[1] = b.getIndexAttr(1);
    return b.slice(tensor, b.zeros(4), sizes, /*rank=*/2);
  }

  Value empty(ArrayRef<int64_t> shape) { return b.empty(shape, type); }

  AffineMap identity(unsigned rank) { return b.getMultiDimIdentityMap(rank); }

  /// An elementwise op; the output's map is the identity.
  Value map(ValueRange inputs, Value init, ArrayRef<AffineMap> inputMaps,
            ElementBody body) {
    SmallVector<AffineMap> maps(inputMaps);
    maps.push_back(identity(cast<RankedTensorType>(init.getType()).getRank()));
    return b.generic(inputs, init, maps, body);
  }

  Value real(double value) { return b.real(type, value); }

  AttentionOp op;
  IndexBuilder b;
  FloatType type; ///< Of scores and states.
};

/// Emits the online form of the attention of at most `lanes` queries of one
/// head, for matrix units, without what follows it. `op` stays.
OnlineAttentionOp emitOnlineInMatrices(OpBuilder &builder, AttentionOp op,
                                       int64_t lanes);

} // namespace mlir::attn

#endif // ATTN_ONLINE_ONLINETENSORS_H
