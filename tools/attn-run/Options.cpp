//===- Options.cpp - The command line of attn-run -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-run/Options.h"

#define ATTN_OPTIONS "tools/attn-run/Options.inc"
#include "tools/CommandLine.inc"

#include "attn/tuning.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Option/Arg.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::run;

/// Reads the number after an option, if it is there.
template <typename T>
static Status parseNumber(const InputArgList &parsed, OptionId id, T lowest,
                          T &number) {
  const Arg *arg = parsed.getLastArg(id);
  if (!arg)
    return {};
  llvm::StringRef text = arg->getValue();
  if (!llvm::to_integer(text, number, 10) || number < lowest)
    return Error{"--" + arg->getOption().getName().str() +
                     ": expected an integer from " + std::to_string(lowest) +
                     " to " + std::to_string(std::numeric_limits<T>::max()) +
                     ", got '" + text.str() + "'",
                 {}};
  return {};
}

/// Reads what code to print, and checks that nothing asks for more.
static Status parseEmission(const InputArgList &parsed, Options &options) {
  llvm::StringRef form = parsed.getLastArgValue(OPT_emit);
  if (parsed.hasArg(OPT_assembly)) {
    if (!form.empty() && form != "asm")
      return Error{"-S: expected --emit=asm or none, got '" + form.str() + "'",
                   {}};
    form = "asm";
  }
  if (!parsed.hasArg(OPT_emit, OPT_assembly)) {
    if (parsed.hasArg(OPT_output))
      return Error{"-o: expected --emit or -S; --out is for results", {}};
    return {};
  }
  options.emittedForm = llvm::StringSwitch<std::optional<CodeForm>>(form)
                            .Case("mlir", CodeForm::MLIR)
                            .Case("llvm", CodeForm::LLVM)
                            .Case("asm", CodeForm::Assembly)
                            .Case("obj", CodeForm::Object)
                            .Default(std::nullopt);
  if (!options.emittedForm)
    return Error{"--emit: expected mlir, llvm, asm or obj, got '" + form.str() +
                     "'",
                 {}};
  options.emittedFile = parsed.getLastArgValue(OPT_output, "-");
  for (OptSpecifier running :
       {OPT_arg, OPT_out, OPT_expect, OPT_check, OPT_repeat, OPT_json,
        OPT_remarks, OPT_tune, OPT_tune_seconds})
    if (const Arg *arg = parsed.getLastArg(running))
      return Error{arg->getSpelling().str() +
                       ": expected no --emit and no -S, with which nothing is "
                       "run",
                   {}};
  return {};
}

/// Reads what is said of ranks, and checks that it goes with the rest.
static Status parseRanks(const InputArgList &parsed, Options &options) {
  options.mpi = parsed.hasArg(OPT_mpi);
  options.split = parsed.getLastArgValue(OPT_split);
  if (const Arg *arg = parsed.getLastArg(OPT_time_limit))
    if (!llvm::to_float(arg->getValue(), options.timeLimit) ||
        !(options.timeLimit > 0))
      return Error{"--time-limit: expected seconds, such as 2.5, got '" +
                       std::string(arg->getValue()) + "'",
                   {}};
  if (!options.mpi) {
    for (OptSpecifier ofRanks : {OPT_split, OPT_time_limit})
      if (const Arg *arg = parsed.getLastArg(ofRanks))
        return Error{arg->getSpelling().str() + ": expected --mpi", {}};
    return {};
  }
  for (OptSpecifier alone : {OPT_emit, OPT_assembly, OPT_tune, OPT_tune_seconds,
                             OPT_tangent, OPT_tangent_of})
    if (const Arg *arg = parsed.getLastArg(alone))
      return Error{arg->getSpelling().str() + ": expected no --mpi", {}};
  if (options.pipeline != "cpu" && options.pipeline != "reference")
    return Error{"--mpi: expected pipeline cpu or reference, got '" +
                     options.pipeline + "'",
                 {}};
  return {};
}

/// Reads what only this tool has.
static Status readOptions(const InputArgList &parsed, Options &options) {
  options.entry = parsed.getLastArgValue(OPT_entry);
  options.arguments = parsed.getAllArgValues(OPT_arg);
  options.outputFiles = parsed.getAllArgValues(OPT_out);
  options.expectedFiles = parsed.getAllArgValues(OPT_expect);
  options.check = parsed.hasArg(OPT_check);
  if (options.check && !options.expectedFiles.empty())
    return Error{"expected --check or --expect, not both", {}};
  options.pipeline = parsed.getLastArgValue(OPT_pipeline, options.pipeline);
  options.fallBackToCPU = parsed.hasArg(OPT_fall_back_to_cpu);
  options.remarks = parsed.hasArg(OPT_remarks);
  options.quantizeQueries = parsed.hasArg(OPT_quantize_queries);
  options.cpu = parsed.getLastArgValue(OPT_cpu);
  options.jsonFile = parsed.getLastArgValue(OPT_json);
  options.cacheDirectory = parsed.getLastArgValue(OPT_cache_dir);

  auto readNames = [&](OptSpecifier ofAll, OptSpecifier ofSome,
                       std::optional<std::vector<std::string>> &to) {
    if (parsed.hasArg(ofAll))
      to.emplace();
    if (const Arg *arg = parsed.getLastArg(ofSome)) {
      llvm::SmallVector<llvm::StringRef> names;
      llvm::StringRef(arg->getValue()).split(names, ',');
      to.emplace(names.begin(), names.end());
    }
  };
  readNames(OPT_gradient, OPT_gradient_of, options.gradientOf);
  readNames(OPT_tangent, OPT_tangent_of, options.tangentOf);

  if (parsed.hasArg(OPT_tune))
    options.tuningSeconds = TuningOptions().seconds;
  if (const Arg *arg = parsed.getLastArg(OPT_tune_seconds)) {
    double seconds = 0;
    if (!llvm::to_float(arg->getValue(), seconds) || !(seconds >= 0))
      return Error{"--tune: expected seconds, such as 2.5, got '" +
                       std::string(arg->getValue()) + "'",
                   {}};
    options.tuningSeconds = seconds;
  }

  std::uint64_t seed = 0;
  if (Status status = parseNumber(parsed, OPT_random, std::uint64_t(0), seed);
      !status)
    return status;
  if (parsed.hasArg(OPT_random))
    options.randomSeed = seed;
  if (Status status = parseNumber(parsed, OPT_threads, 0u, options.threads);
      !status)
    return status;
  if (Status status = parseNumber(parsed, OPT_repeat, 1u, options.repeat);
      !status)
    return status;
  if (Status status = parseEmission(parsed, options); !status)
    return status;
  if (Status status = parseRanks(parsed, options); !status)
    return status;
  bool hasThreads =
      options.pipeline == "cpu" ||
      (options.pipeline == "gpu" && parsed.hasArg(OPT_fall_back_to_cpu));
  if (!hasThreads && options.threads != 1)
    return Error{"--threads: pipeline '" + options.pipeline +
                     "' has 1 thread of the CPU, got " +
                     std::to_string(options.threads),
                 {}};
  return {};
}

Expected<Options> attn::run::parseOptions(int argc, char **argv) {
  return parseCommandLine<Options>(argc, argv, readOptions);
}

void attn::run::printHelp() {
  OptionTable().printHelp(
      llvm::outs(), "attn-run [options] file.mlir",
      "Compiles a function of an MLIR file and runs it on .npy files");
}
