//===- Stages.cpp - What lowerings have in common -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Pipelines/Stages.h"
#include "lib/Kernel/Passes.h"
#include "lib/Memory/Passes.h"
#include "lib/Sharding/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ConvertToLLVM/ToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/TensorToLinalg/TensorToLinalgPass.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/Transforms/RequestCWrappers.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// On a GPU, so that positions fit 32 bits, and sums of two of them.
static constexpr int64_t kMostRows = (int64_t(1) << 29) - 1;

void attn::addTensorStage(OpPassManager &pm, bool onGPU) {
  pm.addPass(attn::createResultsToDestinations());
  // Both leave operations that need checks: slices and divisions.
  pm.addPass(createConvertTensorToLinalgPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(attn::createAddRuntimeChecks(
      {/*onlyRead=*/onGPU, /*mostRows=*/onGPU ? kMostRows : 0}));
}

void attn::addBufferStage(OpPassManager &pm) {
  pm.addPass(attn::createSeparateResults());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  pm.addPass(attn::createBufferizeKernels());
  pm.addPass(attn::createLowerDenseRows());
  // Copies that bufferization left of a buffer to itself go.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
}

/// Upstream's pipeline for it simplifies four times, which takes longer than
/// the rest of it.
void attn::addDeallocationStage(OpPassManager &pm) {
  pm.addPass(bufferization::createOwnershipBasedBufferDeallocationPass());
  pm.addPass(bufferization::createBufferDeallocationSimplificationPass());
  pm.addPass(bufferization::createLowerDeallocationsPass());
  // What is freed for certain is freed without a condition.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(attn::createConvertMemRefCopyToLinalg());
}

void attn::addLoopStage(OpPassManager &pm) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(attn::createExpandMath());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createSCFToControlFlowPass());
}

void attn::addSmallFloatStage(OpPassManager &pm, Rounding rounding) {
  pm.addPass(math::createMathExtendToSupportedTypes());
  arith::ArithEmulateUnsupportedFloatsOptions emulation;
  emulation.sourceTypeStrs = {"bf16", "f16", "f8E4M3FN", "f8E5M2"};
  pm.addPass(arith::createArithEmulateUnsupportedFloats(emulation));
  pm.addPass(attn::createKeepRounding());
  pm.addPass(attn::createExpandFloat8());
  if (rounding == Rounding::OfTarget) {
    pm.addPass(attn::createExpandArith());
    return;
  }
  arith::ArithExpandOpsPassOptions expansion;
  expansion.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expansion));
}

void attn::addLLVMStage(OpPassManager &pm) {
  // Before there are declarations of library functions, which have no wrappers.
  pm.addNestedPass<func::FuncOp>(LLVM::createLLVMRequestCWrappersPass());
  // The approximation loses log1p's accuracy near 0, which is all it is for.
  ConvertMathToLLVMPassOptions math;
  math.approximateLog1p = false;
  pm.addPass(createConvertMathToLLVMPass(math));
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.vectorContractLowering = vector::VectorContractLowering::OuterProduct;
  vectors.x86Vector = true;
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  pm.addPass(attn::createConvertRanksToRuntime());
  pm.addPass(attn::createConvertToRuntimeCalls());
  // All other dialects, with types that loops carry, such as AMX's tiles.
  pm.addPass(createConvertToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(attn::createCheckLowered());
}

void attn::addHostStage(OpPassManager &pm) {
  addLoopStage(pm);
  addSmallFloatStage(pm, Rounding::Exact);
  addLLVMStage(pm);
}
