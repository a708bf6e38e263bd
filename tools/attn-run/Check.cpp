//===- Check.cpp - Compares results with what is expected -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-run/Check.h"

#include "runtime/Reference/Values.h"
#include "tools/Arguments.h"

using namespace attn;
using namespace attn::run;

Expected<ReferenceResult> attn::run::readExpected(const std::string &path,
                                                  const NpyArray &result) {
  Expected<NpyArray> array = readNpy(path);
  if (!array)
    return array.error();
  if (array->shape() != result.shape())
    return Error{path + ": expected the shape of the result, " +
                     formatType(result.shape(), result.type()) + ", got " +
                     formatType(array->shape(), array->type()),
                 {}};
  Expected<std::vector<double>> values =
      reference::toDoubles(path, array->view());
  if (!values)
    return values.error();
  return ReferenceResult{result.type(), reference::Quantity::output,
                         array->shape(), std::move(*values)};
}

Expected<std::vector<Check>>
attn::run::checkResults(std::span<const NpyArray> results,
                        std::span<const ReferenceResult> references,
                        bool quantizedQueries) {
  std::vector<Check> checks;
  for (std::size_t i = 0; i < references.size(); ++i) {
    const ReferenceResult &expected = references[i];
    Expected<std::vector<double>> values =
        reference::toDoubles("result " + std::to_string(i), results[i].view());
    if (!values)
      return values.error();
    reference::Tolerance tolerance =
        reference::toleranceFor(expected.type, expected.quantity);
    if (quantizedQueries && isFloat(expected.type))
      tolerance = reference::toleranceForQuantizedQueries(expected.quantity);
    Expected<reference::Comparison> comparison = reference::compare(
        *values, expected.values, tolerance, expected.scales);
    if (!comparison)
      return comparison.error();
    checks.push_back({*comparison, tolerance});
  }
  return checks;
}
