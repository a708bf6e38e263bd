//===- Compiler.cpp - Text to an object file ------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Compiler.h"
#include "runtime/JIT/Codegen.h"
#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/ParserLimits.h"
#include "runtime/JIT/Stopwatch.h"
#include "runtime/JIT/Target.h"

#include "runtime/Bridge/DiagnosticCollector.h"

#include "lib/Pipelines/Pipelines.h"
#include "lib/Pipelines/TargetDescription.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
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

Expected<CompiledObject>
jit::compileObject(std::string_view text, const CompileOptions &options,
                   const llvm::orc::JITTargetMachineBuilder &targetBuilder,
                   CompileStats &stats, FinishKernel finish) {
  Expected<const mlir::attn::Lowering *> lowering =
      findLowering(options.pipeline);
  if (!lowering)
    return std::move(lowering).error();
  if (std::optional<Error> error = checkParserLimits(text, options))
    return std::move(*error);

  Stopwatch stopwatch;
  mlir::MLIRContext context((*lowering)->usesDevice ? getDeviceRegistry()
                                                    : getKernelRegistry(),
                            mlir::MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false); // Places say where; the text is known.
  DiagnosticCollector diagnostics(&context);
  mlir::FailureOr<KernelModule> kernel = parseKernel(text, options, &context);
  if (mlir::failed(kernel))
    return diagnostics.takeError("cannot compile");
  stats.parseMs = stopwatch.lap();

  auto builder = targetBuilder;
  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> target =
      builder.createTargetMachine();
  if (!target)
    return Error{llvm::toString(target.takeError()), {}};
  mlir::PassManager pm(&context);
  // After each of some fifty passes it takes longer than they do: once at the
  // end. The tools verify after each.
  pm.enableVerifier(false);
  mlir::attn::TargetDescription description = describeTarget(**target);
  description.quantizeQueries = options.quantizeQueries;
  (*lowering)->build(pm, description);
  if (mlir::failed(pm.run(*kernel->module)) ||
      mlir::failed(mlir::verify(*kernel->module)))
    return diagnostics.takeError("cannot lower");
  stats.passesMs = stopwatch.lap();

  auto finishModule = [&](llvm::Module &module, llvm::TargetMachine &target) {
    Status status = addEntry(module);
    return status && finish ? finish(module, target, kernel->signature)
                            : status;
  };
  Expected<llvm::SmallVector<char, 0>> object =
      generateObject(*kernel->module, **target, stats, finishModule);
  if (!object) {
    Error error = diagnostics.takeError("cannot generate code");
    if (error.diagnostics.empty())
      error.message += ": " + object.error().message;
    return error;
  }
  return CompiledObject{std::move(kernel->signature), std::move(*object)};
}
