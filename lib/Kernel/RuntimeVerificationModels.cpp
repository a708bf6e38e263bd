//===- RuntimeVerificationModels.cpp - Checks upstream lacks --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/ExternalModels.h"

#include "dialect/AttnOps.h"
#include "dialect/Shared/IndexBuilder.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Interfaces/RuntimeVerifiableOpInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace {
using DescribeFn = function_ref<std::string(Operation *, StringRef)>;

/// Emits the checks of one operation.
struct Checks : attn::IndexBuilder {
  Checks(OpBuilder &builder, Operation *op, DescribeFn describe)
      : IndexBuilder(op->getLoc(), builder), op(op), describe(describe) {}

  Value differs(Value value, const APInt &from) {
    Value constant =
        arith::ConstantOp::create(*this, getIntegerAttr(value.getType(), from));
    return compare(arith::CmpIPredicate::ne, value, constant);
  }
  Value isAtMostUnsigned(Value value, Value limit) {
    return compare(arith::CmpIPredicate::ule, value, limit);
  }
  Value dim(Value tensor, int64_t dimension) {
    return tensor::DimOp::create(*this, tensor, dimension);
  }
  void require(Value condition, const Twine &message) {
    cf::AssertOp::create(*this, condition, describe(op, message.str()));
  }
  void requirePositive(Value step, bool isUnsigned) {
    // Constants have been checked.
    if (getConstantIntValue(step))
      return;
    auto predicate =
        isUnsigned ? arith::CmpIPredicate::ugt : arith::CmpIPredicate::sgt;
    require(compare(predicate, step, zero(step.getType())),
            "step is not positive");
  }

  Operation *op;
  DescribeFn describe;
};

/// Has `check` emit the checks of an operation.
template <typename Op, void (*check)(Op, Checks)>
struct Model
    : RuntimeVerifiableOpInterface::ExternalModel<Model<Op, check>, Op> {
  void generateRuntimeVerification(Operation *op, OpBuilder &builder, Location,
                                   DescribeFn describe) const {
    check(cast<Op>(op), {builder, op, describe});
  }
};

/// Bits of a scalar integer; none of vectors and tensors, which have become
/// loops.
std::optional<unsigned> getWidth(Type type) {
  if (!type.isIntOrIndex())
    return std::nullopt;
  return type.isIndex() ? IndexType::kInternalStorageBitWidth
                        : type.getIntOrFloatBitWidth();
}

/// Division by zero, and if `isSigned` a quotient that is one too large.
template <typename Op, bool isSigned> void checkDivision(Op op, Checks checks) {
  Value dividend = op->getOperand(0), divisor = op->getOperand(1);
  std::optional<unsigned> width = getWidth(divisor.getType());
  if (!width)
    return;
  checks.require(checks.differs(divisor, APInt::getZero(*width)),
                 "division by zero");
  if (isSigned)
    checks.require(
        checks.bitOr(checks.differs(dividend, APInt::getSignedMinValue(*width)),
                     checks.differs(divisor, APInt::getAllOnes(*width))),
        "quotient does not fit its type");
}

/// A shift by as many bits as there are, or more, has no result.
template <typename Op> void checkShift(Op op, Checks checks) {
  Value count = op->getOperand(1);
  std::optional<unsigned> width = getWidth(count.getType());
  std::optional<int64_t> known = getConstantIntValue(count);
  if (!width || (known && *known >= 0 && *known < int64_t(*width)))
    return;
  Value limit = arith::ConstantOp::create(
      checks, checks.getIntegerAttr(count.getType(), *width));
  checks.require(checks.compare(arith::CmpIPredicate::ult, count, limit),
                 "shift by as many bits as there are, or more");
}

/// A step that is not positive never comes to the end.
void checkFor(scf::ForOp loop, Checks checks) {
  checks.requirePositive(loop.getStep(), loop.getUnsignedCmp());
}
void checkParallel(scf::ParallelOp loop, Checks checks) {
  for (Value step : loop.getStep())
    checks.requirePositive(step, /*isUnsigned=*/false);
}

/// Regions are evaluated at no more queries than there are lanes.
void checkOnline(attn::OnlineAttentionOp op, Checks checks) {
  int64_t lanes = op.getNumLanes();
  checks.require(
      checks.isAtMostUnsigned(op.getNumQueries(), checks.index(lanes)),
      "expected 0 to " + Twine(lanes) + " queries");
}

void checkSizes(tensor::InsertSliceOp insert, Checks &checks) {
  llvm::SmallBitVector dropped = insert.getDroppedDims();
  int64_t from = 0;
  for (auto [dim, size] : llvm::enumerate(insert.getMixedSizes())) {
    if (dropped.test(unsigned(dim)))
      continue;
    if (isa<Value>(size) || insert.getSourceType().isDynamicDim(from))
      checks.require(checks.isEqual(checks.dim(insert.getSource(), from), size),
                     "dimension " + Twine(from) +
                         " of the source is not the slice's");
    ++from;
  }
}

