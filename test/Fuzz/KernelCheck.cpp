//===- KernelCheck.cpp - Compiles, runs and checks any text ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Fuzz/KernelCheck.h"

#include "dialect/AttnOps.h"
#include "lib/Registration/Registration.h"
#include "runtime/Bridge/DiagnosticCollector.h"
#include "runtime/Interpreter/Interpreter.h"
#include "tools/Arguments.h"
#include "tools/Weights.h"
#include "tools/attn-run/Check.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace attn;
using namespace attn::test;

/// Elements of all arguments, and of all results: what takes no time.
static constexpr std::int64_t maxElements = std::int64_t(1) << 18;
/// Of loops, each of which may have an attention in it. Those of the tests have
/// a few.
static constexpr std::int64_t maxIterations = 1 << 10;

static KernelOutcome refuse(const Error &error) {
  bool crashed = error.message.find(crashMessage) != std::string::npos;
  return {crashed ? KernelOutcome::failed : KernelOutcome::refused,
          error.message};
}

/// The product of the sizes, with `unknown` for those that are dynamic; at most
/// a little more than `maxElements`.
static std::int64_t countElements(std::span<const std::int64_t> shape,
                                  std::int64_t unknown) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) {
    if (size == Parameter::dynamic)
      size = unknown;
    count = count > maxElements / std::max<std::int64_t>(size, 1)
                ? maxElements + 1
                : count * size;
  }
  return count;
}

/// Control flow that only ends if its numbers say so: a kernel runs only after
/// the interpreter has come to its end.
static bool mayLoop(const std::string &text) {
  for (const char *name : {"scf.", "cf."})
    if (text.find(name) != std::string::npos)
      return true;
  return false;
}

static void copyUpdatedArguments(const Signature &signature,
                                 std::vector<Argument> &arguments,
                                 std::vector<NpyArray> &results) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    int updated = signature.results[i].updates;
    if (updated < 0)
      continue;
    TensorView from = *arguments[std::size_t(updated)].view();
    std::span<std::byte> bytes = results[i].bytes();
    if (!bytes.empty())
      std::memcpy(bytes.data(), from.data(), bytes.size());
    arguments[std::size_t(updated)] = results[i].view();
  }
}

/// What a result may be off by at an element of `value` where numbers are
/// rounded to the narrowest type of `text` on the way: those that lie next to
/// the middle of two go to either. Results of f32 alone are held to what is
/// allowed of f16: numbers that were blown up, as scales and kernels of
/// convolutions, multiply the rounding of scores.
static double findBound(const ReferenceResult &result, const std::string &text,
                        double value) {
  using reference::Quantity;
  ElementType narrowest = result.type;
  if (isFloat(result.type))
    for (auto [name, type] : {std::pair("f8E5M2", ElementType::f8e5m2),
                              std::pair("f8E4M3FN", ElementType::f8e4m3fn),
                              std::pair("bf16", ElementType::bf16),
                              std::pair("f16", ElementType::f16),
                              std::pair("f32", ElementType::f16)})
      if (text.find(name) != std::string::npos) {
        narrowest = type;
        break;
      }
  double bound = reference::toleranceFor(narrowest, result.quantity).bound;
  // A log-sum-exp is as far off as its row's largest score, which it is about
  // as large as. The absolute bound is meant for scores of about 5, and blown
  // up numbers make others.
  if (result.quantity == Quantity::logSumExp && narrowest != ElementType::f64 &&
      std::isfinite(value))
    bound = std::max(
        bound,
        std::abs(value) *
            reference::toleranceFor(ElementType::f32, Quantity::output).bound);
  return bound;
}

static KernelOutcome compareResults(std::span<const NpyArray> results,
                                    std::span<const ReferenceResult> expected,
                                    const std::string &text) {
  Expected<std::vector<run::Check>> checks =
      run::checkResults(results, expected, /*quantizedQueries=*/false);
  if (!checks)
    return {KernelOutcome::differs, checks.error().message};
  for (std::size_t i = 0; i < checks->size(); ++i) {
    const reference::Comparison &comparison = (*checks)[i].comparison;
    if (!comparison.passed &&
        comparison.error > findBound(expected[i], text, comparison.expected))
      return {KernelOutcome::differs,
              "result " + std::to_string(i) + ", element " +
                  std::to_string(comparison.index) + ": expected " +
                  std::to_string(comparison.expected) + ", got " +
                  std::to_string(comparison.actual) + " (error " +
                  std::to_string(comparison.error) + ")"};
  }
  return {KernelOutcome::passed, {}};
}

