//===- GPU.cpp - The GPU pipeline -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/Passes.h"
#include "lib/GPU/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/MultiToken/Passes.h"
#include "lib/Online/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/Stages.h"
#include "lib/Plan/Passes.h"
#include "lib/Reference/Passes.h"
#include "lib/SplitKV/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// attn.attention to tiles of queries that workgroups compute, and those to
/// blocks of keys, as on a CPU.
static void addWorkgroupStage(OpPassManager &pm) {
  pm.addPass(attn::createFillEmptyAttention());
  pm.addPass(attn::createCheckForGPU());
  pm.addPass(attn::createOwnDestinations());
  pm.addPass(attn::createRowsToElements());
  pm.addPass(attn::createMultiTokenToElements());
  pm.addPass(attn::createSpecializeQueries({/*workgroups=*/true}));
  pm.addPass(attn::createPlanKernels({/*workgroups=*/true}));
  pm.addPass(attn::createSummarizeTables());
  pm.addPass(attn::createFoldGroups());
  pm.addPass(attn::createSplitDecoding());
  pm.addPass(attn::createLowerMerges());
  pm.addPass(attn::createTileAttention());
  pm.addPass(attn::createAttentionToOnline());
  pm.addPass(attn::createTileKeys());
  pm.addPass(attn::createRangesToElements());
  pm.addPass(attn::createDelayProducts());
}

/// Tiles of tensors to vectors of a workgroup, and those to scalars of its
/// lanes.
static void addLaneStage(OpPassManager &pm) {
  pm.addPass(attn::createConvertOnlineToVector());
  pm.addPass(createCanonicalizerPass());
  attn::addBufferStage(pm);
  pm.addPass(attn::createConvertMemRefCopyToLinalg());
  pm.addPass(attn::createConvertForallToGPU());
  pm.addPass(attn::createCopyToWorkgroup());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(attn::createDistributeToLanes());
  // Loops carry hundreds of scalars now, with which canonicalizing them takes
  // longer than everything else; that waits until they are branches.
  pm.addPass(createCSEPass());
  pm.addPass(attn::createDelayWaits());
  pm.addPass(attn::createSplitRoles());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addNestedPass<func::FuncOp>(attn::createNarrowIndices());
  // Constants and sizes are no arguments of kernels.
  pm.addPass(createGpuLaunchSinkIndexComputationsPass());
  pm.addPass(attn::createConvertConstantsToKernels());
  pm.addPass(createGpuKernelOutliningPass());
  pm.addPass(attn::createBoundRegisters());
  pm.addPass(createSymbolDCEPass()); // Constants that are in kernels alone.
}

void attn::buildGPUPipeline(OpPassManager &pm) {
  addTensorStage(pm, /*onGPU=*/true);
  pm.addNestedPass<func::FuncOp>(attn::createTransposesToViews());
  addWorkgroupStage(pm);
  addLaneStage(pm);
  addNVVMStage(pm);
}

void attn::buildGPUHostPipeline(OpPassManager &pm) {
  pm.addPass(attn::createConvertLaunchToRuntime());
  addHostStage(pm);
}

void attn::buildGPUEmulatorPipeline(OpPassManager &pm) {
  buildGPUPipeline(pm);
  pm.addPass(attn::createConvertNVVMToEmulator());
  // Kernels are in the LLVM dialect by now.
  addHostStage(pm);
}

llvm::ArrayRef<attn::Lowering> attn::getGPULowerings() {
  static const Lowering lowerings[] = {
      {"gpu", "Lower kernels to NVVM, with the functions that launch them",
       buildGPUHostPipeline, /*usesDevice=*/true, buildGPUPipeline},
      {"gpu-emulator",
       "Lower kernels as for NVIDIA GPUs, for an emulator of them on the CPU",
       buildGPUEmulatorPipeline, /*usesDevice=*/true, /*buildKernels=*/nullptr,
       /*isEmulated=*/true},
      {"gpu-emulator-sm_90a",
       "The same as for sm_90a, whose warpgroups multiply, with one "
       "multiprocessor",
       buildGPUEmulatorPipeline, /*usesDevice=*/true, /*buildKernels=*/nullptr,
       /*isEmulated=*/true,
       /*target=*/
       ", gpu_multiprocessors = 1, gpu_shared_bytes = 233472, "
       "gpu_warpgroups = true"}};
  return lowerings;
}
