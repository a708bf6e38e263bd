//===- Passes.cpp - Attn's passes and pipelines by name -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Conversion/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Registration/Registration.h"
#include "lib/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void attn::registerPasses() {
  registerAttnTransformsPasses();
  registerAttnConversionPasses();
  for (const Lowering &lowering : getLowerings())
    PassPipelineRegistration<>("attn-" + lowering.name.str() + "-pipeline",
                               lowering.summary,
                               [build = lowering.build](OpPassManager &pm) {
                                 buildPreparationPipeline(pm);
                                 build(pm);
                               });
}
