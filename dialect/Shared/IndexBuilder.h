//===- IndexBuilder.h - Code on indices and slices --------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_DIALECT_SHARED_INDEXBUILDER_H
#define ATTN_DIALECT_SHARED_INDEXBUILDER_H

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::attn {

/// Emits arithmetic of indices, which folds, and slices of tensors, whose
/// strides are 1. Division is that of numbers from 0 on.
class IndexBuilder : public ImplicitLocOpBuilder {
public:
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  /// An operand: a value, a number or either.
  struct Operand {
    Operand(Value value) : either(value) {}
    Operand(OpFoldResult either) : either(either) {}
    Operand(int64_t number) : number(number) {}
    OpFoldResult either;
    std::optional<int64_t> number;
  };

  Value index(Operand x) {
    if (x.number)
      return arith::ConstantIndexOp::create(*this, *x.number);
    return getValueOrCreateConstantIndexOp(*this, getLoc(), x.either);
  }
  SmallVector<Value> indices(ArrayRef<OpFoldResult> numbers) {
    return getValueOrCreateConstantIndexOp(*this, getLoc(), numbers);
  }
  template <typename Op> Value emit(Operand x, Operand y) {
    Value lhs = index(x);
    return createOrFold<Op>(lhs, index(y));
  }
  Value add(Operand x, Operand y) { return emit<arith::AddIOp>(x, y); }
  Value sub(Operand x, Operand y) { return emit<arith::SubIOp>(x, y); }
  Value mul(Operand x, Operand y) { return emit<arith::MulIOp>(x, y); }
  Value div(Operand x, Operand y) { return emit<arith::DivUIOp>(x, y); }
  Value rem(Operand x, Operand y) { return emit<arith::RemUIOp>(x, y); }
  Value min(Operand x, Operand y) { return emit<arith::MinSIOp>(x, y); }
  Value max(Operand x, Operand y) { return emit<arith::MaxSIOp>(x, y); }
  Value ceilDiv(Operand x, Operand y) { return emit<arith::CeilDivUIOp>(x, y); }
  Value bitAnd(Value x, Value y) { return createOrFold<arith::AndIOp>(x, y); }
  Value bitOr(Value x, Value y) { return createOrFold<arith::OrIOp>(x, y); }
  Value compare(arith::CmpIPredicate predicate, Operand x, Operand y) {
    Value lhs = index(x);
    return createOrFold<arith::CmpIOp>(predicate, lhs, index(y));
  }
  Value isEqual(Operand x, Operand y) {
    return compare(arith::CmpIPredicate::eq, x, y);
  }
  Value isLess(Operand x, Operand y) {
    return compare(arith::CmpIPredicate::slt, x, y);
  }
  Value isAtMost(Operand x, Operand y) {
    return compare(arith::CmpIPredicate::sle, x, y);
  }
  Value select(Value condition, Operand x, Operand y) {
    Value yes = index(x);
    return createOrFold<arith::SelectOp>(condition, yes, index(y));
  }

  /// An expression of symbols, which `operands` are.
  OpFoldResult apply(AffineExpr expr, ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineApply(
        *this, getLoc(), AffineMap::get(0, operands.size(), expr), operands);
  }
  /// The least of some.
  OpFoldResult minimum(ArrayRef<AffineExpr> exprs,
                       ArrayRef<OpFoldResult> operands) {
    return affine::makeComposedFoldedAffineMin(
        *this, getLoc(),
        AffineMap::get(0, operands.size(), exprs, getContext()), operands);
  }

  OpFoldResult size(Value tensor, int64_t dim) {
    return tensor::getMixedSize(*this, getLoc(), tensor, dim);
  }
  SmallVector<OpFoldResult> sizes(Value tensor) {
    return tensor::getMixedSizes(*this, getLoc(), tensor);
  }
  Value slice(Value tensor, ArrayRef<OpFoldResult> offsets,
              ArrayRef<OpFoldResult> sizes) {
    return tensor::ExtractSliceOp::create(*this, tensor, offsets, sizes,
                                          ones(offsets.size()));
  }
  /// The same, with the last `rank` of the sizes alone.
  Value slice(Value tensor, ArrayRef<OpFoldResult> offsets,
              ArrayRef<OpFoldResult> sizes, int64_t rank) {
    SmallVector<int64_t> shape;
    SmallVector<Value> dynamic;
    dispatchIndexOpFoldResults(sizes.take_back(rank), dynamic, shape);
    auto type = cast<RankedTensorType>(tensor.getType());
    return tensor::ExtractSliceOp::create(
        *this, RankedTensorType::get(shape, type.getElementType()), tensor,
        offsets, sizes, ones(offsets.size()));
  }
  Value insert(Value source, Value tensor, ArrayRef<OpFoldResult> offsets,
               ArrayRef<OpFoldResult> sizes) {
    return tensor::InsertSliceOp::create(*this, source, tensor, offsets, sizes,
                                         ones(offsets.size()));
  }
  void insertInParallel(Value source, Value tensor,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes) {
    tensor::ParallelInsertSliceOp::create(*this, source, tensor, offsets, sizes,
                                          ones(offsets.size()));
  }
  SmallVector<OpFoldResult> ones(size_t count) {
    return SmallVector<OpFoldResult>(count, getIndexAttr(1));
  }
  SmallVector<OpFoldResult> zeros(size_t count) {
    return SmallVector<OpFoldResult>(count, getIndexAttr(0));
  }
};

} // namespace mlir::attn

#endif // ATTN_DIALECT_SHARED_INDEXBUILDER_H
