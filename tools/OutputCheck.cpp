//===- OutputCheck.cpp - Holds an output to the reference -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/OutputCheck.h"

#include "runtime/Reference/Values.h"

#include <algorithm>
#include <sstream>

using namespace attn;

Expected<Accuracy> attn::compareOutput(const std::string &name,
                                       const TensorView &output,
                                       std::span<const double> expected,
                                       const reference::Tolerance &tolerance) {
  Expected<std::vector<double>> actual = reference::toDoubles("output", output);
  if (!actual)
    return std::move(actual).error();
  Expected<reference::Comparison> comparison =
      reference::compare(*actual, expected, tolerance);
  if (!comparison)
    return std::move(comparison).error();
  if (comparison->passed)
    return Accuracy{comparison->error, tolerance.bound};
  std::ostringstream message;
  message << name << ": wrong result, relative error " << comparison->error
          << ", tolerance " << tolerance.bound << ", got " << comparison->actual
          << ", expected " << comparison->expected;
  return Error{message.str(), {}};
}

Expected<Accuracy> attn::compareRow(const std::string &name,
                                    const TensorView &row,
                                    std::span<const double> expected,
                                    bool quantizedQueries) {
  if (quantizedQueries) // Whose tolerance is for any row.
    return compareOutput(
        name, row, expected,
        reference::toleranceForQuantizedQueries(reference::Quantity::output));
  reference::Tolerance tolerance =
      reference::toleranceFor(row.type(), reference::Quantity::output);
  // It is for the largest element of all rows, which a row of many keys has
  // not.
  tolerance.bound *= 5;
  return compareOutput(name, row, expected, tolerance);
}

Expected<Accuracy> attn::checkRow(const std::string &name,
                                  const TensorView &row,
                                  const reference::AttentionProblem &problem,
                                  bool quantizedQueries) {
  Expected<reference::AttentionResult> expected = reference::attention(problem);
  if (!expected)
    return std::move(expected).error();
  return compareRow(name, row, expected->output, quantizedQueries);
}

Status attn::checkWritten(const TensorView &output) {
  Expected<std::vector<double>> values = reference::toDoubles("output", output);
  if (!values)
    return std::move(values).error();
  if (std::ranges::any_of(*values, [](double x) { return x != x; }))
    return Error{"wrong result: some elements are no numbers", {}};
  return {};
}
