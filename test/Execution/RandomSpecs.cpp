//===- RandomSpecs.cpp - Random attention against the oracle --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// random-specs [--gpu] [--warpgroups] [--regions] [--seed N] [--count N]
// [--cpu NAME] [--type NAME]
//
// Each spec is a kernel and a call of it, computed by the kernel that every
// pipeline compiles, by the oracle on a problem that plain C++ builds, and by
// the interpreter on the kernel's text. The last two must agree closely, which
// tests what the spellings of the IR mean; the others within their tolerance.
// Where one fails, as a load outside a tensor does, all must. The CPU pipeline
// must give the same bits on one thread and on two. --cpu compiles for another
// processor, as attn::EngineOptions has it; --type bf16 leaves out the kernels
// of other types.
//
// With --gpu, specs are of what is lowered for GPUs, and also run on the
// emulator, twice: it runs threads in another order each time, and the bits
// must be the same. None may be refused. With --warpgroups, which implies it,
// they are of what warpgroups multiply, and also run as on a GPU of sm_90a.
//
// With --regions, each has a score and a mask that are random expressions.
//
// A spec depends on its number, --gpu, --warpgroups, --regions and --type
// alone: "--seed 17 --count 1" repeats number 17.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "test/Execution/KernelCache.h"
#include "test/Execution/SpecAnswers.h"

#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <unistd.h>

using namespace attn;
using namespace attn::reference;
using namespace attn::test;
using std::string;

namespace {

constexpr ElementType floatTypes[] = {ElementType::f64, ElementType::f32,
                                      ElementType::f16, ElementType::bf16};

constexpr const char *emulatorName = "gpu-emulator";

/// This many specs in a row share a kernel: fewer where running takes longer
/// than compiling, and one where kernels are what is tested.
std::uint64_t countCallsPerKernel(const SpecChoice &choice) {
  return choice.onlyRegions ? 1 : choice.forGPU ? 3 : 6;
}

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t count = 600;
  string cpu;
  SpecChoice choice;
};

/// A way to compile and run.
struct Configuration {
  string name;
  Engine engine;
  string pipeline;
};

/// A spec's text, compiled in every configuration, and the features of it.
struct CompiledKernel {
  KernelSpec spec;
  string text;
  std::vector<Kernel> kernels;
};

class Runner {
public:
  Runner(std::vector<Configuration> configurations, const SpecChoice &choice)
      : configurations(std::move(configurations)), choice(choice) {}

  /// Checks one spec. False if something is wrong, which has been printed.
  bool run(std::uint64_t number);

  void printSummary() const;
  /// Features that no spec had.
  std::vector<string> missingFeatures() const;

private:
  const CompiledKernel *compile(std::uint64_t number);
  bool checkCall(const CompiledKernel &kernel, const Call &call,
                 std::uint64_t number);
  bool runKernels(const CompiledKernel &kernel, const Call &call,
                  std::uint64_t number, std::vector<Answer> &answers);

  bool fail(std::uint64_t number, const string &text, const string &message) {
    string only = choice.inWarpgroups ? " --warpgroups"
                  : choice.forGPU     ? " --gpu"
                                      : "";
    if (choice.onlyRegions)
      only += " --regions";
    if (choice.type)
      only += " --type " + string(nameOf(*choice.type));
    std::printf("spec %" PRIu64 " (--seed %" PRIu64 " --count 1%s): %s\n%s\n",
                number, number, only.c_str(), message.c_str(), text.c_str());
    return false;
  }

  /// The first two must agree bit for bit.
  std::vector<Configuration> configurations;
  SpecChoice choice;
  std::optional<CompiledKernel> current;
  std::uint64_t currentNumber = 0;
  std::uint64_t numKernels = 0, numErrors = 0;
  double compileMs = 0;
  std::map<string, double> largestErrors;
  std::map<string, int> featureCounts;
};

} // namespace

const CompiledKernel *Runner::compile(std::uint64_t number) {
  std::uint64_t kernelNumber = number / countCallsPerKernel(choice);
  if (current && currentNumber == kernelNumber)
    return &*current;
  Random random(kernelNumber * 2);
  KernelSpec spec = createKernelSpec(random, choice);
  string text = spec.text();
  std::vector<Kernel> kernels;
  for (const Configuration &configuration : configurations) {
    CompileOptions compileOptions;
    compileOptions.pipeline = configuration.pipeline;
    Expected<Kernel> kernel =
        configuration.engine.compile(text, compileOptions);
    if (!kernel) {
      fail(number, text, configuration.name + ": " + kernel.error().message);
      return nullptr;
    }
    ++numKernels;
    compileMs += kernel->stats().totalMs;
    kernels.push_back(*kernel);
  }
  current =
      CompiledKernel{std::move(spec), std::move(text), std::move(kernels)};
  currentNumber = kernelNumber;
  return &*current;
}

