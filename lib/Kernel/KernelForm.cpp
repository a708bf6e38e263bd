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

LogicalResult attn::verifyKernelForm(ModuleOp module) {
  WalkResult result = module.getBody()->walk(
      [](Operation *op) { return WalkResult(verifyOp(op)); });
  return failure(result.wasInterrupted());
}
