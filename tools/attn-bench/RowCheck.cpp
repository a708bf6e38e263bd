//===- RowCheck.cpp - Holds rows of an output to the reference ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/RowCheck.h"

#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Values.h"

#include <algorithm>
#include <sstream>

using namespace attn;
using namespace attn::bench;

Status bench::checkRow(const std::string &name, const TensorView &row,
                       const reference::AttentionProblem &problem,
                       bool quantizedQueries) {
  Expected<reference::AttentionResult> expected = reference::attention(problem);
  if (!expected)
    return expected.error();
  return compareRow(name, row, expected->output, quantizedQueries);
}

Status bench::compareRow(const std::string &name, const TensorView &row,
                         const std::vector<double> &expected,
                         bool quantizedQueries) {
  Expected<std::vector<double>> actual = reference::toDoubles("output", row);
  if (!actual)
    return actual.error();
  reference::Tolerance tolerance =
      reference::toleranceFor(row.type(), reference::Quantity::output);
  // It is for the largest element of all rows, which a row of many keys has
  // not.
  tolerance.bound *= 5;
  if (quantizedQueries) // Which is for any row.
    tolerance =
        reference::toleranceForQuantizedQueries(reference::Quantity::output);
  Expected<reference::Comparison> comparison =
      reference::compare(*actual, expected, tolerance);
  if (!comparison)
    return comparison.error();
  if (comparison->passed)
    return {};
  std::ostringstream message;
  message << name << ": wrong result, relative error " << comparison->error
          << ", got " << comparison->actual << ", expected "
          << comparison->expected;
  return Error{message.str(), {}};
}

Status bench::checkWritten(const TensorView &output) {
  Expected<std::vector<double>> values = reference::toDoubles("output", output);
  if (!values)
    return values.error();
  if (std::ranges::any_of(*values, [](double x) { return x != x; }))
    return Error{"the result has elements that are not numbers", {}};
  return {};
}
