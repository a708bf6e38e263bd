//===- TensorCode.cpp - Loops and slices of tensors ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/TensorCode.h"

using namespace mlir;
using namespace mlir::attn;

Value TensorCode::convertElements(Value tensor, Type type, Value destination) {
  if (getElementTypeOrSelf(tensor) == type)
    return tensor;
  return map(tensor, destination ? destination : emptyLike(tensor, type),
             [&](ValueRange x) { return convert(x[0], type); });
}

Value TensorCode::emitSums(Value destination, FloatType type) {
  bool isInPlace = getElementTypeOrSelf(destination) == type;
  return fill(isInPlace ? destination : emptyLike(destination, type), 0.0);
}

SmallVector<Value> TensorCode::convertAll(ValueRange tensors,
                                          ValueRange destinations) {
  SmallVector<Value> results;
  for (auto [tensor, destination] : llvm::zip_equal(tensors, destinations))
    results.push_back(convertElements(tensor, getElementTypeOrSelf(destination),
                                      destination));
  return results;
}

Value TensorCode::map(ValueRange inputs, Value destination, ElementBody body,
                      ArrayRef<bool> alignLast) {
  auto rankOf = [](Value tensor) {
    return unsigned(cast<RankedTensorType>(tensor.getType()).getRank());
  };
  unsigned rank = rankOf(destination);
  AffineMap all = getMultiDimIdentityMap(rank);
  SmallVector<AffineMap> maps;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    bool isLast = i < alignLast.size() && alignLast[i];
    ArrayRef<AffineExpr> dims = all.getResults();
    dims =
        isLast ? dims.take_back(rankOf(input)) : dims.take_front(rankOf(input));
    maps.push_back(AffineMap::get(rank, /*symbolCount=*/0, dims, getContext()));
  }
  maps.push_back(all);
  return generic(inputs, destination, maps, body);
}

Value TensorCode::multiplyAdd(ArrayRef<ArrayRef<AffineExpr>> indices,
                              ValueRange inputs, Value result) {
  return generic(inputs, result, indices, [&](ValueRange e) {
    Value product = mulF(e[0], e[1]);
    return addF(e[2], product);
  });
}

Value TensorCode::emitMaximum(Value largest, Value sink) {
  return finiteOrZero(sink ? maximumF(largest, sink) : largest);
}

Value TensorCode::emitWeight(Value score, Value maximum) {
  Value power = subF(score, maximum);
  // A16: the difference of equal infinities would be NaN.
  return select(isEqualF(score, maximum), real(score.getType(), 1.0),
                exp(power));
}

Value TensorCode::emitSinkTerm(Value sink, Value maximum) {
  return sink ? emitWeight(sink, maximum) : real(maximum.getType(), 0.0);
}

Value TensorCode::emitLogSumExp(Value maximum, Value sum, Value isEmpty,
                                Value sink) {
  Type type = maximum.getType();
  Value logSumExp = addF(maximum, log(sum));
  // A16: also where the sum is inf - inf.
  logSumExp =
      select(isEqualF(maximum, real(type, kInfinity)), maximum, logSumExp);
  return select(isEmpty, sink ? sink : real(type, -kInfinity), logSumExp);
}

Value TensorCode::addVisible(Value scores, Value x, Value y, Value factor,
                             Value result,
                             ArrayRef<ArrayRef<AffineExpr>> indices) {
  return generic({scores, x, y}, result, indices, [&](ValueRange e) {
    Value product = mulF(e[1], convert(e[2], e[3].getType()));
    if (factor)
      product = mulF(product, factor);
    Value next = addF(e[3], product);
    return select(isMinusInfinity(e[0]), e[3], next);
  });
}

Value TensorCode::multiplyRows(Value matrix, Value vector, Type type) {
  Value sums = fill(empty({size(matrix, 0)}, type), 0.0);
  return linalg::MatvecOp::create(*this, ValueRange{matrix, vector}, sums)
      .getResult(0);
}
