//===- RuntimeVerificationModels.cpp - Checks upstream lacks --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/RuntimeVerificationModels.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace {
using DescribeFn = function_ref<std::string(Operation *, StringRef)>;

/// Emits the checks of one operation.
struct Checks {
  OpBuilder &builder;
  Location loc;
  Operation *op;
  DescribeFn describe;

  Value compare(arith::CmpIPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
  }
  Value differs(Value value, const APInt &from) {
    Value constant = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(value.getType(), from));
    return compare(arith::CmpIPredicate::ne, value, constant);
  }
  void require(Value condition, const Twine &message) {
    cf::AssertOp::create(builder, loc, condition, describe(op, message.str()));
  }
  void requirePositive(Value step, bool isUnsigned) {
    // Constants have been checked.
    if (getConstantIntValue(step))
      return;
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(step.getType()));
    auto predicate =
        isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
    require(compare(predicate, step, zero), "step is not positive");
  }
};

/// Division by zero, and if `isSigned` a quotient that is one too large.
template <typename OpTy, bool isSigned>
struct DivisionModel
    : RuntimeVerifiableOpInterface::ExternalModel<DivisionModel<OpTy, isSigned>,
                                                  OpTy> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    Value dividend = op->getOperand(0), divisor = op->getOperand(1);
    Type type = divisor.getType();
    if (!type.isIntOrIndex()) // Vectors and tensors have become loops.
      return;
    unsigned width = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                    : type.getIntOrFloatBitWidth();
    Checks checks{builder, loc, op, describe};
    checks.require(checks.differs(divisor, APInt::getZero(width)),
                   "division by zero");
    if (!isSigned)
      return;
    Value fits = arith::OrIOp::create(
        builder, loc, checks.differs(dividend, APInt::getSignedMinValue(width)),
        checks.differs(divisor, APInt::getAllOnes(width)));
    checks.require(fits, "quotient does not fit its type");
  }
};

/// A shift by as many bits as there are, or more, has no result.
template <typename OpTy>
struct ShiftModel
    : RuntimeVerifiableOpInterface::ExternalModel<ShiftModel<OpTy>, OpTy> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    Value count = op->getOperand(1);
    Type type = count.getType();
    if (!type.isIntOrIndex()) // Vectors and tensors have become loops.
      return;
    unsigned width = type.isIndex() ? IndexType::kInternalStorageBitWidth
                                    : type.getIntOrFloatBitWidth();
    std::optional<int64_t> known = getConstantIntValue(count);
    if (known && *known >= 0 && *known < int64_t(width))
      return;
    Checks checks{builder, loc, op, describe};
    Value limit = arith::ConstantOp::create(
        builder, loc, builder.getIntegerAttr(type, width));
    checks.require(checks.compare(arith::CmpIPredicate::ult, count, limit),
                   "shift by as many bits as there are, or more");
  }
};

/// A step that is not positive never comes to the end.
struct ForModel
    : RuntimeVerifiableOpInterface::ExternalModel<ForModel, scf::ForOp> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    auto loop = cast<scf::ForOp>(op);
    Checks checks{builder, loc, op, describe};
    checks.requirePositive(loop.getStep(), loop.getUnsignedCmp());
  }
};

struct ParallelModel
    : RuntimeVerifiableOpInterface::ExternalModel<ParallelModel,
                                                  scf::ParallelOp> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    Checks checks{builder, loc, op, describe};
    for (Value step : cast<scf::ParallelOp>(op).getStep())
      checks.requirePositive(step, /*isUnsigned=*/false);
  }
};

/// Regions are evaluated at no more queries than there are lanes.
struct OnlineAttentionModel
    : RuntimeVerifiableOpInterface::ExternalModel<OnlineAttentionModel,
                                                  attn::OnlineAttentionOp> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    auto online = cast<attn::OnlineAttentionOp>(op);
    int64_t lanes = online.getNumLanes();
    Checks checks{builder, loc, op, describe};
    Value limit = arith::ConstantIndexOp::create(builder, loc, lanes);
    checks.require(checks.compare(arith::CmpIPredicate::ule,
                                  online.getNumQueries(), limit),
                   "expected 0 to " + Twine(lanes) + " queries");
  }
};

