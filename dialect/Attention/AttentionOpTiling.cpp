//===- AttentionOpTiling.cpp - attn.attention: tiling ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Batch, query heads and query rows are parallel loops. A tile is an attention
// op on slices whose regions still see the numbers of the whole:
//
//   batch b  the first batch entry of the tile becomes a capture, added to `b`
//   head  h  the same with `h`; the tile has whole groups or is within one;
//            of dropout, both join the line
//   row   i  joins the offset, and so the position `p`
//
// Not tiled: sequences with numbers of queries of their own.
//
//===----------------------------------------------------------------------===//

#include "dialect/Attention/OffsetTiling.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// Emits one tile.
class Tiler {
public:
  Tiler(AttentionOp op, OpBuilder &builder, ArrayRef<OpFoldResult> offsets,
        ArrayRef<OpFoldResult> sizes)
      : op(op), b(builder), loc(op.getLoc()), offsets(offsets), sizes(sizes) {}

  FailureOr<TilingResult> tile() {
    if (op->getNumResults() == 0 || op.isRagged())
      return failure();
    if (failed(findKeyHeads()) || failed(emitOffset()))
      return failure();
    Value query = slice(op.getQuery(), {offsets[0], offsets[1], offsets[2]},
                        {sizes[0], sizes[1], sizes[2]});
    Value key = slice(op.getKey(), {offsets[0], keyHead}, {sizes[0], keyHeads});
    Value value =
        slice(op.getValue(), {offsets[0], keyHead}, {sizes[0], keyHeads});
    SmallVector<Value> outs;
    for (Value init : op.getOuts())
      outs.push_back(slice(init, offsets, sizes));
    Value sink = op.getSink();
    if (sink) {
      auto sinkRank = cast<RankedTensorType>(sink.getType()).getRank();
      sink = slice(sink, offsets.slice(1, sinkRank), sizes.slice(1, sinkRank));
    }

    Value dropoutKey = sliceDropoutKey();
    auto tile = cast<AttentionOp>(b.clone(*op));
    tile.shiftRegionIndex(b, AttentionOp::RegionIndex::Batch, offsets[0],
                          sizes[0]);
    tile.shiftRegionIndex(b, AttentionOp::RegionIndex::Head, offsets[1],
                          sizes[1]);
    tile.getQueryMutable().assign(query);
    tile.getKeyMutable().assign(key);
    tile.getValueMutable().assign(value);
    tile.getOutsMutable().assign(outs);
    tile.setBottomRight(false);
    tile.getOffsetMutable().assign(offset);
    if (dropoutKey)
      tile.getDropoutKeyMutable().assign(dropoutKey);
    if (op.hasDropout())
      setDropoutHeads(tile);
    if (sink)
      tile.getSinkMutable().assign(sink);
    for (auto [result, init] : llvm::zip(tile.getResults(), outs))
      result.setType(cast<RankedTensorType>(init.getType()));

    TilingResult result;
    result.tiledOps.push_back(tile);
    result.tiledValues.assign(tile->result_begin(), tile->result_end());
    result.generatedSlices = slices;
    return result;
  }

private:
  /// The key/value heads that the tile's query heads read, A3.
  LogicalResult findKeyHeads() {
    int64_t group = op.getGroupSize();
    std::optional<int64_t> heads = getConstantIntValue(sizes[1]);
    std::optional<int64_t> first = getConstantIntValue(offsets[1]);
    if (!heads)
      return failure();
    // The caller steps by the tile's size, so that tiles do not straddle
    // groups; what is known of the offset is checked.
    int64_t unit = std::min(group, *heads);
    if (*heads % group != 0 && group % *heads != 0)
      return failure();
    if (first && *first % unit != 0)
      return failure();
    AffineExpr head = b.getAffineSymbolExpr(0);
    keyHead = affine::makeComposedFoldedAffineApply(
        b, loc, head.floorDiv(group), offsets[1]);
    keyHeads = b.getIndexAttr(std::max<int64_t>(1, *heads / group));
    return success();
  }

  /// Lines of one batch entry follow one another whatever the whole has, A8.
  void setDropoutHeads(AttentionOp tile) {
    if (getConstantIntValue(sizes[0]) == 1)
      tile.removeDropoutHeadsAttr();
    else if (getConstantIntValue(sizes[1]) != op.getNumQueryHeads())
      tile.setDropoutHeads(uint64_t(op.getDropoutHeadsOfWhole()));
  }

  /// Of the tile's batch entries, A8; null without one.
  Value sliceDropoutKey() {
    Value key = op.getDropoutKey();
    if (!key || !isa<RankedTensorType>(key.getType()))
      return key;
    if (getConstantIntValue(sizes[0]) != 1)
      return slice(key, offsets.take_front(), sizes.take_front());
    Value batch = getValueOrCreateConstantIndexOp(b, loc, offsets[0]);
    return tensor::ExtractOp::create(b, loc, key, batch);
  }

  /// The position of the tile's first row, A5.
  LogicalResult emitOffset() {
    Value whole = op.getOffset();
    if (op.getBottomRight()) {
      AffineExpr keys = b.getAffineSymbolExpr(0),
                 rows = b.getAffineSymbolExpr(1);
      whole = getValueOrCreateConstantIndexOp(
          b, loc,
          affine::makeComposedFoldedAffineApply(
              b, loc, keys - rows,
              {tensor::getMixedSize(b, loc, op.getKey(), 2),
               tensor::getMixedSize(b, loc, op.getQuery(), 2)}));
    }
    FailureOr<Value> ofTile = createTileOffset(b, loc, whole, offsets, sizes);
    if (failed(ofTile))
      return failure();
    offset = *ofTile;
    if (auto slice = offset.getDefiningOp<tensor::ExtractSliceOp>())
      slices.push_back(slice);
    return success();
  }

