//===- Kernels.cpp - Compiles and calls kernels ---------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Kernels.h"

#include <chrono>

using namespace attn;
using namespace attn::bench;

Expected<Engine> bench::createEngine(const Options &options, unsigned threads) {
  EngineOptions engineOptions;
  engineOptions.cacheDirectory = options.cacheDirectory;
  engineOptions.cpu = options.cpu;
  engineOptions.threads = threads;
  return Engine::create(engineOptions);
}

/// One line with everything that the compiler said.
static Error inOneLine(const Error &error) {
  std::string message = error.message;
  for (const Diagnostic &diagnostic : error.diagnostics)
    message += "; " + std::to_string(diagnostic.line) + ":" +
               std::to_string(diagnostic.column) + ": " + diagnostic.message;
  return {message, {}};
}

static CompileOptions getCompileOptions(const std::string &name,
                                        const Options &options) {
  CompileOptions compileOptions;
  if (!options.pipeline.empty())
    compileOptions.pipeline = options.pipeline;
  compileOptions.quantizeQueries = options.quantizeQueries;
  compileOptions.fileName = name;
  return compileOptions;
}

Expected<Kernel> bench::compileText(const std::string &name,
                                    const std::string &text, unsigned threads,
                                    const Options &options) {
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  Expected<Kernel> kernel =
      engine->compile(text, getCompileOptions(name, options));
  if (!kernel)
    return inOneLine(kernel.error());
  return kernel;
}

Expected<Tuning> bench::tuneText(const std::string &name,
                                 const std::string &text, unsigned threads,
                                 const Options &options,
                                 std::span<const Argument> arguments,
                                 std::span<const TensorView> results) {
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  Expected<Tuning> tuning =
      engine->tune(text, arguments, results, {.seconds = options.tuningSeconds},
                   getCompileOptions(name, options));
  if (!tuning)
    return inOneLine(tuning.error());
  return tuning;
}

std::string bench::describe(const Tuning &tuning) {
  std::string text = "tuned " + std::to_string(tuning.timesFaster) + " of " +
                     std::to_string(tuning.numTried) + ":";
  for (const std::string &plan : tuning.plans)
    text += " " + (plan.empty() ? "as planned" : plan);
  return text;
}

Expected<double> bench::timeKernel(const Kernel &kernel,
                                   std::span<const Argument> arguments,
                                   std::span<const TensorView> results) {
  auto start = std::chrono::steady_clock::now();
  Status status = kernel.run(arguments, results);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!status)
    return inOneLine(status.error());
  return elapsed.count();
}
