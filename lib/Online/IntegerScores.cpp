//===- IntegerScores.cpp - Keys of i8 times queries of i8 -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Online/IntegerScores.h"
#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"
#include "lib/Online/StoredElements.h"
#include "lib/Online/Sums.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

namespace {

/// The first elements of a tensor.
Value takeFirst(IndexBuilder &b, Value tensor, ArrayRef<OpFoldResult> sizes) {
  return b.slice(tensor, b.zeros(sizes.size()), sizes);
}

/// A tensor with its first elements replaced.
Value replaceFirst(IndexBuilder &b, Value part, Value tensor) {
  SmallVector<OpFoldResult> sizes = b.sizes(part);
  return b.insert(part, tensor, b.zeros(sizes.size()), sizes);
}

/// A tensor of zeros.
Value createZeros(IndexBuilder &b, ArrayRef<int64_t> shape, Type type) {
  return b.fillWithZero(b.empty(shape, type));
}

/// The scales of the rows of a matrix of f32 (C7).
Value emitRowScales(IndexBuilder &b, Value rows, int64_t numRows) {
  AffineExpr q, d;
  bindDims(b.getContext(), q, d);
  Value largest =
      b.generic(rows, createZeros(b, {numRows}, b.getF32Type()), {{q, d}, {q}},
                [&](ValueRange e) -> Value {
                  return b.maximumF(e[1], math::AbsFOp::create(b, e[0]));
                });
  return b.generic({}, largest, b.getMultiDimIdentityMap(1),
                   [&](ValueRange e) { return emitRowScale(b, e[0]); });
}

/// The rows of a matrix of f32 in units of their scales.
Value emitQuantizedRows(IndexBuilder &b, Value rows, Value scales) {
  auto type = cast<RankedTensorType>(rows.getType());
  Value init = b.empty(type.getShape(), b.getI8Type());
  AffineExpr q, d;
  bindDims(b.getContext(), q, d);
  return b.generic({rows, scales}, init, {{q, d}, {q}, {q, d}},
                   [&](ValueRange e) { return emitQuantized(b, e[0], e[1]); });
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

Value attn::emitIntegerScores(IndexBuilder &b, OnlineAttentionOp op, Value init,
                              const RowGroups &groups,
                              function_ref<void()> fetch) {
  Value queries = op.getQuery(), keys = op.getKey();
  auto type = cast<RankedTensorType>(init.getType());
  int64_t numRows = cast<RankedTensorType>(queries.getType()).getDimSize(0),
          lanes = type.getDimSize(1);
  Value rows, scales;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointAfterValue(queries);
    Value ofRows = emitRowScales(b, queries, numRows);
    rows = emitQuantizedRows(b, queries, ofRows);
    scales = replaceFirst(b, ofRows, createZeros(b, {lanes}, b.getF32Type()));
  }
  OpFoldResult numKeys = b.size(keys, 0);
  AffineExpr j, q, d;
  bindDims(b.getContext(), j, q, d);
  Value sums = createZeros(b, type.getShape(), b.getI32Type());
  Value part =
      groups.forEach(b, takeFirst(b, sums, {numKeys, b.getIndexAttr(numRows)}),
                     /*dim=*/1, [&](OpFoldResult first, Value sums) {
                       Value part = groups.take(b, rows, /*dim=*/0, first);
                       fetch();
                       return emitSumOfProducts(b, {keys, part}, sums,
                                                {{j, d}, {q, d}, {j, q}});
                     });
  sums = replaceFirst(b, part, sums);
  SmallVector<OpFoldResult> used = {numKeys, b.getIndexAttr(lanes)};
  Value to = takeFirst(b, init, used);
  Value scores =
      b.generic({takeFirst(b, sums, used), op.getKeyScales(), scales}, to,
                {{j, q}, {j}, {q}, {j, q}}, [&](ValueRange e) -> Value {
                  Value sum = b.convert(e[0], b.getF32Type());
                  return b.mulF(b.mulF(sum, e[1]), e[2]);
                });
  return replaceFirst(b, scores, init);
}
