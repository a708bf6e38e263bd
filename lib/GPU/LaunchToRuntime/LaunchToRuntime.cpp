//===- LaunchToRuntime.cpp - Launches of kernels as calls of the runtime --===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/LaunchOperands.h"
#include "lib/GPU/Passes.h"
#include "lib/Kernel/RuntimeSymbols.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTLAUNCHTORUNTIME
#include "lib/GPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static LogicalResult convertLaunch(gpu::LaunchFuncOp launch,
                                   LLVM::LLVMFuncOp kernel,
                                   RuntimeSymbols &symbols) {
  FailureOr<LaunchOperands> operands = LaunchOperands::compute(launch, kernel);
  if (failed(operands))
    return failure();
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  auto getText = [&](StringRef text) -> Value {
    return LLVM::AddressOfOp::create(builder, loc, symbols.getMessage(text));
  };
  SmallVector<Value> passed = {
      getText(launch.getKernelModuleName()), getText(launch.getKernelName()),
      createArray(builder, launch, operands->sizes),
      createArgumentArray(builder, launch, operands->arguments)};
  FailureOr<LLVM::LLVMFuncOp> function =
      symbols.getFunction(builder, "attn_gpu_launch",
                          llvm::to_vector(ValueRange(passed).getTypes()),
                          LLVM::LLVMVoidType::get(builder.getContext()));
  if (failed(function))
    return launch.emitOpError(
        "needs 'attn_gpu_launch', which the module has otherwise");
  LLVM::CallOp::create(builder, loc, *function, passed);
  launch.erase();
  return success();
}

namespace {
struct ConvertLaunchToRuntime
    : attn::impl::ConvertLaunchToRuntimeBase<ConvertLaunchToRuntime> {
  void runOnOperation() override {
    if (failed(convert(getOperation())))
      signalPassFailure();
  }

  static LogicalResult convert(ModuleOp module) {
    SmallVector<gpu::LaunchFuncOp> launches;
    module.walk([&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    RuntimeSymbols symbols(module);
    SymbolTableCollection kernels;
    for (gpu::LaunchFuncOp launch : launches) {
      auto kernel = kernels.lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(
          launch, launch.getKernel());
      if (!kernel)
        return launch.emitOpError("of what is no kernel in the LLVM dialect, ")
               << launch.getKernel();
      if (failed(convertLaunch(launch, kernel, symbols)))
        return failure();
    }
    for (auto kernels :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>()))
      kernels.erase();
    module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
    return success();
  }
};
} // namespace
