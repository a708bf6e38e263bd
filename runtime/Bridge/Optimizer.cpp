//===- Optimizer.cpp - LLVM IR passes for kernels -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Bridge/Optimizer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/LoopStrengthReduce.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SeparateConstOffsetFromGEP.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <algorithm>

namespace {

/// Finds better sums for the addresses of loops that wait for memory: with
/// fewer registers, and without a product for each row. Where products keep the
/// processor busy, addresses are for nothing, and to look for better ones takes
/// a fifth of the time of generating code.
class ReduceStrength : public llvm::PassInfoMixin<ReduceStrength> {
public:
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &analyses) {
    auto &loops = analyses.getResult<llvm::LoopAnalysis>(function);
    bool streams = false, waits = false;
    for (const llvm::Loop *loop : loops.getLoopsInPreorder())
      if (loop->isInnermost()) {
        Counts counts(*loop);
        streams |= counts.areOfStream();
        waits |= counts.areOfMemory();
      }
    // Already the preparation takes a while.
    if (!streams && !waits)
      return llvm::PreservedAnalyses::all();
    return llvm::createFunctionToLoopPassAdaptor(OfLoop(/*all=*/streams))
        .run(function, analyses);
  }

private:
  /// What there is of some instructions in a loop.
  struct Counts {
    explicit Counts(const llvm::Loop &loop) {
      for (const llvm::BasicBlock *block : loop.blocks())
        for (const llvm::Instruction &instruction : *block)
          add(instruction);
    }
    void add(const llvm::Instruction &instruction) {
      loads += llvm::isa<llvm::LoadInst>(instruction);
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call)
        return;
      fetches += call->getIntrinsicID() == llvm::Intrinsic::prefetch;
      // Of vectors, with a sum: fma, or dot products of pairs.
      products += call->getType()->isVectorTy() && call->arg_size() == 3;
    }
    /// Whether there are fewer than three products for two loads.
    bool areOfMemory() const {
      return products > 0 && 2 * products < 3 * loads;
    }

    /// Whether what products need is fetched beside them. Of a block in a
    /// cache, the next one is fetched by the way.
    bool areOfStream() const {
      return products > 0 && 8 * fetches >= std::max(loads, 1u);
    }

    unsigned products = 0, loads = 0, fetches = 0;
  };

  struct OfLoop : llvm::PassInfoMixin<OfLoop> {
    explicit OfLoop(bool all) : all(all) {}
    llvm::PreservedAnalyses run(llvm::Loop &loop,
                                llvm::LoopAnalysisManager &analyses,
                                llvm::LoopStandardAnalysisResults &results,
                                llvm::LPMUpdater &updater) {
      if (!all && !(loop.isInnermost() && Counts(loop).areOfMemory()))
        return llvm::PreservedAnalyses::all();
      return llvm::LoopStrengthReducePass().run(loop, analyses, results,
                                                updater);
    }
    bool all;
  };
};

/// Hides shuffles from shuffles of them, as of transposed registers. The code
/// generator would look through each of the paths, of which there are twice as
/// many with every step, for what it is made of: for a kernel with a transposed
/// tile, that takes a sixth of its time, and finds nothing.
struct HideShuffles : llvm::PassInfoMixin<HideShuffles> {
  static bool isShuffle(const llvm::User *user) {
    return llvm::isa<llvm::ShuffleVectorInst>(user);
  }

  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &) {
    llvm::SmallVector<llvm::Instruction *> inner;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isShuffle(&instruction) && instruction.hasNUsesOrMore(2) &&
          llvm::all_of(instruction.users(), isShuffle))
        inner.push_back(&instruction);
    for (llvm::Instruction *shuffle : inner) {
      llvm::IRBuilder<> builder(shuffle->getNextNode());
      constexpr unsigned kFloatBits = 32;
      auto bits = unsigned(
          shuffle->getType()->getPrimitiveSizeInBits().getKnownMinValue());
      if (llvm::isa<llvm::ScalableVectorType>(shuffle->getType()) ||
          bits % kFloatBits != 0)
        continue;
      // A fence is of floats.
      auto *floats =
          llvm::FixedVectorType::get(builder.getFloatTy(), bits / kFloatBits);
      llvm::Value *hidden =
          builder.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {floats},
                                  {builder.CreateBitCast(shuffle, floats)});
      hidden = builder.CreateBitCast(hidden, shuffle->getType());
      shuffle->replaceUsesWithIf(
          hidden, [](llvm::Use &use) { return isShuffle(use.getUser()); });
    }
    llvm::PreservedAnalyses preserved;
    preserved.preserveSet<llvm::CFGAnalyses>();
    return preserved;
  }
};

} // namespace

static void addLoopPasses(llvm::FunctionPassManager &functions) {
  llvm::LoopPassManager loops;
  loops.addPass(llvm::LoopRotatePass());
  loops.addPass(llvm::LICMPass(llvm::LICMOptions()));
  functions.addPass(llvm::createFunctionToLoopPassAdaptor(
      std::move(loops), /*UseMemorySSA=*/true));
  functions.addPass(llvm::SimplifyCFGPass());
}

static void addScalarPasses(llvm::FunctionPassManager &functions) {
  functions.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  functions.addPass(llvm::EarlyCSEPass(/*UseMemorySSA=*/true));
  functions.addPass(llvm::SimplifyCFGPass());
  functions.addPass(llvm::InstCombinePass());
}

/// Inlines what must be, and runs `functions` on what is left.
static void run(llvm::Module &module, llvm::TargetMachine &target,
                llvm::FunctionPassManager functions) {
  llvm::LoopAnalysisManager loopAnalyses;
  llvm::FunctionAnalysisManager functionAnalyses;
  llvm::CGSCCAnalysisManager componentAnalyses;
  llvm::ModuleAnalysisManager moduleAnalyses;
  llvm::PassBuilder passes(&target);
  passes.registerModuleAnalyses(moduleAnalyses);
  passes.registerCGSCCAnalyses(componentAnalyses);
  passes.registerFunctionAnalyses(functionAnalyses);
  passes.registerLoopAnalyses(loopAnalyses);
  passes.crossRegisterProxies(loopAnalyses, functionAnalyses, componentAnalyses,
                              moduleAnalyses);
  llvm::ModulePassManager modules;
  modules.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  modules.addPass(
      llvm::createModuleToFunctionPassAdaptor(std::move(functions)));
  modules.run(module, moduleAnalyses);
}

void attn::simplify(llvm::Module &module, llvm::TargetMachine &target) {
  llvm::FunctionPassManager functions;
  addScalarPasses(functions);
  run(module, target, std::move(functions));
}

void attn::optimizeLoops(llvm::Module &module, llvm::TargetMachine &target) {
  llvm::FunctionPassManager functions;
  addLoopPasses(functions);
  functions.addPass(HideShuffles());
  functions.addPass(ReduceStrength());
  run(module, target, std::move(functions));
}

void attn::optimizeForGPU(llvm::Module &module, llvm::TargetMachine &target) {
  llvm::FunctionPassManager functions;
  addScalarPasses(functions);
  // One address for all that differ by constants, before loops hoist each, and
  // the code generator compares each with each.
  functions.addPass(llvm::SeparateConstOffsetFromGEPPass());
  functions.addPass(llvm::EarlyCSEPass());
  addLoopPasses(functions);
  functions.addPass(llvm::InstCombinePass());
  // What ends a rotated loop is mostly what its beginning asked, too.
  functions.addPass(llvm::EarlyCSEPass());
  run(module, target, std::move(functions));
}
