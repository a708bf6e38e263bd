//===- EmulatedKernel.cpp - A kernel of a GPU, run on the CPU -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/EmulatedKernel.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/Linker.h"
#include "runtime/JIT/Target.h"

#include "runtime/Bridge/DiagnosticCollector.h"

#include "lib/GPU/Passes.h"
#include "lib/Pipelines/Pipelines.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Target/TargetMachine.h"

using namespace attn;
using namespace attn::jit;

/// What the conversion says about the kernel with this entry.
static emulator::KernelCode describe(mlir::LLVM::LLVMFuncOp entry,
                                     const std::string &name) {
  emulator::KernelCode kernel;
  kernel.name = name;
  kernel.staticSharedBytes = std::size_t(
      entry->getAttrOfType<mlir::IntegerAttr>("attn.shared_bytes").getInt());
  if (auto size =
          entry->getAttrOfType<mlir::DenseI32ArrayAttr>("attn.block_size"))
    kernel.blockSize = {unsigned(size[0]), unsigned(size[1]),
                        unsigned(size[2])};
  return kernel;
}

static Expected<std::unique_ptr<LinkedCode>>
generateAndLink(mlir::ModuleOp module, const std::string &entry,
                DiagnosticCollector &diagnostics) {
  Expected<llvm::orc::JITTargetMachineBuilder> builder = selectTarget("");
  if (!builder)
    return std::move(builder).error();
  generateFast(*builder);
  auto target = builder->createTargetMachine();
  if (!target)
    return Error{llvm::toString(target.takeError()), {}};
  CompileStats stats;
  auto finish = [&](llvm::Module &llvmModule, llvm::TargetMachine &) {
    return setEntry(llvmModule, entry);
  };
  Expected<llvm::SmallVector<char, 0>> object =
      generateCode(module, **target, stats, finish);
  if (!object) {
    Error error = diagnostics.takeError("cannot generate code");
    error.message += ": " + object.error().message;
    return error;
  }
  Expected<std::shared_ptr<Linker>> linker = Linker::create(*builder);
  if (!linker)
    return std::move(linker).error();
  return (*linker)->link(*object);
}

Expected<EmulatedKernel> EmulatedKernel::compile(mlir::gpu::GPUModuleOp kernels,
                                                 const std::string &name) {
  DiagnosticCollector diagnostics(kernels.getContext());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(kernels.getLoc());
  module->push_back(kernels.clone());
  mlir::PassManager pm(kernels.getContext());
  mlir::attn::buildGPUToNVVMPipeline(pm);
  pm.addPass(mlir::attn::createConvertNVVMToEmulator());
  if (mlir::failed(pm.run(*module)))
    return diagnostics.takeError("cannot lower for the emulator");

  std::string entryName = "attn_emu_entry_" + name;
  auto entry = module->lookupSymbol<mlir::LLVM::LLVMFuncOp>(entryName);
  if (!entry)
    return Error{"no kernel '" + name + "' in the module", {}};
  emulator::KernelCode kernel = describe(entry, name);
  Expected<std::unique_ptr<LinkedCode>> code =
      generateAndLink(*module, entryName, diagnostics);
  if (!code)
    return std::move(code).error();
  kernel.entry = (*code)->getEntry();
  return EmulatedKernel(std::move(kernel), std::move(*code));
}

Status EmulatedKernel::launch(void **arguments,
                              const emulator::LaunchOptions &options) const {
  return emulator::launch(kernel, arguments, options);
}
