//===- SpecAnswers.cpp - What calls of random kernels give ----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/SpecAnswers.h"
#include "runtime/Interpreter/Interpreter.h"

#include <cmath>
#include <cstdio>

using namespace attn;
using namespace attn::reference;
using namespace attn::test;

Answer test::runKernel(const Kernel &kernel, const Call &call) {
  Answer answer;
  if (Status status = kernel.run(call.arguments(), call.results()); !status) {
    answer.error = status.error().message;
    return answer;
  }
  answer.results.push_back(call.output.elements());
  if (call.logSumExp)
    answer.results.push_back(call.logSumExp->elements());
  return answer;
}

Answer test::runOracle(const Call &call) {
  Answer answer;
  Expected<AttentionResult> result = attention(call.problem);
  if (!result) {
    answer.error = result.error().message;
    return answer;
  }
  answer.results.push_back(std::move(result->output));
  if (call.logSumExp)
    answer.results.push_back(std::move(result->logSumExp));
  return answer;
}

Answer test::runInterpreter(const std::string &text, const Call &call) {
  Answer answer;
  Expected<std::vector<ReferenceResult>> results =
      interpret(text, "spec.mlir", "attention", call.arguments());
  if (!results) {
    answer.error = results.error().message;
    return answer;
  }
  for (ReferenceResult &result : *results)
    answer.results.push_back(std::move(result.values));
  return answer;
}

std::string test::describeDifference(const std::vector<double> &actual,
                                     const std::vector<double> &expected,
                                     const Tolerance &tolerance, double *error,
                                     const std::vector<double> &scales) {
  Expected<Comparison> comparison =
      compare(actual, expected, tolerance, scales);
  if (!comparison)
    return comparison.error().message;
  if (error)
    *error = std::max(*error, comparison->error);
  if (comparison->passed)
    return "";
  char text[160];
  std::snprintf(text, sizeof(text),
                "error %g, allowed %g: element %lld is %.17g, expected %.17g",
                comparison->error, tolerance.bound,
                static_cast<long long>(comparison->index), comparison->actual,
                comparison->expected);
  return text;
}

std::vector<std::vector<std::byte>> test::copyArguments(const Call &call) {
  std::vector<std::vector<std::byte>> copies;
  for (const Value &value : call.values)
    if (const TestTensor *tensor = std::get_if<TestTensor>(&value))
      copies.push_back(tensor->bytes());
  return copies;
}

bool test::haveSameBits(const Answer &lhs, const Answer &rhs) {
  if (lhs.results.size() != rhs.results.size())
    return false;
  for (std::size_t i = 0; i < lhs.results.size(); ++i)
    for (std::size_t j = 0; j < lhs.results[i].size(); ++j) {
      double a = lhs.results[i][j], b = rhs.results[i][j];
      bool same = a == b && std::signbit(a) == std::signbit(b);
      if (!same && !(std::isnan(a) && std::isnan(b)))
        return false;
    }
  return true;
}
