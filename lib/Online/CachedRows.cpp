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

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
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

bool CachedRows::areAlike(Value a, Value b) {
  auto first = match(a), second = match(b);
  return first && second && first->getElementType() == second->getElementType();
}

std::optional<int64_t> CachedRows::getUnit() {
  if (!read.getRing() && !read.getTable())
    return 0;
  int64_t rows = cast<ShapedType>(read.getCache().getType()).getDimSize(2);
  if (ShapedType::isDynamic(rows) || rows == 0)
    return std::nullopt;
  return rows;
}

std::pair<Value, Value> CachedRows::clampToStored(OpBuilder &b, Location loc,
                                                  Value begin, Value end) {
  StoredPositions stored = createStoredPositions(
      b, loc, read, getValueOrCreateConstantIndexOp(b, loc, batch));
  return {arith::MaxSIOp::create(b, loc, begin, stored.begin),
          arith::MinSIOp::create(b, loc, end, stored.end)};
}

/// A tensor without its first two dimensions, which are of size 1. Rows have
/// their first `size` elements.
static Value dropHead(OpBuilder &b, Location loc, Value tensor, int64_t size) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes = tensor::getMixedSizes(b, loc, tensor),
      strides(type.getRank(), b.getIndexAttr(1));
  SmallVector<int64_t> shape(type.getShape().drop_front(2));
  if (shape.size() == 2) {
    shape[1] = size;
    sizes[3] = b.getIndexAttr(size);
  }
  return tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), tensor,
      offsets, sizes, strides);
}

CachedRows::Rows CachedRows::extract(OpBuilder &b, Location loc, Value position,
                                     OpFoldResult count) {
  auto [elements, scales] = extractStoredRows(
      b, loc, read, getValueOrCreateConstantIndexOp(b, loc, batch), head,
      b.getIndexAttr(1), position, count);
  return {dropHead(b, loc, elements, size),
          scales ? dropHead(b, loc, scales, size) : Value()};
}

Value CachedRows::view(OpBuilder &builder, Location loc, OpFoldResult position,
                       OpFoldResult count) {
  IndexBuilder b(loc, builder);
  return b.slice(all, {position, b.getIndexAttr(0)},
                 {count, b.getIndexAttr(size)});
}

CachedRows::Rows CachedRows::allocate(OpBuilder &b, Location loc,
                                      int64_t count) {
  Rows rows;
  rows.elements = tensor::EmptyOp::create(
      b, loc, ArrayRef<int64_t>{count, size}, getElementType());
  if (read.isQuantized())
    rows.scales = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{count},
                                          b.getF32Type());
  return rows;
}

/// The slice of rows [first, first + count) of a matrix or of a vector.
static tensor::ExtractSliceOp sliceRows(OpBuilder &b, Location loc, Value rows,
                                        OpFoldResult first,
                                        OpFoldResult count) {
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), b.getIndexAttr(0)),
      sizes = tensor::getMixedSizes(b, loc, rows),
      strides(type.getRank(), b.getIndexAttr(1));
  offsets[0] = first;
  sizes[0] = count;
  return tensor::ExtractSliceOp::create(b, loc, rows, offsets, sizes, strides);
}

CachedRows::Rows CachedRows::take(OpBuilder &b, Location loc, Rows rows,
                                  OpFoldResult count) {
  OpFoldResult zero = b.getIndexAttr(0);
  return {sliceRows(b, loc, rows.elements, zero, count),
          rows.scales ? sliceRows(b, loc, rows.scales, zero, count).getResult()
                      : Value()};
}

/// `rows` with `part` as those from `first` on.
static Value insertRows(OpBuilder &b, Location loc, Value part, Value rows,
                        Value first) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, loc, part),
                            offsets(sizes.size(), b.getIndexAttr(0)),
                            strides(sizes.size(), b.getIndexAttr(1));
  offsets[0] = first;
  return tensor::InsertSliceOp::create(b, loc, part, rows, offsets, sizes,
                                       strides);
}

