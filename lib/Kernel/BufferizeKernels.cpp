//===- BufferizeKernels.cpp - One-shot bufferization for kernels ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"
#include "lib/Kernel/Transforms.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_BUFFERIZEKERNELS
#include "lib/Kernel/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::bufferization;

/// One-shot bufferization with tensor arguments of functions as buffers of
/// `getKernelBufferType`.
static LogicalResult bufferizeKernels(ModuleOp module) {
  OneShotBufferizationOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.allowReturnAllocsFromLoops = true;
  options.functionArgTypeConverterFn =
      [](TensorLikeType type, Attribute memorySpace, func::FuncOp,
         const BufferizationOptions &) -> BufferLikeType {
    if (auto ranked = dyn_cast<RankedTensorType>(type))
      return cast<BufferLikeType>(getKernelBufferType(ranked));
    return cast<BufferLikeType>(getMemRefTypeWithFullyDynamicLayout(
        cast<TensorType>(type), memorySpace));
  };
  BufferizationState state;
  return runOneShotModuleBufferize(module, options, state);
}

namespace {
struct BufferizeKernels : attn::impl::BufferizeKernelsBase<BufferizeKernels> {
  void runOnOperation() override {
    sinkDestinations(getOperation());
    if (failed(bufferizeKernels(getOperation())))
      signalPassFailure();
  }
};
} // namespace
