//===- MultiTokenErrors.cpp - What rounding does to its steps -------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiTokenErrors.h"

#include "runtime/Reference/Backward.h"
#include "runtime/Reference/ScoredRow.h"

#include <cmath>

using namespace attn;
using namespace attn::reference;
using Index = std::int64_t;

static void squareAll(std::vector<double> &numbers) {
  for (double &number : numbers)
    number = square(number);
}

/// Adds what is lost where the numbers are terms of a sum.
static Cube addRounding(Cube errors, const Cube &numbers, double rounding) {
  for (std::size_t n = 0; n < errors.elements.size(); ++n)
    errors.elements[n] += rounding * square(numbers.elements[n]);
  return errors;
}

/// What the stages make of errors.
static StagedCubes applyToErrors(const StageNumbers &stages,
                                 const StagedCubes &cubes, Cube errors,
                                 const std::vector<bool> &hidden,
                                 double rounding) {
  StageNumbers convolution = stages, mixing = stages;
  convolution.mixing.clear();
  squareAll(convolution.kernel);
  mixing.kernel.clear();
  squareAll(mixing.mixing);
  StagedCubes result;
  result.read = result.convolved = std::move(errors);
  if (!stages.kernel.empty())
    result.convolved =
        applyStages(convolution, addRounding(result.read, cubes.read, rounding),
                    hidden)
            .result;
  result.result = result.convolved;
  if (!stages.mixing.empty())
    result.result =
        applyStages(mixing,
                    addRounding(result.convolved, cubes.convolved, rounding),
                    hidden)
            .result;
  return result;
}

static double getScoreError(const MultiTokenSteps &steps, Index b,
                            const MultiTokenCubes &cubes, Index h, Index i,
                            Index j) {
  const AttentionProblem &attention = steps.problem.attention;
  double squares = 0, slope = 1, product = cubes.products.at(h, i, j);
  Index queryRow = (b * steps.heads + h) * steps.queries + i,
        keyRow = steps.getKeyRow(b, h, j);
  for (Index d = 0; d < steps.keySize; ++d)
    squares += square(steps.query[std::size_t(queryRow * steps.keySize + d)] *
                      steps.key[std::size_t(keyRow * steps.keySize + d)]);
  if (attention.score)
    slope = findSlope(
                [&](double x) {
                  return attention.score(product + x, b, h, cubes.offset + i, j)
                      .value_or(0);
                },
                1e-4 * std::fmax(1, std::fabs(product)))
                .value;
  return square(attention.sumRounding) *
         (square(slope * steps.scale) * squares +
          square(cubes.before.read.at(h, i, j)));
}

MultiTokenErrors attn::reference::computeErrors(const MultiTokenSteps &steps,
                                                Index b,
                                                const MultiTokenCubes &cubes) {
  double rounding = square(steps.problem.attention.sumRounding);
  Cube errors(steps.heads, steps.queries, steps.keys);
  auto setVisible = [&](auto &&getError) {
    std::size_t number = 0;
    for (Index h = 0; h < steps.heads; ++h)
      for (Index i = 0; i < steps.queries; ++i)
        for (Index j = 0; j < steps.keys; ++j, ++number)
          errors.elements[number] =
              cubes.hidden[number] ? 0 : getError(h, i, j);
  };
  MultiTokenErrors result;
  setVisible([&](Index h, Index i, Index j) {
    return getScoreError(steps, b, cubes, h, i, j);
  });
  result.before =
      applyToErrors(steps.before, cubes.before, errors, cubes.hidden, rounding);
  setVisible([&](Index h, Index i, Index j) {
    double score = cubes.before.result.at(h, i, j),
           logSumExp = cubes.logSumExp[std::size_t(h * steps.queries + i)];
    return square(cubes.after.read.at(h, i, j)) *
           (result.before.result.at(h, i, j) +
            rounding * (1 + square(score) + square(logSumExp)));
  });
  result.after =
      applyToErrors(steps.after, cubes.after, errors, cubes.hidden, rounding);
  return result;
}
