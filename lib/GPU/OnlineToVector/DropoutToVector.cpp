//===- DropoutToVector.cpp - Dropout of a block as vector code ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What a position is multiplied by is scalar code of its position and key,
// which becomes code of all positions as a score or mask region does. Words of
// a counter that are the same in a row, or in a column, are computed once for
// it. A lane has two neighbours in a row, which have one counter where blocks
// begin at multiples of four keys, as attn-tile-keys has them; it is computed
// once, then, after LLVM has found that out.
//

#include "lib/GPU/OnlineToVector/BlockToVector.h"
#include "lib/GPU/OnlineToVector/RegionToVector.h"
#include "lib/Math/MathBuilder.h"
#include "lib/Regions/Philox.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

FailureOr<Value> attn::emitDropout(OpBuilder &builder, OnlineAttentionOp op,
                                   Value weights) {
  double rate = op.hasDropout() ? op.getDropoutRate()->convertToDouble() : 0.0;
  if (rate == 0)
    return weights;
  IndexBuilder indices(op.getLoc(), builder);
  auto type = cast<VectorType>(weights.getType());
  std::array<Value, 2> key = buildPhiloxKey(indices, op.getDropoutSeed());
  Region region;
  Block &block = region.emplaceBlock();
  Value position = block.addArgument(indices.getIndexType(), indices.getLoc());
  Value number = block.addArgument(indices.getIndexType(), indices.getLoc());
  {
    OpBuilder::InsertionGuard guard(indices);
    indices.setInsertionPointToStart(&block);
    Value keep = buildIsKept(indices, rate, key, number, position,
                             op.getDropoutLine(), op.getDropoutCall());
    scf::YieldOp::create(indices, keep);
  }
  MathBuilder b(op.getLoc(), indices);
  PositionTile tile{
      op.getBatch(),      op.getHead(),
      op.getPosition(),   op.createDropoutKey(b, op.getFirstKey()),
      type.getDimSize(0), type.getDimSize(1)};
  FailureOr<Value> keep =
      vectorizeBody(b, block, {emitPositions(b, tile), emitKeys(b, tile)});
  if (failed(keep))
    return failure();
  return b.select(broadcastTo(b, *keep, type.getShape()),
                  b.mul(weights, 1.0 / (1.0 - rate)), b.real(weights, 0.0));
}