  /// The slice of leading dimensions; the others are whole. Of a slice it is
  /// one of what that is of, so that parts of a cache are seen to be that.
  Value slice(Value tensor, ArrayRef<OpFoldResult> leadingOffsets,
              ArrayRef<OpFoldResult> leadingSizes) {
    SmallVector<OpFoldResult> sliceOffsets(leadingOffsets);
    SmallVector<OpFoldResult> sliceSizes(leadingSizes);
    int64_t rank = cast<RankedTensorType>(tensor.getType()).getRank();
    for (int64_t dim = leadingOffsets.size(); dim < rank; ++dim) {
      sliceOffsets.push_back(b.getIndexAttr(0));
      sliceSizes.push_back(tensor::getMixedSize(b, loc, tensor, dim));
    }
    SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
    if (auto outer = tensor.getDefiningOp<tensor::ExtractSliceOp>();
        outer && outer.hasUnitStride() && outer.getDroppedDims().none()) {
      AffineExpr sum = b.getAffineSymbolExpr(0) + b.getAffineSymbolExpr(1);
      for (auto [offset, first] :
           llvm::zip(sliceOffsets, outer.getMixedOffsets()))
        offset =
            affine::makeComposedFoldedAffineApply(b, loc, sum, {offset, first});
      tensor = outer.getSource();
    }
    auto slice = tensor::ExtractSliceOp::create(b, loc, tensor, sliceOffsets,
                                                sliceSizes, strides);
    slices.push_back(slice);
    return slice;
  }

  AttentionOp op;
  OpBuilder &b;
  Location loc;
  ArrayRef<OpFoldResult> offsets, sizes;
  OpFoldResult keyHead, keyHeads;
  Value offset;
  SmallVector<Operation *> slices;
};

/// Adds `first` entries of `size` lines each to the line of dropout.
void shiftLine(OpBuilder &b, AttentionOp op, OpFoldResult first, int64_t size) {
  AffineExpr line = b.getAffineSymbolExpr(0) * size;
  SmallVector<OpFoldResult> operands = {first};
  if (Value before = op.getDropoutLine()) {
    line = line + b.getAffineSymbolExpr(1);
    operands.push_back(before);
  }
  OpFoldResult sum =
      affine::makeComposedFoldedAffineApply(b, op.getLoc(), line, operands);
  op.getDropoutLineMutable().assign(
      getValueOrCreateConstantIndexOp(b, op.getLoc(), sum));
}

void shiftArgument(OpBuilder &b, Region &region, unsigned number,
                   OpFoldResult first, OpFoldResult size,
                   MutableOperandRange captures) {
  if (region.empty())
    return;
  Location loc = captures.getOwner()->getLoc();
  Block &block = region.front();
  BlockArgument local = block.getArgument(number);
  if (local.use_empty() || getConstantIntValue(first) == 0)
    return;
  captures.append(getValueOrCreateConstantIndexOp(b, loc, first));
  Value shifted = block.addArgument(b.getIndexType(), loc);
  if (getConstantIntValue(size) == 1) { // The local number is 0.
    local.replaceAllUsesWith(shifted);
    return;
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&block);
  auto sum = arith::AddIOp::create(b, loc, local, shifted);
  local.replaceAllUsesExcept(sum, sum);
}

} // namespace

void AttentionOp::shiftRegionIndex(OpBuilder &builder, RegionIndex index,
                                   OpFoldResult first, OpFoldResult size) {
  unsigned number = index == RegionIndex::Batch ? 0 : 1;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(*this);
  if (hasDropout() && getConstantIntValue(first) != 0)
    shiftLine(builder, *this, first,
              index == RegionIndex::Batch ? getDropoutHeadsOfWhole() : 1);
  shiftArgument(builder, getScore(), number + 1, first, size,
                getScoreCapturesMutable());
  shiftArgument(builder, getMask(), number, first, size,
                getMaskCapturesMutable());
}

SmallVector<utils::IteratorType> AttentionOp::getLoopIteratorTypes() {
  return SmallVector<utils::IteratorType>(3, utils::IteratorType::parallel);
}

SmallVector<Range> AttentionOp::getIterationDomain(OpBuilder &b) {
  SmallVector<Range> domain;
  for (int64_t dim : {0, 1, 2})
    domain.push_back({b.getIndexAttr(0),
                      tensor::getMixedSize(b, getLoc(), getQuery(), dim),
                      b.getIndexAttr(1)});
  return domain;
}

FailureOr<TilingResult>
AttentionOp::getTiledImplementation(OpBuilder &b,
                                    ArrayRef<OpFoldResult> offsets,
                                    ArrayRef<OpFoldResult> sizes) {
  return Tiler(*this, b, offsets, sizes).tile();
}

LogicalResult AttentionOp::getResultTilePosition(
    OpBuilder &b, unsigned number, ArrayRef<OpFoldResult> offsets,
    ArrayRef<OpFoldResult> sizes, SmallVector<OpFoldResult> &resultOffsets,
    SmallVector<OpFoldResult> &resultSizes) {
  resultOffsets.assign(offsets.begin(), offsets.end());
  resultSizes.assign(sizes.begin(), sizes.end());
  if (number == 0) { // The output; the log-sum-exp has no fourth dimension.
    resultOffsets.push_back(b.getIndexAttr(0));
    resultSizes.push_back(tensor::getMixedSize(b, getLoc(), getOutput(), 3));
  }
  return success();
}
