//===- Engine.cpp - Compiles, and remembers what it compiled --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"

#include "runtime/Bridge/BuildId.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/FileCache.h"
#include "runtime/JIT/Compiler.h"
#include "runtime/JIT/DeviceTarget.h"
#include "runtime/JIT/KernelBuilder.h"
#include "runtime/JIT/KernelCode.h"
#include "runtime/JIT/MemoryCache.h"
#include "runtime/JIT/PlanStore.h"
#include "runtime/JIT/StandardCall.h"
#include "runtime/JIT/Stopwatch.h"
#include "runtime/JIT/Target.h"
#include "runtime/JIT/Tuner.h"

#include "llvm/ADT/StringExtras.h"

#include <mutex>

using namespace attn;
using namespace attn::jit;

struct __attribute__((visibility("hidden"))) Engine::Impl {
  Impl(std::shared_ptr<const KernelBuilder> builder, cuda::DeviceOptions gpu,
       std::optional<TuningOptions> tuning)
      : builder(std::move(builder)), compilerIdentity(identifyCompiler()),
        gpu(std::move(gpu)), tuning(std::move(tuning)),
        plans(compilerIdentity, this->builder->getFiles()) {}

  std::string identifyCompiler() const;
  std::string computeKey(std::string_view text, const CompileOptions &options,
                         const DeviceTarget *device) const;
  /// Compiles for this machine, and for `device` if it is not null.
  Expected<Kernel> compileFor(std::string_view text,
                              const CompileOptions &options,
                              const DeviceTarget *device);
  Expected<Kernel> compile(std::string_view text,
                           const CompileOptions &options);
  Expected<Tuning> tune(std::string_view text,
                        std::span<const Argument> arguments,
                        std::span<const TensorView> results,
                        const TuningOptions &tuning,
                        const CompileOptions &options);
  /// The plans that were found for a text, after looking for them if the engine
  /// does; and what there is to say about it.
  PlanStore::Found findPlans(std::string_view text,
                             const CompileOptions &options);

  const std::shared_ptr<const KernelBuilder> builder;
  const std::string compilerIdentity;
  LazyDeviceTarget gpu;
  const std::optional<TuningOptions> tuning;

  MemoryCache kernels;
  PlanStore plans;
  std::mutex tuningMutex;
};

/// Everything but the text and the options that decides what code comes out.
std::string Engine::Impl::identifyCompiler() const {
  const llvm::orc::JITTargetMachineBuilder &target = builder->getTarget();
  return llvm::join_items('\0', identifyBuild(), target.getTargetTriple().str(),
                          target.getCPU(), target.getFeatures().getString(),
                          builder->getMachine().text());
}

std::string Engine::Impl::computeKey(std::string_view text,
                                     const CompileOptions &options,
                                     const DeviceTarget *device) const {
  // The name of the file is in the messages of checks in the code.
  return attn::computeKey({compilerIdentity, text, options.entry,
                           options.pipeline,
                           options.quantizeQueries ? "quantize-queries" : "",
                           options.fileName, device ? device->identity : ""});
}

Expected<Kernel> Engine::Impl::compile(std::string_view text,
                                       const CompileOptions &options) {
  if (options.pipeline != "gpu")
    return compileFor(text, options, nullptr);
  Error error;
  if (auto target = gpu.get()) {
    Expected<Kernel> kernel = compileFor(text, options, target->get());
    if (kernel)
      return kernel;
    error = std::move(kernel).error();
  } else {
    error = std::move(target).error();
  }
  if (!options.fallBackToCPU)
    return error;
  CompileOptions onCPU = options;
  onCPU.pipeline = "cpu";
  Expected<Kernel> kernel = compileFor(text, onCPU, nullptr);
  if (kernel)
    kernel->compileRemarks.insert(
        kernel->compileRemarks.begin(),
        {.severity = Diagnostic::Severity::remark,
         .file = options.fileName,
         .message = "is compiled for the CPU: " + error.message});
  return kernel;
}

Expected<Kernel> Engine::Impl::compileFor(std::string_view text,
                                          const CompileOptions &options,
                                          const DeviceTarget *device) {
  Stopwatch stopwatch;
  CompileStats stats;
  std::string key = computeKey(text, options, device);
  PlanStore::Found tuned = findPlans(text, options);
  KernelSource source = {std::string(text), options,
                         tuned.plans.value_or(Plans())};
  for (const std::string &plan : source.plans)
    key = attn::computeKey({key, plan});
  stats.source = CompileStats::Source::memoryCache;
  Expected<CodePtr> code = kernels.get(key, [&] {
    stats.source = CompileStats::Source::compiler;
    return callOnThread<CodePtr>(
        [&] { return builder->build(source, key, stats, device); });
  });
  if (!code)
    return std::move(code).error();
  stats.totalMs = stopwatch.lap();
  Kernel kernel(*code, stats);
  if (!tuned.remark.empty())
    kernel.compileRemarks.push_back({.severity = Diagnostic::Severity::remark,
                                     .file = options.fileName,
                                     .message = tuned.remark});
  return kernel;
}

static Status check(const TuningOptions &tuning) {
  constexpr int most = 24 * 60 * 60; // A day.
  if (tuning.seconds >= 0 && tuning.seconds <= most)
    return {};
  return Error{"seconds: expected 0 to " + std::to_string(most) + ", got " +
                   std::to_string(tuning.seconds),
               {}};
}

