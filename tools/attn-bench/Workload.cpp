//===- Workload.cpp - A compiled attention with its tensors ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/Workload.h"

#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Values.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <set>
#include <sstream>

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

Expected<Kernel> bench::compileCase(const AttentionCase &attention,
                                    ElementType type, const Engine &engine,
                                    const Options &options) {
  CompileOptions compileOptions;
  if (!options.pipeline.empty())
    compileOptions.pipeline = options.pipeline;
  compileOptions.fileName = attention.name;
  Expected<Kernel> kernel =
      engine.compile(attention.text(type), compileOptions);
  if (!kernel)
    return describe(kernel.error());
  return kernel;
}

Workload::Workload(AttentionCase attentionCase, ElementType type, Kernel kernel)
    : attention(std::move(attentionCase)), type(type),
      kernel(std::move(kernel)),
      query(type,
            {1, attention.queryHeads, attention.length, attention.headSize}),
      key(type,
          {1, attention.keyValueHeads, attention.length, attention.headSize}),
      value(type,
            {1, attention.keyValueHeads, attention.length, attention.headSize}),
      output(type,
             {1, attention.queryHeads, attention.length, attention.headSize}) {
  std::mt19937_64 random(1);
  for (Buffer *input : {&query, &key, &value})
    input->fillNormal(random);
  // What is never written shows.
  output.fill([](Index) { return std::numeric_limits<double>::quiet_NaN(); });
  arguments = {query.view(), key.view(), value.view()};
  for (const Operand &operand : attention.variant.operands) {
    Buffer &buffer =
        operands.emplace_back(operand.type.value_or(type), operand.sizes);
    buffer.fill(operand.valueAt);
    arguments.emplace_back(buffer.view());
  }
}

Expected<Workload> Workload::create(const AttentionCase &attention,
                                    ElementType type, unsigned threads,
                                    const Options &options) {
  Expected<Engine> engine = createEngine(options, threads);
  if (!engine)
    return engine.error();
  Expected<Kernel> kernel = compileCase(attention, type, *engine, options);
  if (!kernel)
    return kernel.error();
  Workload workload(attention, type, std::move(*kernel));
  if (Expected<double> seconds = workload.run(); !seconds)
    return seconds.error();
  if (Status status = workload.check(); !status)
    return status.error();
  return workload;
}

Expected<double> Workload::run() const {
  TensorView result = output.view();
  auto start = std::chrono::steady_clock::now();
  Status status = kernel.run(arguments, {&result, 1});
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!status)
    return describe(status.error());
  return elapsed.count();
}

Status Workload::checkRow(Index head, Index row) const {
  Index length = attention.length, size = attention.headSize;
  Index keyHead = head * attention.keyValueHeads / attention.queryHeads;
  const Variant &variant = attention.variant;

  reference::AttentionProblem problem;
  problem.query = query.viewAt((head * length + row) * size, {1, 1, 1, size});
  problem.key = key.viewAt(keyHead * length * size, {1, 1, length, size});
  problem.value = value.viewAt(keyHead * length * size, {1, 1, length, size});
  problem.offsets = {row};
  problem.mask = [&](Index, Index, Index p, Index j) {
    return variant.visibility.sees(p, j);
  };
  if (variant.score)
    problem.score = [&](double s, Index, Index, Index p, Index j) {
      return variant.score(s, head, p, j);
    };
  Expected<reference::AttentionResult> expected = reference::attention(problem);
  if (!expected)
    return expected.error();
  Expected<std::vector<double>> actual = reference::toDoubles(
      "output", output.viewAt((head * length + row) * size, {size}));
  if (!actual)
    return actual.error();
  reference::Tolerance tolerance =
      reference::toleranceFor(type, reference::Quantity::output);
  // It is for the largest element of all rows, which a row of many keys has
  // not.
  tolerance.bound *= 5;
  Expected<reference::Comparison> comparison =
      reference::compare(*actual, expected->output, tolerance);
  if (!comparison)
    return comparison.error();
  if (comparison->passed)
    return {};
  std::ostringstream message;
  message << "wrong result in head " << head << ", row " << row
          << ": relative error " << comparison->error << ", got "
          << comparison->actual << ", expected " << comparison->expected;
  return Error{message.str(), {}};
}

Status Workload::check() const {
  Expected<std::vector<double>> values =
      reference::toDoubles("output", output.view());
  if (!values)
    return values.error();
  if (std::ranges::any_of(*values, [](double x) { return x != x; }))
    return Error{"the result has elements that are not numbers", {}};

  Index last = attention.length - 1;
  // Both ends, and both sides of where tiles meet.
  std::set<Index> rows = {0, 1, 63, 64, last / 2, last - 1, last};
  for (Index head : std::set<Index>{0, attention.queryHeads - 1})
    for (Index row : rows)
      if (row >= 0 && row <= last)
        if (Status status = checkRow(head, row); !status)
          return status;
  return {};
}
