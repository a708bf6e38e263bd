//===- TransposesToViews.cpp - Transposed tensors by their strides --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"
#include "lib/Kernel/Transforms.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_TRANSPOSESTOVIEWS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using bufferization::MaterializeInDestinationOp;

/// Whether rows stay what is contiguous.
static bool keepsRows(ArrayRef<int64_t> permutation) {
  return !permutation.empty() &&
         permutation.back() == int64_t(permutation.size()) - 1;
}

static Value createTransposed(OpBuilder &b, Location loc, Value buffer,
                              ArrayRef<int64_t> permutation) {
  return memref::TransposeOp::create(
      b, loc, buffer,
      AffineMapAttr::get(
          AffineMap::getPermutationMap(permutation, b.getContext())));
}

/// The buffer that bufferization finds a part of an argument in that nothing
/// writes; none for what is not a view of such an argument.
static FailureOr<MemRefType> findReadOnlyBuffer(func::FuncOp func,
                                                Value tensor) {
  if (auto argument = dyn_cast<BlockArgument>(tensor)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto writable =
        argument.getOwner() == &func.front()
            ? func.getArgAttrOfType<BoolAttr>(
                  argument.getArgNumber(),
                  bufferization::BufferizationDialect::kWritableAttrName)
            : BoolAttr();
    if (!type || !writable || writable.getValue())
      return failure();
    return getKernelBufferType(type);
  }
  Operation *op = tensor.getDefiningOp();
  if (!isa<tensor::ExpandShapeOp, tensor::CastOp, tensor::ExtractSliceOp>(op) ||
      !isa<RankedTensorType>(op->getOperand(0).getType()))
    return failure();
  FailureOr<MemRefType> source = findReadOnlyBuffer(func, op->getOperand(0));
  if (failed(source))
    return failure();
  auto type = cast<RankedTensorType>(tensor.getType());
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return memref::ExpandShapeOp::computeExpandedType(
        *source, type.getShape(), expand.getReassociationIndices());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return memref::SubViewOp::inferRankReducedResultType(
        type.getShape(), *source, slice.getMixedOffsets(),
        slice.getMixedSizes(), slice.getMixedStrides());
  return MemRefType::get(type.getShape(), type.getElementType(),
                         source->getLayout());
}

/// Reads what is transposed of an argument where that has it.
static void readByStrides(func::FuncOp func, linalg::TransposeOp transpose) {
  Value input = transpose.getInput();
  FailureOr<MemRefType> type = findReadOnlyBuffer(func, input);
  if (failed(type))
    return;
  OpBuilder b(transpose);
  Location loc = transpose.getLoc();
  Value buffer = bufferization::ToBufferOp::create(b, loc, *type, input,
                                                   /*read_only=*/true);
  Value view = createTransposed(b, loc, buffer, transpose.getPermutation());
  transpose->getResult(0).replaceAllUsesWith(bufferization::ToTensorOp::create(
      b, loc, transpose->getResult(0).getType(), view, /*restrict=*/true));
  transpose.erase();
}

/// The value without reshapes that nothing else sees, which are added to
/// `reshapes`, the last one first.
static Value skipReshapes(Value value,
                          SmallVectorImpl<tensor::CollapseShapeOp> &reshapes) {
  while (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>()) {
    if (!collapse->hasOneUse())
      break;
    reshapes.push_back(collapse);
    value = collapse.getSrc();
  }
  return value;
}

