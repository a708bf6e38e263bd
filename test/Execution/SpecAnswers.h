//===- SpecAnswers.h - What calls of random kernels give -------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_EXECUTION_SPECANSWERS_H
#define ATTN_TEST_EXECUTION_SPECANSWERS_H

#include "runtime/Reference/Compare.h"
#include "test/Execution/Specs.h"

namespace attn::test {

/// What a call gives, or why it gives nothing.
struct Answer {
  std::string error;
  std::vector<std::vector<double>> results;
};

Answer runKernel(const Kernel &kernel, const Call &call);
Answer runOracle(const Call &call);
Answer runInterpreter(const std::string &text, const Call &call);

/// "" or how `actual` differs. Where `error` is not null, it becomes the
/// largest of it and the error. `scales`: as reference::compare takes them.
std::string describeDifference(const std::vector<double> &actual,
                               const std::vector<double> &expected,
                               const reference::Tolerance &tolerance,
                               double *error,
                               const std::vector<double> &scales = {});

/// The bytes of every tensor among the arguments.
std::vector<std::vector<std::byte>> copyArguments(const Call &call);

/// NaNs are equal here, whatever their bits.
bool haveSameBits(const Answer &lhs, const Answer &rhs);

} // namespace attn::test

#endif // ATTN_TEST_EXECUTION_SPECANSWERS_H
