//===- Blocks.cpp - The blocks that a kernel computes ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/blocks.h"

#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/Machine.h"
#include "runtime/JIT/Target.h"

#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CompileTrace.h"

#include "dialect/Plan/Target.h"
#include "lib/BlockMap/BlockMap.h"

#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace attn;
using namespace attn::jit;
using mlir::attn::BlockMap;

static Expected<std::string> showBlocks(std::string_view text,
                                        const CompileOptions &source,
                                        const BlockOptions &options,
                                        llvm::StringRef target,
                                        CompileTrace &trace) {
  mlir::FailureOr<KernelModule> kernel =
      parseKernel(text, source, /*plans=*/{}, trace);
  if (mlir::failed(kernel))
    return trace.takeError("cannot show blocks");
  mlir::ModuleOp module = *kernel->module;
  constexpr llvm::StringLiteral name = mlir::attn::TargetAttr::kModuleAttr;
  module->setAttr(name, mlir::attn::parseTarget(target, module.getContext()));
  trace.enter("while looking at blocks");
  mlir::FailureOr<std::vector<BlockMap>> maps = mlir::attn::computeBlockMaps(
      *kernel->module, {.batch = options.batch,
                        .queryLength = options.queryLength,
                        .keyLength = options.keyLength,
                        .offset = options.offset});
  if (mlir::failed(maps))
    return trace.takeError("cannot show blocks");
  for (BlockMap &map : *maps)
    map.function = kernel->signature.entry;
  std::string result;
  llvm::raw_string_ostream os(result);
  if (options.format == BlockOptions::Format::svg)
    mlir::attn::drawBlockMaps(os, *maps);
  else
    mlir::attn::printBlockMaps(os, *maps);
  return result;
}

Expected<std::string> attn::showBlocks(std::string_view text,
                                       const BlockOptions &options) {
  Expected<llvm::orc::JITTargetMachineBuilder> builder =
      selectTarget(options.cpu);
  if (!builder)
    return std::move(builder).error();
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> target =
      builder->createTargetMachine();
  if (!target)
    return Error{llvm::toString(target.takeError()), {}};
  std::string description = describeTarget(**target, readMachine());
  CompileOptions source = {.entry = options.entry,
                           .fileName = options.fileName};
  return callOnThread<std::string>([&] {
    return compileGuarded<std::string>(
        "cannot show blocks", options.fileName, getKernelRegistry(),
        [&](CompileTrace &trace) {
          return ::showBlocks(text, source, options, description, trace);
        });
  });
}
