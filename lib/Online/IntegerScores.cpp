//===- IntegerScores.cpp - Keys of i8 times queries of i8 -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/IntegerScores.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/CreateGeneric.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/StoredElements.h"
#include "lib/Online/Sums.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The first elements of a tensor.
Value takeFirst(OpBuilder &builder, Location loc, Value tensor,
                ArrayRef<OpFoldResult> sizes) {
  IndexBuilder b(loc, builder);
  return b.slice(tensor, b.zeros(sizes.size()), sizes);
}

/// A tensor with its first elements replaced.
Value replaceFirst(OpBuilder &builder, Location loc, Value part, Value tensor) {
  IndexBuilder b(loc, builder);
  SmallVector<OpFoldResult> sizes = b.sizes(part);
  return b.insert(part, tensor, b.zeros(sizes.size()), sizes);
}

/// A tensor of zeros.
Value createZeros(OpBuilder &b, Location loc, ArrayRef<int64_t> shape,
                  Type type) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, type);
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
  return linalg::FillOp::create(b, loc, zero, empty).getResult(0);
}

/// The scales of the rows of a matrix of f32 (C7).
Value emitRowScales(OpBuilder &b, Location loc, Value rows, int64_t numRows) {
  AffineExpr q, d;
  bindDims(b.getContext(), q, d);
  Value largest = createGeneric(
      b, loc, rows, createZeros(b, loc, {numRows}, b.getF32Type()),
      {{q, d}, {q}}, [&](ValueRange e) -> Value {
        Value magnitude = math::AbsFOp::create(b, loc, e[0]);
        return arith::MaximumFOp::create(b, loc, e[1], magnitude);
      });
  return createGeneric(
      b, loc, {}, largest, b.getMultiDimIdentityMap(1),
      [&](ValueRange e) { return emitRowScale(b, loc, e[0]); });
}

/// The rows of a matrix of f32 in units of their scales.
Value emitQuantizedRows(OpBuilder &b, Location loc, Value rows, Value scales) {
  auto type = cast<RankedTensorType>(rows.getType());
  Value init = tensor::EmptyOp::create(b, loc, type.getShape(), b.getI8Type());
  AffineExpr q, d;
  bindDims(b.getContext(), q, d);
  return createGeneric(
      b, loc, {rows, scales}, init, {{q, d}, {q}, {q, d}},
      [&](ValueRange e) { return emitQuantized(b, loc, e[0], e[1]); });
}

} // namespace

bool attn::hasIntegerScores(OnlineAttentionOp op, int64_t multiple) {
  if (!op.getKeyScales())
    return false;
  int64_t size = cast<RankedTensorType>(op.getKey().getType()).getDimSize(1);
  auto remark = [&] {
    return op.emitRemark("multiplies keys of i8 as numbers of f32: ");
  };
  if (multiple <= 0)
    remark() << "the target has no dot products of i8";
  else if (size % multiple != 0)
    remark() << "the head size, " << size << ", is not a multiple of "
             << multiple;
  else
    return true;
  return false;
}

Value attn::emitIntegerScores(OpBuilder &b, Location loc, OnlineAttentionOp op,
                              Value init, const RowGroups &groups,
                              function_ref<void(OpBuilder &)> fetch) {
  Value queries = op.getQuery(), keys = op.getKey();
  auto type = cast<RankedTensorType>(init.getType());
  int64_t numRows = cast<RankedTensorType>(queries.getType()).getDimSize(0),
          lanes = type.getDimSize(1);
  Value rows, scales;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(queries);
    Value ofRows = emitRowScales(b, loc, queries, numRows);
    rows = emitQuantizedRows(b, loc, queries, ofRows);
    scales = replaceFirst(b, loc, ofRows,
                          createZeros(b, loc, {lanes}, b.getF32Type()));
  }
  OpFoldResult numKeys = tensor::getMixedSize(b, loc, keys, 0);
  AffineExpr j, q, d;
  bindDims(b.getContext(), j, q, d);
  Value sums = createZeros(b, loc, type.getShape(), b.getI32Type());
  Value part = groups.forEach(
      b, loc, takeFirst(b, loc, sums, {numKeys, b.getIndexAttr(numRows)}),
      /*dim=*/1,
      [&](OpBuilder &b, Location loc, OpFoldResult first, Value sums) {
        Value part = groups.take(b, loc, rows, /*dim=*/0, first);
        fetch(b);
        return emitSumOfProducts(b, loc, {keys, part}, sums,
                                 {{j, d}, {q, d}, {j, q}});
      });
  sums = replaceFirst(b, loc, part, sums);
  SmallVector<OpFoldResult> used = {numKeys, b.getIndexAttr(lanes)};
  Value to = takeFirst(b, loc, init, used);
  Value scores = createGeneric(
      b, loc, {takeFirst(b, loc, sums, used), op.getKeyScales(), scales}, to,
      {{j, q}, {j}, {q}, {j, q}}, [&](ValueRange e) -> Value {
        Value sum = arith::SIToFPOp::create(b, loc, b.getF32Type(), e[0]);
        sum = arith::MulFOp::create(b, loc, sum, e[1]);
        return arith::MulFOp::create(b, loc, sum, e[2]);
      });
  return replaceFirst(b, loc, scores, init);
}
