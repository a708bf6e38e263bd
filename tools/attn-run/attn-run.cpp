//===- attn-run.cpp - Compiles IR text and runs it on .npy files ----------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "runtime/Npy/Npy.h"
#include "tools/HostCall.h"
#include "tools/OutputFiles.h"
#include "tools/PrintError.h"
#include "tools/attn-run/Check.h"
#include "tools/attn-run/Options.h"
#include "tools/attn-run/Progress.h"
#include "tools/attn-run/RankCall.h"
#include "tools/attn-run/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <chrono>
#include <cstdlib>

using namespace attn;
using namespace attn::run;

/// Says that there are more of an option than results.
static Status checkCount(const Signature &signature, llvm::StringRef option,
                         std::size_t given) {
  std::size_t results = signature.results.size();
  if (given <= results)
    return {};
  return Error{"@" + signature.entry + " has " + std::to_string(results) +
                   (results == 1 ? " result" : " results") + ", got " +
                   std::to_string(given) + " " + option.str(),
               {}};
}

static Expected<Engine> createEngine(const Options &options) {
  EngineOptions engineOptions;
  engineOptions.cacheDirectory = options.cacheDirectory;
  engineOptions.cpu = options.cpu;
  engineOptions.threads = options.threads;
  return Engine::create(engineOptions);
}

static CompileOptions getCompileOptions(const Options &options) {
  CompileOptions compileOptions;
  compileOptions.entry = options.entry;
  compileOptions.pipeline = options.pipeline;
  compileOptions.fallBackToCPU = options.fallBackToCPU;
  compileOptions.quantizeQueries = options.quantizeQueries;
  compileOptions.fileName = options.inputFile;
  return compileOptions;
}

static Expected<Kernel> compile(const Options &options, const Engine &engine,
                                llvm::StringRef text) {
  Progress progress("compiling");
  return engine.compile(text, getCompileOptions(options));
}

/// Tunes the kernel for the call.
static Expected<Tuning> tune(const Options &options, const Engine &engine,
                             llvm::StringRef text, HostCall &call) {
  CallMemory::Operands memory = call.prepare();
  Progress progress("tuning");
  return engine.tune(text, memory.inputs, memory.outputs,
                     {.seconds = *options.tuningSeconds},
                     getCompileOptions(options));
}

static Expected<std::vector<ReferenceResult>>
readExpectedFiles(const Options &options, std::span<const NpyArray> results) {
  std::vector<ReferenceResult> references;
  for (std::size_t i = 0; i < options.expectedFiles.size(); ++i) {
    Expected<ReferenceResult> reference =
        readExpected(options.expectedFiles[i], results[i]);
    if (!reference)
      return reference.error();
    references.push_back(std::move(*reference));
  }
  return references;
}

/// What the results should be, by another way than the kernel's.
static Expected<std::vector<ReferenceResult>>
evaluate(const Options &options, llvm::StringRef text, llvm::StringRef entry,
         std::span<const Argument> arguments) {
  Progress progress("evaluating in float64");
  return interpret(text, options.inputFile, entry, arguments);
}

/// Compiles what the call needs and the kernel does not have yet.
static Status prepareCall(const Kernel &kernel,
                          const CallMemory::Operands &memory, Report &report) {
  auto start = std::chrono::steady_clock::now();
  Expected<bool> compiled = kernel.prepare(memory.inputs);
  if (!compiled)
    return std::move(compiled).error();
  if (*compiled)
    report.fewQueriesMs = std::chrono::duration<double, std::milli>(
                              std::chrono::steady_clock::now() - start)
                              .count();
  return {};
}

/// Runs `repeat` times. Gives the milliseconds of each; of several ranks, until
/// the last one is done.
static Expected<std::vector<double>>
runKernel(const Kernel &kernel, const CallMemory::Operands &memory,
          unsigned repeat, const Ranks *ranks = nullptr) {
  std::vector<double> times;
  Progress progress("running");
  auto meet = [&] { return ranks ? ranks->meet() : Status(); };
  for (unsigned i = 0; i < repeat; ++i) {
    if (Status status = meet(); !status)
      return status.error();
    auto start = std::chrono::steady_clock::now();
    if (Status status = kernel.run(memory.inputs, memory.outputs); !status)
      return status.error();
    if (Status status = meet(); !status)
      return status.error();
    times.push_back(std::chrono::duration<double, std::milli>(
                        std::chrono::steady_clock::now() - start)
                        .count());
  }
  return times;
}

