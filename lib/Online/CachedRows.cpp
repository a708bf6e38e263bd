//===- CachedRows.cpp - Rows that lie in a cache --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/CachedRows.h"
#include "dialect/Cache/CacheRows.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/StoredElements.h"

#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <numeric>
#include <tuple>

using namespace mlir;
using namespace mlir::attn;

/// The slice that `value` is, if it takes rows of one entry of the first two
/// dimensions from their first element on; or null.
static tensor::ExtractSliceOp getEntrySlice(Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSourceType().getRank() != 4)
    return nullptr;
  bool takesHead = llvm::all_of(slice.getMixedStrides(), isOneInteger) &&
                   isOneInteger(slice.getMixedSizes()[0]) &&
                   isOneInteger(slice.getMixedSizes()[1]) &&
                   isZeroInteger(slice.getMixedOffsets()[3]);
  return takesHead ? slice : nullptr;
}

/// The slice that `value` is, if it takes whole rows of a matrix; or null.
static tensor::ExtractSliceOp getRowSlice(Value value) {
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSourceType().getRank() != 2 ||
      slice.getType().getRank() != 2)
    return nullptr;
  bool takesRows =
      llvm::all_of(slice.getMixedStrides(), isOneInteger) &&
      isZeroInteger(slice.getMixedOffsets()[1]) &&
      slice.getType().getDimSize(1) == slice.getSourceType().getDimSize(1);
  return takesRows ? slice : nullptr;
}

tensor::ExtractSliceOp attn::getHeadSlice(Value matrix) {
  tensor::ExtractSliceOp slice = getEntrySlice(matrix),
                         outer =
                             slice ? getEntrySlice(slice.getSource()) : nullptr;
  if (!outer)
    return slice;
  // A head, then its only batch entry and head as a matrix.
  return llvm::all_of(ArrayRef(slice.getMixedOffsets()).take_front(3),
                      isZeroInteger)
             ? outer
             : nullptr;
}

std::optional<CachedRows> CachedRows::match(Value matrix) {
  OpFoldResult first = Builder(matrix.getContext()).getIndexAttr(0);
  if (tensor::ExtractSliceOp rows = getRowSlice(matrix)) {
    first = rows.getMixedOffsets()[0];
    matrix = rows.getSource();
  }
  tensor::ExtractSliceOp slice = getHeadSlice(matrix);
  if (!slice || !isZeroInteger(slice.getMixedOffsets()[2]))
    return std::nullopt;
  auto read = slice.getSource().getDefiningOp<CacheReadOp>();
  if (!read)
    return std::nullopt;
  int64_t size = cast<RankedTensorType>(matrix.getType()).getShape().back();
  if (ShapedType::isDynamic(size))
    return std::nullopt;
  return CachedRows(read, slice.getMixedOffsets()[0],
                    slice.getMixedOffsets()[1], first, size, matrix);
}

std::optional<int64_t> CachedRows::getUnit() {
  if (!read.getRing() && !read.getTable())
    return 0;
  int64_t rows = cast<ShapedType>(read.getCache().getType()).getDimSize(2);
  if (ShapedType::isDynamic(rows) || rows == 0)
    return std::nullopt;
  return rows;
}

std::pair<Value, Value> CachedRows::clampToStored(IndexBuilder &b, Value begin,
                                                  Value end) {
  StoredPositions stored =
      createStoredPositions(b, b.getLoc(), read, b.index(batch));
  return {arith::MaxSIOp::create(b, begin, stored.begin),
          arith::MinSIOp::create(b, end, stored.end)};
}

Value attn::takeRows(IndexBuilder &b, Value tensor, OpFoldResult count) {
  SmallVector<OpFoldResult> sizes = b.sizes(tensor);
  sizes[0] = count;
  return b.slice(tensor, b.zeros(sizes.size()), sizes);
}

/// A tensor without its first two dimensions, which are of size 1. Rows have
/// their first `size` elements.
static Value dropHead(IndexBuilder &b, Value tensor, int64_t size) {
  SmallVector<OpFoldResult> sizes = b.sizes(tensor);
  int64_t rank = int64_t(sizes.size());
  if (rank == 4)
    sizes[3] = b.getIndexAttr(size);
  return b.slice(tensor, b.zeros(rank), sizes, rank - 2);
}

CachedRows::Rows CachedRows::extract(IndexBuilder &b, Value position,
                                     OpFoldResult count) {
  auto [elements, scales] =
      extractStoredRows(b, b.getLoc(), read, b.index(batch), head,
                        b.getIndexAttr(1), position, count);
  return {dropHead(b, elements, size),
          scales ? dropHead(b, scales, size) : Value()};
}

Value CachedRows::view(IndexBuilder &b, OpFoldResult position,
                       OpFoldResult count) {
  return b.slice(all, {position, b.getIndexAttr(0)},
                 {count, b.getIndexAttr(size)});
}

CachedRows::Rows CachedRows::allocate(IndexBuilder &b, int64_t count) {
  Rows rows;
  rows.elements = b.empty(ArrayRef<int64_t>{count, size}, getElementType());
  if (read.isQuantized())
    rows.scales = b.empty(ArrayRef<int64_t>{count}, b.getF32Type());
  return rows;
}

