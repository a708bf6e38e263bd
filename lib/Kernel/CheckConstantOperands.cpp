//===- CheckConstantOperands.cpp - Constants that leave ops undefined -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CHECKCONSTANTOPERANDS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

/// The one dynamic size that a group may have follows from the others, which it
/// is divided by.
static LogicalResult verify(tensor::ExpandShapeOp op) {
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

static LogicalResult verify(tensor::DimOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
  std::optional<int64_t> index = op.getConstantIndex();
  if (!type || !index || (*index >= 0 && *index < type.getRank()))
    return success();
  return op.emitOpError("index ")
         << *index << " is outside of rank " << type.getRank();
}

/// Other loops have a verifier for it.
static LogicalResult verify(scf::ForOp op) {
  std::optional<APInt> step = op.getConstantStep();
  if (!step ||
      (op.getUnsignedCmp() ? !step->isZero() : step->isStrictlyPositive()))
    return success();
  return op.emitOpError("expected a positive step, got ")
         << toString(*step, /*Radix=*/10, /*Signed=*/true);
}

static LogicalResult verify(tensor::PadOp op) {
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

static LogicalResult verify(tensor::EmptyOp op) {
  return verifySizes(op, op.getDynamicSizes());
}

static LogicalResult verify(tensor::GenerateOp op) {
  return verifySizes(op, op.getDynamicExtents());
}

/// Emits an error for operations that constant operands leave undefined, and
/// that passes could crash on: sizes of dimensions that a tensor does not have,
/// loops whose step is not positive, negative padding, dimensions expanded to
/// sizes that do not follow from theirs.
static LogicalResult verifyConstantOperands(Operation *root) {
  WalkResult result = root->walk([](Operation *op) -> WalkResult {
    return llvm::TypeSwitch<Operation *, LogicalResult>(op)
        .Case<tensor::EmptyOp, tensor::GenerateOp, tensor::DimOp, scf::ForOp,
              tensor::PadOp, tensor::ExpandShapeOp>(
            [](auto known) { return verify(known); })
        .Default([](Operation *) { return success(); });
  });
  return failure(result.wasInterrupted());
}

namespace {
struct CheckConstantOperands
    : attn::impl::CheckConstantOperandsBase<CheckConstantOperands> {
  void runOnOperation() override {
    if (failed(verifyConstantOperands(getOperation())))
      signalPassFailure();
  }
};
} // namespace
