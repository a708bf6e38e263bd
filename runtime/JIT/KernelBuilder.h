//===- KernelBuilder.h - Text to code that can be called --------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_JIT_KERNELBUILDER_H
#define ATTN_RUNTIME_JIT_KERNELBUILDER_H

#include "runtime/JIT/Compiler.h"
#include "runtime/JIT/Linker.h"
#include "runtime/JIT/Machine.h"
#include "runtime/JIT/MemoryCache.h"
#include "runtime/JIT/ObjectCache.h"

#include <memory>
#include <optional>
#include <string>

namespace attn::jit {

/// Makes code of texts, for one machine. Lives as long as kernels of which
/// forms may still have to be compiled.
class KernelBuilder : public std::enable_shared_from_this<KernelBuilder> {
public:
  static Expected<std::shared_ptr<KernelBuilder>>
  create(const EngineOptions &options);

  KernelBuilder(llvm::orc::JITTargetMachineBuilder target,
                std::shared_ptr<Linker> linker,
                std::shared_ptr<const support::Threads> threads,
                std::optional<ObjectCache> disk)
      : target(std::move(target)), machine(readMachine()),
        linker(std::move(linker)), threads(std::move(threads)),
        disk(std::move(disk)) {}

  /// Code of `source`: from the disk, where it is kept under `key` unless that
  /// is empty, or compiled. For a CPU, of its forms for numbers of queries it
  /// has that of many, and compiles others when they are called. `device` is
  /// what pipeline "gpu" compiles for.
  Expected<CodePtr> build(const KernelSource &source, const std::string &key,
                          CompileStats &stats,
                          const DeviceTarget *device = nullptr) const;

  const llvm::orc::JITTargetMachineBuilder &getTarget() const { return target; }
  const Machine &getMachine() const { return machine; }
  /// Null if nothing is kept on disk.
  const FileCache *getFiles() const {
    return disk ? &disk->getFiles() : nullptr;
  }

private:
  Expected<CompiledObject> loadOrCompile(const KernelSource &source,
                                         FormIndex form, const std::string &key,
                                         CompileStats &stats,
                                         const DeviceTarget *device) const;
  Expected<CodePtr> buildForm(const KernelSource &source, FormIndex form,
                              const std::string &key, CompileStats &stats,
                              const DeviceTarget *device) const;
  std::unique_ptr<LazyForms> createForms(const CompiledObject &ofMany,
                                         const KernelSource &source,
                                         const std::string &key) const;
  unsigned countCodegenThreads() const;

  const llvm::orc::JITTargetMachineBuilder target;
  const Machine machine;
  const std::shared_ptr<Linker> linker;
  const std::shared_ptr<const support::Threads> threads;
  const std::optional<ObjectCache> disk;
};

} // namespace attn::jit

#endif // ATTN_RUNTIME_JIT_KERNELBUILDER_H
