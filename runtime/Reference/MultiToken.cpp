//===- MultiToken.cpp - The oracle for multi-token attention --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiToken.h"

#include "runtime/Reference/Dropout.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/MultiTokenCubes.h"

#include <limits>

using namespace attn;
using namespace attn::reference;
using Index = std::int64_t;

static constexpr double inf = std::numeric_limits<double>::infinity();

static Expected<AttentionResult> compute(const MultiTokenProblem &problem) {
  Expected<MultiTokenSteps> created = MultiTokenSteps::create(problem);
  if (!created)
    return created.error();
  const MultiTokenSteps &steps = *created;
  Index heads = steps.heads, rows = steps.rows, valueSize = steps.valueSize,
        past = steps.queries - rows;
  AttentionResult result;
  result.output.assign(std::size_t(steps.batches * heads * rows * valueSize),
                       0);
  result.logSumExp.assign(std::size_t(steps.batches * heads * rows), -inf);
  if (rows == 0)
    return result;
  for (Index b = 0; b < steps.batches; ++b) {
    Expected<MultiTokenCubes> computed = steps.compute(b);
    if (!computed)
      return computed.error();
    const MultiTokenCubes &cubes = *computed;
    for (Index h = 0; h < heads; ++h)
      for (Index r = 0; r < rows; ++r) {
        Index i = r + past, outputRow = (b * heads + h) * rows + r;
        result.logSumExp[std::size_t(outputRow)] =
            cubes.logSumExp[std::size_t(h * steps.queries + i)];
        for (Index j = 0; j < steps.keys; ++j) {
          if (cubes.hidden[std::size_t((h * steps.queries + i) * steps.keys +
                                       j)])
            continue;
          double probability = cubes.after.result.at(h, i, j);
          if (problem.attention.dropout)
            probability *= dropoutFactor(*problem.attention.dropout, heads, b,
                                         h, cubes.offset + i, j);
          Index valueRow = steps.getKeyRow(b, h, j);
          for (Index d = 0; d < valueSize; ++d)
            result.output[std::size_t(outputRow * valueSize + d)] +=
                probability *
                steps.value[std::size_t(valueRow * valueSize + d)];
        }
      }
  }
  return result;
}

Expected<AttentionResult>
attn::reference::multiTokenAttention(const MultiTokenProblem &problem) {
  return catchOutOfMemory([&] { return compute(problem); });
}
