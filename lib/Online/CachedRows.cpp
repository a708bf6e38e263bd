//===- CachedRows.cpp - Rows that lie in a cache --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/CachedRows.h"
#include "dialect/Cache/CacheRows.h"
#include "lib/Online/StoredElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

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
                    slice.getMixedOffsets()[1], first, size);
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

CachedRows::Rows CachedRows::gather(OpBuilder &b, Location loc, Value begin,
                                    Value end, Value first, Rows rows) {
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  // A ring of no rows has none to copy, but is divided by.
  Value unit = b.createOrFold<arith::MaxUIOp>(
      loc, b.createOrFold<tensor::DimOp>(loc, read.getCache(), 2), one);
  Value low = arith::DivUIOp::create(b, loc, begin, unit);
  Value last = arith::SubIOp::create(b, loc, end, one);
  Value high = arith::AddIOp::create(
      b, loc, arith::DivUIOp::create(b, loc, last, unit), one);
  Value isEmpty =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, begin, end);
  high = arith::SelectOp::create(b, loc, isEmpty, low, high);
  SmallVector<Value> carried = {rows.elements};
  if (rows.scales)
    carried.push_back(rows.scales);
  auto loop = scf::ForOp::create(
      b, loc, low, high, one, carried,
      [&](OpBuilder &b, Location loc, Value k, ValueRange carried) {
        Value page = arith::MulIOp::create(b, loc, k, unit);
        Value next = arith::AddIOp::create(b, loc, page, unit);
        Value from = arith::MaxSIOp::create(b, loc, page, begin);
        Value to = arith::MinSIOp::create(b, loc, next, end);
        OpFoldResult count =
            arith::SubIOp::create(b, loc, to, from).getResult();
        Value at = arith::SubIOp::create(b, loc, from, first);
        Rows part = extract(b, loc, from, count);
        SmallVector<Value> results = {
            insertRows(b, loc, part.elements, carried[0], at)};
        if (part.scales)
          results.push_back(insertRows(b, loc, part.scales, carried[1], at));
        scf::YieldOp::create(b, loc, results);
      });
  return {loop.getResult(0), rows.scales ? loop.getResult(1) : Value()};
}

Value CachedRows::gatherPack(OpBuilder &b, Location loc, OpFoldResult first,
                             OpFoldResult count, int64_t rowsPerPack,
                             Type elementType) {
  Value base = getValueOrCreateConstantIndexOp(b, loc, first);
  Value end = arith::AddIOp::create(
      b, loc, base, getValueOrCreateConstantIndexOp(b, loc, count));
  auto [from, to] = clampToStored(b, loc, base, end);
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
