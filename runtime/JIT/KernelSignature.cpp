//===- KernelSignature.cpp - Signatures of functions ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/KernelSignature.h"

#include "lib/Kernel/KernelSizes.h"
#include "lib/Kernel/UpdatedArguments.h"
#include "runtime/Bridge/ElementTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace attn;
using namespace attn::jit;
using mlir::failed;
using mlir::failure;
using mlir::FailureOr;

static FailureOr<Parameter> convertTensor(mlir::RankedTensorType type,
                                          mlir::Location loc,
                                          const llvm::Twine &what) {
  std::optional<ElementType> element =
      convertElementType(type.getElementType());
  if (!element || type.getEncoding())
    return mlir::emitError(loc)
           << what << " has type " << type
           << "; element types of kernels are f64, f32, f16, bf16, i64, i32, "
              "i16, i8, i1, index, f8E4M3FN and f8E5M2";
  if (type.getRank() > TensorView::maxRank)
    return mlir::emitError(loc)
           << what << " has rank " << type.getRank()
           << "; kernels take tensors up to rank " << TensorView::maxRank;
  Parameter result;
  result.type = *element;
  for (std::int64_t size : type.getShape())
    result.shape.push_back(
        mlir::ShapedType::isDynamic(size) ? Parameter::dynamic : size);
  return result;
}

/// `what` is the argument or result in messages: "argument 1".
static FailureOr<Parameter>
convertParameter(mlir::Type type, mlir::Location loc, const llvm::Twine &what) {
  if (auto tensor = llvm::dyn_cast<mlir::RankedTensorType>(type))
    return convertTensor(tensor, loc, what);
  std::optional<ElementType> scalar = convertElementType(type);
  if (!scalar || isFloat8(*scalar))
    return mlir::emitError(loc)
           << what << " has type " << type
           << "; kernels take ranked tensors and scalars of f64, f32, f16, "
              "bf16, i64, i32, i16, i8, i1 and index";
  Parameter result;
  result.isTensor = false;
  result.type = *scalar;
  return result;
}

SizeExpr jit::convertSize(const mlir::attn::LinearSize &size) {
  SizeExpr result;
  result.constant = size.constant;
  for (auto [variable, coefficient] : size.coefficients)
    result.terms.push_back({coefficient, int(variable.argument),
                            int(variable.dimension.value_or(-1))});
  return result;
}

FailureOr<Signature> jit::computeKernelSignature(mlir::func::FuncOp entry) {
  Signature result;
  result.entry = entry.getName().str();
  for (mlir::BlockArgument arg : entry.getArguments()) {
    FailureOr<Parameter> parameter =
        convertParameter(arg.getType(), arg.getLoc(),
                         "argument " + llvm::Twine(arg.getArgNumber()));
    if (failed(parameter))
      return failure();
    result.arguments.push_back(std::move(*parameter));
  }
  for (auto [index, type] : llvm::enumerate(entry.getResultTypes())) {
    FailureOr<Parameter> parameter =
        convertParameter(type, entry.getLoc(), "result " + llvm::Twine(index));
    if (failed(parameter))
      return failure();
    if (!parameter->isTensor)
      return entry.emitError("result ")
             << index << " has type " << type
             << "; kernels give tensors only, a scalar as one of rank 0";
    result.results.push_back(std::move(*parameter));
  }

  FailureOr<llvm::SmallVector<std::optional<unsigned>>> updated =
      mlir::attn::findUpdatedArguments(entry);
  if (failed(updated))
    return failure();
  for (auto [parameter, argument] : llvm::zip_equal(result.results, *updated))
    if (argument)
      parameter.updates = int(*argument);

  FailureOr<mlir::attn::KernelSizes> sizes =
      mlir::attn::computeKernelSizes(entry);
  if (failed(sizes))
    return failure();
  for (const auto &resultSizes : sizes->results) {
    auto &converted = result.resultSizes.emplace_back();
    for (const mlir::attn::LinearSize &size : resultSizes)
      converted.push_back(convertSize(size));
  }
  for (const auto &constraint : sizes->constraints)
    result.constraints.push_back({convertSize(constraint.lhs),
                                  convertSize(constraint.rhs),
                                  constraint.text});
  return result;
}
