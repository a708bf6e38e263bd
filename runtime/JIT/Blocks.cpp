//===- Blocks.cpp - The blocks that a kernel computes ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/blocks.h"

#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/ParserLimits.h"
#include "runtime/JIT/Target.h"

#include "runtime/Bridge/DiagnosticCollector.h"

#include "lib/Pipelines/TargetDescription.h"
#include "lib/Transforms/BlockMap.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace attn;
using namespace attn::jit;
using mlir::attn::BlockMap;

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
  CompileOptions source = {.entry = options.entry,
                           .fileName = options.fileName};
  if (std::optional<Error> error = checkParserLimits(text, source))
    return std::move(*error);

  mlir::MLIRContext context(getKernelRegistry(),
                            mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  DiagnosticCollector diagnostics(&context);
  mlir::FailureOr<KernelModule> kernel = parseKernel(text, source, &context);
  if (mlir::failed(kernel))
    return diagnostics.takeError("cannot show blocks");
  mlir::attn::TargetDescription description = describeTarget(**target);
  mlir::FailureOr<std::vector<BlockMap>> maps = mlir::attn::computeBlockMaps(
      *kernel->module, {.batch = options.batch,
                        .queryLength = options.queryLength,
                        .keyLength = options.keyLength,
                        .offset = options.offset,
                        .vectorBits = description.vectorBits,
                        .inPairs = description.hasPairs()});
  if (mlir::failed(maps))
    return diagnostics.takeError("cannot show blocks");
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