/// A slice that is written lies inside of the tensor, and is as large as what
/// is written to it.
struct InsertSliceModel
    : RuntimeVerifiableOpInterface::ExternalModel<InsertSliceModel,
                                                  tensor::InsertSliceOp> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    auto insert = cast<tensor::InsertSliceOp>(op);
    for (int64_t dim = 0; dim < insert.getDestType().getRank(); ++dim)
      if (!isKnownInside(insert, dim))
        checkDimension(insert, dim, {builder, loc, op, describe});
    checkSizes(insert, {builder, loc, op, describe});
  }

  static void checkSizes(tensor::InsertSliceOp insert, Checks checks) {
    OpBuilder &b = checks.builder;
    llvm::SmallBitVector dropped = insert.getDroppedDims();
    int64_t from = 0;
    for (auto [dim, size] : llvm::enumerate(insert.getMixedSizes())) {
      if (dropped.test(unsigned(dim)))
        continue;
      if (isa<Value>(size) || insert.getSourceType().isDynamicDim(from)) {
        Value given =
            tensor::DimOp::create(b, checks.loc, insert.getSource(), from);
        Value expected = getValueOrCreateConstantIndexOp(b, checks.loc, size);
        checks.require(
            checks.compare(arith::CmpIPredicate::eq, given, expected),
            "dimension " + Twine(from) + " of the source is not the slice's");
      }
      ++from;
    }
  }

  static bool isKnownInside(tensor::InsertSliceOp insert, int64_t dim) {
    int64_t offset = insert.getStaticOffsets()[dim],
            size = insert.getStaticSizes()[dim],
            stride = insert.getStaticStrides()[dim],
            whole = insert.getDestType().getDimSize(dim);
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(whole))
      return false;
    if (size == 0)
      return true;
    int64_t product, last;
    return !ShapedType::isDynamic(offset) && !ShapedType::isDynamic(stride) &&
           offset >= 0 && !llvm::MulOverflow(size - 1, stride, product) &&
           !llvm::AddOverflow(offset, product, last) && last >= 0 &&
           last < whole;
  }

  static void checkDimension(tensor::InsertSliceOp insert, int64_t dim,
                             Checks checks) {
    OpBuilder &b = checks.builder;
    Location loc = checks.loc;
    auto index = [&](OpFoldResult value) {
      return getValueOrCreateConstantIndexOp(b, loc, value);
    };
    Value offset = index(insert.getMixedOffsets()[dim]),
          size = index(insert.getMixedSizes()[dim]),
          stride = index(insert.getMixedStrides()[dim]),
          whole = tensor::DimOp::create(b, loc, insert.getDest(), dim),
          zero = arith::ConstantIndexOp::create(b, loc, 0),
          one = arith::ConstantIndexOp::create(b, loc, 1);
    // As unsigned numbers, negative ones are too large, too. No product wraps
    // once its factors are no larger than the tensor.
    auto isAtMost = [&](Value value, Value limit) {
      return checks.compare(arith::CmpIPredicate::ule, value, limit);
    };
    Value last = arith::AddIOp::create(
        b, loc, offset,
        arith::MulIOp::create(b, loc, arith::SubIOp::create(b, loc, size, one),
                              stride));
    Value inside = checks.compare(arith::CmpIPredicate::ult, last, whole);
    for (Value each : {offset, size, stride})
      inside = arith::AndIOp::create(b, loc, inside, isAtMost(each, whole));
    Value empty = checks.compare(arith::CmpIPredicate::eq, size, zero);
    checks.require(arith::OrIOp::create(b, loc, empty, inside),
                   "slice runs out-of-bounds along dimension " + Twine(dim));
  }
};

