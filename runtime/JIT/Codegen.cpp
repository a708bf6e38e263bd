//===- Codegen.cpp - LLVM dialect to machine code -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/Stopwatch.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace attn;
using namespace attn::jit;

/// Adds `attn_entry`, which takes the kernel's arguments out of an array, and
/// hides every other function from the linker.
static bool addEntry(llvm::Module &module) {
  llvm::Function *kernel =
      module.getFunction(("_mlir_ciface_" + kernelFunctionName).str());
  if (!kernel)
    return false;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);

  llvm::IRBuilder<> builder(module.getContext());
  auto *type = llvm::FunctionType::get(builder.getVoidTy(), builder.getPtrTy(),
                                       /*isVarArg=*/false);
  auto *entry = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage,
                                       entryName, module);
  builder.SetInsertPoint(
      llvm::BasicBlock::Create(module.getContext(), "", entry));
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : kernel->args()) {
    llvm::Value *slot = builder.CreateConstInBoundsGEP1_64(
        builder.getPtrTy(), entry->getArg(0), argument.getArgNo());
    llvm::Value *value = builder.CreateLoad(builder.getPtrTy(), slot);
    // A tensor is passed by its descriptor's address, a scalar by value.
    if (!argument.getType()->isPointerTy())
      value = builder.CreateLoad(argument.getType(), value);
    arguments.push_back(value);
  }
  builder.CreateCall(kernel, arguments);
  builder.CreateRetVoid();
  return true;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &target) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // Kernels come vectorised, and unrolled where it pays: looking for more takes
  // longer than all the rest.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder passes(&target, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  // More optimisation takes longer and does not make kernels faster.
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1)
      .run(module, modules);
}

Expected<llvm::SmallVector<char, 0>>
jit::generateObject(mlir::ModuleOp mlirModule, llvm::TargetMachine &target,
                    CompileStats &stats, FinishModule finish) {
  Stopwatch stopwatch;
  std::string failure;
  llvm::LLVMContext context;
  // LLVM's own handler prints, and ends the process on errors.
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *failure) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        llvm::raw_string_ostream os(*static_cast<std::string *>(failure));
        llvm::DiagnosticPrinterRawOStream printer(os);
        info->print(printer);
      },
      &failure);

  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(mlirModule, context, "attn");
  if (!module || !addEntry(*module))
    return Error{"translation to LLVM IR", {}};
  module->setTargetTriple(target.getTargetTriple());
  module->setDataLayout(target.createDataLayout());
  if (finish)
    if (Status status = finish(*module, target); !status)
      return status.error();
  stats.translateMs = stopwatch.lap();

  optimize(*module, target);
  stats.optimizeMs = stopwatch.lap();

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream os(object);
  llvm::legacy::PassManager codegen;
  if (target.addPassesToEmitFile(codegen, os, /*DwoOut=*/nullptr,
                                 llvm::CodeGenFileType::ObjectFile))
    return Error{"the target cannot emit object files", {}};
  codegen.run(*module);
  if (!failure.empty())
    return Error{"code generation: " + failure, {}};
  stats.codegenMs = stopwatch.lap();
  return object;
}
