//===- Reference.cpp - The reference pipeline -----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/Stages.h"
#include "lib/Reference/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void attn::buildReferencePipeline(OpPassManager &pm) {
  addTensorStage(pm);
  pm.addPass(attn::createLowerBlockRanges());
  pm.addPass(attn::createConvertAttnToLinalg());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  addBufferStage(pm);
  addDeallocationStage(pm);
  addLoopStage(pm);
  addSmallFloatStage(pm, Rounding::Exact);
  addLLVMStage(pm);
}