bool isKnownInside(tensor::InsertSliceOp insert, int64_t dim) {
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
         !llvm::AddOverflow(offset, product, last) && last >= 0 && last < whole;
}

void checkDimension(tensor::InsertSliceOp insert, int64_t dim, Checks &checks) {
  Value offset = checks.index(insert.getMixedOffsets()[dim]),
        size = checks.index(insert.getMixedSizes()[dim]),
        stride = checks.index(insert.getMixedStrides()[dim]),
        whole = checks.dim(insert.getDest(), dim);
  // As unsigned numbers, negative ones are too large, too. No product wraps
  // once its factors are no larger than the tensor.
  Value last = checks.add(offset, checks.mul(checks.sub(size, 1), stride));
  Value inside = checks.compare(arith::CmpIPredicate::ult, last, whole);
  for (Value each : {offset, size, stride})
    inside = checks.bitAnd(inside, checks.isAtMostUnsigned(each, whole));
  checks.require(checks.bitOr(checks.isEqual(size, 0), inside),
                 "slice runs out-of-bounds along dimension " + Twine(dim));
}

/// A slice that is written lies inside of the tensor, and is as large as what
/// is written to it.
void checkInsertSlice(tensor::InsertSliceOp insert, Checks checks) {
  for (int64_t dim = 0; dim < insert.getDestType().getRank(); ++dim)
    if (!isKnownInside(insert, dim))
      checkDimension(insert, dim, checks);
  checkSizes(insert, checks);
}

/// All inputs have the result's sizes, but along the concatenated dimension.
void checkConcat(tensor::ConcatOp concat, Checks checks) {
  for (int64_t dim = 0; dim < concat.getRank(); ++dim) {
    if (uint64_t(dim) == concat.getDim())
      continue;
    Value first = checks.dim(concat.getInputs()[0], dim);
    for (auto [index, input] :
         llvm::drop_begin(llvm::enumerate(concat.getInputs())))
      checks.require(checks.isEqual(checks.dim(input, dim), first),
                     "dimension " + Twine(dim) + " of input " + Twine(index) +
                         " differs from that of input 0");
  }
}

/// Every dimension of the source is the product of those it becomes.
void checkExpandShape(tensor::ExpandShapeOp expand, Checks checks) {
  SmallVector<OpFoldResult> sizes = expand.getMixedOutputShape();
  for (auto [dim, group] : llvm::enumerate(expand.getReassociationIndices())) {
    Value size = checks.dim(expand.getSrc(), dim), product = checks.index(1);
    for (int64_t part : group) {
      Value factor = checks.index(sizes[part]);
      // A negative size or a product that wraps could pass as the right one.
      checks.require(checks.isAtMostUnsigned(factor, size),
                     "dimension " + Twine(part) +
                         " of the result is larger than dimension " +
                         Twine(dim) + " of the source");
      product = checks.mul(product, factor);
    }
    checks.require(checks.isEqual(product, size),
                   "dimension " + Twine(dim) +
                       " of the source is not the product of the result's "
                       "dimensions");
  }
}
} // namespace

template <bool isSigned, typename... Ops>
static void attachDivision(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops, checkDivision<Ops, isSigned>>>(
       *context),
   ...);
}

template <typename... Ops> static void attachShift(MLIRContext *context) {
  (Ops::template attachInterface<Model<Ops, checkShift<Ops>>>(*context), ...);
}

template <typename Op, void (*check)(Op, Checks)>
static void attach(MLIRContext *context) {
  Op::template attachInterface<Model<Op, check>>(*context);
}

void attn::registerRuntimeVerificationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attachDivision</*isSigned=*/true, arith::DivSIOp, arith::CeilDivSIOp,
                   arith::FloorDivSIOp, arith::RemSIOp>(context);
    attachDivision</*isSigned=*/false, arith::DivUIOp, arith::CeilDivUIOp,
                   arith::RemUIOp>(context);
    attachShift<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, attn::AttnDialect *) {
    attach<attn::OnlineAttentionOp, checkOnline>(context);
  });
  registry.addExtension(+[](MLIRContext *context, index::IndexDialect *) {
    attachDivision</*isSigned=*/true, index::DivSOp, index::CeilDivSOp,
                   index::FloorDivSOp, index::RemSOp>(context);
    attachDivision</*isSigned=*/false, index::DivUOp, index::CeilDivUOp,
                   index::RemUOp>(context);
    attachShift<index::ShlOp, index::ShrSOp, index::ShrUOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    attach<scf::ForOp, checkFor>(context);
    attach<scf::ParallelOp, checkParallel>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::ConcatOp, checkConcat>(context);
    attach<tensor::ExpandShapeOp, checkExpandShape>(context);
    attach<tensor::InsertSliceOp, checkInsertSlice>(context);
  });
}
