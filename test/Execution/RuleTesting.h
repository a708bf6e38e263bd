//===- RuleTesting.h - Kernels with plain answers ---------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the tests of the rules share: kernels of one attention, and inputs whose
// scores and values make the answer plain.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_RULETESTING_H
#define ATTN_TEST_EXECUTION_RULETESTING_H

#include "attn/engine.h"
#include "test/Execution/TestTensor.h"

#include <limits>
#include <string>
#include <vector>

namespace attn::test {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double quietNaN = std::numeric_limits<double>::quiet_NaN();

/// The pipelines of this build that the CPU executes, for any machine.
inline const std::vector<std::string> everyPipeline = {"cpu", "reference",
#if ATTN_GPU
                                                       "gpu-emulator"
#endif
};

/// A kernel with one attention on tensors of dynamic B, Sq and Skv.
struct KernelText {
  ElementType type = ElementType::f64;
  Index queryHeads = 1, keyValueHeads = 1, keySize = 1, valueSize = 1;
  std::string clauses = {};     ///< What follows `outs`.
  std::string parameters = {};  ///< ", %x: type": what the clauses refer to.
  std::string prologue = {};    ///< Operations before the attention.
  std::string pipeline = "cpu"; ///< As CompileOptions has it.

  std::string write() const;
};

/// What a call of such a kernel gives.
struct Outcome {
  std::string error;
  std::vector<double> output, logSumExp;
  /// No byte of the results was written.
  bool untouched = true;
};

/// One engine for all tests.
Engine getEngine();

Outcome run(const Kernel &kernel, const std::vector<Argument> &arguments);

/// Compiles and runs. The interpreter must fail too, or agree.
Outcome run(const KernelText &text, const std::vector<Argument> &arguments);

void expectNear(const std::vector<double> &actual,
                const std::vector<double> &expected, double tolerance = 1e-12);

TestTensor f64(const Shape &shape, const std::vector<double> &elements);
TestTensor f64(const Shape &shape, double element);
TestTensor i32(const std::vector<double> &elements);
TestTensor i32Of(const std::vector<Index> &elements);
TestTensor normal(ElementType type, const Shape &shape, std::uint64_t seed = 1);

/// Rows of a cache: of i8, with their scales in a second tensor.
std::vector<TestTensor> cacheRows(ElementType type, const Shape &shape,
                                  std::uint64_t seed);

/// Query, key and value of one batch entry and head with Dk = Dv = 1: all
/// scores are 0, and key j has the value 2^j.
std::vector<Argument> powers(Index queryLength, Index keyLength);

/// The mean of 2^j over a range of keys.
double meanOfPowers(Index first, Index last);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_RULETESTING_H
