//===- KeptValues.cpp - Values that tiles pack and keep -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   ring, from, to, capacity = attn.kept_packs [first, count] of(batch, head)
//   for packs i from `from` to `to`
//     fetch the rows of pack i + 1
//     ring[i mod capacity] = rows of it, transposed
//   blocks of ring[first mod capacity ...]
//
// Packs of one window stay in the second-level cache, where those of all heads
// do not, and rows are read next to where they are used, so that they can be
// fetched while a tile computes.
//

#include "lib/Online/KeptValues.h"
#include "lib/Online/CachedRows.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

static Value toValue(ImplicitLocOpBuilder &b, OpFoldResult number) {
  return getValueOrCreateConstantIndexOp(b, b.getLoc(), number);
}

static Value index(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

/// How many packs there are of all the values, in front of the parallel loops.
static Value emitMost(ImplicitLocOpBuilder &b, Value values, unsigned dim) {
  OpBuilder::InsertionGuard guard(b);
  for (Operation *op = b.getInsertionBlock()->getParentOp(); op;
       op = op->getParentOp())
    if (auto loop = dyn_cast<scf::ForallOp>(op);
        loop && loop.isDefinedOutsideOfLoop(values))
      b.setInsertionPoint(loop);
  return toValue(
      b, affine::makeComposedFoldedAffineApply(
             b, b.getLoc(),
             b.getAffineSymbolExpr(0).ceilDiv(OnlineAttentionOp::kKeysPerPack),
             {tensor::getMixedSize(b, b.getLoc(), values, dim)}));
}

/// `start + offset` in a ring, where `offset` is at most `capacity`.
static Value emitPlace(ImplicitLocOpBuilder &b, Value start, Value offset,
                       Value capacity) {
  Value place = b.createOrFold<arith::AddIOp>(start, offset);
  Value isInside =
      b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, place, capacity);
  return b.createOrFold<arith::SelectOp>(
      isInside, place, b.createOrFold<arith::SubIOp>(place, capacity));
}

/// `rows` as pack `place` of `packs`.
static Value insertPack(ImplicitLocOpBuilder &b, Value rows, Value packs,
                        Value place) {
  auto type = cast<RankedTensorType>(packs.getType());
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> at = {place, zero, zero},
                            sizes = {one, b.getIndexAttr(type.getDimSize(1)),
                                     b.getIndexAttr(
                                         OnlineAttentionOp::kKeysPerPack)},
                            strides(3, one);
  Value to = tensor::ExtractSliceOp::create(b, packs, at, sizes, strides);
  Value padding = arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getZeroAttr(type.getElementType())));
  Value packed =
      linalg::PackOp::create(b, rows, to, /*innerDimsPos=*/ArrayRef<int64_t>{0},
                             ArrayRef<OpFoldResult>{sizes[2]}, padding)
          .getResult();
  return tensor::InsertSliceOp::create(b, packed, packs, at, sizes, strides);
}

