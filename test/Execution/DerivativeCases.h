//===- DerivativeCases.h - Functions to differentiate -----------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_DERIVATIVECASES_H
#define ATTN_TEST_EXECUTION_DERIVATIVECASES_H

#include "attn/engine.h"
#include "test/Execution/Random.h"
#include "test/Execution/TestTensor.h"

#include <algorithm>

namespace attn::test {

/// A function and what derivatives are taken with respect to.
struct DerivativeCase {
  std::string name, text;
  std::vector<std::string> of = {};
  /// Values of arguments that are integers.
  std::vector<std::int64_t> integers = {};
};

/// Functions of f64: attention of many kinds, layers, elementwise operations.
std::vector<DerivativeCase> getDerivativeCases();

/// All of these where `runsAllCases`, otherwise every second, from `first` (0
/// or 1) on: for what follows others that all meet.
std::vector<DerivativeCase> selectDerivativeCases(std::size_t first);

/// Tensors and numbers for the arguments of a function.
class RandomArguments {
public:
  RandomArguments(const Signature &signature, const DerivativeCase &tested,
                  Random &random);

  std::size_t find(const std::string &name) const {
    return std::size_t(std::find(names.begin(), names.end(), name) -
                       names.begin());
  }

  /// The tensor that is the argument of this name.
  const TestTensor &getTensor(const std::string &name) const {
    std::size_t before = 0;
    for (std::size_t i = 0; i < find(name); ++i)
      before += values[i].view() != nullptr;
    return tensors[before];
  }

  std::vector<TestTensor> tensors;
  std::vector<Argument> values;
  std::vector<std::string> names;
};

/// Runs a kernel; the elements of each result.
std::vector<std::vector<double>>
runKernel(const Kernel &kernel, const std::vector<Argument> &arguments);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_DERIVATIVECASES_H
