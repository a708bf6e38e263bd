//===- Passes.cpp - Attn's passes and pipelines by name -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/Passes.h"
#include "lib/BlockMap/Passes.h"
#include "lib/CPU/Passes.h"
#include "lib/Gradient/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/Layer/Passes.h"
#include "lib/Memory/Passes.h"
#include "lib/MultiToken/Passes.h"
#include "lib/Online/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Plan/Passes.h"
#include "lib/Projection/Passes.h"
#include "lib/Raise/Passes.h"
#include "lib/Reference/Passes.h"
#include "lib/Registration/Registration.h"
#include "lib/Sharding/Passes.h"
#include "lib/SplitKV/Passes.h"
#if ATTN_GPU
#include "lib/GPU/Passes.h"
#endif

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

/// Registers the preparation and a lowering as one pipeline.
static void registerLowering(const attn::Lowering &lowering) {
  PassPipelineRegistration<>(("attn-" + lowering.name + "-pipeline").str(),
                             lowering.summary, [lowering](OpPassManager &pm) {
                               attn::buildPreparationPipeline(pm);
                               lowering.buildKernels ? lowering.buildKernels(pm)
                                                     : lowering.build(pm);
                             });
}

void attn::registerPasses() {
  registerAttnAttentionPasses();
  registerAttnBlockMapPasses();
  registerAttnCPUPasses();
  registerAttnGradientPasses();
  registerAttnKernelPasses();
  registerAttnLayerPasses();
  registerAttnMemoryPasses();
  registerAttnMultiTokenPasses();
  registerAttnOnlinePasses();
  registerAttnPlanPasses();
  registerAttnProjectionPasses();
  registerAttnRaisePasses();
  registerAttnReferencePasses();
  registerAttnShardingPasses();
  registerAttnSplitKVPasses();
  // A lowering with a target of its own is another one for what says its
  // target.
  for (const Lowering &lowering : getLowerings())
    if (lowering.target.empty())
      registerLowering(lowering);
#if ATTN_GPU
  registerAttnGPUPasses();
  PassPipelineRegistration<>("attn-gpu-to-nvvm-pipeline",
                             "Lower gpu.module to the LLVM and NVVM dialects",
                             buildGPUToNVVMPipeline);
#endif
}
