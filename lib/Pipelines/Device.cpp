//===- Device.cpp - Kernels of GPUs to NVVM and PTX -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/Stages.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/NVGPUToNVVM/NVGPUToNVVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void attn::buildGPUToNVVMPipeline(OpPassManager &module) {
  module.nest<gpu::GPUModuleOp>().addPass(createConvertVectorToSCFPass());
  addNVVMStage(module);
}

void attn::addNVVMStage(OpPassManager &module) {
  // From the last operation to the first takes two thirds of the time.
  auto canonicalize = [] {
    return createCanonicalizerPass(
        GreedyRewriteConfig()
            .setUseTopDownTraversal(false)
            .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Normal));
  };
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  pm.addPass(attn::createExpandFloat8());
  pm.addPass(attn::createExpandMath());
  pm.addPass(attn::createConvertMathToNVVM());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(memref::createExpandOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertNVGPUToNVVMPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(canonicalize());
  pm.addPass(createCSEPass());
  // First what knows the address spaces of GPUs.
  pm.addPass(createConvertGpuOpsToNVVMOps());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(attn::createExternalizeSharedMemory());
  pm.addPass(canonicalize());
  pm.addPass(createCSEPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(attn::createCheckLowered());
}

void attn::buildNVVMToPTXPipeline(OpPassManager &module, StringRef architecture,
                                  StringRef features) {
  GpuNVVMAttachTargetOptions target;
  target.chip = architecture.str();
  target.features = features.str();
  module.addPass(createGpuNVVMAttachTarget(target));
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  pm.addPass(attn::createWarpgroupsToPTX());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}
