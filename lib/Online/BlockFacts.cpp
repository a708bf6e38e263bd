//===- BlockFacts.cpp - What a block of keys is before its scores ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/BlockFacts.h"
#include "dialect/AttnOps.h"
#include "lib/Regions/MaskAnalysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// Emits whether a region has a result everywhere in a tile. Remarks where that
/// is not known of any: vectors are not used then, which have no way to say at
/// which position there is none.
static Value emitIsDefinedOrRemark(OpBuilder &b, Region &region,
                                   const RegionTile &tile) {
  Operation *unproven = nullptr;
  Value isDefined =
      emitIsDefined(b, region.getParentOp()->getLoc(), region, tile, &unproven);
  if (unproven)
    unproven->emitRemark("is evaluated position by position, with all of its "
                         "region, because ")
        << (isa<tensor::ExtractOp>(unproven)
                ? "nothing says that its index is inside the tensor: bound it, "
                  "by a maximum and a minimum, say"
                : "it may have no result at some");
  return isDefined;
}

BlockFacts attn::emitBlockFacts(OpBuilder &b, OnlineAttentionOp op) {
  Location loc = op.getLoc();
  Value no = arith::ConstantOp::create(b, loc, b.getBoolAttr(false));
  Value yes = arith::ConstantOp::create(b, loc, b.getBoolAttr(true));
  BlockFacts facts = {Value(), no, yes};
  if (!op.hasMask() && !op.hasScore())
    return facts;
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto range = [&](Value first, Value count) -> IndexRange {
    Value end = b.createOrFold<arith::AddIOp>(loc, first, count);
    return {first, b.createOrFold<arith::SubIOp>(loc, end, one)};
  };
  Value keys = getValueOrCreateConstantIndexOp(
      b, loc, tensor::getMixedSize(b, loc, op.getKey(), 0));
  RegionTile tile;
  tile.batch = op.getBatch();
  tile.head = op.getHead();
  tile.positions = range(op.getPosition(), op.getNumQueries());
  tile.keys = range(op.getFirstKey(), keys);
  if (op.hasMask()) {
    tile.captures = op.getMaskCaptures();
    BlockVerdict verdict = emitBlockVerdict(b, loc, op.getMaskRegion(), tile);
    if (!matchPattern(verdict.isEmpty, m_Zero()))
      facts.isEmpty = verdict.isEmpty;
    facts.isPartial = b.createOrFold<arith::XOrIOp>(loc, verdict.isFull, yes);
    facts.isDefined = emitIsDefinedOrRemark(b, op.getMaskRegion(), tile);
  }
  if (op.hasScore()) {
    tile.captures = op.getScoreCaptures();
    facts.isDefined = b.createOrFold<arith::AndIOp>(
        loc, facts.isDefined,
        emitIsDefinedOrRemark(b, op.getScoreRegion(), tile));
  }
  return facts;
}
