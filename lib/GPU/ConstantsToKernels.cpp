//===- ConstantsToKernels.cpp - Constants where kernels read them ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTCONSTANTSTOKERNELS
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The views that make `buffer` of a constant, and before them what gives its
/// address; empty if it is of other memory.
static SmallVector<Operation *> findConstant(Value buffer) {
  SmallVector<Operation *> chain;
  while (Operation *op = buffer.getDefiningOp()) {
    chain.push_back(op);
    if (isa<memref::GetGlobalOp>(op))
      return llvm::to_vector(llvm::reverse(chain));
    auto view = dyn_cast<ViewLikeOpInterface>(op);
    if (!view)
      break;
    buffer = view.getViewSource();
  }
  return {};
}

static void sinkConstants(gpu::LaunchOp launch) {
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(launch.getBody(), used);
  auto builder = OpBuilder::atBlockBegin(&launch.getBody().front());
  IRMapping mapping;
  for (Value buffer : used) {
    if (!isa<MemRefType>(buffer.getType()))
      continue;
    SmallVector<Operation *> chain = findConstant(buffer);
    for (Operation *op : chain)
      if (!mapping.contains(op->getResult(0)))
        builder.clone(*op, mapping);
    replaceAllUsesInRegionWith(buffer, mapping.lookupOrDefault(buffer),
                               launch.getBody());
    for (Operation *op : llvm::reverse(chain))
      if (isOpTriviallyDead(op))
        op->erase();
  }
}

namespace {
struct ConvertConstantsToKernels
    : attn::impl::ConvertConstantsToKernelsBase<ConvertConstantsToKernels> {
  void runOnOperation() override { getOperation()->walk(sinkConstants); }
};
} // namespace
