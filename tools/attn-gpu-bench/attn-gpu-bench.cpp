//===- attn-gpu-bench.cpp - Checks and measures attention on a GPU --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// scripts/gpu_report.py runs it. Prints a line of JSON for each case as soon as
// it is done, so that what was found stays when the machine goes away.
//
//===----------------------------------------------------------------------===//

#include "runtime/CUDA/Ptxas.h"
#include "tools/PrintError.h"
#include "tools/attn-gpu-bench/CaseRun.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::gpubench;
namespace cl = llvm::cl;
namespace json = llvm::json;

static cl::OptionCategory category("Options of attn-gpu-bench");
static cl::list<std::string> names(cl::Positional, cl::desc("[case...]"),
                                   cl::cat(category));
static cl::opt<bool> list("list", cl::desc("Print the cases, and run none"),
                          cl::cat(category));
static cl::opt<bool> describe("device",
                              cl::desc("Print what the GPU is, and run none"),
                              cl::cat(category));
static cl::opt<std::string>
    driver("driver", cl::desc("The driver's library (default: the system's)"),
           cl::value_desc("file"), cl::cat(category));
static cl::opt<double> seconds("seconds",
                               cl::desc("How long to measure each case"),
                               cl::init(0.3), cl::cat(category));

static void print(json::Object line) {
  llvm::outs() << json::Value(std::move(line)) << "\n";
  llvm::outs().flush();
}

static void printCase(const GPUCase &gpuCase) {
  print(json::Object{{"case", gpuCase.name()},
                     {"family", nameOf(gpuCase.family)},
                     {"pattern", gpuCase.pattern.name},
                     {"type", std::string(nameOf(gpuCase.type))},
                     {"query", json::Array(gpuCase.querySizes())},
                     {"key", json::Array(gpuCase.keySizes())},
                     {"work", gpuCase.work()},
                     {"unit", gpuCase.unit()}});
}

static void printDevice(const cuda::Device &device) {
  std::optional<cuda::Ptxas> ptxas = cuda::Ptxas::find();
  print(json::Object{
      {"name", device.name()},
      {"architecture", device.architecture()},
      {"driver", "CUDA " + cuda::spellVersion(device.driverVersion())},
      {"assembler", ptxas ? "ptxas " + ptxas->release() : "the driver"},
      {"multiprocessors", device.multiprocessors()},
      {"shared_bytes", device.sharedBytes()}});
}

static void printOutcome(const GPUCase &gpuCase, const Outcome &outcome) {
  json::Object line{{"case", gpuCase.name()},
                    {"rows", outcome.rows},
                    {"error", outcome.error},
                    {"bound", outcome.bound}};
  if (outcome.milliseconds > 0) {
    line["milliseconds"] = outcome.milliseconds;
    line["speed"] = gpuCase.work() / outcome.milliseconds;
    line["unit"] = gpuCase.unit();
  }
  if (!outcome.remarks.empty())
    line["remarks"] = json::Array(outcome.remarks);
  print(std::move(line));
}

/// The cases that were asked for, or all.
static Expected<std::vector<GPUCase>> selectCases() {
  std::vector<GPUCase> all = listCases();
  if (names.empty())
    return all;
  std::vector<GPUCase> selected;
  for (const std::string &name : names) {
    auto found = llvm::find_if(
        all, [&](const GPUCase &each) { return each.name() == name; });
    if (found == all.end())
      return Error{"case: expected one that --list prints, got '" + name + "'",
                   {}};
    selected.push_back(*found);
  }
  return selected;
}

/// Runs the cases up to one after which the GPU is not to be trusted.
static Status run() {
  if (!(seconds >= 0 && seconds <= 3600))
    return Error{"--seconds: expected 0 to 3600, got " +
                     std::to_string(double(seconds)),
                 {}};
  Expected<std::vector<GPUCase>> cases = selectCases();
  if (!cases)
    return cases.error();
  if (list) {
    llvm::for_each(*cases, printCase);
    return {};
  }
  Expected<cuda::Device> device = cuda::Device::open({.driver = driver});
  if (!device)
    return device.error();
  if (describe) {
    printDevice(*device);
    return {};
  }
  Expected<Engine> engine = Engine::create({.gpuDriver = driver});
  if (!engine)
    return engine.error();
  bool isRight = true;
  for (const GPUCase &gpuCase : *cases) {
    Expected<Outcome> outcome = runCase(gpuCase, *engine, *device, seconds);
    if (outcome) {
      printOutcome(gpuCase, *outcome);
      continue;
    }
    isRight = false;
    print(json::Object{{"case", gpuCase.name()},
                       {"failed", outcome.error().message}});
    // After some errors, a context does nothing any more.
    if (Expected<cuda::Stream> stream = device->createStream(); !stream)
      return stream.error();
  }
  if (!isRight)
    return Error{"some cases failed", {}};
  return {};
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv,
      "Checks attention on a GPU against a float64 oracle, and measures it\n");
  Status status = run();
  if (status)
    return 0;
  printError("attn-gpu-bench", status.error());
  return 1;
}
