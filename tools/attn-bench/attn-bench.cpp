//===- attn-bench.cpp - Measures kernels against the machine's peak -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Failure.h"
#include "tools/attn-bench/Families.h"

#include <benchmark/benchmark.h>

#include <charconv>
#include <iostream>
#include <string_view>
#include <utility>

using namespace attn;
using namespace attn::bench;

static constexpr const char *help = R"(
Options of attn-bench's own:
          [--pipeline=<name>]    lowering (default: the library's)
          [--cpu=<name>]         processor to compile for (default: this one)
          [--cache-dir=<dir>]    keep compiled kernels here, and take them
          [--save=<dir>]         write tensors of variants' gradients as .npy
          [--alone]              run no kernels to compare with
          [--warm]               let keys and values stay in the machine's caches
          [--tune=<seconds>]     tune attention and decoding first
)";

/// Takes our options from the command line. Leaves the others.
static Options parseOptions(int &argc, char **argv) {
  Options options;
  const std::pair<std::string_view, std::string *> values[] = {
      {"--pipeline=", &options.pipeline},
      {"--cpu=", &options.cpu},
      {"--cache-dir=", &options.cacheDirectory},
      {"--save=", &options.saveFolder},
  };
  auto take = [&](std::string_view argument) {
    if (argument == "--alone")
      return options.alone = true;
    if (argument == "--warm")
      return options.warm = true;
    constexpr std::string_view tune = "--tune=";
    if (argument.starts_with(tune)) {
      std::string_view number = argument.substr(tune.size());
      auto [end, code] = std::from_chars(
          number.data(), number.data() + number.size(), options.tuningSeconds);
      return code == std::errc() && end == number.data() + number.size();
    }
    for (auto [prefix, value] : values)
      if (argument.starts_with(prefix)) {
        *value = argument.substr(prefix.size());
        return true;
      }
    return false;
  };
  int kept = 1;
  for (int i = 1; i < argc; ++i)
    if (!take(argv[i]))
      argv[kept++] = argv[i];
  argc = kept;
  return options;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view(argv[i]) == "--help")
      std::cout << help << std::flush;
  Options options = parseOptions(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  if (!options.pipeline.empty())
    benchmark::AddCustomContext("pipeline", options.pipeline);
  if (!options.cpu.empty())
    benchmark::AddCustomContext("compiled for", options.cpu);
  registerPrefill(options);
  registerDropout(options);
  registerNeighbours(options);
  registerDecode(options);
  registerProjection(options);
  registerLayer(options);
  registerAppend(options);
  registerVariants(options);
  registerVariantGradients(options);
  registerGradient(options);
  registerMultiTokenGradient(options);
  registerMultiToken(options);
  registerCall(options);
  registerCompile(options);
  std::size_t run = benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return run == 0 || anyFailed() ? 1 : 0;
}
