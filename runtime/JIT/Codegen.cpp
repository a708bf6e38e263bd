//===- Codegen.cpp - LLVM dialect to machine code -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Codegen.h"
#include "runtime/Bridge/LLVMErrors.h"
#include "runtime/Bridge/Optimizer.h"
#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/Stopwatch.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace attn;
using namespace attn::jit;

// Hides every other function from the linker. Those that are called once become
// part of what calls them.
Status jit::setEntry(llvm::Module &module, llvm::StringRef name) {
  llvm::Function *entry = module.getFunction(name);
  if (!entry)
    return Error{"translation to LLVM IR: no function '" + name.str() + "'",
                 {}};
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  entry->setName(entryName);
  entry->setLinkage(llvm::GlobalValue::ExternalLinkage);
  for (llvm::Function &function : module)
    if (function.hasLocalLinkage() && function.hasOneUse())
      function.addFnAttr(llvm::Attribute::AlwaysInline);
  return {};
}

Status jit::addEntry(llvm::Module &module) {
  std::string name = ("_mlir_ciface_" + kernelFunctionName).str();
  llvm::Function *kernel = module.getFunction(name);
  if (!kernel)
    return Error{"translation to LLVM IR: no function '" + name + "'", {}};

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
  return setEntry(module, entryName);
}

Expected<llvm::SmallVector<char, 0>>
jit::generateObject(mlir::ModuleOp mlirModule, llvm::TargetMachine &target,
                    CompileStats &stats, FinishModule finish) {
  Stopwatch stopwatch;
  std::string failure;
  llvm::LLVMContext context;
  collectErrors(context, failure);

  std::unique_ptr<llvm::Module> module =
      mlir::translateModuleToLLVMIR(mlirModule, context, "attn");
  if (!module)
    return Error{"translation to LLVM IR", {}};
  module->setTargetTriple(target.getTargetTriple());
  module->setDataLayout(target.createDataLayout());
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