/// All inputs have the result's sizes, but along the concatenated dimension.
struct ConcatModel
    : RuntimeVerifiableOpInterface::ExternalModel<ConcatModel,
                                                  tensor::ConcatOp> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    auto concat = cast<tensor::ConcatOp>(op);
    Checks checks{builder, loc, op, describe};
    for (int64_t dim = 0; dim < concat.getRank(); ++dim) {
      if (uint64_t(dim) == concat.getDim())
        continue;
      Value first =
          tensor::DimOp::create(builder, loc, concat.getInputs()[0], dim);
      for (auto [index, input] :
           llvm::drop_begin(llvm::enumerate(concat.getInputs()))) {
        Value size = tensor::DimOp::create(builder, loc, input, dim);
        checks.require(checks.compare(arith::CmpIPredicate::eq, size, first),
                       "dimension " + Twine(dim) + " of input " + Twine(index) +
                           " differs from that of input 0");
      }
    }
  }
};

/// Every dimension of the source is the product of those it becomes.
struct ExpandShapeModel
    : RuntimeVerifiableOpInterface::ExternalModel<ExpandShapeModel,
                                                  tensor::ExpandShapeOp> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder,
                                   Location loc, DescribeFn describe) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    Checks checks{builder, loc, op, describe};
    SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
    for (auto [dim, group] :
         llvm::enumerate(expand.getReassociationIndices())) {
      Value size = tensor::DimOp::create(builder, loc, expand.getSrc(), dim);
      Value product = arith::ConstantIndexOp::create(builder, loc, 1);
      for (int64_t part : group) {
        Value factor =
            getValueOrCreateConstantIndexOp(builder, loc, sizes[part]);
        // A negative size or a product that wraps could pass as the right one.
        checks.require(checks.compare(arith::CmpIPredicate::ule, factor, size),
                       "dimension " + Twine(part) +
                           " of the result is larger than dimension " +
                           Twine(dim) + " of the source");
        product = arith::MulIOp::create(builder, loc, product, factor);
      }
      checks.require(checks.compare(arith::CmpIPredicate::eq, product, size),
                     "dimension " + Twine(dim) +
                         " of the source is not the product of the result's "
                         "dimensions");
    }
  }
};
} // namespace

template <typename... Ops>
static void attachSignedDivision(MLIRContext *context) {
  (Ops::template attachInterface<DivisionModel<Ops, true>>(*context), ...);
}

template <typename... Ops>
static void attachUnsignedDivision(MLIRContext *context) {
  (Ops::template attachInterface<DivisionModel<Ops, false>>(*context), ...);
}

template <typename... Ops> static void attachShift(MLIRContext *context) {
  (Ops::template attachInterface<ShiftModel<Ops>>(*context), ...);
}

void attn::registerRuntimeVerificationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachSignedDivision<arith::DivSIOp, arith::CeilDivSIOp,
                         arith::FloorDivSIOp, arith::RemSIOp>(context);
    attachUnsignedDivision<arith::DivUIOp, arith::CeilDivUIOp, arith::RemUIOp>(
        context);
    attachShift<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, attn::AttnDialect *) {
    attn::OnlineAttentionOp::attachInterface<OnlineAttentionModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, index::IndexDialect *) {
    attachSignedDivision<index::DivSOp, index::CeilDivSOp, index::FloorDivSOp,
                         index::RemSOp>(context);
    attachUnsignedDivision<index::DivUOp, index::CeilDivUOp, index::RemUOp>(
        context);
    attachShift<index::ShlOp, index::ShrSOp, index::ShrUOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    scf::ForOp::attachInterface<ForModel>(*context);
    scf::ParallelOp::attachInterface<ParallelModel>(*context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    tensor::ConcatOp::attachInterface<ConcatModel>(*context);
    tensor::ExpandShapeOp::attachInterface<ExpandShapeModel>(*context);
    tensor::InsertSliceOp::attachInterface<InsertSliceModel>(*context);
  });
}
