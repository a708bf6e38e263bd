//===- GPUEmulator.cpp - The GPU pipeline, for the emulator ---------------===//
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

void attn::buildGPUEmulatorPipeline(OpPassManager &pm) {
  buildGPUPipeline(pm);
  pm.addPass(attn::createConvertNVVMToEmulator());
  // Kernels are in the LLVM dialect by now.
  addHostStage(pm);
}
