//===- Compiler.cpp - Text to an object file ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Compiler.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/DeviceTarget.h"
#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/KernelSignature.h"
#include "runtime/JIT/PassTrace.h"
#include "runtime/JIT/Stopwatch.h"
#include "runtime/JIT/Target.h"

#include "dialect/Plan/Target.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/QueryForms.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace attn;
using namespace attn::jit;

static Expected<const mlir::attn::Lowering *>
findLowering(const std::string &name) {
  std::string available;
  for (const mlir::attn::Lowering &lowering : mlir::attn::getLowerings()) {
    if (lowering.name == name)
      return &lowering;
    available += (available.empty() ? "'" : ", '") + lowering.name.str() + "'";
  }
  return Error{"unknown pipeline '" + name + "'; there is " + available, {}};
}

/// Lowers a kernel. What it launches on a GPU is compiled between the
/// lowering's two parts.
static Expected<std::vector<DeviceModule>>
lower(mlir::ModuleOp module, const mlir::attn::Lowering &lowering,
      const DeviceTarget *device, CompileStats &stats, CompileTrace &trace) {
  auto run = [&](auto build) {
    mlir::PassManager pm(module.getContext());
    // After each of some fifty passes it takes longer than they do: once at the
    // end. The tools verify after each.
    pm.enableVerifier(false);
    tracePasses(pm, trace);
    build(pm);
    return mlir::failed(pm.run(module)) || mlir::failed(mlir::verify(module));
  };
  Stopwatch stopwatch;
  std::vector<DeviceModule> devices;
  if (lowering.buildKernels) {
    if (run(lowering.buildKernels))
      return trace.takeError("cannot lower");
    stats.passesMs += stopwatch.lap();
    trace.enter("while compiling for a GPU");
    if (!device->hasMemoryFor(module))
      return trace.takeError("cannot lower");
    for (auto kernels : module.getOps<mlir::gpu::GPUModuleOp>()) {
      Expected<cuda::DeviceCode> code = device->compile(kernels);
      if (!code)
        return std::move(code).error();
      devices.push_back({kernels.getName().str(), std::move(*code)});
    }
    stats.deviceMs += stopwatch.lap();
  }
  if (run(lowering.build))
    return trace.takeError("cannot lower");
  stats.passesMs += stopwatch.lap();
  return devices;
}

namespace {
/// A module of the LLVM dialect.
struct LoweredKernel : KernelModule {
  std::optional<KernelForms> forms;
  std::vector<DeviceModule> devices;
};
} // namespace

static decltype(KernelForms::length)
convertLength(const decltype(mlir::attn::QueryForms::length) &length) {
  if (auto *lengths = std::get_if<mlir::attn::SequenceLengths>(&length))
    return SequenceLengths{lengths->argument, lengths->isCumulative};
  return convertSize(std::get<mlir::attn::LinearSize>(length));
}

/// Has only one form of a kernel lowered, if it has several.
static std::optional<KernelForms> selectForm(mlir::ModuleOp module,
                                             unsigned form) {
  auto entry = module.lookupSymbol<mlir::func::FuncOp>(kernelFunctionName);
  std::optional<mlir::attn::QueryForms> forms =
      mlir::attn::findQueryForms(entry);
  if (!forms)
    return std::nullopt;
  auto last = unsigned(forms->most.size());
  mlir::attn::selectQueryForm(entry, *forms, std::min(form, last));
  return KernelForms{convertLength(forms->length),
                     {forms->most.begin(), forms->most.end()}};
}

/// Parses and lowers a text for `target`.
static Expected<LoweredKernel>
lowerText(const KernelSource &source, FormIndex form,
          const mlir::attn::Lowering &lowering,
          const llvm::TargetMachine &target, const Machine &machine,
          CompileStats &stats, const DeviceTarget *device,
          CompileTrace &trace) {
  Stopwatch stopwatch;
  mlir::FailureOr<KernelModule> kernel =
      parseKernel(source.text, source.options, source.plans, trace);
  if (mlir::failed(kernel))
    return trace.takeError("cannot compile");
  setTarget(*kernel->module,
            describeTarget(target, machine) +
                (device ? device->parameters : lowering.target.str()),
            source.options.quantizeQueries);
  std::optional<KernelForms> forms;
  if (form)
    forms = selectForm(*kernel->module, *form);
  stats.parseMs = stopwatch.lap();
  Expected<std::vector<DeviceModule>> devices =
      lower(*kernel->module, lowering, device, stats, trace);
  if (!devices)
    return std::move(devices).error();
  return LoweredKernel{std::move(*kernel), std::move(forms),
                       std::move(*devices)};
}

/// What generates the code of a lowering's kernels.
static llvm::orc::JITTargetMachineBuilder
selectGenerator(llvm::orc::JITTargetMachineBuilder target,
                const mlir::attn::Lowering &lowering) {
  if (lowering.isEmulated)
    generateFast(target);
  return target;
}

