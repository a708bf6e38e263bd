//===- OnlineQuery.cpp - Queries of a tile in their online form -----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/OnlineQuery.h"

#include "lib/Online/OnlineTensors.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>
#include <numbers>

using namespace mlir;
using namespace mlir::attn;

bool attn::scalesQuery(AttentionOp op, OnlineLayout layout) {
  if (layout == OnlineLayout::Mma)
    return false;
  if (layout != OnlineLayout::Pairs)
    return true;
  std::optional<double> scale = op.getConstantScale();
  int exponent = 0;
  return op.hasScore() && scale && std::frexp(*scale, &exponent) == 0.5 &&
         exponent <= 1 && exponent > -16;
}

std::optional<double> attn::findFusedScale(OnlineAttentionOp op) {
  FloatAttr scale;
  if (op.hasScore() || !op.getScale() ||
      !matchPattern(op.getScale(), m_Constant(&scale)))
    return std::nullopt;
  double value = scale.getValueAsDouble();
  if (value >= 0x1p-100 && value <= std::numbers::ln2)
    return value;
  return std::nullopt;
}

namespace {

/// Emits the queries of one op.
class OnlineQuery : OnlineTensors {
public:
  OnlineQuery(OpBuilder &builder, AttentionOp op, OnlineLayout layout,
              int64_t numRows, OpFoldResult rows)
      : OnlineTensors(builder, op), layout(layout),
        inPairs(layout == OnlineLayout::Pairs), numRows(numRows), rows(rows) {}

  Value emit() {
    switch (layout) {
    case OnlineLayout::Pairs:
      return emitQueryInPairs();
    case OnlineLayout::Mma:
      return emitPaddedRows();
    case OnlineLayout::Rows:
      return emitRows(emptyRows());
    case OnlineLayout::Lanes:
      return emitQueryInLanes();
    }
    llvm_unreachable("not a layout");
  }

private:
  /// The queries as columns, scaled. A whole tile of them is read where it is.
  Value emitQueryInLanes() {
    std::optional<int64_t> known = getConstantIntValue(rows);
    int64_t size = op.getQueryType().getDimSize(3);
    Value columns = b.empty(ArrayRef<int64_t>{size, numRows}, type);
    auto transposeRows = [&]() -> Value {
      return b.transpose(emitRows(emptyRows()), columns, {1, 0});
    };
    if (known && *known != numRows)
      return transposeRows();
    Value query = slice(op.getQuery());
    auto transposeWhole = [&]() -> Value {
      Value whole = b.slice(query, b.zeros(2),
                            {b.getIndexAttr(numRows), b.getIndexAttr(size)});
      AffineMap rowOfColumn = AffineMap::getPermutationMap(
          ArrayRef<unsigned>{1, 0}, b.getContext());
      return emitScaled(whole, columns, rowOfColumn);
    };
    if (known)
      return transposeWhole();
    return b.choose(b.isEqual(rows, numRows), transposeWhole, transposeRows);
  }

  /// `query`, of which `map` says which element each of `init` is, scaled.
  Value emitScaled(Value query, Value init, AffineMap ofInit) {
    Value factor = inPairs ? b.real(op.getElementType(), *op.getConstantScale())
                           : emitScale();
    return map({query}, init, {ofInit}, [&](ValueRange arguments) {
      Value element = b.convert(arguments[0], factor.getType());
      return b.mulF(element, factor);
    });
  }

  /// The queries as columns of pairs. A whole tile of them is read where it is.
  Value emitQueryInPairs() {
    int64_t size = op.getQueryType().getDimSize(3);
    std::optional<int64_t> known = getConstantIntValue(rows);
    if (scalesQuery(op, layout) || (known && *known != numRows))
      return transposePairs(emitRows(emptyRows()));
    Value query = slice(op.getQuery());
    if (known)
      return transposePairs(query);
    Value padded = emptyRows();
    Value columns =
        b.empty(ArrayRef<int64_t>{size / 2, numRows, 2}, op.getElementType());
    Value isWhole = b.isEqual(rows, numRows);
    return b.choose(
        isWhole,
        [&] {
          Value whole =
              b.slice(query, b.zeros(2),
                      {b.getIndexAttr(numRows), b.getIndexAttr(size)});
          return transposePairs(whole, columns);
        },
        [&] { return transposePairs(emitRows(padded), columns); });
  }

  /// `(L, Dk)` as `(Dk/2, L, 2)`, in `columns` if given.
  Value transposePairs(Value queries, Value columns = {}) {
    auto type = cast<RankedTensorType>(queries.getType());
    int64_t numPairs = type.getDimSize(1) / 2;
    if (!columns)
      columns = b.empty(ArrayRef<int64_t>{numPairs, numRows, 2},
                        type.getElementType());
    auto pairs =
        RankedTensorType::get({numRows, numPairs, 2}, type.getElementType());
    SmallVector<ReassociationIndices> groups = {{0}, {1, 2}};
    Value expanded = tensor::ExpandShapeOp::create(b, pairs, queries, groups);
    return b.transpose(expanded, columns, {1, 0, 2});
  }

  /// For all rows of queries.
  Value emptyRows() {
    return b.empty(ArrayRef<int64_t>{numRows, op.getQueryType().getDimSize(3)},
                   inPairs ? op.getElementType() : type);
  }

  /// The queries as rows of size Dk, scaled, with 0 where there are none, in
  /// `empty`.
  Value emitRows(Value empty) {
    Value query = slice(op.getQuery()); // (n, Dk)
    int64_t size = cast<RankedTensorType>(query.getType()).getDimSize(1);
    FloatType element = inPairs ? op.getElementType() : type;
    Value padded = b.fill(empty, b.real(element, 0.0));
    SmallVector<OpFoldResult> sizes = {rows, b.getIndexAttr(size)};
    Value part = b.slice(padded, b.zeros(2), sizes);
    if (scalesQuery(op, layout)) {
      part = emitScaled(query, part, identity(2));
    } else {
      part = linalg::CopyOp::create(b, query, part).getResult(0);
    }
    return b.insert(part, padded, b.zeros(2), sizes);
  }

  /// The queries as they are, with rows of 0 where there are none.
  Value emitPaddedRows() {
    Value query = slice(op.getQuery()); // (n, Dk)
    auto type = cast<RankedTensorType>(query.getType());
    Value zero = b.zero(type.getElementType());
    AffineExpr n = b.getAffineSymbolExpr(0);
    OpFoldResult missing = b.apply(numRows - n, {rows});
    OpFoldResult none = b.getIndexAttr(0);
    return tensor::PadOp::create(
        b,
        RankedTensorType::get({numRows, type.getDimSize(1)},
                              type.getElementType()),
        query, ArrayRef{none, none}, ArrayRef{missing, none}, zero);
  }

  OnlineLayout layout;
  bool inPairs;
  int64_t numRows;   ///< Of the result.
  OpFoldResult rows; ///< Number of queries, n, at most as many.
};

} // namespace

Value attn::emitOnlineQuery(OpBuilder &b, AttentionOp op, OnlineLayout layout,
                            int64_t numRows, OpFoldResult rows) {
  return OnlineQuery(b, op, layout, numRows, rows).emit();
}
