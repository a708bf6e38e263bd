//===- EverywhereRun.h - A kernel by every way there is ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_EVERYWHERERUN_H
#define ATTN_TEST_EXECUTION_EVERYWHERERUN_H

#include "attn/engine.h"
#include "test/Execution/TestTensor.h"

#include <cstddef>
#include <string>
#include <vector>

namespace attn::test {

/// What a kernel gives.
struct Results {
  std::string error; ///< Of the last pipeline; empty if there is none.
  std::vector<TestTensor> tensors;
};

/// An argument of a call, which a test tensor is too.
struct TestArgument : Argument {
  using Argument::Argument;
  TestArgument(const Argument &argument) : Argument(argument) {}
  TestArgument(const TestTensor &tensor) : Argument(tensor.view()) {}
};

/// Runs the function of `text` by the pipelines and by the interpreter. Where
/// one fails, all must, and what the compiled kernels give must be what the
/// interpreter gives, within the tolerance of the result's type. A kernel that
/// fails may not have written anything. `quantizeQueries` is that of
/// CompileOptions, for queries that are of i8 already, times a scale.
Results runEverywhere(const std::string &text,
                      const std::vector<TestArgument> &arguments,
                      bool quantizeQueries = false,
                      const std::vector<std::string> &pipelines = {"reference",
                                                                   "cpu"});

/// The bytes of the results of a kernel on some threads. A failed call is a
/// test failure.
std::vector<std::vector<std::byte>>
runOnThreads(unsigned threads, const std::string &text,
             const std::vector<TestArgument> &arguments);

/// Runs a kernel everywhere, and on 1, 2 and 3 threads, which give the same
/// bytes.
void expectRightOnThreads(const std::string &text,
                          const std::vector<TestArgument> &arguments);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_EVERYWHERERUN_H