static Expected<std::unique_ptr<llvm::TargetMachine>>
createTarget(llvm::orc::JITTargetMachineBuilder builder) {
  auto target = builder.createTargetMachine();
  if (!target)
    return Error{llvm::toString(target.takeError()), {}};
  return std::move(*target);
}

/// That code could not be generated, because of `error`.
static Error explain(CompileTrace &trace, const Error &cause) {
  Error error = trace.takeError("cannot generate code");
  if (error.diagnostics.empty())
    error.message += ": " + cause.message;
  return error;
}

/// What `compileObject` does, where a crash ends only the compilation.
static Expected<CompiledObject>
compileText(const KernelSource &source, FormIndex form,
            const mlir::attn::Lowering &lowering,
            const llvm::orc::JITTargetMachineBuilder &targetBuilder,
            const Machine &machine, unsigned codegenThreads,
            CompileStats &stats, FinishKernel finish,
            const DeviceTarget *device, CompileTrace &trace) {
  auto target = createTarget(targetBuilder);
  if (!target)
    return std::move(target).error();
  Expected<LoweredKernel> kernel = lowerText(source, form, lowering, **target,
                                             machine, stats, device, trace);
  if (!kernel)
    return std::move(kernel).error();
  auto finishModule = [&](llvm::Module &module, llvm::TargetMachine &target) {
    Status status = addEntry(module);
    return status && finish ? finish(module, target, kernel->signature)
                            : status;
  };
  trace.enter("while generating code");
  Expected<std::vector<Object>> objects =
      generateObjects(*kernel->module, **target, targetBuilder, codegenThreads,
                      stats, finishModule);
  if (!objects)
    return explain(trace, objects.error());
  return CompiledObject{std::move(kernel->signature), std::move(kernel->forms),
                        std::move(*objects), std::move(kernel->devices),
                        trace.takeRemarks()};
}

/// What `emitCode` does, where a crash ends only the compilation.
static Expected<std::string>
emitText(const KernelSource &source, CodeForm form,
         const mlir::attn::Lowering &lowering,
         const llvm::orc::JITTargetMachineBuilder &targetBuilder,
         const Machine &machine, CompileTrace &trace) {
  auto target = createTarget(targetBuilder);
  if (!target)
    return std::move(target).error();
  CompileStats stats;
  Expected<LoweredKernel> kernel =
      lowerText(source, /*form=*/std::nullopt, lowering, **target, machine,
                stats, /*device=*/nullptr, trace);
  if (!kernel)
    return std::move(kernel).error();
  if (form == CodeForm::MLIR) {
    std::string module;
    llvm::raw_string_ostream os(module);
    kernel->module->print(os);
    return module;
  }
  trace.enter("while generating code");
  Expected<Object> code = generateCode(
      *kernel->module, **target, stats,
      [](llvm::Module &module, llvm::TargetMachine &) {
        return addEntry(module);
      },
      form);
  if (!code)
    return explain(trace, code.error());
  return std::string(code->data(), code->size());
}

static const mlir::DialectRegistry &
getRegistry(const mlir::attn::Lowering &lowering) {
  return lowering.usesDevice ? getDeviceRegistry() : getKernelRegistry();
}

Expected<CompiledObject>
jit::compileObject(const KernelSource &source, FormIndex form,
                   const llvm::orc::JITTargetMachineBuilder &targetBuilder,
                   const Machine &machine, unsigned codegenThreads,
                   CompileStats &stats, FinishKernel finish,
                   const DeviceTarget *device) {
  const CompileOptions &options = source.options;
  Expected<const mlir::attn::Lowering *> lowering =
      findLowering(options.pipeline);
  if (!lowering)
    return std::move(lowering).error();
  return compileGuarded<CompiledObject>(
      "cannot compile", options.fileName, getRegistry(**lowering),
      [&](CompileTrace &trace) {
        return compileText(source, form, **lowering,
                           selectGenerator(targetBuilder, **lowering), machine,
                           codegenThreads, stats, finish, device, trace);
      });
}

Expected<std::string>
jit::emitCode(const KernelSource &source, CodeForm form,
              const llvm::orc::JITTargetMachineBuilder &targetBuilder,
              const Machine &machine) {
  const CompileOptions &options = source.options;
  Expected<const mlir::attn::Lowering *> lowering =
      findLowering(options.pipeline);
  if (!lowering)
    return std::move(lowering).error();
  if ((*lowering)->buildKernels)
    return Error{"pipeline '" + options.pipeline +
                     "': its code is that of two processors, which there is no "
                     "one form of",
                 {}};
  return compileGuarded<std::string>(
      "cannot compile", options.fileName, getRegistry(**lowering),
      [&](CompileTrace &trace) {
        return emitText(source, form, **lowering,
                        selectGenerator(targetBuilder, **lowering), machine,
                        trace);
      });
}