/// The view of a buffer of the result in which `collapse` finds its elements.
/// Null if that takes sizes that only the operand has.
static Value createExpanded(OpBuilder &b, Location loc, Value buffer,
                            tensor::CollapseShapeOp collapse) {
  auto type = cast<RankedTensorType>(collapse.getSrc().getType());
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    int64_t known = 1;
    bool isStatic = true;
    for (int64_t each : group) {
      if (!type.isDynamicDim(each))
        known *= type.getDimSize(each);
      else if (!std::exchange(isStatic, false))
        return {};
    }
    for (int64_t each : group) {
      if (!type.isDynamicDim(each)) {
        sizes.push_back(b.getIndexAttr(type.getDimSize(each)));
        continue;
      }
      if (known == 0)
        return {};
      Value size = memref::DimOp::create(b, loc, buffer, int64_t(dim));
      if (known != 1)
        size = arith::DivUIOp::create(
            b, loc, size, arith::ConstantIndexOp::create(b, loc, known));
      sizes.push_back(size);
    }
  }
  FailureOr<MemRefType> expanded = memref::ExpandShapeOp::computeExpandedType(
      cast<MemRefType>(buffer.getType()), type.getShape(), groups);
  if (failed(expanded))
    return {};
  return memref::ExpandShapeOp::create(b, loc, *expanded, buffer, groups,
                                       sizes);
}

/// Takes sizes of a value from where it is written to: checks of sizes are no
/// reason for it to be a tensor of its own.
static void forwardSizes(Value value) {
  auto result = dyn_cast<OpResult>(value);
  auto op = result ? dyn_cast<DestinationStyleOpInterface>(result.getOwner())
                   : DestinationStyleOpInterface();
  if (!op)
    return;
  Value init = op.getTiedOpOperand(result)->get();
  for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
    if (auto size = dyn_cast<tensor::DimOp>(user))
      size.getSourceMutable().assign(init);
}

/// Writes what is transposed or reshaped into a result where the caller has
/// that.
static void writeByStrides(func::FuncOp func,
                           MaterializeInDestinationOp write) {
  auto destination = dyn_cast<BlockArgument>(write.getDest());
  if (!destination || !isa<MemRefType>(destination.getType()))
    return;
  SmallVector<tensor::CollapseShapeOp> reshapes;
  Value source = skipReshapes(write.getSource(), reshapes);
  auto transpose = source.getDefiningOp<linalg::TransposeOp>();
  if (transpose &&
      (!transpose->hasOneUse() || !keepsRows(transpose.getPermutation()) ||
       transpose->getBlock() != write->getBlock()))
    transpose = {};
  if (!transpose && reshapes.empty())
    return;
  // Whatever computes the elements can begin with the view.
  OpBuilder b = OpBuilder::atBlockBegin(&func.front());
  Location loc = write.getLoc();
  Value view = destination;
  for (tensor::CollapseShapeOp reshape : reshapes)
    if (view = createExpanded(b, loc, view, reshape); !view)
      return;
  if (transpose) {
    view = createTransposed(
        b, loc, view, invertPermutationVector(transpose.getPermutation()));
    source = transpose.getInput();
  }
  b.setInsertionPoint(write);
  MaterializeInDestinationOp::create(b, loc, /*result=*/Type(), source, view,
                                     write.getRestrict(), write.getWritable());
  write.erase();
  for (tensor::CollapseShapeOp reshape : reshapes)
    reshape.erase();
  if (transpose)
    transpose.erase();
  forwardSizes(source);
}

namespace {
struct TransposesToViews
    : attn::impl::TransposesToViewsBase<TransposesToViews> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal())
      return;
    SmallVector<linalg::TransposeOp> transposes;
    SmallVector<MaterializeInDestinationOp> writes;
    func.walk([&](Operation *op) {
      if (auto write = dyn_cast<MaterializeInDestinationOp>(op))
        writes.push_back(write);
      else if (auto transpose = dyn_cast<linalg::TransposeOp>(op);
               transpose && transpose.hasPureTensorSemantics() &&
               keepsRows(transpose.getPermutation()))
        transposes.push_back(transpose);
    });
    for (linalg::TransposeOp transpose : transposes)
      readByStrides(func, transpose);
    for (MaterializeInDestinationOp write : writes)
      writeByStrides(func, write);
  }
};
} // namespace
