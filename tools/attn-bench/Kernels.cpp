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
static Error describe(const Error &error) {
  std::string message = error.message;
  for (const Diagnostic &diagnostic : error.diagnostics)
    message += "; " + std::to_string(diagnostic.line) + ":" +
               std::to_string(diagnostic.column) + ": " + diagnostic.message;
  return {message, {}};
}

Expected<Kernel> bench::compileText(const std::string &name,
                                    const std::string &text, unsigned threads,
                                    const Options &options) {
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  CompileOptions compileOptions;
  if (!options.pipeline.empty())
    compileOptions.pipeline = options.pipeline;
  compileOptions.quantizeQueries = options.quantizeQueries;
  compileOptions.fileName = name;
  Expected<Kernel> kernel = engine->compile(text, compileOptions);
  if (!kernel)
    return describe(kernel.error());
  return kernel;
}

Expected<double> bench::timeKernel(const Kernel &kernel,
                                   std::span<const Argument> arguments,
                                   std::span<const TensorView> results) {
  auto start = std::chrono::steady_clock::now();
  Status status = kernel.run(arguments, results);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!status)
    return describe(status.error());
  return elapsed.count();
}
