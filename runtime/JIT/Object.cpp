//===- Object.cpp - Compiles kernels ahead of time ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/object.h"

#include "runtime/Bridge/CompileThread.h"
#include "runtime/JIT/Compiler.h"
#include "runtime/JIT/Machine.h"
#include "runtime/JIT/StaticEntry.h"
#include "runtime/JIT/Target.h"

using namespace attn;
using namespace attn::jit;

Expected<ObjectFile> attn::compileToObject(std::string_view text,
                                           const ObjectOptions &options) {
  if (options.pipeline.starts_with("gpu"))
    return Error{"pipeline '" + options.pipeline +
                     "': its kernels run only in the process that compiles "
                     "them, not from object files",
                 {}};
  if (!options.name.empty())
    if (Status status = checkStaticName(options.name); !status)
      return status.error();
  Expected<llvm::orc::JITTargetMachineBuilder> target =
      selectStaticTarget(options.cpu);
  if (!target)
    return std::move(target).error();
  std::string name = options.name;
  auto finish = [&](llvm::Module &module, llvm::TargetMachine &target,
                    const Signature &signature) -> Status {
    if (name.empty()) {
      name = signature.entry;
      if (Status status = checkStaticName(name); !status)
        return status.error();
    }
    return addStaticEntry(module, target, name, signature);
  };
  CompileOptions compileOptions = {.entry = options.entry,
                                   .pipeline = options.pipeline,
                                   .quantizeQueries = options.quantizeQueries,
                                   .fileName = options.fileName};
  CompileStats stats;
  Expected<CompiledObject> compiled = callOnThread<CompiledObject>([&] {
    return compileObject({std::string(text), compileOptions, /*plans=*/{}},
                         /*form=*/std::nullopt, *target, Machine(),
                         /*codegenThreads=*/1, stats, finish);
  });
  if (!compiled)
    return std::move(compiled).error();
  std::string source = "@" + compiled->signature.entry + " of " +
                       options.fileName + " for " + target->getCPU();
  const Object &object = compiled->objects.front();
  return ObjectFile{{object.data(), object.size()},
                    writeStaticHeader(name, source, compiled->signature),
                    std::move(compiled->remarks)};
}