std::optional<KeptValues> KeptValues::emit(OpBuilder &builder,
                                           OnlineAttentionOp op,
                                           OpFoldResult low, OpFoldResult count,
                                           int64_t block) {
  ImplicitLocOpBuilder b(op.getLoc(), builder);
  Value values = op.getValue(), all = values;
  auto type = cast<RankedTensorType>(values.getType());
  SmallVector<Value> of;
  unsigned dim = 0;
  if (tensor::ExtractSliceOp head = getHeadSlice(values)) {
    all = head.getSource();
    dim = 2;
    SmallVector<OpFoldResult> at = head.getMixedOffsets();
    for (OpFoldResult number : ArrayRef(at).take_front(2))
      if (auto value = dyn_cast<Value>(number))
        of.push_back(value);
  }
  // A thread has one tile after the other, of all the loops.
  for (auto loop = op->getParentOfType<scf::ForallOp>(); loop;
       loop = loop->getParentOfType<scf::ForallOp>())
    if (!loop.isDefinedOutsideOfLoop(all))
      return std::nullopt;
  AffineExpr s = b.getAffineSymbolExpr(0);
  auto apply = [&](AffineExpr expr, OpFoldResult operand) {
    return toValue(b, affine::makeComposedFoldedAffineApply(b, b.getLoc(), expr,
                                                            {operand}));
  };
  KeptValues kept;
  Value first = apply(s.floorDiv(OnlineAttentionOp::kKeysPerPack), low),
        numPacks = apply(s.ceilDiv(OnlineAttentionOp::kKeysPerPack), count);
  // A block that goes past the end of the ring finds the first packs there.
  int64_t overlap =
      int64_t(llvm::divideCeil(block, OnlineAttentionOp::kKeysPerPack)) - 1;
  Type number = b.getIndexType();
  auto room = KeptPacksOp::create(
      b,
      TypeRange{RankedTensorType::get({ShapedType::kDynamic, type.getDimSize(1),
                                       OnlineAttentionOp::kKeysPerPack},
                                      type.getElementType()),
                number, number, number},
      first, numPacks, of, emitMost(b, all, dim), overlap);
  kept.capacity = room.getCapacity();
  kept.start = b.createOrFold<arith::RemUIOp>(first, kept.capacity);
  kept.firstKey =
      b.createOrFold<arith::AddIOp>(toValue(b, low), op.getFirstKey());

  auto cached = CachedRows::match(values);
  OpFoldResult numRows = tensor::getMixedSize(b, b.getLoc(), values, 0);
  std::optional<int64_t> constant = getConstantIntValue(numRows);
  auto packing = scf::ForOp::create(b, room.getFrom(), room.getTo(),
                                    index(b, 1), room.getPacks());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(packing.getBody());
  Value i = packing.getInductionVar(), packs = packing.getRegionIterArg(0);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1),
               columns = b.getIndexAttr(type.getDimSize(1)),
               row = affine::makeComposedFoldedAffineApply(
                   b, b.getLoc(), s * OnlineAttentionOp::kKeysPerPack, {i}),
               rest = b.getIndexAttr(OnlineAttentionOp::kKeysPerPack);
  if (!constant || *constant % OnlineAttentionOp::kKeysPerPack != 0)
    rest = affine::makeComposedFoldedAffineMin(
        b, b.getLoc(),
        AffineMap::get(
            0, 2,
            {b.getAffineConstantExpr(OnlineAttentionOp::kKeysPerPack),
             b.getAffineSymbolExpr(1) - s * OnlineAttentionOp::kKeysPerPack},
            b.getContext()),
        {i, numRows});
  Value rows;
  if (cached) {
    // Which page rows are on is looked up for each pack.
    rows = cached->gatherPack(b, b.getLoc(), row, rest,
                              OnlineAttentionOp::kKeysPerPack,
                              type.getElementType());
  } else {
    // What the first tile of a head packs, no tile before it has fetched.
    Value next = b.createOrFold<arith::AddIOp>(i, index(b, 1));
    Value end = b.createOrFold<arith::MinSIOp>(
        b.createOrFold<arith::AddIOp>(next, index(b, 1)), room.getTo());
    auto toRow = [&](Value pack) {
      return b.createOrFold<arith::MulIOp>(
          pack, index(b, OnlineAttentionOp::kKeysPerPack));
    };
    Value lastRow =
        b.createOrFold<arith::MinSIOp>(toRow(end), toValue(b, numRows));
    PrefetchOp::create(b, values, toRow(next), lastRow);
    rows = tensor::ExtractSliceOp::create(b, values, ArrayRef{row, zero},
                                          ArrayRef{rest, columns},
                                          ArrayRef{one, one});
  }
  Value place = emitPlace(
      b, kept.start, b.createOrFold<arith::SubIOp>(i, first), kept.capacity);
  if (overlap == 0) {
    packs = insertPack(b, rows, packs, place);
  } else {
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, place,
                                          index(b, overlap));
    Value places =
        arith::SelectOp::create(b, isFirst, index(b, 2), index(b, 1));
    auto copies =
        scf::ForOp::create(b, index(b, 0), places, index(b, 1), packs);
    OpBuilder::InsertionGuard inner(b);
    b.setInsertionPointToStart(copies.getBody());
    Value past =
        b.createOrFold<arith::MulIOp>(copies.getInductionVar(), kept.capacity);
    scf::YieldOp::create(
        b, insertPack(b, rows, copies.getRegionIterArg(0),
                      b.createOrFold<arith::AddIOp>(place, past)));
    packs = copies.getResult(0);
  }
  scf::YieldOp::create(b, packs);
  kept.packs = packing.getResult(0);
  return kept;
}

void KeptValues::assignTo(RewriterBase &rewriter,
                          OnlineAttentionOp block) const {
  rewriter.setInsertionPoint(block);
  ImplicitLocOpBuilder b(block.getLoc(), rewriter);
  Value keys = b.createOrFold<arith::SubIOp>(block.getFirstKey(), firstKey);
  Value offset = b.createOrFold<arith::DivUIOp>(
      keys, index(b, OnlineAttentionOp::kKeysPerPack));
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, b.getLoc(), packs);
  sizes[0] = affine::makeComposedFoldedAffineApply(
      b, b.getLoc(),
      b.getAffineSymbolExpr(0).ceilDiv(OnlineAttentionOp::kKeysPerPack),
      {tensor::getMixedSize(b, b.getLoc(), block.getKey(), 0)});
  Value value = tensor::ExtractSliceOp::create(
      b, packs,
      ArrayRef<OpFoldResult>{emitPlace(b, start, offset, capacity), zero, zero},
      sizes, ArrayRef<OpFoldResult>{one, one, one});
  rewriter.modifyOpInPlace(block, [&] {
    block.getValueMutable().assign(value);
    block.setPackedValues(true);
  });
}
