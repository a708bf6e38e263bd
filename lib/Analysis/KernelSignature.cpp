//===- KernelSignature.cpp - What a kernel takes and gives ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Analysis/KernelSignature.h"
#include "lib/Analysis/LinearSize.h"

#include "dialect/AttnOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;
using ::attn::ElementType;
using ::attn::Parameter;
using ::attn::Signature;
using ::attn::SizeExpr;
using ::attn::TensorView;

static std::optional<ElementType> convertElementType(Type type) {
  if (type.isF64())
    return ElementType::f64;
  if (type.isF32())
    return ElementType::f32;
  if (type.isF16())
    return ElementType::f16;
  if (type.isBF16())
    return ElementType::bf16;
  if (type.isIndex() || type.isSignlessInteger(64))
    return ElementType::i64;
  if (type.isSignlessInteger(32))
    return ElementType::i32;
  if (type.isSignlessInteger(16))
    return ElementType::i16;
  if (type.isSignlessInteger(8))
    return ElementType::i8;
  if (type.isSignlessInteger(1))
    return ElementType::i1;
  return std::nullopt;
}

/// `what` is the argument or result in messages: "argument 1".
static FailureOr<Parameter> convertParameter(Type type, Location loc,
                                             const Twine &what) {
  Parameter result;
  if (auto tensor = dyn_cast<RankedTensorType>(type)) {
    std::optional<ElementType> element =
        convertElementType(tensor.getElementType());
    if (!element || tensor.getEncoding())
      return emitError(loc) << what << " has type " << type
                            << "; element types of kernels are f64, f32, f16, "
                               "bf16, i64, i32, i16, i8, i1 and index";
    if (tensor.getRank() > TensorView::maxRank)
      return emitError(loc) << what << " has rank " << tensor.getRank()
                            << "; kernels take tensors up to rank "
                            << TensorView::maxRank;
    result.type = *element;
    for (int64_t size : tensor.getShape())
      result.shape.push_back(ShapedType::isDynamic(size) ? Parameter::dynamic
                                                         : size);
    return result;
  }
  std::optional<ElementType> scalar = convertElementType(type);
  if (!scalar)
    return emitError(loc) << what << " has type " << type
                          << "; kernels take ranked tensors and scalars of f64, "
                             "f32, f16, bf16, i64, i32, i16, i8, i1 and index";
  result.isTensor = false;
  result.type = *scalar;
  return result;
}

/// Sizes of the operand of the return that gives result `index`.
static FailureOr<std::vector<SizeExpr>>
computeResultSizes(func::ReturnOp op, unsigned index) {
  std::vector<SizeExpr> result;
  Value value = op.getOperand(index);
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    std::optional<SizeExpr> size = computeLinearSize(value, dim);
    if (!size)
      return emitError(value.getLoc())
             << "size of dimension " << dim << " of result " << index
             << " does not follow from the arguments; it must be a sum of "
                "their sizes and integers, so that a caller can provide the "
                "result";
    result.push_back(std::move(*size));
  }
  return result;
}

// A constraint is added where both sides can be said in terms of the arguments.
// The kernel checks the rest when it runs.

static void addConstraint(Signature &signature, std::optional<SizeExpr> lhs,
                          std::optional<SizeExpr> rhs, const Twine &text) {
  if (lhs && rhs && *lhs != *rhs)
    signature.constraints.push_back(
        {std::move(*lhs), std::move(*rhs), text.str()});
}

static void addConstraints(AttentionOp op, Signature &signature) {
  for (const SizeConstraint &constraint : op.getSizeConstraints()) {
    std::optional<SizeExpr> rhs =
        constraint.reference.operand
            ? computeLinearSize(constraint.reference.operand,
                                constraint.reference.dimension)
            : SizeExpr();
    if (rhs)
      rhs->constant += constraint.delta;
    addConstraint(signature,
                  computeLinearSize(constraint.size.operand,
                                    constraint.size.dimension),
                  rhs, constraint.meaning + " of " + op->getName().getStringRef());
  }
}

/// Dimensions of operands that one loop runs over have one size.
static void addConstraints(linalg::LinalgOp op, Signature &signature) {
  SmallVector<std::optional<SizeExpr>> loops(op.getNumLoops());
  for (OpOperand &operand : op->getOpOperands()) {
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
      auto loop = dyn_cast<AffineDimExpr>(expr);
      if (!loop)
        continue;
      std::optional<SizeExpr> size = computeLinearSize(operand.get(), dim);
      std::optional<SizeExpr> &first = loops[loop.getPosition()];
      if (!first)
        first = size;
      else
        addConstraint(signature, size, first,
                      "a size that operands of " +
                          op->getName().getStringRef() + " share");
    }
  }
}

FailureOr<Signature> mlir::attn::computeKernelSignature(func::FuncOp entry) {
  Signature result;
  result.entry = entry.getName().str();
  for (BlockArgument arg : entry.getArguments()) {
    FailureOr<Parameter> parameter =
        convertParameter(arg.getType(), arg.getLoc(),
                         "argument " + Twine(arg.getArgNumber()));
    if (failed(parameter))
      return failure();
    result.arguments.push_back(std::move(*parameter));
  }
  for (auto [index, type] : llvm::enumerate(entry.getResultTypes())) {
    FailureOr<Parameter> parameter = convertParameter(
        type, entry.getLoc(), "result " + Twine(index));
    if (failed(parameter))
      return failure();
    if (!parameter->isTensor)
      return entry.emitError("result ")
             << index << " has type " << type
             << "; kernels give tensors only, a scalar as tensor<" << type
             << ">";
    result.results.push_back(std::move(*parameter));
  }

  auto returns = llvm::to_vector(entry.getOps<func::ReturnOp>());
  for (unsigned index = 0; index < result.results.size(); ++index) {
    FailureOr<std::vector<SizeExpr>> sizes =
        computeResultSizes(returns.front(), index);
    if (failed(sizes))
      return failure();
    for (func::ReturnOp other : ArrayRef(returns).drop_front()) {
      FailureOr<std::vector<SizeExpr>> otherSizes =
          computeResultSizes(other, index);
      if (failed(otherSizes))
        return failure();
      if (*otherSizes != *sizes)
        return other.emitError("result ")
               << index << " has another size here than where the function "
                           "returns elsewhere";
    }
    result.resultSizes.push_back(std::move(*sizes));
  }

  // Only what every call reaches: other blocks and regions may not run.
  for (Operation &op : entry.front())
    llvm::TypeSwitch<Operation *>(&op).Case<AttentionOp, linalg::LinalgOp>(
        [&](auto op) { addConstraints(op, result); });
  return result;
}
