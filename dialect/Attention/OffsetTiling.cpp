//===- OffsetTiling.cpp - The offset of a tile's rows ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/OffsetTiling.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

FailureOr<Value> attn::createTileOffset(OpBuilder &builder, Location loc,
                                        Value offset,
                                        ArrayRef<OpFoldResult> offsets,
                                        ArrayRef<OpFoldResult> sizes) {
  if (offset && isa<RankedTensorType>(offset.getType())) {
    if (!isOneInteger(sizes[0])) {
      if (!isZeroInteger(offsets[2]))
        return failure();
      return tensor::ExtractSliceOp::create(
                 builder, loc, offset, offsets.take_front(), sizes.take_front(),
                 ArrayRef<OpFoldResult>{builder.getIndexAttr(1)})
          .getResult();
    }
    Value batch = getValueOrCreateConstantIndexOp(builder, loc, offsets[0]);
    offset = tensor::ExtractOp::create(builder, loc, offset, batch);
  }
  Value row = getValueOrCreateConstantIndexOp(builder, loc, offsets[2]);
  if (!offset)
    return row;
  if (!offset.getType().isIndex())
    offset = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                        offset);
  return builder.createOrFold<arith::AddIOp>(loc, offset, row);
}
