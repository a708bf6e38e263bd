//===- Passes.cpp - Attn's passes and pipelines by name -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Attention/Passes.h"
#include "lib/BlockMap/Passes.h"
#include "lib/CPU/Passes.h"
#include "lib/GPU/Passes.h"
#include "lib/Kernel/Passes.h"
#include "lib/Layer/Passes.h"
#include "lib/Memory/Passes.h"
#include "lib/MultiToken/Passes.h"
#include "lib/Online/Passes.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Plan/OptionChecks.h"
#include "lib/Plan/TargetDescription.h"
#include "lib/Projection/Passes.h"
#include "lib/Reference/Passes.h"
#include "lib/Registration/Registration.h"
#include "lib/SplitKV/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace {
/// A target as options of a pipeline. The defaults do not depend on the machine
/// that the tool runs on, so that its output does not either.
struct TargetOptions : PassPipelineOptions<TargetOptions> {
  Option<unsigned> vectorBits{*this, "vector-bits",
                              llvm::cl::desc("Width of a vector register"),
                              llvm::cl::init(target.vectorBits)};
  Option<unsigned> vectorRegisters{*this, "vector-registers",
                                   llvm::cl::desc("Number of vector registers"),
                                   llvm::cl::init(target.vectorRegisters)};
  Option<bool> scalef{*this, "scalef", llvm::cl::desc("Use vscalef (AVX512F)"),
                      llvm::cl::init(target.scalef)};
  Option<bool> bf16Dot{
      *this, "bf16-dot",
      llvm::cl::desc("Use dot products of bf16 pairs (AVX512-BF16)"),
      llvm::cl::init(target.bf16Dot)};
  Option<bool> bf16Tiles{
      *this, "bf16-tiles",
      llvm::cl::desc("Use products of tiles of bf16 pairs (AMX-BF16)"),
      llvm::cl::init(target.bf16Tiles)};
  Option<bool> i8Dot{
      *this, "i8-dot",
      llvm::cl::desc("Use dot products of i8 (AVX512-VNNI, or AVX-VNNI on 256 "
                     "bits)"),
      llvm::cl::init(target.i8Dot)};
  Option<bool> quantizeQueries{
      *this, "quantize-queries",
      llvm::cl::desc("Multiply keys in caches of i8 as integers, with queries "
                     "rounded to i8, where i8-dot allows it"),
      llvm::cl::init(target.quantizeQueries)};

  /// Nothing, or what is wrong with an option.
  std::string check() const {
    std::string problem = attn::checkVectorBits(vectorBits);
    return problem.empty() ? attn::checkVectorRegisters(vectorRegisters)
                           : problem;
  }

  attn::TargetDescription describe() const {
    return {vectorBits, vectorRegisters, scalef,         bf16Dot,
            bf16Tiles,  i8Dot,           quantizeQueries};
  }

private:
  static constexpr attn::TargetDescription target = {};
};
} // namespace

/// Registers the preparation and a lowering, which PassPipelineRegistration
/// could not refuse to build.
static void registerLowering(const attn::Lowering &lowering) {
  auto build =
      [lowering](OpPassManager &pm, StringRef text,
                 llvm::function_ref<LogicalResult(const Twine &)> onError) {
        TargetOptions options;
        if (failed(options.parseFromString(text)))
          return failure();
        if (std::string problem = options.check(); !problem.empty())
          return onError(problem);
        attn::buildPreparationPipeline(pm);
        if (lowering.buildKernels)
          lowering.buildKernels(pm);
        else
          lowering.build(pm, options.describe());
        return success();
      };
  registerPassPipeline(
      ("attn-" + lowering.name + "-pipeline").str(), lowering.summary, build,
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> take) {
        take(TargetOptions());
      });
}

void attn::registerPasses() {
  registerAttnAttentionPasses();
  registerAttnBlockMapPasses();
  registerAttnCPUPasses();
  registerAttnGPUPasses();
  registerAttnKernelPasses();
  registerAttnLayerPasses();
  registerAttnMemoryPasses();
  registerAttnMultiTokenPasses();
  registerAttnOnlinePasses();
  registerAttnProjectionPasses();
  registerAttnReferencePasses();
  registerAttnSplitKVPasses();
  for (const Lowering &lowering : getLowerings())
    registerLowering(lowering);
  PassPipelineRegistration<>("attn-gpu-to-nvvm-pipeline",
                             "Lower gpu.module to the LLVM and NVVM dialects",
                             buildGPUToNVVMPipeline);
}
