//===- MutateKernels.cpp - Kernels with mistakes, one after the other -----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mutate-kernels [--seed N] [--count N] [--save FOLDER]
//
// Each mutant is a module of test/ or examples/ with a few changes. It goes
// through what "attn-run --check" does, on one of the pipelines, in a process
// of its own as far as it ends one. A signal, much more time than kernels need,
// and a result that is not the interpreter's are failures; whatever error comes
// is none. Mutants that fail are written to the folder, if one is given.
//
// A mutant depends on its number and on the files it is made of: as long as
// those are the same, "--seed 17 --count 1" repeats number 17.
//
//===----------------------------------------------------------------------===//

#include "test/Fuzz/KernelCheck.h"
#include "test/Fuzz/KernelSeeds.h"
#include "test/Fuzz/Mutation.h"

#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// Of processor time for one mutant. The slowest kernel of the tests takes two.
constexpr int maxSeconds = 30;
/// Wall-clock time, for one that waits forever.
constexpr unsigned maxWallSeconds = 600;
/// Of address space.
constexpr rlim_t maxBytes = rlim_t(8) << 30;
/// Mutants of one process: an engine keeps what it compiles.
constexpr std::uint64_t mutantsPerProcess = 200;

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t count = 500;
  string folder; ///< Empty: mutants are not saved.
};

struct Mutant {
  string text;
  CompileOptions options;
};

/// What a process tells the one that started it.
struct Progress {
  std::uint64_t number;    ///< The mutant that it works on.
  std::uint64_t counts[5]; ///< By KernelOutcome::Kind.
};

} // namespace

static Mutant createMutant(const std::vector<string> &seeds,
                           std::uint64_t number) {
  Random random(number);
  Mutant mutant;
  string seed = random.pick(seeds);
  // Kernels have no memory.
  while (seed.find("memref") != string::npos && random.chance(0.9))
    seed = random.pick(seeds);
  mutant.text = mutate(seed, random.pick(seeds), random);
  if (std::vector<string> names = findFunctions(mutant.text); !names.empty())
    mutant.options.entry = random.pick(names);
  mutant.options.pipeline =
      random.pick<string>({"cpu", "cpu", "cpu", "reference",
                           ATTN_GPU ? "gpu-emulator" : "reference"});
  return mutant;
}

static void report(const Options &options, const Mutant &mutant,
                   std::uint64_t number, const string &message) {
  std::printf("mutant %" PRIu64 " (--seed %" PRIu64
              " --count 1; @%s, pipeline %s): %s\n",
              number, number, mutant.options.entry.c_str(),
              mutant.options.pipeline.c_str(), message.c_str());
  if (options.folder.empty())
    std::printf("%s\n", mutant.text.c_str());
  else
    std::ofstream(options.folder + "/" + std::to_string(number) + ".mlir")
        << "// " << number << ": @" << mutant.options.entry << ", pipeline "
        << mutant.options.pipeline << ": " << message << "\n"
        << mutant.text;
  std::fflush(stdout);
}

static void setLimits() {
  rlimit memory = {maxBytes, maxBytes}, core = {0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &core);
}

static void startTimer() {
  itimerval time = {};
  time.it_value.tv_sec = maxSeconds;
  setitimer(ITIMER_PROF, &time, nullptr);
  alarm(maxWallSeconds);
}

/// Checks the mutants from `progress.number` to before `end`.
static void runMutants(const Options &options, const std::vector<string> &seeds,
                       std::uint64_t end, Progress &progress) {
  EngineOptions engineOptions;
  engineOptions.threads = 1;
  Expected<Engine> engine = Engine::create(engineOptions);
  if (!engine) {
    std::fprintf(stderr, "%s\n", engine.error().message.c_str());
    std::_Exit(1);
  }
  for (; progress.number < end; ++progress.number) {
    startTimer();
    Mutant mutant = createMutant(seeds, progress.number);
    KernelOutcome outcome =
        checkKernel(*engine, mutant.text, mutant.options, progress.number);
    ++progress.counts[outcome.kind];

    if (outcome.kind >= KernelOutcome::differs)
      report(options, mutant, progress.number, outcome.message);
  }
}

/// Runs mutants in another process. Nothing, or how it ended before they did.
static string runProcess(const Options &options,
                         const std::vector<string> &seeds, std::uint64_t end,
                         Progress &progress) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setLimits();
    runMutants(options, seeds, end, progress);
    std::_Exit(0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    std::perror("mutate-kernels");
    std::exit(1);
  }
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    if (signal == SIGPROF || signal == SIGALRM)
      return "takes too long";
    return "ends the process: " + string(strsignal(signal));
  }
  if (WEXITSTATUS(status))
    return "exits with " + std::to_string(WEXITSTATUS(status));
  return {};
}

/// The number of failures.
static std::uint64_t run(const Options &options,
                         const std::vector<string> &seeds, Progress &progress) {
  std::uint64_t end = options.seed + options.count;
  progress.number = options.seed;
  while (progress.number < end) {
    string death = runProcess(
        options, seeds, std::min(end, progress.number + mutantsPerProcess),
        progress);
    if (death.empty())
      continue;
    report(options, createMutant(seeds, progress.number), progress.number,
           death);
    ++progress.counts[KernelOutcome::failed];
    ++progress.number;
  }
  return progress.counts[KernelOutcome::failed] +
         progress.counts[KernelOutcome::differs];
}

static bool parseOptions(int argc, char **argv, Options &options) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!std::strcmp(argv[i], "--seed"))
      options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--count"))
      options.count = std::strtoull(argv[i + 1], nullptr, 10);
    else if (!std::strcmp(argv[i], "--save"))
      options.folder = argv[i + 1];
    else
      return false;
  }
  return argc % 2 == 1;
}

int main(int argc, char **argv) {
  Options options;
  if (!parseOptions(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--seed N] [--count N] [--save FOLDER]\n",
                 argv[0]);
    return 2;
  }
  if (!options.folder.empty())
    std::filesystem::create_directories(options.folder);
  void *shared = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("mmap");
    return 1;
  }
  auto &progress = *new (shared) Progress();
  std::vector<string> seeds = readKernelSeeds();
  std::printf("seed %" PRIu64 ", %" PRIu64 " mutants of %zu modules\n",
              options.seed, options.count, seeds.size());
  std::uint64_t failures = run(options, seeds, progress);
  std::printf("%" PRIu64 " mutants failed, of which %" PRIu64
              " give something else; %" PRIu64 " passed, %" PRIu64
              " were refused, %" PRIu64 " skipped\n",
              failures, progress.counts[KernelOutcome::differs],
              progress.counts[KernelOutcome::passed],
              progress.counts[KernelOutcome::refused],
              progress.counts[KernelOutcome::skipped]);
  return failures ? 1 : 0;
}