/// An error if a file would be lost. Results may replace arguments, which have
/// been read by then: so steps update caches.
static Status checkFiles(const Options &options) {
  std::vector<NamedFile> inputs = {{"the input", options.inputFile}};
  for (const std::string &path : options.expectedFiles)
    inputs.push_back({"--expect", path});
  std::vector<NamedFile> outputs = {{"-o", options.emittedFile}};
  for (const std::string &path : options.outputFiles)
    outputs.push_back({"--out", path});
  if (Status status = checkOutputFiles(outputs, inputs); !status)
    return status;
  llvm::append_range(inputs, outputs);
  for (const std::string &path : options.arguments)
    inputs.push_back({"--arg", path});
  return checkOutputFiles({{"--json", options.jsonFile}}, inputs);
}

/// Writes the kernel's code.
static Status emit(const Options &options, const Engine &engine,
                   llvm::StringRef text) {
  Expected<std::string> code =
      engine.emit(text, *options.emittedForm, getCompileOptions(options));
  if (!code)
    return code.error();
  auto file = writeFile(options.emittedFile, *code);
  if (!file)
    return std::move(file).error();
  (*file)->keep();
  return {};
}

/// Checks, before anything runs, that there is a result for each option.
static Status checkCounts(const Options &options, const Signature &signature) {
  Status status = checkCount(signature, "--out", options.outputFiles.size());
  return status
             ? checkCount(signature, "--expect", options.expectedFiles.size())
             : status;
}

static Report createReport(const Options &options, const Kernel &kernel) {
  Report report;
  report.file = options.inputFile;
  report.pipeline = kernel.pipeline();
  report.entry = kernel.signature().entry;
  report.compile = kernel.stats();
  return report;
}

/// Writes, checks and reports what was computed. True if it is as expected.
static Expected<bool> finish(const Options &options, llvm::StringRef text,
                             std::span<const Argument> arguments,
                             std::span<const NpyArray> results,
                             Report &report) {
  for (std::size_t i = 0; i < results.size(); ++i) {
    bool written =
        i < options.outputFiles.size() && options.outputFiles[i] != "-";
    report.results.push_back(
        {"", formatType(results[i].shape(), results[i].type()),
         written ? options.outputFiles[i] : "", results[i].shape()});
  }
  // After the kernel, whose errors name the arguments.
  Expected<std::vector<ReferenceResult>> references =
      options.check ? evaluate(options, text, report.entry, arguments)
                    : readExpectedFiles(options, results);
  if (!references)
    return references.error();
  if (options.gradientOf || options.tangentOf) // Of whatever it is computed by.
    for (ReferenceResult &reference : *references)
      reference.quantity = reference::Quantity::gradient;

  for (std::size_t i = 0; i < results.size(); ++i)
    if (const std::string &path = report.results[i].place; !path.empty())
      if (Status status = writeNpy(path, results[i].view()); !status)
        return status.error();

  // Only what the interpreter can follow is counted.
  if (Expected<double> flops =
          countDenseFlops(text, options.inputFile, report.entry, arguments);
      flops && *flops > 0)
    report.denseFlops = *flops;

  Expected<std::vector<Check>> checks =
      checkResults(results, *references, options.quantizeQueries);
  if (!checks)
    return checks.error();
  report.checks = std::move(*checks);

  printReport(report);
  if (!options.jsonFile.empty())
    if (Status status = writeJson(options.jsonFile, report); !status)
      return status.error();
  return llvm::all_of(report.checks, [](const Check &check) {
    return check.comparison.passed;
  });
}

/// Runs the part of this rank. True if the results, which rank 0 has, are as
/// expected.
static Expected<bool> runPart(const Options &options, const Ranks &ranks,
                              const RankKernel &kernel, llvm::StringRef text) {
  bool isFirst = ranks.rank() == 0;
  if (options.remarks && isFirst) {
    printDiagnostics("attn-run", kernel.remarks);
    printDiagnostics("attn-run", kernel.kernel.remarks());
  }
  if (Status status = checkCounts(options, kernel.signature); !status)
    return status.error();
  Expected<RankCall> call =
      RankCall::create(ranks, kernel, text, options.inputFile,
                       options.arguments, options.randomSeed);
  if (!call)
    return call.error();
  Report report = createReport(options, kernel.kernel);
  for (const auto &[argument, parameter] :
       llvm::zip_equal(call->descriptions(), kernel.signature.arguments))
    report.arguments.push_back(
        {parameter.name, argument.type, argument.source, {}});
  CallMemory::Operands operands = call->prepare();
  if (Status status = prepareCall(kernel.kernel, operands, report); !status)
    return status.error();
  Expected<std::vector<double>> times =
      runKernel(kernel.kernel, operands, options.repeat, &ranks);
  if (!times)
    return times.error();
  report.runMs = std::move(*times);
  report.link = ranks.link();
  Expected<std::vector<NpyArray>> results = call->gather(ranks, kernel);
  if (!results)
    return results.error();
  return isFirst
             ? finish(options, text, call->wholeArguments(), *results, report)
             : Expected<bool>(true);
}