bool Runner::runKernels(const CompiledKernel &kernel, const Call &call,
                        std::uint64_t number, std::vector<Answer> &answers) {
  std::vector<std::vector<std::byte>> before = copyArguments(call);
  for (std::size_t i = 0; i < kernel.kernels.size(); ++i) {
    answers.push_back(runKernel(kernel.kernels[i], call));
    const string &name = configurations[i].name;
    if (configurations[i].pipeline.starts_with(emulatorName) &&
        !haveSameBits(answers.back(), runKernel(kernel.kernels[i], call)))
      return fail(number, kernel.text, name + " depends on its schedule");
    if (copyArguments(call) != before)
      return fail(number, kernel.text, name + " changed an argument");
    if (!call.output.gapsAreUntouched() ||
        (call.logSumExp && !call.logSumExp->gapsAreUntouched()))
      return fail(number, kernel.text, name + " wrote beside a result");
  }
  if (!haveSameBits(answers[0], answers[1]))
    return fail(number, kernel.text,
                configurations[0].name + " and " + configurations[1].name +
                    " differ");
  return true;
}

bool Runner::checkCall(const CompiledKernel &kernel, const Call &call,
                       std::uint64_t number) {
  std::vector<Answer> compiled;
  if (!runKernels(kernel, call, number, compiled))
    return false;
  Answer oracle = runOracle(call);
  Answer interpreted = runInterpreter(kernel.text, call);
  bool agree = interpreted.error.empty() == oracle.error.empty();
  string errors = "they do not fail together:\n  oracle: " + oracle.error +
                  "\n  interpreter: " + interpreted.error;
  for (std::size_t i = 0; i < compiled.size(); ++i) {
    agree &= compiled[i].error.empty() == oracle.error.empty();
    errors += "\n  " + configurations[i].name + ": " + compiled[i].error;
  }
  if (!agree)
    return fail(number, kernel.text, errors);
  if (!oracle.error.empty()) {
    ++numErrors;
    return true;
  }

  for (std::size_t i = 0; i < oracle.results.size(); ++i) {
    Quantity quantity = i ? Quantity::logSumExp : Quantity::output;
    string name = i ? "log-sum-exp" : "output";
    string difference =
        describeDifference(interpreted.results[i], oracle.results[i],
                           {1e-12, /*relative=*/true}, nullptr);
    if (!difference.empty())
      return fail(number, kernel.text,
                  "interpreter, " + name + ": " + difference);
    for (std::size_t j = 0; j < compiled.size(); ++j) {
      Tolerance tolerance = toleranceFor(kernel.spec.type, quantity);
      // Where the values cancel and there are few outputs, all may be small;
      // the sum of values around 1 is no more accurate than their rounding.
      if (kernel.spec.type == ElementType::f32 && quantity == Quantity::output)
        tolerance.smallest = 0x1p-24;
      string pipeline = configurations[j].pipeline;
      string type(nameOf(kernel.spec.type));
      double &largest = largestErrors[pipeline + ", " + name + " of " + type];
      difference = describeDifference(compiled[j].results[i], oracle.results[i],
                                      tolerance, &largest);
      if (!difference.empty())
        return fail(number, kernel.text,
                    configurations[j].name + ", " + name + ": " + difference);
    }
  }
  return true;
}

bool Runner::run(std::uint64_t number) {
  const CompiledKernel *kernel = compile(number);
  if (!kernel)
    return false;
  Random random(number * 2 + 1);
  Call call = createCall(kernel->spec, random);
  for (const auto &features : {kernel->spec.features(), call.features})
    for (const string &feature : features)
      ++featureCounts[feature];
  return checkCall(*kernel, call, number);
}

void Runner::printSummary() const {
  std::printf("%" PRIu64 " kernels, compiled in %.1f s; %" PRIu64
              " specs fail as they "
              "should\n",
              numKernels, compileMs / 1000, numErrors);
  for (const auto &[name, error] : largestErrors)
    std::printf("  largest error of %s: %.2g\n", name.c_str(), error);
  for (const auto &[feature, count] : featureCounts)
    std::printf("  %5d %s\n", count, feature.c_str());
}

