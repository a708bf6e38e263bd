//===- Codegen.cpp - LLVM dialect to machine code -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Codegen.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CrashGuard.h"
#include "runtime/Bridge/CutFunctions.h"
#include "runtime/Bridge/LLVMErrors.h"
#include "runtime/Bridge/Optimizer.h"
#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/Stopwatch.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Pass.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>
#include <functional>
#include <optional>

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

namespace {

/// Leaves out of code generation what `optimizeLoops` has done where it pays,
/// and what prepares for it. An `OptPassGate` would leave out that pass, but
/// not the analyses that it asks for.
class WithoutStrengthReduction : public llvm::legacy::PassManagerBase {
public:
  explicit WithoutStrengthReduction(llvm::legacy::PassManagerBase &passes)
      : passes(passes) {}

  void add(llvm::Pass *pass) override {
    if (pass->getPassName() == "Loop Strength Reduction" ||
        pass->getPassName() == "Canonicalize Freeze Instructions in Loops")
      delete pass;
    else
      passes.add(pass);
  }

private:
  llvm::legacy::PassManagerBase &passes;
};

/// What LLVM makes of an IR module, one after the other.
class Generator {
public:
  Generator(llvm::TargetMachine &target, CompileStats &stats)
      : target(target), stats(stats) {
    collectErrors(context, failure);
  }

  /// A simplified module without large functions.
  Expected<std::unique_ptr<llvm::Module>> translate(mlir::ModuleOp source,
                                                    FinishModule finish) {
    Stopwatch stopwatch;
    std::unique_ptr<llvm::Module> module =
        mlir::translateModuleToLLVMIR(source, context, "attn");
    if (!module)
      return Error{"translation to LLVM IR", {}};
    module->setTargetTriple(target.getTargetTriple());
    module->setDataLayout(target.createDataLayout());
    if (Status status = finish(*module, target); !status)
      return status.error();
    stats.translateMs = stopwatch.lap();
    simplify(*module, target);
    cutFunctions(*module);
    stats.optimizeMs = stopwatch.lap();
    return module;
  }

  Expected<Object> generate(llvm::Module &module,
                            CodeForm form = CodeForm::Object) {
    Stopwatch stopwatch;
    optimizeLoops(module, target);
    stats.optimizeMs += stopwatch.lap();
    Object object;
    llvm::raw_svector_ostream os(object);
    if (form == CodeForm::LLVM) {
      module.print(os, /*AAW=*/nullptr);
      return object;
    }
    llvm::legacy::PassManager codegen;
    WithoutStrengthReduction passes(codegen);
    if (target.addPassesToEmitFile(passes, os, /*DwoOut=*/nullptr,
                                   form == CodeForm::Assembly
                                       ? llvm::CodeGenFileType::AssemblyFile
                                       : llvm::CodeGenFileType::ObjectFile))
      return Error{"the target cannot emit this form of code", {}};
    codegen.run(module);
    if (!failure.empty())
      return Error{"code generation: " + failure, {}};
    stats.codegenMs = stopwatch.lap();
    return object;
  }

  llvm::LLVMContext &getContext() { return context; }

private:
  llvm::TargetMachine &target;
  CompileStats &stats;
  std::string failure;
  llvm::LLVMContext context;
};

/// The names of functions that are compiled together.
using Part = llvm::StringSet<>;

} // namespace

Expected<Object> jit::generateCode(mlir::ModuleOp source,
                                   llvm::TargetMachine &target,
                                   CompileStats &stats, FinishModule finish,
                                   CodeForm form) {
  Generator generator(target, stats);
  auto module = generator.translate(source, finish);
  if (!module)
    return std::move(module).error();
  return generator.generate(**module, form);
}

//===----------------------------------------------------------------------===//
// On several threads
//===----------------------------------------------------------------------===//

