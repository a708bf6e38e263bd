//===- Report.cpp - Tells people and programs how it went -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-run/Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace attn;
using namespace attn::run;

static constexpr std::pair<const char *, double CompileStats::*> stages[] = {
    {"parse", &CompileStats::parseMs},
    {"passes", &CompileStats::passesMs},
    {"translate", &CompileStats::translateMs},
    {"optimize", &CompileStats::optimizeMs},
    {"codegen", &CompileStats::codegenMs},
    {"link", &CompileStats::linkMs},
    {"device", &CompileStats::deviceMs}};

static const char *sourceName(CompileStats::Source source) {
  switch (source) {
  case CompileStats::Source::compiler:
    return "compiler";
  case CompileStats::Source::memoryCache:
    return "memory cache";
  case CompileStats::Source::diskCache:
    return "disk cache";
  }
  return "?";
}

static double minimum(llvm::ArrayRef<double> values) {
  return *llvm::min_element(values);
}

static double median(std::vector<double> values) {
  llvm::sort(values);
  std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

/// "(0, 3, 5)": where the element with a row-major number is.
static std::string formatIndex(std::int64_t number,
                               llvm::ArrayRef<std::int64_t> shape) {
  std::vector<std::string> indices;
  for (std::int64_t size : llvm::reverse(shape)) {
    indices.push_back(std::to_string(number % size));
    number /= size;
  }
  return "(" + llvm::join(llvm::reverse(indices), ", ") + ")";
}

static void printCheck(const Check &check, llvm::ArrayRef<std::int64_t> shape) {
  const reference::Comparison &comparison = check.comparison;
  const char *measure = check.tolerance.relative ? "relative" : "absolute";
  if (comparison.index < 0)
    llvm::outs() << "    passed: equal to what is expected\n";
  else
    llvm::outs() << llvm::formatv(
        "    {0}: largest {1} error {2:e2} at {3}, got {4:e7}, expected "
        "{5:e7}; tolerance {6:e1}\n",
        comparison.passed ? "passed" : "failed", measure, comparison.error,
        formatIndex(comparison.index, shape), comparison.actual,
        comparison.expected, check.tolerance.bound);
}

static void printTuning(const Tuning &tuning) {
  llvm::raw_ostream &os = llvm::outs();
  os << "tuned: " << tuning.numTried
     << (tuning.numTried == 1 ? " plan" : " plans") << " tried"
     << (tuning.isComplete ? "" : ", as long as there was time") << "; ";
  if (tuning.timesFaster == 1) {
    os << "the compiler's are the best\n";
    return;
  }
  os << llvm::formatv("the best are {0:f2} times as fast as the compiler's\n",
                      tuning.timesFaster);
  for (const auto &[index, plan] : llvm::enumerate(tuning.plans))
    if (!plan.empty())
      os << "  op " << index << ": " << plan << "\n";
}

void attn::run::printReport(const Report &report) {
  llvm::raw_ostream &os = llvm::outs();
  os << "@" << report.entry << " from " << report.file << ", pipeline "
     << report.pipeline << "\n";
  for (const auto &[index, argument] : llvm::enumerate(report.arguments)) {
    os << "  argument " << index;
    if (!argument.name.empty())
      os << " '" << argument.name << "'";
    os << ": " << argument.type << " from " << argument.place << "\n";
  }

  const CompileStats &compile = report.compile;
  if (compile.source == CompileStats::Source::compiler) {
    os << llvm::formatv("compiled in {0:f2} ms",
                        compile.totalMs + report.fewQueriesMs);
    llvm::ListSeparator separator;
    os << " (";
    for (auto [name, member] : stages)
      os << separator << llvm::formatv("{0} {1:f2}", name, compile.*member);
    if (report.fewQueriesMs > 0)
      os << llvm::formatv(", few queries {0:f2}", report.fewQueriesMs);
    os << ")\n";
  } else {
    os << llvm::formatv("loaded from the {0} in {1:f2} ms\n",
                        sourceName(compile.source),
                        compile.totalMs + report.fewQueriesMs);
  }
  if (report.tuning)
    printTuning(*report.tuning);
  if (report.runMs.size() == 1)
    os << llvm::formatv("ran in {0:f3} ms\n", report.runMs.front());
  else
    os << llvm::formatv("ran {0} times: min {1:f3} ms, median {2:f3} ms\n",
                        report.runMs.size(), minimum(report.runMs),
                        median(report.runMs));

  for (const auto &[index, result] : llvm::enumerate(report.results)) {
    os << "  result " << index << ": " << result.type;
    if (!result.place.empty())
      os << " to " << result.place;
    os << "\n";
    if (index < report.checks.size())
      printCheck(report.checks[index], result.shape);
  }
}

//===----------------------------------------------------------------------===//
// For programs
//===----------------------------------------------------------------------===//

/// JSON has no infinities and no NaN.
static llvm::json::Value number(double value) {
  if (std::isfinite(value))
    return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

static llvm::json::Value toJson(const Report &report) {
  using llvm::json::Array;
  using llvm::json::Object;
  Array arguments, results;
  for (const Report::Value &argument : report.arguments)
    arguments.push_back(Object{{"name", argument.name},
                               {"type", argument.type},
                               {"from", argument.place}});
  for (const auto &[index, result] : llvm::enumerate(report.results)) {
    Object object{{"type", result.type}};
    if (!result.place.empty())
      object["to"] = result.place;
    if (index < report.checks.size()) {
      const auto &[comparison, tolerance] = report.checks[index];
      object["check"] =
          Object{{"passed", comparison.passed},
                 {"error", number(comparison.error)},
                 {"tolerance", tolerance.bound},
                 {"measure", tolerance.relative ? "relative" : "absolute"}};
    }
    results.push_back(std::move(object));
  }
  Object compile{{"source", sourceName(report.compile.source)},
                 {"fewQueriesMs", report.fewQueriesMs},
                 {"totalMs", report.compile.totalMs + report.fewQueriesMs}};
  for (auto [name, member] : stages)
    compile[std::string(name) + "Ms"] = report.compile.*member;
  Object tuning;
  if (report.tuning) {
    Array plans;
    for (const std::string &plan : report.tuning->plans)
      plans.push_back(plan);
    tuning = Object{{"tried", report.tuning->numTried},
                    {"isComplete", report.tuning->isComplete},
                    {"timesFaster", report.tuning->timesFaster},
                    {"plans", std::move(plans)}};
  }
  Object run{{"repeat", report.runMs.size()},
             {"minMs", minimum(report.runMs)},
             {"medianMs", median(report.runMs)}};
  if (report.denseFlops) {
    run["denseFlops"] = *report.denseFlops;
    run["denseFlopsPerSecond"] =
        number(*report.denseFlops / (minimum(report.runMs) * 1e-3));
  }
  Object all{
      {"file", report.file},           {"entry", report.entry},
      {"pipeline", report.pipeline},   {"arguments", std::move(arguments)},
      {"results", std::move(results)}, {"compile", std::move(compile)},
      {"run", std::move(run)}};
  if (report.link)
    all["link"] = Object{{"latency", report.link->latency},
                         {"bytesPerSecond", report.link->bytesPerSecond}};
  if (report.tuning)
    all["tuning"] = std::move(tuning);
  return all;
}

Status attn::run::writeJson(llvm::StringRef path, const Report &report) {
  // In place, because the path may be a link or a pipe.
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    os << llvm::formatv("{0:2}\n", toJson(report));
    os.flush();
    error = os.error();
    os.clear_error(); // Or the destructor ends the process.
  }
  if (error)
    return Error{path.str() + ": cannot write: " + error.message(), {}};
  return {};
}
