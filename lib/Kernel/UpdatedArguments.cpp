//===- UpdatedArguments.cpp - Arguments that results replace --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/UpdatedArguments.h"
#include "dialect/Shared/RuntimeChecks.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

static bool isWritable(func::FuncOp func, BlockArgument argument) {
  auto attribute = func.getArgAttrOfType<BoolAttr>(
      argument.getArgNumber(),
      bufferization::BufferizationDialect::kWritableAttrName);
  return attribute && attribute.getValue() &&
         isa<RankedTensorType>(argument.getType());
}

/// The writable argument that a returned value was written into.
static std::optional<unsigned> getUpdated(func::FuncOp func, Value value) {
  auto argument = dyn_cast<BlockArgument>(attn::getFirstDestination(value));
  if (!argument || argument == value || // As it was.
      argument.getOwner() != &func.front() || !isWritable(func, argument))
    return std::nullopt;
  return argument.getArgNumber();
}

FailureOr<SmallVector<std::optional<unsigned>>>
attn::findUpdatedArguments(func::FuncOp func) {
  SmallVector<std::optional<unsigned>> updated(func.getNumResults());
  SmallVector<unsigned> numUpdates(func.getNumArguments());
  bool isFirst = true;
  for (auto op : func.getOps<func::ReturnOp>()) {
    for (auto [index, value] : llvm::enumerate(op.getOperands())) {
      std::optional<unsigned> argument = getUpdated(func, value);
      if (!isFirst && argument != updated[index])
        return op.emitError("result ")
               << index
               << " updates another argument here than where the function "
                  "returns elsewhere";
      updated[index] = argument;
      if (isFirst && argument)
        ++numUpdates[*argument];
    }
    isFirst = false;
  }
  for (BlockArgument argument : func.getArguments())
    if (isWritable(func, argument))
      if (unsigned count = numUpdates[argument.getArgNumber()]; count != 1)
        return mlir::emitError(argument.getLoc(), "argument ")
               << argument.getArgNumber()
               << " is bufferization.writable: expected one result that "
                  "destination-style operations compute from it, got "
               << count;
  return updated;
}
