//===- EverywhereRun.cpp - A kernel by every way there is -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "runtime/Interpreter/Interpreter.h"
#include "runtime/Reference/Values.h"
#include "test/Execution/KernelCache.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <optional>

using namespace attn;
using namespace attn::test;

static Results runCompiled(const Kernel &kernel,
                           std::vector<Argument> arguments) {
  Results results;
  auto shapes = kernel.resultShapes(arguments);
  if (!shapes) {
    results.error = shapes.error().message;
    return results;
  }
  std::vector<TensorView> views;
  std::vector<std::vector<std::byte>> before;
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    results.tensors.emplace_back(kernel.signature().results[i].type,
                                 (*shapes)[i]);
    views.push_back(results.tensors.back().mutableView());
    // What is updated in place starts as a copy.
    if (int updated = kernel.signature().results[i].updates; updated >= 0) {
      Argument &argument = arguments[std::size_t(updated)];
      auto elements = reference::toDoubles("argument", *argument.view());
      std::size_t next = 0;
      results.tensors.back().fill([&] { return (*elements)[next++]; });
      argument = views.back();
    }
    before.push_back(results.tensors.back().bytes());
  }
  if (Status status = kernel.run(arguments, views); !status) {
    results.error = status.error().message;
    EXPECT_NE(results.error, "");
  }
  for (std::size_t i = 0; i < results.tensors.size(); ++i) {
    EXPECT_TRUE(results.tensors[i].gapsAreUntouched());
    if (!results.error.empty())
      EXPECT_EQ(results.tensors[i].bytes(), before[i])
          << "result " << i << " was written before the error";
  }
  return results;
}

Results attn::test::runEverywhere(
    const std::string &text, const std::vector<TestArgument> &testArguments,
    bool quantizeQueries, const std::vector<std::string> &pipelines) {
  std::vector<Argument> arguments(testArguments.begin(), testArguments.end());
  std::optional<Expected<std::vector<ReferenceResult>>> expected;
  Results results;
  for (const std::string &pipeline : pipelines) {
    SCOPED_TRACE(pipeline + " of\n" + text);
    Expected<Kernel> kernel = getEngine().compile(
        text, {.pipeline = pipeline, .quantizeQueries = quantizeQueries});
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message << "\n" << text;
      results = {kernel.error().message, {}};
      continue;
    }
    if (!expected)
      expected =
          interpret(text, "test.mlir", kernel->signature().entry, arguments);
    results = runCompiled(*kernel, arguments);
    EXPECT_EQ(expected->ok(), results.error.empty())
        << (*expected ? results.error : expected->error().message);
    if (!*expected || !results.error.empty())
      continue;
    for (std::size_t i = 0; i < (*expected)->size(); ++i) {
      const ReferenceResult &result = (**expected)[i];
      EXPECT_EQ(results.tensors[i].shape(), result.shape);
      auto comparison = reference::compare(
          results.tensors[i].elements(), result.values,
          reference::toleranceFor(result.type, result.quantity), result.scales);
      EXPECT_TRUE(comparison.ok() && comparison->passed)
          << "result " << i << " differs at " << comparison->index << ": "
          << comparison->actual << " for " << comparison->expected;
    }
  }
  return results;
}

void attn::test::expectRightOnThreads(
    const std::string &text, const std::vector<TestArgument> &arguments) {
  std::string error = runEverywhere(text, arguments).error;
  EXPECT_EQ(error, "") << text;
  if (!error.empty())
    return;
  auto alone = runOnThreads(1, text, arguments);
  for (unsigned threads : {2, 3})
    EXPECT_EQ(alone, runOnThreads(threads, text, arguments)) << text;
}

std::vector<std::vector<std::byte>>
attn::test::runOnThreads(unsigned threads, const std::string &text,
                         const std::vector<TestArgument> &testArguments) {
  std::vector<Argument> arguments(testArguments.begin(), testArguments.end());
  // The same object for any number of threads.
  auto engine = Engine::create(
      {.cacheDirectory = getCacheDirectory(), .threads = threads});
  auto kernel = engine->compile(text);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message << " in\n" << text;
    for (const Diagnostic &diagnostic : kernel.error().diagnostics)
      ADD_FAILURE() << formatDiagnostic(diagnostic);
    std::abort();
  }
  auto shapes = kernel->resultShapes(arguments);
  std::vector<TestTensor> results;
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < shapes->size(); ++i)
    results.emplace_back(kernel->signature().results[i].type, (*shapes)[i]);
  for (TestTensor &result : results)
    views.push_back(result.mutableView());
  Status status = kernel->run(arguments, views);
  EXPECT_TRUE(status) << status.error().message;
  std::vector<std::vector<std::byte>> bytes;
  for (const TestTensor &result : results)
    bytes.push_back(result.bytes());
  return bytes;
}
