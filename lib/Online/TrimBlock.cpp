//===- TrimBlock.cpp - Blocks without what a mask hides -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/TrimBlock.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/VisibleRange.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::attn;

/// Rows of keys that products take at a time.
static constexpr int64_t kLeastKeys = 16;

bool attn::canTrimBlocks(OnlineAttentionOp op) {
  return op.hasMask() && !op.hasRowPerQuery();
}

FailureOr<TrimmedBlock> attn::emitTrimmedBlock(OpBuilder &builder,
                                               OnlineAttentionOp block,
                                               Value isPartial,
                                               int64_t maximumKeys) {
  if (!canTrimBlocks(block))
    return failure();
  Location loc = block.getLoc();
  IndexBuilder b(loc, builder);
  Value all = b.index(tensor::getMixedSize(b, loc, block.getKey(), 0));
  bool hasGaps = false;
  auto range = scf::IfOp::create(
      b, loc, isPartial,
      [&](OpBuilder &b, Location loc) {
        VisibleRows rows = emitVisibleRowsOfBlock(b, block);
        hasGaps = rows.hasGaps;
        scf::YieldOp::create(b, loc, ValueRange{rows.begin, rows.end});
      },
      [&](OpBuilder &builder, Location loc) {
        IndexBuilder b(loc, builder);
        Value zero = b.index(0);
        scf::YieldOp::create(b, loc, ValueRange{zero, all});
      });
  if (!hasGaps) {
    range.erase();
    return failure();
  }
  AffineExpr s0 = b.getAffineSymbolExpr(0), s1 = b.getAffineSymbolExpr(1),
             s2 = b.getAffineSymbolExpr(2);
  // Where the range is empty, the last keys are left.
  Value first = affine::AffineMinOp::create(
      b, loc, AffineMap::get(0, 2, {s0, s1 - 1}, b.getContext()),
      ValueRange{range.getResult(0), all});
  bool isInPairs = block.getLayout() == OnlineLayout::Pairs;
  int64_t unit = isInPairs ? OnlineAttentionOp::kKeysPerPack : kLeastKeys;
  Value begin = b.bitAnd(first, b.index(-unit));
  Value wanted = affine::AffineMaxOp::create(
      b, loc,
      AffineMap::get(0, 2, {s1 - s0, b.getAffineConstantExpr(kLeastKeys)},
                     b.getContext()),
      ValueRange{begin, range.getResult(1)});
  Value size = affine::AffineMinOp::create(
      b, loc,
      AffineMap::get(0, 3, {s1 - s0, s2, b.getAffineConstantExpr(maximumKeys)},
                     b.getContext()),
      ValueRange{begin, all, wanted});
  FailureOr<TilingResult> trimmed = block.getTiledImplementation(
      b, {OpFoldResult(begin)}, {OpFoldResult(size)});
  if (failed(trimmed))
    return failure();
  TrimmedBlock result = {cast<OnlineAttentionOp>(trimmed->tiledOps.front()),
                         Value()};
  if (!isInPairs)
    return result;
  // Of that, products of keys begin with any.
  Value most = affine::AffineMaxOp::create(
      b, loc,
      AffineMap::get(0, 1, {s0 - kLeastKeys, b.getAffineConstantExpr(0)},
                     b.getContext()),
      size);
  result.lead = affine::AffineMinOp::create(
      b, loc, AffineMap::get(0, 3, {s0 - s1, s2}, b.getContext()),
      ValueRange{first, begin, most});
  return result;
}