/// Runs the kernel in this process.
static Expected<bool> runAlone(const Options &options, const Engine &engine,
                               llvm::StringRef text) {
  Expected<Kernel> kernel = compile(options, engine, text);
  if (!kernel)
    return kernel.error();
  if (options.remarks) {
    if (Status status = kernel->prepare(); !status)
      return status.error();
    printDiagnostics("attn-run", kernel->remarks());
  }
  const Signature &signature = kernel->signature();
  if (Status status = checkCounts(options, signature); !status)
    return status.error();
  Expected<HostCall> call = HostCall::create(
      *kernel, text, options.inputFile, options.arguments, options.randomSeed);
  if (!call)
    return call.error();
  Report report = createReport(options, *kernel);
  for (const auto &[argument, parameter] :
       llvm::zip_equal(call->hostArguments(), signature.arguments))
    report.arguments.push_back(
        {parameter.name,
         argument.array()
             ? formatType(argument.array()->shape(), argument.array()->type())
             : formatType({}, parameter.type),
         argument.source,
         {}});

  Kernel called = *kernel;
  if (options.tuningSeconds) {
    Expected<Tuning> tuning = tune(options, engine, text, *call);
    if (!tuning)
      return tuning.error();
    called = tuning->kernel;
    report.tuning = std::move(*tuning);
  }
  CallMemory::Operands operands = call->prepare();
  if (Status status = prepareCall(called, operands, report); !status)
    return status.error();
  Expected<std::vector<double>> times =
      runKernel(called, operands, options.repeat);
  if (!times)
    return times.error();
  report.runMs = std::move(*times);
  return finish(options, text, call->arguments(), call->results(), report);
}

/// The text to compile: that of the file, or its gradient or tangent, of which
/// the only function is the one to run.
static Expected<std::string> readText(Options &options) {
  if (Status status = checkFiles(options); !status)
    return status.error();
  auto text =
      llvm::MemoryBuffer::getFileOrSTDIN(options.inputFile, /*IsText=*/true);
  if (!text)
    return Error{
        options.inputFile + ": cannot open: " + text.getError().message(), {}};
  Expected<std::string> result = (*text)->getBuffer().str();
  for (auto [of, differentiate] :
       {std::pair(&options.gradientOf, &attn::differentiate),
        std::pair(&options.tangentOf, &attn::differentiateForward)})
    if (*of && result) {
      GradientOptions derivative;
      derivative.of = **of;
      derivative.entry = std::exchange(options.entry, "");
      derivative.fileName = options.inputFile;
      result = differentiate(*result, derivative);
    }
  return result;
}

/// Does everything. True if the results are as expected.
static Expected<bool> runFile(Options options) {
  auto text = readText(options);
  if (!text)
    return text.error();
  Expected<Engine> engine = createEngine(options);
  if (!engine)
    return engine.error();
  if (!options.emittedForm)
    return runAlone(options, *engine, *text);
  Status status = emit(options, *engine, *text);
  return status ? Expected<bool>(true) : status.error();
}

/// The same as one of several ranks.
static Expected<bool> runRank(Options options) {
  if (options.inputFile == "-")
    return Error{"--mpi: expected a file that all ranks read, got -", {}};
  Expected<Ranks> ranks =
      Ranks::create({.timeLimit = options.timeLimit,
                     .sharesCache = !options.cacheDirectory.empty()});
  if (!ranks)
    return ranks.error();
  // The others would wait for this one.
  auto end = [&](const Error &error) {
    printError("attn-run", error);
    ranks->abort(1);
    std::_Exit(1);
  };
  auto text = readText(options);
  if (!text)
    end(text.error());
  Expected<Engine> engine = createEngine(options);
  if (!engine)
    end(engine.error());
  Expected<RankKernel> kernel =
      ranks->compile(*engine, *text, getCompileOptions(options), options.split);
  if (!kernel) // On all ranks.
    return kernel.error();
  Expected<bool> passed = runPart(options, *ranks, *kernel, *text);
  if (!passed)
    end(passed.error());
  return passed;
}

int main(int argc, char **argv) {
  Expected<Options> options = parseOptions(argc, argv);
  if (options && options->help) {
    printHelp();
    return 0;
  }
  Expected<bool> passed = !options       ? options.error()
                          : options->mpi ? runRank(*options)
                                         : runFile(*options);
  if (!passed) {
    printError("attn-run", passed.error());
    return 1;
  }
  return *passed ? 0 : 1;
}
