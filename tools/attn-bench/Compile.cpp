//===- Compile.cpp - What compiling costs ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"
#include "tools/attn-bench/Failure.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/GalleryCases.h"

#include <filesystem>
#include <functional>

using namespace attn;
using namespace attn::bench;

namespace fs = std::filesystem;

namespace {
/// A kernel to compile.
struct CompileCase {
  std::string name;                            ///< `compile/<case>/<type>`
  std::function<Expected<std::string>()> text; ///< In MLIR, when it is run.
  unsigned threads = 1; ///< That the engine has, which also compile.
};
} // namespace

static Expected<Kernel> compile(const CompileCase &kernel,
                                const Options &options) {
  Expected<std::string> text = kernel.text();
  if (!text)
    return text.error();
  return compileText(kernel.name, *text, kernel.threads, options);
}

static void measureCompile(benchmark::State &state, const CompileCase &kernel,
                           const Options &options,
                           CompileStats::Source source) {
  CompileStats sum;
  double count = 0;
  while (state.KeepRunning()) {
    Expected<Kernel> compiled = compile(kernel, options);
    if (!compiled)
      return fail(state, compiled.error());
    const CompileStats &stats = compiled->stats();
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

static void measureCold(benchmark::State &state, const CompileCase &kernel,
                        Options options) {
  options.cacheDirectory.clear();
  measureCompile(state, kernel, options, CompileStats::Source::compiler);
}

static void measureCached(benchmark::State &state, const CompileCase &kernel,
                          Options options) {
  std::string directory =
      (fs::temp_directory_path() / "attn-bench-XXXXXX").string();
  if (!mkdtemp(directory.data()))
    return fail(state, {"cannot make a temporary directory", {}});
  options.cacheDirectory = directory;
  Expected<Kernel> compiled = compile(kernel, options);
  if (compiled)
    measureCompile(state, kernel, options, CompileStats::Source::diskCache);
  else
    fail(state, compiled.error());
  std::error_code ignored;
  fs::remove_all(directory, ignored);
}

void bench::registerCompile(const Options &options) {
  auto add = [&](const CompileCase &kernel, const std::string &suffix,
                 auto function) {
    benchmark::RegisterBenchmark(
        (kernel.name + suffix).c_str(),
        [=](benchmark::State &state) { function(state, kernel, options); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  };
  auto addCold = [&](CompileCase kernel) {
    for (unsigned threads : {1u, 2u}) {
      kernel.threads = threads;
      add(kernel, "/threads:" + std::to_string(threads), measureCold);
    }
  };
  for (ElementType type : {ElementType::f32, ElementType::bf16}) {
    std::string ofType = "/" + std::string(nameOf(type));
    auto addBoth = [&](const auto &measured) {
      CompileCase kernel = {"compile/" + measured->name + ofType,
                            [=] { return Expected(measured->text(type)); }};
      addCold(kernel);
      add(kernel, "/cached", measureCached);
    };
    for (const AttentionCase &attention : getPrefillCases())
      addBoth(&attention);
    for (const DecodeBenchmark &decoding : getDecodeBenchmarks())
      if (decoding.decode &&
          (decoding.decode->name == "D1" || decoding.decode->name == "D6"))
        addBoth(decoding.decode);
    for (const GalleryCase &variant : getGalleryCases())
      addCold({"compile/gallery-" + variant.name + ofType,
               [=] { return variant.attention(type).text(); }});
    addCold({"compile/layer" + ofType,
             [=] { return Expected(getLayerText(type)); }});
  }
}
