//===- CPU.cpp - The CPU pipeline -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/Passes.h"
#include "lib/CPU/Passes.h"
#include "lib/Gradient/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/Layer/Passes.h"
#include "lib/Memory/Passes.h"
#include "lib/MultiToken/Passes.h"
#include "lib/Online/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/Stages.h"
#include "lib/Plan/Passes.h"
#include "lib/Projection/Passes.h"
#include "lib/Reference/Passes.h"
#include "lib/SplitKV/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Attention to parallel tiles of queries, and softmax over blocks of keys.
static void addTilingStage(OpPassManager &pm) {
  pm.addPass(attn::createRecordPositions());
  pm.addPass(attn::createSpecializeQueries());
  pm.addPass(attn::createPlanKernels());
  pm.addPass(attn::createDensifyRows());
  pm.addPass(attn::createFoldGroups());
  pm.addPass(attn::createPadHeads());
  pm.addPass(attn::createPackTables());
  pm.addPass(attn::createSummarizeTables());
  pm.addPass(attn::createTileAttention());
  pm.addPass(attn::createTileProjections());
  pm.addPass(attn::createAttentionToOnline());
  pm.addPass(attn::createLowerPacks());
  pm.addPass(attn::createSplitKeys());
  pm.addPass(attn::createTileKeys());
  pm.addPass(attn::createDecomposeOnline());
  pm.addPass(attn::createTileBackward());
  pm.addPass(attn::createTileTangent());
  pm.addPass(attn::createLowerPacks()); // Of blocks, and for gradients.
  pm.addPass(attn::createMultiTokenToStrips());
  pm.addPass(attn::createTileRows());
  // What was not tiled.
  pm.addPass(attn::createConvertAttnToLinalg());
  // No CSE: two tensors that are filled alike must become two buffers.
  pm.addPass(createCanonicalizerPass());
}

/// Buffers that are the tile's own, one of scores for all its blocks.
static void addTileBufferStage(OpPassManager &pm) {
  attn::addBufferStage(pm);
  pm.addNestedPass<func::FuncOp>(bufferization::createBufferLoopHoistingPass());
  pm.addPass(attn::createLowerKeptPacks());
}

/// The tiles' operations on buffers to operations on vectors.
static void addVectorStage(OpPassManager &pm) {
  // Copies that bufferization made are operations on rows like others.
  pm.addPass(attn::createConvertMemRefCopyToLinalg());
  pm.addPass(attn::createVectorizeContractions());
  pm.addPass(attn::createVectorizeRows());
  pm.addPass(attn::createConvertAttnToVector());
  // What no product and no softmax fetches in shares.
  pm.addPass(attn::createLowerPrefetches());
}

void attn::buildCPUPipeline(OpPassManager &pm) {
  addTensorStage(pm);
  pm.addNestedPass<func::FuncOp>(attn::createTransposesToViews());
  addTilingStage(pm);
  addTileBufferStage(pm);
  addVectorStage(pm);
  addDeallocationStage(pm);
  pm.addPass(attn::createOutlineParallelLoops());
  addLoopStage(pm);
  addSmallFloatStage(pm, Rounding::OfTarget);
  addLLVMStage(pm);
}
