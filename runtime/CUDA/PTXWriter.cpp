//===- PTXWriter.cpp - Kernels in LLVM and NVVM to PTX --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/PTXWriter.h"

#include "runtime/Bridge/LLVMErrors.h"
#include "runtime/Bridge/Optimizer.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVM/ModuleToObject.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Pass.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar.h"

using namespace attn;
using namespace attn::cuda;
using llvm::StringRef;

namespace {
/// The passes of the code generator, but for two kinds. Of hundreds of
/// addresses that differ by constants, the strength reduction of loops makes
/// induction variables: kernels take more registers and more instructions, and
/// compiling them twice as long. And in a module of kernels with producers,
/// what moves instructions, as ptxas does, too, takes the address of workgroup
/// memory to where ptxas no longer sees that it is the same for all lanes: in
/// front of the branch between producers and consumers.
class CodegenPasses : public llvm::legacy::PassManager {
public:
  explicit CodegenPasses(bool hasProducers) : hasProducers(hasProducers) {}

  void add(llvm::Pass *pass) override {
    std::unique_ptr<llvm::Pass> owned(pass);
    const void *kind = pass->getPassID();
    bool moves = kind == &llvm::MachineCSELegacyID ||
                 kind == &llvm::EarlyMachineLICMID ||
                 kind == &llvm::MachineLICMID;
    if (!(moves && hasProducers) && kind != reduction->getPassID())
      llvm::legacy::PassManager::add(owned.release());
  }

private:
  bool hasProducers;
  // Its identifier is not public.
  std::unique_ptr<llvm::Pass> reduction{llvm::createLoopStrengthReducePass()};
};

/// Translates as upstream does, but reports errors of the code generator:
/// LLVM's own handler prints them, and ends the process.
class PTXWriter : public mlir::LLVM::ModuleToObject {
public:
  PTXWriter(mlir::gpu::GPUModuleOp kernels, StringRef architecture,
            StringRef features, std::string &failure)
      : ModuleToObject(*kernels, gpuTriple, architecture, features),
        failure(failure) {
    kernels.walk([&](mlir::NVVM::SetMaxRegisterOp) { hasProducers = true; });
  }

private:
  void handleModulePreLink(llvm::Module &llvmModule) override {
    collectErrors(llvmModule.getContext(), failure);
  }

  mlir::LogicalResult optimizeModule(llvm::Module &llvmModule, int) override {
    mlir::FailureOr<llvm::TargetMachine *> target = getOrCreateTargetMachine();
    if (mlir::failed(target))
      return mlir::failure();
    optimizeForGPU(llvmModule, **target);
    return mlir::success();
  }

  mlir::FailureOr<llvm::SmallVector<char, 0>>
  moduleToObject(llvm::Module &llvmModule) override {
    mlir::FailureOr<llvm::TargetMachine *> target = getOrCreateTargetMachine();
    if (mlir::failed(target))
      return mlir::failure();
    llvm::SmallVector<char, 0> ptx;
    llvm::raw_svector_ostream os(ptx);
    CodegenPasses passes(hasProducers);
    if ((*target)->addPassesToEmitFile(passes, os, /*DwoOut=*/nullptr,
                                       llvm::CodeGenFileType::AssemblyFile))
      return module.emitError("the target cannot emit PTX");
    passes.run(llvmModule);
    if (!failure.empty())
      return mlir::failure();
    return ptx;
  }

  std::string &failure;
  bool hasProducers = false;
};
} // namespace

std::optional<std::string> cuda::translateToPTX(mlir::gpu::GPUModuleOp kernels,
                                                StringRef architecture,
                                                StringRef features,
                                                std::string &failure) {
  PTXWriter writer(kernels, architecture, features, failure);
  std::optional<llvm::SmallVector<char, 0>> ptx = writer.run();
  if (!ptx)
    return std::nullopt;
  return std::string(ptx->begin(), ptx->end());
}
