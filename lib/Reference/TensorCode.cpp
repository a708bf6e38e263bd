//===- TensorCode.cpp - Loops and slices of tensors ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/TensorCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

Value TensorCode::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value TensorCode::real(FloatType type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

Value TensorCode::add(Value lhs, Value rhs) {
  return b.createOrFold<arith::AddIOp>(loc, lhs, rhs);
}

Value TensorCode::subtract(Value lhs, Value rhs) {
  return b.createOrFold<arith::SubIOp>(loc, lhs, rhs);
}

Value TensorCode::dim(Value tensor, int64_t dimension) {
  return b.createOrFold<tensor::DimOp>(loc, tensor, dimension);
}

Value TensorCode::toIndex(Value integer) {
  if (integer.getType().isIndex())
    return integer;
  return arith::IndexCastOp::create(b, loc, b.getIndexType(), integer);
}

Value TensorCode::load(Value tensor, ValueRange indices) {
  return toIndex(tensor::ExtractOp::create(b, loc, tensor, indices));
}

Value TensorCode::convert(Value number, Type type) {
  unsigned from = number.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (from < to)
    return arith::ExtFOp::create(b, loc, type, number);
  if (from > to)
    return arith::TruncFOp::create(b, loc, type, number);
  return number;
}

Value TensorCode::isEqual(Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lhs, rhs);
}

Value TensorCode::empty(ArrayRef<OpFoldResult> sizes, Type elementType) {
  return tensor::EmptyOp::create(b, loc, sizes, elementType);
}

Value TensorCode::fill(Value destination, double value) {
  auto type = cast<ShapedType>(destination.getType()).getElementType();
  return linalg::FillOp::create(b, loc, real(cast<FloatType>(type), value),
                                destination)
      .getResult(0);
}

SmallVector<Value>
TensorCode::loop(Value begin, Value end, ValueRange initial,
                 function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto forOp = scf::ForOp::create(
      b, loc, begin, end, index(1), initial,
      [&](OpBuilder &, Location, Value i, ValueRange carried) {
        scf::YieldOp::create(b, loc, body(i, carried));
      });
  return SmallVector<Value>(forOp.getResults());
}

static SmallVector<OpFoldResult> getStrides(OpBuilder &b, size_t rank,
                                            int64_t last) {
  SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
  strides.back() = b.getIndexAttr(last);
  return strides;
}

Value TensorCode::extract(Value tensor, const Box &box, int64_t lastStride) {
  return tensor::ExtractSliceOp::create(
      b, loc, tensor, box.offsets, box.sizes,
      getStrides(b, box.sizes.size(), lastStride));
}

Value TensorCode::insert(Value source, Value tensor, const Box &box,
                         int64_t lastStride) {
  return tensor::InsertSliceOp::create(
      b, loc, source, tensor, box.offsets, box.sizes,
      getStrides(b, box.sizes.size(), lastStride));
}

Value TensorCode::map(ValueRange inputs, Value destination,
                      function_ref<Value(ValueRange)> body,
                      ArrayRef<bool> alignLast) {
  auto type = cast<RankedTensorType>(destination.getType());
  unsigned rank = type.getRank();
  SmallVector<AffineMap> maps;
  for (auto [i, input] : llvm::enumerate(inputs)) {
    unsigned inputRank = cast<RankedTensorType>(input.getType()).getRank();
    unsigned first =
        i < alignLast.size() && alignLast[i] ? rank - inputRank : 0;
    SmallVector<AffineExpr> exprs;
    for (unsigned dim = first; dim < first + inputRank; ++dim)
      exprs.push_back(b.getAffineDimExpr(dim));
    maps.push_back(AffineMap::get(rank, 0, exprs, b.getContext()));
  }
  maps.push_back(b.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, type, inputs, destination, maps, loops,
             [&](OpBuilder &, Location, ValueRange elements) {
               linalg::YieldOp::create(b, loc, body(elements));
             })
      .getResult(0);
}

Value TensorCode::multiplyAdd(ArrayRef<SmallVector<AffineExpr, 4>> exprs,
                              ValueRange inputs, Value result,
                              unsigned numReductions) {
  SmallVector<AffineMap> maps =
      AffineMap::inferFromExprList(exprs, b.getContext());
  SmallVector<utils::IteratorType> loops(maps.front().getNumDims(),
                                         utils::IteratorType::parallel);
  std::fill(loops.end() - numReductions, loops.end(),
            utils::IteratorType::reduction);
  return linalg::GenericOp::create(
             b, loc, result.getType(), inputs, result, maps, loops,
             [&](OpBuilder &, Location, ValueRange args) {
               Value product = arith::MulFOp::create(b, loc, args[0], args[1]);
               linalg::YieldOp::create(
                   b, loc,
                   arith::AddFOp::create(b, loc, args[2], product).getResult());
             })
      .getResult(0);
}