std::vector<string> Runner::missingFeatures() const {
  std::vector<string> expected = {"batch 0",
                                  "query length 0",
                                  "one query of any number",
                                  "key length 0",
                                  "negative offset",
                                  "NaN where masked",
                                  "packed QKV",
                                  "zero stride",
                                  "negative stride",
                                  "order (B, S, H, D)",
                                  "rows with gaps",
                                  "packed",
                                  "packed queries",
                                  "counts",
                                  "empty sequence",
                                  "rows of no sequence",
                                  "dropout",
                                  "sink",
                                  "log-sum-exp",
                                  "static sizes",
                                  "few queries of a group",
                                  "at most 8 rows",
                                  "9 to 16 rows",
                                  "offset scalar",
                                  "offset per batch",
                                  "offset bottom_right",
                                  "scale constant",
                                  "scale operand",
                                  "heads: one to one",
                                  "heads: one key head",
                                  "heads: groups",
                                  "Dk != Dv"};
  for (ElementType each : floatTypes)
    if (!choice.type || *choice.type == each)
      expected.push_back("type " + string(nameOf(each)));
  for (const auto &names : {getMaskNames(), getScoreNames()})
    expected.insert(expected.end(), names.begin(), names.end());
  std::vector<string> missing;
  for (const string &feature : expected)
    if (!featureCounts.count(feature))
      missing.push_back(feature);
  return missing;
}

/// What is being run, for when it crashes: a kernel that touches a guard page.
static char currentSpec[64];

static void reportCrash(int signal) {
  // Only what a signal handler may call.
  if (write(STDOUT_FILENO, currentSpec, std::strlen(currentSpec)) < 0)
    _exit(1);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

static std::optional<ElementType> findType(const string &name) {
  for (ElementType type : floatTypes)
    if (nameOf(type) == name)
      return type;
  return std::nullopt;
}

static bool parseOptions(int argc, char **argv, Options &options) {
  auto skipFlag = [&](const char *flag) {
    if (argc < 2 || std::strcmp(argv[1], flag))
      return false;
    --argc;
    ++argv;
    return true;
  };
  options.choice.forGPU = skipFlag("--gpu");
  options.choice.inWarpgroups = skipFlag("--warpgroups");
  options.choice.forGPU |= options.choice.inWarpgroups;
  options.choice.onlyRegions = skipFlag("--regions");
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--seed"))
      options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--count"))
      options.count = std::strtoull(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--cpu"))
      options.cpu = argv[i + 1];
    else if (!std::strcmp(argv[i], "--type") && findType(argv[i + 1]))
      options.choice.type = findType(argv[i + 1]);
    else
      return false;
  }
  return argc % 2 == 1;
}

int main(int argc, char **argv) {
  Options options;
  if (!parseOptions(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--gpu] [--warpgroups] [--regions] [--seed N] "
                 "[--count N] [--cpu NAME] [--type f64|f32|f16|bf16]\n",
                 argv[0]);
    return 2;
  }
  std::vector<Configuration> configurations;
  std::vector<std::tuple<const char *, const char *, unsigned>> ways = {
      {"cpu on one thread", "cpu", 1},
      {"cpu on two threads", "cpu", 2},
      {"reference", "reference", 1}};
  if (options.choice.forGPU)
    ways.push_back({"the emulator", emulatorName, 1});
  if (options.choice.inWarpgroups)
    ways.push_back({"the emulator of sm_90a", "gpu-emulator-sm_90a", 1});
  for (auto [name, pipeline, threads] : ways) {
    EngineOptions engineOptions;
    engineOptions.threads = threads;
    engineOptions.cpu = options.cpu;
    engineOptions.cacheDirectory = getCacheDirectory();
    Expected<Engine> engine = Engine::create(engineOptions);
    if (!engine) {
      std::fprintf(stderr, "%s\n", engine.error().message.c_str());
      return 1;
    }
    configurations.push_back({name, *engine, pipeline});
  }
  std::printf("seed %" PRIu64 ", %" PRIu64 " specs\n", options.seed,
              options.count);
  auto start = std::chrono::steady_clock::now();
  Runner runner(std::move(configurations), options.choice);
  std::uint64_t failures = 0;
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    std::signal(signal, reportCrash);
  for (std::uint64_t i = 0; i < options.count; ++i) {
    std::snprintf(currentSpec, sizeof(currentSpec),
                  "crashed: --seed %" PRIu64 " --count 1\n", options.seed + i);
    failures += !runner.run(options.seed + i);
  }
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  std::printf("%" PRIu64 " of %" PRIu64 " specs failed in %.1f s\n", failures,
              options.count, elapsed.count());
  runner.printSummary();
  // A long run that never met a feature does not test what it should.
  if (options.count >= 500 && !options.choice.forGPU &&
      !options.choice.onlyRegions)
    for (const string &feature : runner.missingFeatures()) {
      std::printf("no spec had: %s\n", feature.c_str());
      ++failures;
    }
  return failures ? 1 : 0;
}
