//===- GPU.cpp - Kernels of GPUs to NVVM ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/Stages.h"
#include "lib/Transforms/Passes.h"

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

/// attn.attention to tiles of queries that workgroups compute, and those to
/// blocks of keys, as on a CPU.
static void addTilingStage(OpPassManager &pm) {
  // Four warps of 16 rows, and as many keys: two blocks of them, the queries
  // and the output fit registers and workgroup memory for heads of 128
  // elements.
  constexpr int64_t kQueries = 64, kKeys = 64;
  attn::TileAttentionOptions tiling;
  tiling.plainQueries = kQueries;
  tiling.variantQueries = kQueries;
  pm.addPass(attn::createTileAttention(tiling));
  attn::AttentionToOnlineOptions online;
  online.laneMultiple = 16; // Rows of a warp.
  online.maximumLanes = kQueries;
  online.inMatrices = true;
  pm.addPass(attn::createAttentionToOnline(online));
  attn::TileKeysOptions keys;
  keys.block = kKeys;
  pm.addPass(attn::createTileKeys(keys));
}

/// Tiles of tensors to vectors of a workgroup, and those to scalars of its
/// lanes.
static void addLaneStage(OpPassManager &pm) {
  pm.addPass(attn::createConvertOnlineToVector());
  pm.addPass(createCanonicalizerPass());
  attn::addBufferStage(pm);
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(attn::createConvertForallToGPU());
  pm.addPass(attn::createDistributeToLanes());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Constants and sizes are no arguments of kernels.
  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(createGpuKernelOutliningPass());
}

void attn::buildGPUPipeline(OpPassManager &pm) {
  addTensorStage(pm);
  addTilingStage(pm);
  addLaneStage(pm);
  buildGPUToNVVMPipeline(pm);
}

void attn::buildGPUToNVVMPipeline(OpPassManager &module) {
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  pm.addPass(attn::createConvertMathToNVVM());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(memref::createExpandOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertNVGPUToNVVMPass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // First what knows the address spaces of GPUs.
  pm.addPass(createConvertGpuOpsToNVVMOps());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(attn::createExternalizeSharedMemory());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}

void attn::buildNVVMToPTXPipeline(OpPassManager &module, StringRef architecture,
                                  StringRef features) {
  GpuNVVMAttachTargetOptions target;
  target.chip = architecture.str();
  target.features = features.str();
  module.addPass(createGpuNVVMAttachTarget(target));
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
}
