//===- MultiTokenBackward.cpp - The oracle for its gradients --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiTokenBackward.h"

#include "runtime/Reference/Dropout.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/MultiTokenErrors.h"
#include "runtime/Reference/ScoredRow.h"
#include "runtime/Reference/Values.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::reference;
using Index = std::int64_t;

static constexpr double inf = std::numeric_limits<double>::infinity();

namespace {

/// The errors of the gradients of the stages on one side.
struct StageErrors {
  explicit StageErrors(const StageNumbers &stages)
      : kernel(stages.kernel.size()), mixing(stages.mixing.size()) {}
  StageGradients getAllScales() const {
    return {getScales(kernel), getScales(mixing)};
  }

  std::vector<ErrorSum> kernel, mixing;
};

/// The gradients of one problem.
class Gradients {
public:
  Gradients(const MultiTokenBackwardProblem &problem,
            const MultiTokenSteps &steps, std::vector<double> outputGradient,
            std::vector<double> logSumExpGradient)
      : problem(problem), attention(problem.attention.attention), steps(steps),
        rounding(square(attention.sumRounding)), before(steps.before),
        after(steps.after), outputGradient(std::move(outputGradient)),
        logSumExpGradient(std::move(logSumExpGradient)) {
    result.attention.query.assign(steps.query.size(), 0);
    result.attention.key.assign(steps.key.size(), 0);
    result.attention.value.assign(steps.value.size(), 0);
    result.attention.sink.assign(attention.sink.size(), 0);
    result.before.kernel.assign(steps.before.kernel.size(), 0);
    result.before.mixing.assign(steps.before.mixing.size(), 0);
    result.after.kernel.assign(steps.after.kernel.size(), 0);
    result.after.mixing.assign(steps.after.mixing.size(), 0);
  }

  /// Adds those of a batch entry.
  void add(Index b, const MultiTokenCubes &cubes) {
    MultiTokenErrors errors = computeErrors(steps, b, cubes);
    RoundedCube gradient = addToValues(b, cubes);
    gradient = addToStages(steps.after, cubes.after, errors.after, cubes.hidden,
                           std::move(gradient), result.after, after);
    addSoftmax(b, cubes, errors.after.read, gradient);
    gradient =
        addToStages(steps.before, cubes.before, errors.before, cubes.hidden,
                    std::move(gradient), result.before, before);
    addToProducts(b, cubes, gradient.numbers);
  }

  MultiTokenBackwardResult take() {
    result.scalesBefore = before.getAllScales();
    result.scalesAfter = after.getAllScales();
    return std::move(result);
  }

private:
  RoundedCube createCube() const {
    Cube cube(steps.heads, steps.queries, steps.keys);
    return {cube, cube};
  }

  /// `visit(h, i, j)` of what is not hidden.
  template <typename Visit>
  void visitVisible(const std::vector<bool> &hidden, Visit visit) const {
    std::size_t number = 0;
    for (Index h = 0; h < steps.heads; ++h)
      for (Index i = 0; i < steps.queries; ++i)
        for (Index j = 0; j < steps.keys; ++j)
          if (!hidden[number++])
            visit(h, i, j);
  }

  /// Gives the gradient of the weights.
  RoundedCube addToValues(Index b, const MultiTokenCubes &cubes) {
    RoundedCube gradient = createCube();
    Index past = steps.queries - steps.rows, size = steps.valueSize;
    visitVisible(cubes.hidden, [&](Index h, Index i, Index j) {
      if (i < past)
        return;
      double factor = attention.dropout
                          ? dropoutFactor(*attention.dropout, steps.heads, b, h,
                                          cubes.offset + i, j)
                          : 1;
      double weight = factor * cubes.after.result.at(h, i, j), sum = 0,
             squares = 0;
      std::size_t row = std::size_t((b * steps.heads + h) * steps.rows + i -
                                    past),
                  valueRow = std::size_t(steps.getKeyRow(b, h, j));
      for (std::size_t d = 0; d < std::size_t(size); ++d) {
        double element = outputGradient[row * std::size_t(size) + d];
        std::size_t at = valueRow * std::size_t(size) + d;
        result.attention.value[at] += weight * element;
        sum += element * steps.value[at];
        squares += square(element * steps.value[at]);
      }
      gradient.numbers.at(h, i, j) = factor * sum;
      gradient.errors.at(h, i, j) = square(factor) * rounding * squares;
    });
    return gradient;
  }

  /// Gives the gradient of what the stages of one side read.
  RoundedCube addToStages(const StageNumbers &stages, const StagedCubes &cubes,
                          const StagedCubes &errors,
                          const std::vector<bool> &hidden, RoundedCube gradient,
                          StageGradients &sums, StageErrors &ofSums) {
    auto goBack = [&](auto &&addElement) {
      RoundedCube next = createCube();
      visitVisible(hidden, [&](Index h, Index i, Index j) {
        addElement(next, gradient.numbers.at(h, i, j),
                   gradient.getErrorOfTerm(h, i, j, rounding), h, i, j);
      });
      // What was read of hidden positions is 0 whatever they hold.
      for (std::size_t i = 0; i < hidden.size(); ++i)
        if (hidden[i])
          next.numbers.elements[i] = next.errors.elements[i] = 0;
      gradient = std::move(next);
    };
    if (!stages.mixing.empty())
      goBack([&](RoundedCube &next, double own, double error, Index h, Index i,
                 Index j) {
        for (Index e = 0; e < stages.mixedHeads; ++e) {
          std::size_t weight = stages.getWeight(h, e);
          Index from = h - h % stages.mixedHeads + e;
          double read = cubes.convolved.at(from, i, j);
          sums.mixing[weight] += own * read;
          ofSums.mixing[weight].add(square(read) * error +
                                    square(own) *
                                        errors.convolved.at(from, i, j));
          next.numbers.at(from, i, j) += own * stages.mixing[weight];
          next.errors.at(from, i, j) += square(stages.mixing[weight]) * error;
        }
      });
    if (!stages.kernel.empty())
      goBack([&](RoundedCube &next, double own, double error, Index h, Index i,
                 Index j) {
        stages.visitKernel(h, [&](std::size_t n, Index e, Index a, Index c) {
          if (!next.numbers.contains(i + a, j + c))
            return;
          double read = cubes.read.at(e, i + a, j + c);
          sums.kernel[n] += own * read;
          ofSums.kernel[n].add(square(read) * error +
                               square(own) * errors.read.at(e, i + a, j + c));
          next.numbers.at(e, i + a, j + c) += own * stages.kernel[n];
          next.errors.at(e, i + a, j + c) += square(stages.kernel[n]) * error;
        });
      });
    return gradient;
  }