/// Whether derivatives read a log-sum-exp that no attention here computes: it
/// has to be that of the other operands, which the oracle takes it to be.
static bool readsSavedArgument(mlir::ModuleOp module) {
  auto isSaved = [](mlir::Value logSumExp) {
    return !logSumExp.getDefiningOp<mlir::attn::AttentionOp>();
  };
  return module
      .walk([&](mlir::Operation *op) {
        if (auto backward = llvm::dyn_cast<mlir::attn::AttentionBackwardOp>(op))
          return mlir::WalkResult(
              mlir::failure(isSaved(backward.getLogSumExp())));
        if (auto tangent = llvm::dyn_cast<mlir::attn::AttentionTangentOp>(op))
          return mlir::WalkResult(
              mlir::failure(isSaved(tangent.getLogSumExp())));
        return mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

/// The same of a text, which was compiled.
static bool readsSavedArgument(const std::string &text) {
  mlir::DialectRegistry registry;
  mlir::attn::registerKernelDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  attn::DiagnosticCollector diagnostics(&context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  return module && readsSavedArgument(*module);
}

/// Everything after compiling.
static KernelOutcome runKernel(const Kernel &kernel, const std::string &text,
                               std::uint64_t seed) {
  constexpr std::int64_t unknownSizes[] = {1, 5, 19, 33};
  std::int64_t unknown = unknownSizes[seed % std::size(unknownSizes)];
  if (readsSavedArgument(text))
    return {KernelOutcome::skipped, "derivatives of saved results"};
  const Signature &signature = kernel.signature();
  std::int64_t elements = 0;
  for (const Parameter &argument : signature.arguments)
    elements += countElements(argument.shape, unknown);
  if (elements > maxElements)
    return {KernelOutcome::skipped, "large arguments"};
  Expected<std::vector<std::vector<int>>> weights =
      run::findWeights(text, "kernel.mlir", signature.entry);
  if (!weights)
    return refuse(weights.error());
  Expected<std::vector<run::HostArgument>> loaded =
      run::loadArguments(signature, {}, seed, *weights, unknown);
  if (!loaded)
    return refuse(loaded.error());
  std::vector<Argument> arguments;
  for (const run::HostArgument &argument : *loaded)
    arguments.push_back(argument.argument());

  Expected<std::vector<std::vector<std::int64_t>>> shapes =
      kernel.resultShapes(arguments);
  if (!shapes)
    return refuse(shapes.error());
  elements = 0;
  for (const std::vector<std::int64_t> &shape : *shapes)
    elements += countElements(shape, unknown);
  if (elements > maxElements)
    return {KernelOutcome::skipped, "large results"};
  std::vector<NpyArray> results;
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    Expected<NpyArray> array =
        NpyArray::allocate(signature.results[i].type, (*shapes)[i]);
    if (!array)
      return refuse(array.error());
    results.push_back(std::move(*array));
  }

  Expected<std::vector<ReferenceResult>> expected =
      interpret(text, "kernel.mlir", signature.entry, arguments, maxIterations);
  if (!expected && mayLoop(text))
    return {KernelOutcome::skipped, expected.error().message};
  copyUpdatedArguments(signature, arguments, results);
  std::vector<TensorView> views;
  for (NpyArray &result : results)
    views.push_back(result.view());
  if (Status status = kernel.run(arguments, views); !status)
    return refuse(status.error());
  return expected ? compareResults(results, *expected, text)
                  : refuse(expected.error());
}

KernelOutcome attn::test::checkKernel(const Engine &engine,
                                      const std::string &text,
                                      const CompileOptions &options,
                                      std::uint64_t seed) {
  Expected<Kernel> kernel = engine.compile(text, options);
  return kernel ? runKernel(*kernel, text, seed) : refuse(kernel.error());
}
