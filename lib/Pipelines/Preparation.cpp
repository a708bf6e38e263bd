//===- Preparation.cpp - What every lowering starts from ------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/Layer/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Sharding/Passes.h"

#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Inlines calls and simplifies functions, but for loops that one iteration or
/// none is known of: a step that becomes a constant 0 has to be seen.
static std::unique_ptr<Pass> createInliner() {
  return createInlinerPass(/*opPipelines=*/{}, [](OpPassManager &pm) {
    pm.addPass(createCanonicalizerPass(
        GreedyRewriteConfig(),
        /*disabledPatterns=*/{"(anonymous namespace)::SimplifyTrivialLoops"}));
  });
}

void attn::buildShardingPipeline(OpPassManager &pm) {
  // Before regions see other numbers.
  pm.addPass(attn::createRecordPositions());
  pm.addPass(attn::createDecomposeLayer());
  // What is simplified is what ranks compute.
  pm.addPass(createInlinerPass(/*opPipelines=*/{}, [](OpPassManager &) {}));
  pm.addPass(createSymbolDCEPass());
}

void attn::buildPreparationPipeline(OpPassManager &pm) {
  // One rank computes the whole.
  pm.addPass(attn::createDropShardings());
  pm.addPass(attn::createCheckLimits());
  pm.addPass(attn::createCheckConstantOperands());
  pm.addPass(attn::createFoldTrivialComparisons());
  pm.addPass(attn::createSplitIndexCasts());
  pm.addPass(attn::createDecomposeLayer());
  pm.addPass(createInliner());
  pm.addPass(createSymbolDCEPass());
  // Arguments of functions are constants now.
  pm.addPass(attn::createCheckConstantOperands());
  pm.addPass(attn::createDecomposeAggregates());
  pm.addPass(createConvertElementwiseToLinalgPass());
}
