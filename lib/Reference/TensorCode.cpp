//===- TensorCode.cpp - Loops and slices of tensors ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Reference/TensorCode.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::attn;

Value TensorCode::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, loc, value);
}

Value TensorCode::real(FloatType type, double value) {
  return arith::ConstantOp::create(b, loc, b.getFloatAttr(type, value));
}

Value TensorCode::add(Value lhs, Number rhs) {
  return IndexBuilder(loc, b).add(lhs, rhs);
}

Value TensorCode::subtract(Value lhs, Number rhs) {
  return IndexBuilder(loc, b).sub(lhs, rhs);
}

Value TensorCode::multiply(Value lhs, Number rhs) {
  return arith::MulIOp::create(b, loc, lhs, IndexBuilder(loc, b).index(rhs));
}

SmallVector<OpFoldResult> TensorCode::fold(ArrayRef<Number> numbers) {
  return llvm::map_to_vector(numbers, [&](const Number &x) -> OpFoldResult {
    return x.number ? b.getIndexAttr(*x.number) : x.either;
  });
}

Value TensorCode::dim(Value tensor, int64_t dimension) {
  return b.createOrFold<tensor::DimOp>(loc, tensor, dimension);
}

Value TensorCode::emitBatchSize(Value tensor, Value numRows, Value zero) {
  Value isEmpty =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, numRows, zero);
  return arith::SelectOp::create(b, loc, isEmpty, zero, dim(tensor, 0));
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
  return convertScalarToDtype(b, loc, number, type, /*isUnsignedCast=*/false);
}

Value TensorCode::isEqual(Value lhs, Value rhs) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, lhs, rhs);
}

Value TensorCode::empty(ArrayRef<OpFoldResult> sizes, Type elementType) {
  return tensor::EmptyOp::create(b, loc, sizes, elementType);
}

Value TensorCode::empty(std::initializer_list<Number> sizes, Type elementType) {
  return empty(fold(sizes), elementType);
}

Value TensorCode::emptyLike(Value tensor, Type elementType) {
  return empty(tensor::getMixedSizes(b, loc, tensor), elementType);
}

Value TensorCode::fill(Value destination, double value) {
  auto type = cast<ShapedType>(destination.getType()).getElementType();
  return linalg::FillOp::create(b, loc, real(cast<FloatType>(type), value),
                                destination)
      .getResult(0);
}

Value TensorCode::convertElements(Value tensor, FloatType type) {
  if (cast<ShapedType>(tensor.getType()).getElementType() == type)
    return tensor;
  return map(tensor, emptyLike(tensor, type),
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
    results.push_back(convertElements(
        tensor, cast<FloatType>(getElementTypeOrSelf(destination))));
  return results;
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

Value TensorCode::loop(Value begin, Value end, Value initial,
                       function_ref<Value(Value, Value)> body) {
  return loop(begin, end, ValueRange(initial),
              [&](Value i, ValueRange carried) -> SmallVector<Value> {
                return {body(i, carried.front())};
              })
      .front();
}

Value TensorCode::either(Value condition, function_ref<Value()> yes,
                         function_ref<Value()> no) {
  return scf::IfOp::create(
             b, loc, condition,
             [&](OpBuilder &, Location) {
               scf::YieldOp::create(b, loc, yes());
             },
             [&](OpBuilder &, Location) { scf::YieldOp::create(b, loc, no()); })
      .getResult(0);
}

static SmallVector<OpFoldResult> getStrides(OpBuilder &b, size_t rank,
                                            int64_t last) {
  SmallVector<OpFoldResult> strides(rank, b.getIndexAttr(1));
  strides.back() = b.getIndexAttr(last);
  return strides;
}

Value TensorCode::extract(Value tensor, const Box &box, int64_t lastStride) {
  return tensor::ExtractSliceOp::create(
      b, loc, tensor, fold(box.offsets), fold(box.sizes),
      getStrides(b, box.sizes.size(), lastStride));
}

Value TensorCode::insert(Value source, Value tensor, const Box &box,
                         int64_t lastStride) {
  return tensor::InsertSliceOp::create(
      b, loc, source, tensor, fold(box.offsets), fold(box.sizes),
      getStrides(b, box.sizes.size(), lastStride));
}

Value TensorCode::slice(Value tensor, const Box &box, unsigned rank) {
  SmallVector<OpFoldResult> sizes = fold(box.sizes);
  auto type = tensor::ExtractSliceOp::inferCanonicalRankReducedResultType(
      rank, cast<RankedTensorType>(tensor.getType()), sizes);
  return tensor::ExtractSliceOp::create(b, loc, type, tensor, fold(box.offsets),
                                        sizes, getStrides(b, sizes.size(), 1));
}

void TensorCode::insertInParallel(scf::ForallOp loop, Value source,
                                  Value destination, const Box &box) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(b, loc, source, destination,
                                        fold(box.offsets), fold(box.sizes),
                                        getStrides(b, box.sizes.size(), 1));
}

Value TensorCode::map(ValueRange inputs, Value destination, ElementBody body,
                      ArrayRef<bool> alignLast) {
  unsigned rank = cast<RankedTensorType>(destination.getType()).getRank();
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
  return createGeneric(b, loc, inputs, destination, maps, body);
}

Value TensorCode::multiplyAdd(ArrayRef<ArrayRef<AffineExpr>> indices,
                              ValueRange inputs, Value result) {
  return createGeneric(
      b, loc, inputs, result, indices, [&](ValueRange e) -> Value {
        Value product = arith::MulFOp::create(b, loc, e[0], e[1]);
        return arith::AddFOp::create(b, loc, e[2], product);
      });
}
