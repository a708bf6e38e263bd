//===- ValueBoundsModels.cpp - Sizes that upstream does not know ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/ExternalModels.h"

#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

namespace {
struct IndexConstantModel
    : ValueBoundsOpInterface::ExternalModel<IndexConstantModel,
                                            index::ConstantOp> {
  void populateBoundsForIndexValue(Operation *op, Value value,
                                   ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value) ==
        cast<index::ConstantOp>(op).getValue().getSExtValue();
  }
};

/// `+`, `-` and `*`, as `Combine` says for two expressions.
template <typename OpTy, typename Combine>
struct IndexArithmeticModel
    : ValueBoundsOpInterface::ExternalModel<IndexArithmeticModel<OpTy, Combine>,
                                            OpTy> {
  void populateBoundsForIndexValue(Operation *op, Value value,
                                   ValueBoundsConstraintSet &bounds) const {
    bounds.bound(value) == Combine()(bounds.getExpr(op->getOperand(0)),
                                     bounds.getExpr(op->getOperand(1)));
  }
};

/// An operation whose dynamic sizes are its `dynamicExtents`.
template <typename OpTy>
struct DynamicExtentsModel
    : ValueBoundsOpInterface::ExternalModel<DynamicExtentsModel<OpTy>, OpTy> {
  static ValueRange getExtents(tensor::GenerateOp op) {
    return op.getDynamicExtents();
  }
  static ValueRange getExtents(tensor::SplatOp op) {
    return op.getDynamicSizes();
  }
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.isDynamicDim(dim))
      bounds.bound(value)[dim] ==
          getExtents(cast<OpTy>(op))[type.getDynamicDimIndex(dim)];
  }
};

struct ConcatExtentsModel
    : ValueBoundsOpInterface::ExternalModel<ConcatExtentsModel,
                                            tensor::ConcatOp> {
  void populateBoundsForShapedValueDim(Operation *op, Value value, int64_t dim,
                                       ValueBoundsConstraintSet &bounds) const {
    auto concat = cast<tensor::ConcatOp>(op);
    AffineExpr size = bounds.getExpr(concat.getInputs().front(), dim);
    if (uint64_t(dim) == concat.getDim())
      for (Value input : concat.getInputs().drop_front())
        size = size + bounds.getExpr(input, dim);
    bounds.bound(value)[dim] == size;
  }
};
} // namespace

void attn::registerValueBoundsModels(DialectRegistry &registry) {
  using Add = std::plus<AffineExpr>;
  using Sub = std::minus<AffineExpr>;
  using Mul = std::multiplies<AffineExpr>;
  registry.addExtension(+[](MLIRContext *context, index::IndexDialect *) {
    index::ConstantOp::attachInterface<IndexConstantModel>(*context);
    index::AddOp::attachInterface<IndexArithmeticModel<index::AddOp, Add>>(
        *context);
    index::SubOp::attachInterface<IndexArithmeticModel<index::SubOp, Sub>>(
        *context);
    index::MulOp::attachInterface<IndexArithmeticModel<index::MulOp, Mul>>(
        *context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ConcatOp::attachInterface<ConcatExtentsModel>(*context);
    tensor::GenerateOp::attachInterface<
        DynamicExtentsModel<tensor::GenerateOp>>(*context);
    tensor::SplatOp::attachInterface<DynamicExtentsModel<tensor::SplatOp>>(
        *context);
  });
}
