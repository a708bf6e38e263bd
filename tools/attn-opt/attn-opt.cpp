//===- attn-opt.cpp - Runs passes on IR text --------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialect/Plan/Target.h"
#include "lib/Registration/Registration.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/Bridge/CompileTrace.h"
#include "runtime/Bridge/TextLimits.h"
#include "runtime/JIT/Target.h"
#include "tools/OutputFiles.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

/// Parses and verifies one module where a crash of upstream is an error, and
/// what upstream is undefined for. Leaves every other error to who parses it
/// for good. The module begins in `line`, if lines count from 0.
static LogicalResult tryParser(StringRef text, size_t line, StringRef file,
                               const DialectRegistry &registry) {
  std::string placed(line, '\n');
  placed += text;
  ::attn::Expected<bool> tried = ::attn::callOnThread<bool>([&] {
    return ::attn::compileGuarded<bool>(
        "attn-opt", file.str(), registry, [&](::attn::CompileTrace &trace) {
          trace.getContext()->allowUnregisteredDialects();
          trace.parse(placed);
          if (trace.refusedUnverifiable())
            return ::attn::Expected<bool>(trace.takeError("attn-opt"));
          return ::attn::Expected<bool>(true);
        });
  });
  if (tried.ok())
    return success();
  if (tried.error().diagnostics.empty()) {
    llvm::errs() << "attn-opt: " << tried.error().message << "\n";
    return failure();
  }
  const ::attn::Diagnostic &fault = tried.error().diagnostics.back();
  llvm::errs() << file << ":" << fault.line << ":" << fault.column
               << ": error: " << fault.message << "\n";
  return failure();
}

/// Says what the parser or a verifier would not survive in a file, which
/// `marker` splits into modules if there is one.
static LogicalResult checkText(const llvm::MemoryBuffer &file, StringRef marker,
                               const DialectRegistry &registry) {
  StringRef rest = file.getBuffer(), name = file.getBufferIdentifier();
  if (rest.starts_with("ML\xefR")) // Bytecode.
    return success();
  if (std::optional<::attn::TextFault> fault = ::attn::findTextFault(rest)) {
    llvm::errs() << name << ":" << fault->line << ":" << fault->column
                 << ": error: " << fault->message << "\n";
    return failure();
  }
  for (size_t line = 0; !rest.empty();) {
    StringRef module = rest;
    if (marker.empty())
      rest = {};
    else
      std::tie(module, rest) = rest.split(marker);
    if (failed(tryParser(module, line, name, registry)))
      return failure();
    line += module.count('\n');
  }
  return success();
}

namespace {
/// Makes a target that of modules that say none.
struct SetTarget : PassWrapper<SetTarget, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SetTarget)

  explicit SetTarget(std::string parameters)
      : parameters(std::move(parameters)) {}

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<mlir::attn::AttnDialect>();
  }

  void runOnOperation() override {
    constexpr StringLiteral name = mlir::attn::TargetAttr::kModuleAttr;
    if (getOperation()->hasAttr(name))
      return;
    mlir::attn::TargetAttr target =
        mlir::attn::parseTarget(parameters, &getContext());
    if (!target)
      return signalPassFailure();
    getOperation()->setAttr(name, target);
  }

  std::string parameters;
};
} // namespace

/// The parameters of the target that `--attn-target` asks for.
static FailureOr<std::string> findTarget(StringRef text) {
  if (text.consume_front("{") && text.consume_back("}"))
    return text.str();
  ::attn::Expected<std::string> found =
      ::attn::jit::describeProcessor(text.str());
  if (found.ok())
    return std::move(*found);
  llvm::errs() << "attn-target: " << found.error().message << "\n";
  return failure();
}

/// What MlirOptMain does, but for a look at the text before it is parsed.
static LogicalResult runPasses(int argc, char **argv,
                               DialectRegistry &registry) {
  llvm::cl::opt<std::string> target(
      "attn-target",
      llvm::cl::desc(
          "The attn.target of modules that have none: 'host', a "
          "processor that LLVM knows, or '{vector_bits = 512, ...}'"));
  auto [inputName, outputName] = registerAndParseCLIOptions(
      argc, argv, "Attn optimizer driver\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (!target.empty()) {
    FailureOr<std::string> parameters = findTarget(target);
    if (failed(parameters))
      return failure();
    MlirOptMainConfig passes = config;
    config.setPassPipelineSetupFn(
        [passes, parameters](PassManager &pm) mutable {
          pm.addPass(std::make_unique<SetTarget>(*parameters));
          return passes.setupPassPipeline(pm);
        });
  }
  if (config.shouldShowDialects() || config.shouldListPasses())
    return MlirOptMain(argc, argv, inputName, outputName, registry);

  llvm::InitLLVM init(argc, argv);
  if (::attn::Status status = ::attn::checkOutputFiles(
          {{"-o", outputName}}, {{"the input", inputName}});
      !status) {
    llvm::errs() << "error: " << status.error().message << "\n";
    return failure();
  }
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> input = openInputFile(inputName, &error);
  std::unique_ptr<llvm::ToolOutputFile> output;
  if (input && failed(checkText(*input, config.inputSplitMarker(), registry)))
    return failure();
  if (!input || !(output = openOutputFile(outputName, &error))) {
    llvm::errs() << error << "\n";
    return failure();
  }
  if (failed(MlirOptMain(output->os(), std::move(input), registry, config)))
    return failure();
  output->keep();
  return success();
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  mlir::attn::registerAllDialects(registry);
  mlir::attn::registerAllPasses();
  return asMainReturnCode(runPasses(argc, argv, registry));
}
