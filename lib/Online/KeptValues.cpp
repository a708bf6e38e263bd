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
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/CachedRows.h"
#include "lib/Online/SharedOperands.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// How many packs there are of all the values, in front of the parallel loops.
static Value emitMost(IndexBuilder &b, Value values, unsigned dim) {
  OpBuilder::InsertionGuard guard(b);
  if (scf::ForallOp loop = findOutermostLoop(b.getInsertionBlock(), values))
    b.setInsertionPoint(loop);
  return b.index(
      b.apply(b.getAffineSymbolExpr(0).ceilDiv(OnlineAttentionOp::kKeysPerPack),
              {b.size(values, dim)}));
}

/// `start + offset` in a ring, where `offset` is at most `capacity`.
static Value emitPlace(IndexBuilder &b, Value start, Value offset,
                       Value capacity) {
  Value place = b.add(start, offset);
  return b.select(b.isLess(place, capacity), place, b.sub(place, capacity));
}

/// `rows` as a pack `(1, size, rows)`.
static Value emitPack(IndexBuilder &b, Value rows, Value to) {
  auto type = cast<RankedTensorType>(to.getType());
  Value padding = b.zero(type.getElementType());
  return linalg::PackOp::create(b, rows, to,
                                /*innerDimsPos=*/ArrayRef<int64_t>{0},
                                {b.getIndexAttr(type.getDimSize(2))}, padding)
      .getResult();
}

std::optional<KeptValues> KeptValues::emit(OpBuilder &builder,
                                           OnlineAttentionOp op,
                                           OpFoldResult low, OpFoldResult count,
                                           int64_t block) {
  constexpr int64_t kRows = OnlineAttentionOp::kKeysPerPack;
  IndexBuilder b(op.getLoc(), builder);
  Value values = op.getValue(), all = values;
  auto type = cast<RankedTensorType>(values.getType());
  SmallVector<Value> of;
  unsigned dim = 0;
  if (tensor::ExtractSliceOp head = getHeadSlice(values)) {
    all = head.getSource();
    dim = 2;
    SmallVector<OpFoldResult> at = head.getMixedOffsets();
    for (OpFoldResult number : ArrayRef(at).take_front(3))
      if (auto value = dyn_cast<Value>(number))
        of.push_back(value);
  }
  // A thread has one tile after the other, of all the loops.
  for (auto loop = op->getParentOfType<scf::ForallOp>(); loop;
       loop = loop->getParentOfType<scf::ForallOp>())
    if (!loop.isDefinedOutsideOfLoop(all))
      return std::nullopt;
  AffineExpr s = b.getAffineSymbolExpr(0), n = b.getAffineSymbolExpr(1);
  KeptValues kept;
  Value first = b.index(b.apply(s.floorDiv(kRows), low)),
        numPacks = b.index(b.apply(s.ceilDiv(kRows), count));
  // A block that goes past the end of the ring finds the first packs there.
  int64_t overlap = int64_t(llvm::divideCeil(block, kRows)) - 1;
  Type number = b.getIndexType(),
       packs = RankedTensorType::get(
           {ShapedType::kDynamic, type.getDimSize(1), kRows},
           type.getElementType());
  auto room =
      KeptPacksOp::create(b, TypeRange{packs, number, number, number}, first,
                          numPacks, of, emitMost(b, all, dim), overlap);
  kept.capacity = room.getCapacity();
  kept.start = b.rem(first, kept.capacity);
  kept.firstKey = b.add(low, op.getFirstKey());

  OpFoldResult numRows = b.size(values, 0);
  std::optional<int64_t> constant = getConstantIntValue(numRows);
  auto packing = scf::ForOp::create(b, room.getFrom(), room.getTo(), b.index(1),
                                    room.getPacks());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(packing.getBody());
  Value i = packing.getInductionVar(), carried = packing.getRegionIterArg(0);
  OpFoldResult row = b.apply(s * kRows, {i}), rest = b.getIndexAttr(kRows);
  if (!constant || *constant % kRows != 0)
    rest = b.minimum({b.getAffineConstantExpr(kRows), n - s * kRows},
                     {i, numRows});
  // Which page rows are on is looked up for each pack.
  auto cached = CachedRows::match(values);
  Value rows;
  if (!cached) {
    // What the first tile of a head packs, no tile before it has fetched.
    Value next = b.add(i, 1), end = b.min(b.add(next, 1), room.getTo());
    PrefetchOp::create(b, values, b.mul(next, kRows),
                       b.min(b.mul(end, kRows), numRows));
    rows = b.slice(values, {row, b.getIndexAttr(0)}, {rest, b.size(values, 1)});
  }
  auto insertPack = [&](Value packs, Value place) {
    OpFoldResult zero = b.getIndexAttr(0);
    SmallVector<OpFoldResult> at = {place, zero, zero}, sizes = b.sizes(packs);
    sizes[0] = b.getIndexAttr(1);
    Value pack =
        cached ? cached->emitPack(b, row, rest, b.slice(packs, at, sizes, 2))
               : emitPack(b, rows, b.slice(packs, at, sizes));
    return b.insert(pack, packs, at, sizes);
  };
  Value place = emitPlace(b, kept.start, b.sub(i, first), kept.capacity);
  if (overlap == 0) {
    carried = insertPack(carried, place);
  } else {
    Value places = b.select(b.isLess(place, overlap), 2, 1);
    carried = b.loop(0, places, 1, carried, [&](Value copy, Value packs) {
      return insertPack(packs, b.add(place, b.mul(copy, kept.capacity)));
    });
  }
  scf::YieldOp::create(b, carried);
  kept.packs = packing.getResult(0);
  return kept;
}

void KeptValues::assignTo(RewriterBase &rewriter,
                          OnlineAttentionOp block) const {
  constexpr int64_t kRows = OnlineAttentionOp::kKeysPerPack;
  rewriter.setInsertionPoint(block);
  IndexBuilder b(block.getLoc(), rewriter);
  Value offset = b.div(b.sub(block.getFirstKey(), firstKey), kRows);
  OpFoldResult zero = b.getIndexAttr(0);
  SmallVector<OpFoldResult> sizes = b.sizes(packs);
  sizes[0] = b.apply(b.getAffineSymbolExpr(0).ceilDiv(kRows),
                     {b.size(block.getKey(), 0)});
  Value value = b.slice(
      packs, {emitPlace(b, start, offset, capacity), zero, zero}, sizes);
  rewriter.modifyOpInPlace(block, [&] {
    block.getValueMutable().assign(value);
    block.setPackedValues(true);
  });
}