CachedRows::Rows CachedRows::take(IndexBuilder &b, Rows rows,
                                  OpFoldResult count) {
  return {takeRows(b, rows.elements, count),
          rows.scales ? takeRows(b, rows.scales, count) : Value()};
}

/// `rows` with `part` as those from `first` on.
static Value insertRows(IndexBuilder &b, Value part, Value rows, Value first) {
  SmallVector<OpFoldResult> sizes = b.sizes(part),
                            offsets = b.zeros(sizes.size());
  offsets[0] = first;
  return b.insert(part, rows, offsets, sizes);
}

SmallVector<Value> attn::forEachPart(IndexBuilder &b, Value begin, Value end,
                                     OpFoldResult unit, ValueRange carried,
                                     PartBody body) {
  Value low = b.div(begin, unit), high = b.add(b.div(b.sub(end, 1), unit), 1);
  high = b.select(b.isLess(begin, end), high, low);
  return b.loop(low, high, 1, carried, [&](Value i, ValueRange carried) {
    Value start = b.mul(i, unit), from = b.max(start, begin),
          to = b.min(b.add(start, unit), end);
    OpFoldResult count = b.sub(to, from);
    if (auto most = getConstantIntValue(unit))
      count = b.minimum(
          {b.getAffineSymbolExpr(0), b.getAffineConstantExpr(*most)}, count);
    return body(from, count, carried);
  });
}

CachedRows::Rows CachedRows::gather(IndexBuilder &b, Value begin, Value end,
                                    Value first, Rows rows) {
  // A ring of no rows has none to copy, but is divided by.
  Value unit = b.createOrFold<arith::MaxUIOp>(
      b.createOrFold<tensor::DimOp>(read.getCache(), 2), b.index(1));
  SmallVector<Value> carried = {rows.elements};
  if (rows.scales)
    carried.push_back(rows.scales);
  carried = forEachPart(
      b, begin, end, getAsOpFoldResult(unit), carried,
      [&](Value from, OpFoldResult count, ValueRange carried) {
        Value at = b.sub(from, first);
        Rows part = extract(b, from, count);
        SmallVector<Value> results = {
            insertRows(b, part.elements, carried[0], at)};
        if (part.scales)
          results.push_back(insertRows(b, part.scales, carried[1], at));
        return results;
      });
  return {carried[0], rows.scales ? carried[1] : Value()};
}

int64_t CachedRows::getRowsOfPack(int64_t rowsPerPack) {
  constexpr int64_t kLeast = 8;
  std::optional<int64_t> unit = getUnit();
  int64_t rows = unit ? std::gcd(*unit, rowsPerPack) : 0;
  return rows < kLeast ? 0 : rows;
}

Value CachedRows::gatherPack(IndexBuilder &b, Value base, Value from, Value to,
                             int64_t rowsPerPack, Type elementType) {
  Rows rows = allocate(b, rowsPerPack);
  for (Value *part : {&rows.elements, &rows.scales})
    if (*part)
      *part = b.fillWithZero(*part);
  rows = gather(b, from, to, base, rows);
  if (getElementType() == elementType)
    return rows.elements;
  Value converted = b.empty(ArrayRef<int64_t>{rowsPerPack, size}, elementType);
  return emitElements(b, rows.elements, rows.scales, converted);
}

Value CachedRows::emitPack(IndexBuilder &b, OpFoldResult first,
                           OpFoldResult count, Value pack) {
  auto type = cast<RankedTensorType>(pack.getType());
  int64_t rowsPerPack = type.getDimSize(1);
  Value base = b.index(first), from, to;
  std::tie(from, to) = clampToStored(b, base, b.add(base, count));
  auto emitGathered = [&] {
    Value rows =
        gatherPack(b, base, from, to, rowsPerPack, type.getElementType());
    return b.transpose(rows, pack, {1, 0});
  };
  int64_t rowsAtATime = getRowsOfPack(rowsPerPack);
  if (rowsAtATime == 0 || getElementType() != type.getElementType())
    return emitGathered();
  // Rows are side by side, or it is the last pack.
  Value isWhole =
      b.bitAnd(b.isEqual(from, base), b.isEqual(to, b.add(base, rowsPerPack)));
  auto emitWhole = [&] {
    Value all = pack;
    for (int64_t row = 0; row < rowsPerPack; row += rowsAtATime) {
      OpFoldResult number = b.getIndexAttr(rowsAtATime);
      SmallVector<OpFoldResult> at = {b.getIndexAttr(0), b.getIndexAttr(row)},
                                sizes = {b.getIndexAttr(size), number};
      Value rows = extract(b, b.add(base, row), number).elements;
      rows = b.transpose(rows, b.slice(all, at, sizes), {1, 0});
      all = b.insert(rows, all, at, sizes);
    }
    return all;
  };
  return b.choose(isWhole, emitWhole, emitGathered);
}

LogicalResult attn::eraseUnreadCaches(Operation *op) {
  bool hasReads = op->walk([](CacheReadOp) {
                      return WalkResult::interrupt();
                    }).wasInterrupted();
  if (!hasReads)
    return success();
  RewritePatternSet patterns(op->getContext());
  memref::populateResolveRankedShapedTypeResultDimsPatterns(patterns);
  return applyPatternsGreedily(
      op, std::move(patterns),
      GreedyRewriteConfig()
          .enableFolding(false)
          .enableConstantCSE(false)
          .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled));
}
