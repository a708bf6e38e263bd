//===- Compile.cpp - What compiling costs ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Failure.h"
#include "tools/attn-bench/Families.h"

#include <filesystem>

using namespace attn;
using namespace attn::bench;

namespace fs = std::filesystem;

static void measureCompile(benchmark::State &state,
                           const AttentionCase &attention, ElementType type,
                           const Options &options,
                           CompileStats::Source source) {
  CompileStats sum;
  double count = 0;
  while (state.KeepRunning()) {
    Expected<Kernel> kernel = compileText(attention.name, attention.text(type),
                                          /*threads=*/1, options);
    if (!kernel)
      return fail(state, kernel.error());
    const CompileStats &stats = kernel->stats();
    if (stats.source != source)
      return fail(state, {"the kernel came from elsewhere", {}});
    state.SetIterationTime(stats.totalMs * 1e-3);
    sum.parseMs += stats.parseMs;
    sum.passesMs += stats.passesMs;
    sum.translateMs += stats.translateMs;
    sum.optimizeMs += stats.optimizeMs;
    sum.codegenMs += stats.codegenMs;
    sum.linkMs += stats.linkMs;
    ++count;
  }
  state.counters["parse_ms"] = sum.parseMs / count;
  state.counters["passes_ms"] = sum.passesMs / count;
  state.counters["translate_ms"] = sum.translateMs / count;
  state.counters["optimize_ms"] = sum.optimizeMs / count;
  state.counters["codegen_ms"] = sum.codegenMs / count;
  state.counters["link_ms"] = sum.linkMs / count;
}

static void measureCold(benchmark::State &state, const AttentionCase &attention,
                        ElementType type, Options options) {
  options.cacheDirectory.clear();
  measureCompile(state, attention, type, options,
                 CompileStats::Source::compiler);
}

static void measureCached(benchmark::State &state,
                          const AttentionCase &attention, ElementType type,
                          Options options) {
  std::string directory =
      (fs::temp_directory_path() / "attn-bench-XXXXXX").string();
  if (!mkdtemp(directory.data()))
    return fail(state, {"cannot make a temporary directory", {}});
  options.cacheDirectory = directory;
  Expected<Kernel> kernel = compileText(attention.name, attention.text(type),
                                        /*threads=*/1, options);
  if (kernel)
    measureCompile(state, attention, type, options,
                   CompileStats::Source::diskCache);
  else
    fail(state, kernel.error());
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

void bench::registerCompile(const Options &options) {
  for (const AttentionCase &attention : getPrefillCases())
    for (ElementType type : {ElementType::f32, ElementType::bf16}) {
      std::string name =
          "compile/" + attention.name + "/" + std::string(nameOf(type));
      auto add = [&](const std::string &suffix, auto function) {
        benchmark::RegisterBenchmark((name + suffix).c_str(),
                                     [=](benchmark::State &state) {
                                       function(state, attention, type,
                                                options);
                                     })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      };
      add("", measureCold);
      add("/cached", measureCached);
    }
}
