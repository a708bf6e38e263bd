//===- Preparation.cpp - What every lowering starts from ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Kernel/Passes.h"
#include "lib/Layer/Passes.h"
#include "lib/Pipelines/Pipelines.h"

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void attn::buildPreparationPipeline(OpPassManager &pm) {
  pm.addPass(attn::createCheckRegionSizes());
  pm.addPass(attn::createCheckConstantOperands());
  pm.addPass(attn::createFoldTrivialComparisons());
  pm.addPass(attn::createSplitIndexCasts());
  pm.addPass(attn::createDecomposeLayer());
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  // Arguments of functions are constants now.
  pm.addPass(attn::createCheckConstantOperands());
  pm.addPass(attn::createDecomposeAggregates());
  pm.addPass(createConvertElementwiseToLinalgPass());
}
