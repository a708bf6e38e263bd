//===- GPUHost.cpp - Code that launches kernels of GPUs -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/GPU/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/Stages.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void attn::buildGPUHostPipeline(OpPassManager &pm) {
  pm.addPass(attn::createConvertLaunchToRuntime());
  addHostStage(pm);
}
