//===- Differentiate.cpp - The gradient of a text -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/attention.h"
#include "attn/engine.h"
#include "attn/gradient.h"

#include "lib/Gradient/Passes.h"
#include "runtime/Bridge/CompileThread.h"
#include "runtime/JIT/Frontend.h"
#include "runtime/JIT/PassTrace.h"

#include "mlir/IR/AsmState.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace attn;
using namespace attn::jit;

/// The numbers of the arguments of these names; an error if there is none of a
/// name.
static Expected<llvm::SmallVector<unsigned>>
findArguments(const std::vector<std::string> &names,
              const std::vector<std::string> &all) {
  llvm::SmallVector<unsigned> numbers;
  for (const std::string &name : names) {
    auto found = llvm::find(all, name);
    if (found == all.end())
      return Error{"of: expected names of arguments, which are " +
                       llvm::join(all, ", ") + ", got '" + name + "'",
                   {}};
    numbers.push_back(unsigned(found - all.begin()));
  }
  return numbers;
}

static Expected<std::string> emitGradient(std::string_view text,
                                          const GradientOptions &options,
                                          CompileTrace &trace) {
  const std::string what = "cannot differentiate";
  mlir::OwningOpRef<mlir::ModuleOp> module = trace.parse(text);
  if (!module)
    return trace.takeError(what);
  mlir::FailureOr<mlir::func::FuncOp> entry = findEntry(*module, options.entry);
  if (mlir::failed(entry))
    return trace.takeError(what);
  std::vector<std::string> names =
      readArgumentNames(*entry, trace.getParserState());
  setArgumentNames(*entry, names);
  Expected<llvm::SmallVector<unsigned>> of = findArguments(options.of, names);
  if (!of)
    return std::move(of).error();
  trace.enter("while differentiating this", entry->getLoc());
  mlir::attn::GradientOptions passOptions;
  passOptions.of = entry->getName().str();
  passOptions.results.assign(options.results.begin(), options.results.end());
  passOptions.wrt.assign(of->begin(), of->end());
  passOptions.saved = options.saved;
  mlir::PassManager pm(trace.getContext());
  tracePasses(pm, trace);
  // Calls are a part of the line of operations.
  pm.addPass(mlir::createInlinerPass());
  pm.addPass(mlir::attn::createGradient(passOptions));
  if (mlir::failed(pm.run(*module)))
    return trace.takeError(what);
  // The gradient has no calls left.
  std::string name = passOptions.of + "_gradient";
  for (auto function :
       llvm::make_early_inc_range(module->getOps<mlir::func::FuncOp>()))
    if (function.getName() != name)
      function.erase();
  std::string result;
  llvm::raw_string_ostream os(result);
  module->print(os, mlir::OpPrintingFlags().printNameLocAsPrefix());
  os << "\n";
  return result;
}

Expected<std::string> attn::differentiate(std::string_view text,
                                          const GradientOptions &options) {
  return callOnThread<std::string>([&] {
    return compileGuarded<std::string>(
        "cannot differentiate", options.fileName, getKernelRegistry(),
        [&](CompileTrace &trace) {
          return emitGradient(text, options, trace);
        });
  });
}

Expected<Kernel> Engine::compileGradient(const Attention &attention,
                                         const GradientOptions &gradient,
                                         const CompileOptions &options) const {
  Attention saved = attention;
  saved.logSumExp = true;
  Expected<std::string> text = saved.text();
  if (!text)
    return std::move(text).error();
  GradientOptions of = gradient;
  of.saved = true;
  if (of.of.empty())
    of.of = {"query", "key", "value"};
  if (of.results.empty())
    of.results = {0};
  Expected<std::string> differentiated = differentiate(*text, of);
  if (!differentiated)
    return std::move(differentiated).error();
  return compile(*differentiated, options);
}
