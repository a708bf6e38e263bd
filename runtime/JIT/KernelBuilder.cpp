//===- KernelBuilder.cpp - Text to code that can be called ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/KernelBuilder.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/JIT/DeviceTarget.h"
#include "runtime/JIT/KernelCode.h"
#include "runtime/JIT/Stopwatch.h"
#include "runtime/JIT/Target.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>
#include <thread>

using namespace attn;
using namespace attn::jit;
using detail::KernelCode;
using llvm::orc::JITTargetMachineBuilder;

static std::shared_ptr<const support::Threads>
findThreads(const EngineOptions &options) {
  unsigned count = options.threads;
  if (count == 0) // Which may not be known.
    count = std::max(1u, std::thread::hardware_concurrency());
  constexpr unsigned largest = std::numeric_limits<int>::max();
  return std::make_shared<const support::Threads>(int(std::min(count, largest)),
                                                  options.parallelFor);
}

Expected<std::shared_ptr<KernelBuilder>>
KernelBuilder::create(const EngineOptions &options) {
  Expected<JITTargetMachineBuilder> target = selectTarget(options.cpu);
  if (!target)
    return std::move(target).error();
  std::optional<ObjectCache> disk;
  if (!options.cacheDirectory.empty()) {
    Expected<ObjectCache> cache = ObjectCache::open(options.cacheDirectory);
    if (!cache)
      return std::move(cache).error();
    disk = std::move(*cache);
  }
  Expected<std::shared_ptr<Linker>> linker = Linker::create(*target);
  if (!linker)
    return std::move(linker).error();
  return std::make_shared<KernelBuilder>(std::move(*target), std::move(*linker),
                                         findThreads(options), std::move(disk));
}

unsigned KernelBuilder::countCodegenThreads() const {
  return std::min(unsigned(threads->count),
                  std::max(1u, std::thread::hardware_concurrency()));
}

Expected<CompiledObject>
KernelBuilder::loadOrCompile(const KernelSource &source, FormIndex form,
                             const std::string &key, CompileStats &stats,
                             const DeviceTarget *device) const {
  bool isKept = disk && !key.empty();
  if (isKept) {
    if (std::optional<CompiledObject> loaded = disk->load(key)) {
      stats.source = CompileStats::Source::diskCache;
      return std::move(*loaded);
    }
  }
  Expected<CompiledObject> compiled =
      compileObject(source, form, target, machine, countCodegenThreads(), stats,
                    /*finish=*/nullptr, device);
  // A ptxas that had no memory or room for files may not fail the next time,
  // and what is on disk would have the driver compile for good.
  if (isKept && compiled &&
      llvm::all_of(compiled->devices, [](const DeviceModule &module) {
        return module.code.remark.empty();
      }))
    disk->store(key, *compiled);
  return compiled;
}

std::unique_ptr<LazyForms>
KernelBuilder::createForms(const CompiledObject &ofMany,
                           const KernelSource &source,
                           const std::string &key) const {
  auto build = [self = shared_from_this(), source,
                key](FormIndex form) -> Expected<CodePtr> {
    std::string name = form ? std::to_string(*form) : "all";
    std::string own = key.empty() ? key : attn::computeKey({key, name});
    return callOnThread<CodePtr>([&] {
      CompileStats stats;
      return self->buildForm(source, form, own, stats, /*device=*/nullptr);
    });
  };
  return std::make_unique<LazyForms>(ofMany.signature, *ofMany.forms,
                                     std::move(build));
}

Expected<CodePtr> KernelBuilder::build(const KernelSource &source,
                                       const std::string &key,
                                       CompileStats &stats,
                                       const DeviceTarget *device) const {
  FormIndex form;
  if (source.options.pipeline == "cpu")
    form = formOfMany;
  return buildForm(source, form, key, stats, device);
}

Expected<CodePtr> KernelBuilder::buildForm(const KernelSource &source,
                                           FormIndex form,
                                           const std::string &key,
                                           CompileStats &stats,
                                           const DeviceTarget *device) const {
  Expected<CompiledObject> compiled =
      loadOrCompile(source, form, key, stats, device);
  if (!compiled)
    return std::move(compiled).error();
  Stopwatch stopwatch;
  Expected<std::unique_ptr<LinkedCode>> code = linker->link(compiled->objects);
  if (!code)
    return std::move(code).error();
  stats.linkMs = stopwatch.lap();
  std::shared_ptr<const DeviceKernels> kernels;
  if (device) {
    auto loaded = DeviceKernels::load(device->device, compiled->devices);
    if (!loaded)
      return std::move(loaded).error();
    kernels = std::move(*loaded);
    for (const std::string &remark : kernels->getRemarks())
      compiled->remarks.push_back({.severity = Diagnostic::Severity::remark,
                                   .file = source.options.fileName,
                                   .message = remark});
    stats.deviceMs += stopwatch.lap();
  }
  std::unique_ptr<LazyForms> forms;
  if (compiled->forms && form == formOfMany)
    forms = createForms(*compiled, source, key);
  return std::make_shared<const KernelCode>(
      std::move(compiled->signature), std::move(*code), threads,
      source.options.pipeline, std::move(kernels), std::move(compiled->remarks),
      std::move(forms));
}
