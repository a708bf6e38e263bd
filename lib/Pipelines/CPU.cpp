//===- CPU.cpp - The CPU pipeline -----------------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/Passes.h"
#include "lib/CPU/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/Layer/Passes.h"
#include "lib/Memory/Passes.h"
#include "lib/MultiToken/Passes.h"
#include "lib/Online/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/Stages.h"
#include "lib/Plan/TargetDescription.h"
#include "lib/Plan/TileSizes.h"
#include "lib/Projection/Passes.h"
#include "lib/Reference/Passes.h"
#include "lib/SplitKV/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using attn::TargetDescription;

/// attn.attention to parallel tiles of queries, and those to contractions and
/// softmax steps over blocks of keys.
static void addTilingStage(OpPassManager &pm, const TargetDescription &target) {
  int64_t lanes = target.vectorBits / 32;
  auto tiles = attn::TileSizes::forVectors(target.vectorBits);
  pm.addPass(attn::createSpecializeQueries());
  attn::FoldGroupsOptions groups;
  groups.maximumRows = tiles.variantQueries;
  groups.plainRows = tiles.plainQueries;
  pm.addPass(attn::createFoldGroups(groups));
  // A packed batch as a whole, not sequence by sequence.
  if (target.hasPairs()) {
    attn::PadHeadsOptions padding;
    padding.multiple = target.getPairMultiple();
    padding.laneMultiple = lanes;
    pm.addPass(attn::createPadHeads(padding));
  }
  attn::SummarizeTablesOptions tables;
  tables.queries = tiles.variantQueries;
  tables.keys = tiles.keys;
  pm.addPass(attn::createSummarizeTables(tables));
  pm.addPass(attn::createSplitSequences());
  attn::TileAttentionOptions tiling;
  tiling.plainQueries = tiles.plainQueries;
  tiling.variantQueries = tiles.variantQueries;
  tiling.inPairs = target.hasPairs();
  pm.addPass(attn::createTileAttention(tiling));
  attn::TileProjectionsOptions projections;
  projections.laneMultiple = lanes;
  projections.inPairs = target.hasPairs();
  projections.bf16Tiles = target.bf16Tiles;
  pm.addPass(attn::createTileProjections(projections));
  attn::AttentionToOnlineOptions online;
  online.laneMultiple = lanes;
  online.maximumLanes = tiling.plainQueries;
  online.inPairs = target.hasPairs();
  pm.addPass(attn::createAttentionToOnline(online));
  pm.addPass(attn::createLowerPacks());
  attn::SplitKeysOptions chunks;
  chunks.chunk = tiles.chunk;
  pm.addPass(attn::createSplitKeys(chunks));
  attn::TileKeysOptions keys;
  keys.block = tiles.keys;
  pm.addPass(attn::createTileKeys(keys));
  attn::DecomposeOnlineOptions scores;
  scores.quantizeQueries = target.quantizeQueries;
  scores.bf16Tiles = target.bf16Tiles;
  // Narrower vectors have no such instructions.
  if (target.i8Dot && (target.vectorBits == 256 || target.vectorBits == 512))
    scores.i8Dot = target.vectorBits / 8;
  pm.addPass(attn::createDecomposeOnline(scores));
  pm.addPass(attn::createLowerPacks()); // Of blocks.
  pm.addPass(attn::createMultiTokenToPanels());
  pm.addPass(attn::createTileRows());
  // What was not tiled.
  pm.addPass(attn::createConvertAttnToLinalg());
  // No CSE: two tensors that are filled alike must become two buffers.
  pm.addPass(createCanonicalizerPass());
}

/// Buffers that are the tile's own, one of scores for all its blocks.
static void addTileBufferStage(OpPassManager &pm) {
  attn::addBufferStage(pm);
  // Copies that bufferization left of a buffer to itself go.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(bufferization::createBufferLoopHoistingPass());
  pm.addPass(attn::createPrefetchTiles());
  pm.addPass(attn::createPackInTiles());
  pm.addPass(attn::createPackRowsInTiles());
}

/// The tiles' operations on buffers to operations on vectors.
static void addVectorStage(OpPassManager &pm, const TargetDescription &target) {
  // Copies that bufferization made are operations on rows like others.
  pm.addPass(attn::createConvertMemRefCopyToLinalg());
  attn::VectorizeContractionsOptions contractions;
  contractions.vectorBits = target.vectorBits;
  contractions.vectorRegisters = target.vectorRegisters;
  contractions.bf16Dot = target.hasPairs();
  contractions.bf16Tiles = target.bf16Tiles;
  contractions.i8Dot = target.i8Dot;
  pm.addPass(attn::createVectorizeContractions(contractions));
  attn::VectorizeRowsOptions rows;
  rows.vectorBits = target.vectorBits;
  rows.bf16Dot = target.hasPairs();
  pm.addPass(attn::createVectorizeRows(rows));
  attn::ConvertAttnToVectorOptions softmax;
  softmax.vectorBits = target.vectorBits;
  softmax.scalef = target.scalef;
  pm.addPass(attn::createConvertAttnToVector(softmax));
}

void attn::buildCPUPipeline(OpPassManager &pm,
                            const TargetDescription &target) {
  addTensorStage(pm);
  addTilingStage(pm, target);
  addTileBufferStage(pm);
  addVectorStage(pm, target);
  addDeallocationStage(pm);
  pm.addPass(attn::createOutlineParallelLoops());
  addLoopStage(pm);
  addSmallFloatStage(pm, target.hasPairs());
  addLLVMStage(pm);
}