/// Parts of about the same number of instructions, at most `most`; one, if
/// there are no two functions that are worth a thread.
static std::vector<Part> divide(llvm::Module &module, unsigned most) {
  constexpr unsigned kWorthAThread = 250;
  std::vector<std::pair<unsigned, llvm::StringRef>> functions;
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      functions.emplace_back(function.getInstructionCount(),
                             function.getName());
  llvm::sort(functions, std::greater<>());
  auto large = llvm::count_if(functions, [](const auto &function) {
    return function.first >= kWorthAThread;
  });
  std::vector<Part> parts(std::clamp<std::size_t>(std::size_t(large), 1, most));
  std::vector<unsigned> sizes(parts.size());
  for (auto [size, name] : functions) {
    auto least = std::size_t(llvm::min_element(sizes) - sizes.begin());
    sizes[least] += size;
    parts[least].insert(name);
  }
  return parts;
}

/// Lets objects of one module find each other's functions and variables.
static void exportAll(llvm::Module &module) {
  auto makeExternal = [](llvm::GlobalValue &value) {
    if (value.isDeclaration() || !value.hasLocalLinkage())
      return;
    if (!value.hasName())
      value.setName("attn_variable");
    value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    // Objects may lie far from each other.
    value.setDSOLocal(false);
  };
  for (llvm::Function &function : module)
    makeExternal(function);
  // Of constants too there is one, whose address all agree on.
  for (llvm::GlobalVariable &variable : module.globals())
    makeExternal(variable);
}

/// Leaves of the module what one object defines.
static void keep(llvm::Module &module, const Part &part, bool isFirst) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration() && !part.contains(function.getName()))
      function.deleteBody();
  if (isFirst)
    return;
  for (llvm::GlobalVariable &variable : module.globals())
    if (variable.isConstant() && !variable.isDeclaration())
      variable.setLinkage(llvm::GlobalValue::AvailableExternallyLinkage);
    else
      variable.setInitializer(nullptr);
}

Expected<std::vector<Object>>
jit::generateObjects(mlir::ModuleOp source, llvm::TargetMachine &target,
                     const llvm::orc::JITTargetMachineBuilder &builder,
                     unsigned threads, CompileStats &stats,
                     FinishModule finish) {
  Generator generator(target, stats);
  auto module = generator.translate(source, finish);
  if (!module)
    return std::move(module).error();
  std::vector<Part> parts(1);
  if (threads > 1)
    parts = divide(**module, threads);
  std::vector<Object> objects;
  if (parts.size() == 1) {
    Expected<Object> object = generator.generate(**module);
    if (!object)
      return std::move(object).error();
    objects.push_back(std::move(*object));
    return objects;
  }

  // A context belongs to one thread: each reads the module, and keeps its part.
  exportAll(**module);
  llvm::SmallVector<char, 0> bitcode;
  llvm::raw_svector_ostream os(bitcode);
  llvm::WriteBitcodeToFile(**module, os);
  struct Job {
    CompileStats stats;
    std::optional<Expected<Object>> object;
    std::optional<std::string> crash;
  };
  std::vector<Job> jobs(parts.size());
  auto run = [&](std::size_t number) {
    Job &job = jobs[number];
    job.crash = runGuarded([&] {
      auto copy = builder;
      auto target = llvm::cantFail(copy.createTargetMachine());
      Generator generator(*target, job.stats);
      auto module = llvm::parseBitcodeFile(
          {llvm::StringRef(bitcode.data(), bitcode.size()), "attn"},
          generator.getContext());
      if (!module) {
        job.object = Error{llvm::toString(module.takeError()), {}};
        return;
      }
      keep(**module, parts[number], /*isFirst=*/number == 0);
      job.object = generator.generate(**module);
    });
  };
  std::vector<std::function<void()>> functions;
  for (std::size_t number = 0; number < jobs.size(); ++number)
    functions.push_back([&run, number] { run(number); });
  Stopwatch stopwatch;
  if (Status status = runOnThreads(
          llvm::to_vector_of<llvm::function_ref<void()>>(functions));
      !status)
    return status.error();
  double together = stopwatch.lap(), optimizeMs = 0;
  for (Job &job : jobs) {
    if (job.crash)
      return Error{"the compiler crashed while generating code (" + *job.crash +
                       ")",
                   {}};
    if (!*job.object)
      return std::move(*job.object).error();
    objects.push_back(std::move(**job.object));
    optimizeMs = std::max(optimizeMs, job.stats.optimizeMs);
  }
  stats.optimizeMs += optimizeMs;
  stats.codegenMs = together - optimizeMs;
  return objects;
}
