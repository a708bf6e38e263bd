//===- Frontend.cpp - Text to a kernel in MLIR ----------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/KernelSignature.h"
#include "runtime/JIT/PassTrace.h"

#include "dialect/Attention/NamedMasksAndScores.h"
#include "dialect/Plan/QueryRange.h"
#include "dialect/Plan/Target.h"
#include "lib/Kernel/KernelForm.h"
#include "lib/Pipelines/Pipelines.h"
#include "lib/Registration/Registration.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace attn;
using namespace attn::jit;
using mlir::failed;
using mlir::failure;
using mlir::FailureOr;

const mlir::DialectRegistry &jit::getKernelRegistry() {
  static const mlir::DialectRegistry registry = [] {
    mlir::DialectRegistry result;
    mlir::attn::registerKernelDialects(result);
    return result;
  }();
  return registry;
}

/// The function to compile: the one named, or the only public one.
FailureOr<mlir::func::FuncOp> jit::findEntry(mlir::ModuleOp module,
                                             const std::string &name) {
  if (!name.empty()) {
    auto entry = module.lookupSymbol<mlir::func::FuncOp>(name);
    if (!entry)
      return module.emitError("no function '") << name << "' in the module";
    if (entry.isExternal())
      return entry.emitError("function '") << name << "' has no body";
    return entry;
  }
  mlir::func::FuncOp entry;
  for (auto func : module.getOps<mlir::func::FuncOp>()) {
    if (!func.isPublic())
      continue;
    if (entry) {
      mlir::InFlightDiagnostic error = module.emitError(
          "the module has several public functions; name the one to compile");
      error.attachNote(entry.getLoc()) << "'" << entry.getName() << "'";
      error.attachNote(func.getLoc()) << "'" << func.getName() << "'";
      return error;
    }
    entry = func;
  }
  if (!entry)
    return module.emitError("no public function in the module");
  return entry;
}

std::vector<std::string>
jit::readArgumentNames(mlir::func::FuncOp entry,
                       const mlir::AsmParserState &state) {
  std::vector<std::string> names(entry.getNumArguments());
  const mlir::AsmParserState::BlockDefinition *block =
      state.getBlockDef(&entry.getBody().front());
  if (!block || block->arguments.size() != names.size())
    return names;
  for (auto [name, argument] : llvm::zip_equal(names, block->arguments)) {
    const char *start = argument.loc.Start.getPointer();
    const char *end = argument.loc.End.getPointer();
    if (start && end > start)
      name = llvm::StringRef(start, end - start).ltrim('%').str();
  }
  return names;
}

void jit::setArgumentNames(mlir::func::FuncOp entry,
                           llvm::ArrayRef<std::string> names) {
  for (auto [argument, name] : llvm::zip_equal(entry.getArguments(), names))
    if (!name.empty())
      argument.setLoc(mlir::NameLoc::get(
          mlir::StringAttr::get(entry.getContext(), name), argument.getLoc()));
}

/// Removes attributes that are no part of what operations mean. They are how
/// passes talk to each other, and could make them do wrong things. Arguments of
/// the entry that may be written stay so, caps of scores caps, and plans and
/// numbers of queries that promise nothing, which say how and not what.
static void dropDiscardableAttributes(mlir::ModuleOp module,
                                      mlir::func::FuncOp entry) {
  llvm::StringRef writable =
      mlir::bufferization::BufferizationDialect::kWritableAttrName;
  llvm::SmallVector<unsigned> written;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (auto attribute = entry.getArgAttrOfType<mlir::BoolAttr>(i, writable);
        attribute && attribute.getValue() &&
        llvm::isa<mlir::RankedTensorType>(entry.getArgument(i).getType()))
      written.push_back(i);
  auto saysHow = [](mlir::Operation *op, mlir::StringAttr name) {
    return name == mlir::attn::kCapMark ||
           name == mlir::attn::PlanAttr::kName ||
           (name == mlir::attn::QueryRange::kName &&
            mlir::attn::QueryRange::get(op)->hasAnyNumber());
  };
  module->walk([&](mlir::Operation *op) {
    llvm::SmallVector<mlir::NamedAttribute> kept;
    for (mlir::NamedAttribute attribute : op->getDiscardableAttrs())
      if (saysHow(op, attribute.getName()))
        kept.push_back(attribute);
    op->setDiscardableAttrs(kept);
    if (auto func = llvm::dyn_cast<mlir::func::FuncOp>(op)) {
      func.removeArgAttrsAttr();
      func.removeResAttrsAttr();
    }
  });
  for (unsigned i : written)
    entry.setArgAttr(i, writable,
                     mlir::BoolAttr::get(module.getContext(), true));
}

void jit::setTarget(mlir::ModuleOp module, std::string target,
                    bool quantizeQueries) {
  constexpr llvm::StringLiteral name = mlir::attn::TargetAttr::kModuleAttr;
  if (quantizeQueries)
    target += ", quantize_queries = true";
  module->setAttr(name, mlir::attn::parseTarget(target, module.getContext()));
}

FailureOr<KernelModule> jit::parseKernel(std::string_view text,
                                         const CompileOptions &options,
                                         const Plans &plans,
                                         CompileTrace &trace) {
  KernelModule result;
  result.module = trace.parse(text);
  if (!result.module || failed(sayPlans(*result.module, plans)))
    return failure();

  FailureOr<mlir::func::FuncOp> entry =
      findEntry(*result.module, options.entry);
  if (failed(entry))
    return failure();
  std::vector<std::string> argumentNames =
      readArgumentNames(*entry, trace.getParserState());
  setArgumentNames(*entry, argumentNames);

  dropDiscardableAttributes(*result.module, *entry);
  // Everything else only serves the entry.
  for (auto func : result.module->getOps<mlir::func::FuncOp>())
    func.setPrivate();
  entry->setPublic();
  trace.enter("while checking this", entry->getLoc());
  mlir::PassManager pm(trace.getContext());
  tracePasses(pm, trace);
  mlir::attn::buildPreparationPipeline(pm);
  if (failed(pm.run(*result.module)) ||
      failed(mlir::attn::verifyKernelForm(*result.module)))
    return failure();

  FailureOr<Signature> signature = computeKernelSignature(*entry);
  if (failed(signature))
    return failure();
  result.signature = std::move(*signature);
  for (auto [parameter, name] :
       llvm::zip_equal(result.signature.arguments, argumentNames))
    parameter.name = std::move(name);
  entry->setName(kernelFunctionName);
  return result;
}
