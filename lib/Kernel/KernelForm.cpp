//===- KernelForm.cpp - What a kernel may be written in -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/KernelForm.h"
#include "dialect/AttnOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

// What may be used is listed, not what may not: everything here is about
// values, and has a definition, or a check at run time, for all of them. An
// operation that names memory would make the checks on a kernel's arguments
// worth nothing.

/// Dialects of which all operations may be used, as far as `isAllowed` does not
/// say otherwise.
static constexpr StringRef allowedDialects[] = {
    "arith", "attn", "cf", "func", "index", "linalg", "math", "scf"};

static constexpr StringRef allowedOps[] = {"affine.apply",
                                           "affine.max",
                                           "affine.min",
                                           "tensor.cast",
                                           "tensor.collapse_shape",
                                           "tensor.concat",
                                           "tensor.dim",
                                           "tensor.empty",
                                           "tensor.expand_shape",
                                           "tensor.extract",
                                           "tensor.extract_slice",
                                           "tensor.from_elements",
                                           "tensor.generate",
                                           "tensor.insert",
                                           "tensor.insert_slice",
                                           "tensor.pad",
                                           "tensor.splat",
                                           "tensor.yield"};

static bool isAllowed(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if (dialect == "linalg")
    return isa<linalg::LinalgOp, linalg::IndexOp, linalg::YieldOp>(op);
  if (dialect == "scf")
    return !isa<scf::ForallOp, scf::InParallelOp>(op);
  return llvm::is_contained(allowedDialects, dialect) ||
         llvm::is_contained(allowedOps, op->getName().getStringRef());
}

/// Constants are expanded while compiling; data this large is an argument.
static constexpr uint64_t maxConstantBytes = uint64_t(64) << 20;

static LogicalResult verifyConstant(arith::ConstantOp op) {
  auto type = dyn_cast<ShapedType>(op.getType());
  if (!type)
    return success();
  // Anything that is no plain number counts as the widest that there is.
  uint64_t bytes = type.getElementType().isIntOrFloat()
                       ? llvm::divideCeil(type.getElementTypeBitWidth(), 8)
                       : 16;
  for (int64_t size : type.getShape())
    bytes = llvm::SaturatingMultiply(bytes, uint64_t(size));
  if (bytes > maxConstantBytes)
    return op.emitError("constant has ")
           << bytes << " bytes, and may have up to " << maxConstantBytes
           << "; pass it as an argument, or fill a tensor.empty";
  return success();
}

static LogicalResult verifyOp(Operation *op) {
  if (auto func = dyn_cast<func::FuncOp>(op)) {
    if (func.isExternal())
      return op->emitError("function '")
             << func.getName()
             << "' has no body; a kernel may only call what "
                "its module defines";
    return success();
  }
  if (!isAllowed(op) || !op->getParentOfType<func::FuncOp>())
    return op->emitOpError("may not be used in a kernel");
  if (isa<func::FuncDialect>(op->getDialect()) && !isa<func::ReturnOp>(op))
    return op->emitOpError("cannot be inlined; a kernel may only call "
                           "functions of its module, and not recursively");
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return verifyConstant(constant);
  return success();
}

/// The one dynamic size that a group may have follows from the others, which it
/// is divided by.
static LogicalResult verifyExpansion(tensor::ExpandShapeOp op) {
  RankedTensorType result = op.getResultType();
  for (auto [source, group] : llvm::enumerate(op.getReassociationIndices())) {
    if (group.size() == 1 || !op.getSrcType().isDynamicDim(source))
      continue;
    auto dynamic = llvm::count_if(
        group, [&](int64_t dim) { return result.isDynamicDim(dim); });
    if (dynamic > 1)
      return op.emitOpError("expected dimension ")
             << source << " to become at most one dynamic size, got "
             << dynamic;
    if (llvm::any_of(group,
                     [&](int64_t dim) { return result.getDimSize(dim) == 0; }))
      return op.emitOpError("expected dimension ")
             << source << " to become sizes above 0, got 0";
  }
  return success();
}

static LogicalResult verifyDimension(tensor::DimOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  std::optional<int64_t> index = op.getConstantIndex();
  if (!type || !index || (*index >= 0 && *index < type.getRank()))
    return success();
  return op.emitOpError("index ")
         << *index << " is outside of rank " << type.getRank();
}

/// Other loops have a verifier for it.
static LogicalResult verifyStep(scf::ForOp op) {
  std::optional<APInt> step = op.getConstantStep();
  if (!step ||
      (op.getUnsignedCmp() ? !step->isZero() : step->isStrictlyPositive()))
    return success();
  return op.emitOpError("expected a positive step, got ")
         << toString(*step, /*Radix=*/10, /*Signed=*/true);
}

static LogicalResult verifyPadding(tensor::PadOp op) {
  for (auto padding : {op.getMixedLowPad(), op.getMixedHighPad()})
    for (OpFoldResult each : padding)
      if (std::optional<int64_t> count = getConstantIntValue(each);
          count && *count < 0)
        return op.emitOpError("expected padding of at least 0, got ") << *count;
  return success();
}

/// Upstream's patterns may fold loops over such sizes forever.
static LogicalResult verifySizes(Operation *op, ValueRange sizes) {
  for (Value size : sizes)
    if (std::optional<int64_t> count = getConstantIntValue(size);
        count && *count < 0)
      return op->emitOpError("expected sizes of 0 or more, got ") << *count;
  return success();
}

LogicalResult attn::verifyConstantOperands(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    if (auto empty = dyn_cast<tensor::EmptyOp>(op))
      return verifySizes(op, empty.getDynamicSizes());
    if (auto generated = dyn_cast<tensor::GenerateOp>(op))
      return verifySizes(op, generated.getDynamicExtents());
    if (auto dim = dyn_cast<tensor::DimOp>(op))
      return verifyDimension(dim);
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return verifyStep(loop);
    if (auto pad = dyn_cast<tensor::PadOp>(op))
      return verifyPadding(pad);
    if (auto expansion = dyn_cast<tensor::ExpandShapeOp>(op))
      return verifyExpansion(expansion);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult attn::verifyKernelForm(ModuleOp module) {
  WalkResult result = module.getBody()->walk([](Operation *op) {
    return failed(verifyOp(op)) ? WalkResult::interrupt()
                                : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