  /// Makes the gradient of scores from that of probabilities.
  void addSoftmax(Index b, const MultiTokenCubes &cubes, const Cube &errors,
                  RoundedCube &gradient) {
    Index past = steps.queries - steps.rows;
    std::vector<double> deltas(cubes.logSumExp.size(), 0), ofDeltas = deltas;
    const Cube &probabilities = cubes.after.read;
    visitVisible(cubes.hidden, [&](Index h, Index i, Index j) {
      std::size_t row = std::size_t(h * steps.queries + i);
      double weight = probabilities.at(h, i, j),
             own = gradient.numbers.at(h, i, j);
      deltas[row] += weight * own;
      ofDeltas[row] +=
          square(weight) * gradient.getErrorOfTerm(h, i, j, rounding) +
          square(own) * errors.at(h, i, j);
    });
    for (Index h = 0; h < steps.heads; ++h)
      for (Index i = 0; i < steps.queries; ++i) {
        std::size_t row = std::size_t(h * steps.queries + i);
        if (!logSumExpGradient.empty() && i >= past)
          deltas[row] -= logSumExpGradient[std::size_t(
              (b * steps.heads + h) * steps.rows + i - past)];
        if (attention.sink.empty())
          continue;
        double sink = attention.sink[std::size_t(h)];
        if (sink != -inf)
          result.attention.sink[std::size_t(h)] -=
              std::exp(sink - cubes.logSumExp[row]) * deltas[row];
      }
    visitVisible(cubes.hidden, [&](Index h, Index i, Index j) {
      std::size_t row = std::size_t(h * steps.queries + i);
      double &own = gradient.numbers.at(h, i, j),
             &error = gradient.errors.at(h, i, j);
      double weight = probabilities.at(h, i, j);
      own -= deltas[row];
      error = square(weight) * (error + ofDeltas[row]) +
              square(own) * errors.at(h, i, j);
      own *= weight;
    });
  }

  void addToProducts(Index b, const MultiTokenCubes &cubes,
                     const Cube &gradient) {
    visitVisible(cubes.hidden, [&](Index h, Index i, Index j) {
      Index p = cubes.offset + i;
      double t = cubes.products.at(h, i, j), own = gradient.at(h, i, j),
             slope = 1;
      if (attention.score)
        slope = findSlope(
                    [&](double x) {
                      return attention.score(t + x, b, h, p, j).value_or(0);
                    },
                    1e-4 * std::fmax(1, std::fabs(t)))
                    .value;
      if (problem.visit)
        problem.visit(t, b, h, p, j, {own});
      double ofProduct = steps.scale * own * slope;
      std::size_t size = std::size_t(steps.keySize),
                  queryRow =
                      std::size_t((b * steps.heads + h) * steps.queries + i) *
                      size,
                  keyRow = std::size_t(steps.getKeyRow(b, h, j)) * size;
      for (std::size_t d = 0; d < size; ++d) {
        result.attention.query[queryRow + d] +=
            ofProduct * steps.key[keyRow + d];
        result.attention.key[keyRow + d] +=
            ofProduct * steps.query[queryRow + d];
      }
    });
  }

  const MultiTokenBackwardProblem &problem;
  const AttentionProblem &attention;
  const MultiTokenSteps &steps;
  double rounding; ///< The square of what is lost where a sum is rounded.
  StageErrors before, after;
  std::vector<double> outputGradient, logSumExpGradient;
  MultiTokenBackwardResult result;
};

} // namespace

static Expected<MultiTokenBackwardResult>
compute(const MultiTokenBackwardProblem &problem) {
  Expected<MultiTokenSteps> steps = MultiTokenSteps::create(problem.attention);
  if (!steps)
    return steps.error();
  Expected<std::vector<double>> ofOutput =
      toDoubles("output_gradient", problem.outputGradient);
  if (!ofOutput)
    return ofOutput.error();
  std::vector<double> ofLogSumExp;
  if (problem.logSumExpGradient) {
    Expected<std::vector<double>> elements =
        toDoubles("log_sum_exp_gradient", *problem.logSumExpGradient);
    if (!elements)
      return elements.error();
    ofLogSumExp = std::move(*elements);
  }
  Gradients gradients(problem, *steps, std::move(*ofOutput),
                      std::move(ofLogSumExp));
  if (steps->rows > 0)
    for (Index b = 0; b < steps->batches; ++b) {
      Expected<MultiTokenCubes> cubes = steps->compute(b);
      if (!cubes)
        return cubes.error();
      gradients.add(b, *cubes);
    }
  return gradients.take();
}

Expected<MultiTokenBackwardResult> attn::reference::multiTokenAttentionBackward(
    const MultiTokenBackwardProblem &problem) {
  return catchOutOfMemory([&] { return compute(problem); });
}