/// That of plans, which are of one text, and are stored for each processor.
static std::string computePlanKey(std::string_view text,
                                  const CompileOptions &options) {
  return attn::computeKey({"plans", text, options.entry,
                           options.quantizeQueries ? "quantize-queries" : ""});
}

Expected<Tuning> Engine::Impl::tune(std::string_view text,
                                    std::span<const Argument> arguments,
                                    std::span<const TensorView> results,
                                    const TuningOptions &tuning,
                                    const CompileOptions &options) {
  if (options.pipeline != "cpu")
    return Error{
        "pipeline: expected 'cpu' to tune, got '" + options.pipeline + "'", {}};
  if (Status status = check(tuning); !status)
    return status.error();
  // Others would be measured, too.
  std::scoped_lock lock(tuningMutex);
  auto target = builder->getTarget();
  auto machineOfTarget = target.createTargetMachine();
  if (!machineOfTarget)
    return Error{llvm::toString(machineOfTarget.takeError()), {}};
  std::string description =
      describeTarget(**machineOfTarget, builder->getMachine());
  auto compile = [&](const Plans &plans) -> Expected<Kernel> {
    CompileStats stats;
    Expected<CodePtr> code = callOnThread<CodePtr>([&] {
      return builder->build({std::string(text), options, plans}, /*key=*/"",
                            stats);
    });
    if (!code)
      return std::move(code).error();
    return Kernel(*code, stats);
  };
  auto propose = [&](const Plans &plans) {
    return callOnThread<std::vector<Plans>>([&] {
      return proposePlans(text, options, description, plans, arguments);
    });
  };
  Expected<Tuner::Outcome> outcome =
      Tuner(compile, propose, {arguments, results}, tuning).run();
  if (!outcome)
    return std::move(outcome).error();
  bool isDefault = llvm::all_of(
      outcome->plans, [](const std::string &plan) { return plan.empty(); });
  Plans found = isDefault ? Plans() : outcome->plans;
  bool isStored = plans.store(computePlanKey(text, options), found);
  Expected<Kernel> kernel = compileFor(text, options, /*device=*/nullptr);
  if (!kernel)
    return std::move(kernel).error();
  if (!isStored)
    kernel->compileRemarks.push_back(
        {.severity = Diagnostic::Severity::remark,
         .file = options.fileName,
         .message = "its tuned plans cannot be written into the cache's "
                    "directory, and are for this process alone"});
  Expected<std::string> written = callOnThread<std::string>(
      [&] { return writePlans(text, options, found); });
  if (!written)
    return std::move(written).error();
  return Tuning{*kernel,
                std::move(outcome->plans),
                std::move(*written),
                outcome->timesFaster,
                outcome->numTried,
                outcome->isComplete};
}

PlanStore::Found Engine::Impl::findPlans(std::string_view text,
                                         const CompileOptions &options) {
  if (options.pipeline != "cpu")
    return {};
  std::string key = computePlanKey(text, options);
  PlanStore::Found found = plans.find(key);
  if (found.plans || !tuning)
    return found;
  auto fail = [&](const Error &error) -> PlanStore::Found {
    PlanStore::Found none = {Plans(), "is not tuned: " + error.message};
    plans.remember(key, none);
    return none;
  };
  CompileStats stats;
  Expected<CodePtr> code = callOnThread<CodePtr>([&] {
    return builder->build({std::string(text), options, Plans()},
                          computeKey(text, options, nullptr), stats);
  });
  if (!code) // Which is what compiling it says.
    return {Plans(), ""};
  Expected<StandardCall> call = StandardCall::create(Kernel(*code, stats));
  if (!call)
    return fail(call.error());
  MeasuredCall measured = call->get();
  Expected<Tuning> tuned =
      tune(text, measured.arguments, measured.results, *tuning, options);
  return tuned ? plans.find(key) : fail(tuned.error());
}

Engine::Engine(std::shared_ptr<Impl> impl) : impl(std::move(impl)) {}

Expected<Engine> Engine::create(const EngineOptions &options) {
  if (options.tuning)
    if (Status status = check(*options.tuning); !status)
      return Error{"tuning." + status.error().message, {}};
  Expected<std::shared_ptr<KernelBuilder>> builder =
      KernelBuilder::create(options);
  if (!builder)
    return std::move(builder).error();
  return Engine(std::make_shared<Impl>(
      std::move(*builder),
      cuda::DeviceOptions{.ordinal = options.gpu, .driver = options.gpuDriver},
      options.tuning));
}

Expected<Kernel> Engine::compile(std::string_view text,
                                 const CompileOptions &options) const {
  return impl->compile(text, options);
}

Expected<std::string> Engine::emit(std::string_view text, CodeForm form,
                                   const CompileOptions &options) const {
  KernelSource source = {
      std::string(text), options,
      impl->findPlans(text, options).plans.value_or(Plans())};
  return callOnThread<std::string>([&] {
    return emitCode(source, form, impl->builder->getTarget(),
                    impl->builder->getMachine());
  });
}

Expected<Tuning> Engine::tune(std::string_view text,
                              std::span<const Argument> arguments,
                              std::span<const TensorView> results,
                              const TuningOptions &tuning,
                              const CompileOptions &options) const {
  return impl->tune(text, arguments, results, tuning, options);
}
