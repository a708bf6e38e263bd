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

namespace {

/// In which direction derivatives go.
struct Mode {
  /// Of the function's name.
  const char *suffix;
  std::unique_ptr<mlir::Pass> (*createPass)(const std::string &of,
                                            llvm::ArrayRef<unsigned> wrt,
                                            const GradientOptions &options);
};

} // namespace

/// The options of both passes are the same.
template <typename PassOptions>
static PassOptions getPassOptions(const std::string &of,
                                  llvm::ArrayRef<unsigned> wrt,
                                  const GradientOptions &options) {
  PassOptions result;
  result.of = of;
  result.results.assign(options.results.begin(), options.results.end());
  result.wrt.assign(wrt.begin(), wrt.end());
  result.saved = options.saved;
  return result;
}

static constexpr Mode kReverse = {
    "_gradient", [](const std::string &of, llvm::ArrayRef<unsigned> wrt,
                    const GradientOptions &options) {
      return mlir::attn::createGradient(
          getPassOptions<mlir::attn::GradientOptions>(of, wrt, options));
    }};
static constexpr Mode kForward = {
    "_tangent", [](const std::string &of, llvm::ArrayRef<unsigned> wrt,
                   const GradientOptions &options) {
      return mlir::attn::createTangent(
          getPassOptions<mlir::attn::TangentOptions>(of, wrt, options));
    }};

static Expected<std::string> emitDerivative(std::string_view text,
                                            const GradientOptions &options,
                                            const Mode &mode,
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
  std::string function = entry->getName().str();
  mlir::PassManager pm(trace.getContext());
  tracePasses(pm, trace);
  // Calls are a part of the line of operations.
  pm.addPass(mlir::createInlinerPass());
  pm.addPass(mode.createPass(function, *of, options));
  if (mlir::failed(pm.run(*module)))
    return trace.takeError(what);
  // The derivative has no calls left.
  std::string name = function + mode.suffix;
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

static Expected<std::string> differentiate(std::string_view text,
                                           const GradientOptions &options,
                                           const Mode &mode) {
  return callOnThread<std::string>([&] {
    return compileGuarded<std::string>(
        "cannot differentiate", options.fileName, getKernelRegistry(),
        [&](CompileTrace &trace) {
          return emitDerivative(text, options, mode, trace);
        });
  });
}

Expected<std::string> attn::differentiate(std::string_view text,
                                          const GradientOptions &options) {
  return ::differentiate(text, options, kReverse);
}

Expected<std::string>
attn::differentiateForward(std::string_view text,
                           const GradientOptions &options) {
  return ::differentiate(text, options, kForward);
}

/// The derivative of a variant, from what its kernel gave.
static Expected<std::string>
differentiateVariant(const Attention &attention, const GradientOptions &options,
                     const Mode &mode) {
  Attention saved = attention;
  saved.logSumExp = true;
  Expected<std::string> text = saved.text();
  if (!text)
    return std::move(text).error();
  GradientOptions of = options;
  of.saved = true;
  if (of.of.empty())
    of.of = {"query", "key", "value"};
  if (of.results.empty())
    of.results = {0};
  return ::differentiate(*text, of, mode);
}

Expected<Kernel> Engine::compileGradient(const Attention &attention,
                                         const GradientOptions &gradient,
                                         const CompileOptions &options) const {
  Expected<std::string> text =
      differentiateVariant(attention, gradient, kReverse);
  if (!text)
    return std::move(text).error();
  return compile(*text, options);
}

Expected<Kernel> Engine::compileTangent(const Attention &attention,
                                        const GradientOptions &tangent,
                                        const CompileOptions &options) const {
  Expected<std::string> text =
      differentiateVariant(attention, tangent, kForward);
  if (!text)
    return std::move(text).error();
  return compile(*text, options);
}
