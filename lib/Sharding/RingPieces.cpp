//===- RingPieces.cpp - Blocks that go around, and their pieces -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Sharding/RingPieces.h"
#include "lib/Sharding/Annotations.h"
#include "lib/Sharding/VisibleSpans.h"

using namespace mlir;
using namespace mlir::attn;

RankBlockOp attn::createRankBlock(IndexBuilder &b, Value step, Value key,
                                  Value value, Value spans,
                                  const AttentionExtents &extents) {
  auto blockType = [](Value of) {
    auto type = cast<RankedTensorType>(of.getType());
    auto shape = llvm::to_vector(type.getShape());
    shape[kRows] = ShapedType::kDynamic;
    return RankedTensorType::get(shape, type.getElementType());
  };
  Value count = b.load(spans, {step, b.index(3)});
  if (extents.isZigzag)
    count = b.add(count, b.load(spans, {step, b.index(7)}));
  return RankBlockOp::create(b, blockType(key), blockType(value), step, key,
                             value, spans, count, uint64_t(extents.keyStride));
}

namespace {
/// A piece of the queries of this rank, and one of the keys of rank `from`.
struct PiecePair {
  Value from, querySlot, keySlot, queryPiece, keyPiece;
};
} // namespace

/// The pair of a number, below the square of the slots.
static PiecePair createPair(IndexBuilder &b, const AttentionExtents &extents,
                            Value from, Value number) {
  int64_t slots = extents.getNumSlots();
  Value querySlot = b.div(number, slots), keySlot = b.rem(number, slots);
  return {from, querySlot, keySlot,
          extents.getPiece(b, extents.queries.self, querySlot),
          extents.getPiece(b, from, keySlot)};
}

/// `visible` says what of the piece of the keys is seen.
template <typename Op>
static PiecePlaces
createPlaces(IndexBuilder &b, Op whole, const AttentionExtents &extents,
             RankBlockOp block, const PiecePair &pair, RowSpan visible) {
  auto [from, querySlot, keySlot, queryPiece, keyPiece] = pair;
  // A number that says what came with the block.
  auto extract = [&](Value column) {
    return b.load(block.getSpans(), {block.getStep(), column});
  };
  RowSpan seeing =
      emitSeeingRows(b, whole, extents, queryPiece, keyPiece, visible);
  // Where the piece of the keys begins in what its rank has, and where what
  // came of it does in the block.
  Value begin = extents.getSlotBegin(b, extents.keys, from, keySlot),
        first = extract(b.add(b.mul(keySlot, 4), 2));
  Value before = b.select(b.isEqual(keySlot, 0), 0, extract(b.index(3)));
  Value row = b.add(before, b.sub(b.add(begin, visible.first), first));
  RowSpan queriesOfWhole{
      b.add(extents.queries.first(b, queryPiece), seeing.first), seeing.count},
      keysOfWhole{b.add(extents.keys.first(b, keyPiece), visible.first),
                  visible.count};
  Value at = b.add(
      extents.getSlotBegin(b, extents.queries, extents.queries.self, querySlot),
      seeing.first);
  return {
      {at, seeing.count}, queriesOfWhole, {row, visible.count}, keysOfWhole};
}

IndexBuilder::Box attn::getRowBox(IndexBuilder &b, Value of, RowSpan rows) {
  IndexBuilder::Box box;
  for (OpFoldResult size : b.sizes(of)) {
    box.offsets.push_back(0);
    box.sizes.push_back(size);
  }
  box.offsets[kRows] = getAsOpFoldResult(rows.first);
  box.sizes[kRows] = getAsOpFoldResult(rows.count);
  return box;
}

template <typename Op>
SmallVector<Value> attn::visitPieces(
    IndexBuilder &b, Op whole, const AttentionExtents &extents,
    RankBlockOp block, Value from, ValueRange carried,
    function_ref<SmallVector<Value>(ValueRange, const PiecePlaces &)> emit) {
  int64_t slots = extents.getNumSlots();
  return b.loop(
      0, slots * slots, 1, carried, [&](Value number, ValueRange carried) {
        PiecePair pair = createPair(b, extents, from, number);
        RowSpan visible =
            emitVisibleRows(b, whole, extents, pair.queryPiece, pair.keyPiece);
        auto choice =
            scf::IfOp::create(b, carried.getTypes(), b.isLess(0, visible.count),
                              /*withElseRegion=*/true);
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPointToStart(choice.elseBlock());
        scf::YieldOp::create(b, carried);
        b.setInsertionPointToStart(choice.thenBlock());
        scf::YieldOp::create(
            b, emit(carried,
                    createPlaces(b, whole, extents, block, pair, visible)));
        return SmallVector<Value>(choice.getResults());
      });
}

#define ATTN_INSTANTIATE_VISIT(Op)                                             \
  template SmallVector<Value> attn::visitPieces(                               \
      IndexBuilder &, Op, const AttentionExtents &, RankBlockOp, Value,        \
      ValueRange,                                                              \
      function_ref<SmallVector<Value>(ValueRange, const PiecePlaces &)>);
ATTN_INSTANTIATE_VISIT(AttentionOp)
ATTN_INSTANTIATE_VISIT(AttentionBackwardOp)
#undef ATTN_INSTANTIATE_VISIT