SmallVector<Value> attn::forEachPart(OpBuilder &builder, Location loc,
                                     Value begin, Value end, OpFoldResult unit,
                                     ValueRange carried, PartBody body) {
  IndexBuilder b(loc, builder);
  Value low = b.div(begin, unit), high = b.add(b.div(b.sub(end, 1), unit), 1);
  high = b.select(b.isLess(begin, end), high, low);
  auto loop = scf::ForOp::create(b, low, high, b.index(1), carried);
  b.setInsertionPointToStart(loop.getBody());
  Value start = b.mul(loop.getInductionVar(), unit), from = b.max(start, begin),
        to = b.min(b.add(start, unit), end);
  OpFoldResult count = b.sub(to, from);
  if (auto most = getConstantIntValue(unit))
    count = b.minimum(
        {b.getAffineSymbolExpr(0), b.getAffineConstantExpr(*most)}, count);
  scf::YieldOp::create(b, body(b, loc, from, count, loop.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(loop.getResults());
}

CachedRows::Rows CachedRows::gather(OpBuilder &builder, Location loc,
                                    Value begin, Value end, Value first,
                                    Rows rows) {
  IndexBuilder b(loc, builder);
  // A ring of no rows has none to copy, but is divided by.
  Value unit = b.createOrFold<arith::MaxUIOp>(
      b.createOrFold<tensor::DimOp>(read.getCache(), 2), b.index(1));
  SmallVector<Value> carried = {rows.elements};
  if (rows.scales)
    carried.push_back(rows.scales);
  carried = forEachPart(
      b, loc, begin, end, getAsOpFoldResult(unit), carried,
      [&](OpBuilder &builder, Location loc, Value from, OpFoldResult count,
          ValueRange carried) {
        IndexBuilder b(loc, builder);
        Value at = b.sub(from, first);
        Rows part = extract(b, loc, from, count);
        SmallVector<Value> results = {
            insertRows(b, loc, part.elements, carried[0], at)};
        if (part.scales)
          results.push_back(insertRows(b, loc, part.scales, carried[1], at));
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

Value CachedRows::gatherPack(OpBuilder &b, Location loc, Value base, Value from,
                             Value to, int64_t rowsPerPack, Type elementType) {
  Rows rows = allocate(b, loc, rowsPerPack);
  for (Value *part : {&rows.elements, &rows.scales}) {
    if (!*part)
      continue;
    auto type = cast<RankedTensorType>(part->getType()).getElementType();
    Value zero =
        arith::ConstantOp::create(b, loc, cast<TypedAttr>(b.getZeroAttr(type)));
    *part = linalg::FillOp::create(b, loc, zero, *part).getResult(0);
  }
  rows = gather(b, loc, from, to, base, rows);
  if (getElementType() == elementType)
    return rows.elements;
  Value converted = tensor::EmptyOp::create(
      b, loc, ArrayRef<int64_t>{rowsPerPack, size}, elementType);
  return emitElements(b, loc, rows.elements, rows.scales, converted);
}

Value CachedRows::emitPack(OpBuilder &builder, Location loc, OpFoldResult first,
                           OpFoldResult count, Value pack) {
  IndexBuilder b(loc, builder);
  auto type = cast<RankedTensorType>(pack.getType());
  int64_t rowsPerPack = type.getDimSize(1);
  Value base = b.index(first), from, to;
  std::tie(from, to) = clampToStored(b, loc, base, b.add(base, count));
  auto transpose = [&](OpBuilder &b, Value rows, Value into) {
    return linalg::TransposeOp::create(b, loc, rows, into,
                                       ArrayRef<int64_t>{1, 0})
        ->getResult(0);
  };
  auto emitGathered = [&](OpBuilder &b) {
    Value rows =
        gatherPack(b, loc, base, from, to, rowsPerPack, type.getElementType());
    return transpose(b, rows, pack);
  };
  int64_t rowsAtATime = getRowsOfPack(rowsPerPack);
  if (rowsAtATime == 0 || getElementType() != type.getElementType())
    return emitGathered(b);
  // Rows are side by side, or it is the last pack.
  Value isWhole =
      b.bitAnd(b.isEqual(from, base), b.isEqual(to, b.add(base, rowsPerPack)));
  auto choice = scf::IfOp::create(b, type, isWhole, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, emitGathered(b));
  b.setInsertionPointToStart(choice.thenBlock());
  Value all = pack;
  for (int64_t row = 0; row < rowsPerPack; row += rowsAtATime) {
    OpFoldResult number = b.getIndexAttr(rowsAtATime);
    SmallVector<OpFoldResult> at = {b.getIndexAttr(0), b.getIndexAttr(row)},
                              sizes = {b.getIndexAttr(size), number};
    Value rows = extract(b, loc, b.add(base, row), number).elements;
    all = b.insert(transpose(b, rows, b.slice(all, at, sizes)), all, at, sizes);
  }
  scf::YieldOp::create(b, all);
  return choice.getResult(0);
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
