//===- Backward.cpp - The float64 oracle for gradients --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Backward.h"

#include "runtime/Reference/AttentionChecks.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/ScoredRow.h"
#include "runtime/Reference/Values.h"

#include <cmath>
#include <tuple>

using namespace attn;
using namespace attn::reference;

namespace {

/// What is read, as doubles, row-major.
struct Operands : MainOperands {
  std::vector<double> output, logSumExp, outputGradient, logSumExpGradient;
};

} // namespace

static Expected<Operands> load(const BackwardProblem &problem) {
  Operands operands;
  const AttentionProblem &attention = problem.attention;
  for (auto [name, view, to] :
       {std::tuple("query", &attention.query, &operands.query),
        std::tuple("key", &attention.key, &operands.key),
        std::tuple("value", &attention.value, &operands.value),
        std::tuple("output", &problem.output, &operands.output),
        std::tuple("log_sum_exp", &problem.logSumExp, &operands.logSumExp),
        std::tuple("output_gradient", &problem.outputGradient,
                   &operands.outputGradient),
        std::tuple("log_sum_exp_gradient",
                   problem.logSumExpGradient ? &*problem.logSumExpGradient
                                             : nullptr,
                   &operands.logSumExpGradient)}) {
    if (!view)
      continue;
    Expected<std::vector<double>> elements = toDoubles(name, *view);
    if (!elements)
      return elements.error();
    *to = std::move(*elements);
  }
  return operands;
}

namespace {

/// Sums the gradients, and the squares of their errors in the scales.
class Gradients {
public:
  Gradients(const BackwardProblem &problem, const Operands &of)
      : problem(problem), attention(problem.attention), of(of),
        keySize(attention.query.size(3)), valueSize(attention.value.size(3)),
        scale(attention.scale.value_or(1 / std::sqrt(double(keySize)))) {
    for (auto [sums, theirErrors, size] :
         {std::tuple(&result.query, &errors.query, of.query.size()),
          std::tuple(&result.key, &errors.key, of.key.size()),
          std::tuple(&result.value, &errors.value, of.value.size()),
          std::tuple(&result.sink, &errors.sink, attention.sink.size())}) {
      sums->assign(size, 0);
      theirErrors->resize(size);
    }
  }

  void add(const ScoredRow &row) {
    const double *gradient = of.outputGradient.data() + row.row * valueSize;
    double delta = 0, deltaError = 0;
    for (std::int64_t d = 0; d < valueSize; ++d) {
      delta += gradient[d] * of.output[std::size_t(row.row * valueSize + d)];
      deltaError += square(gradient[d]) * row.outputErrors[std::size_t(d)];
    }
    if (!of.logSumExpGradient.empty())
      delta -= of.logSumExpGradient[std::size_t(row.row)];
    deltaError += square(attention.sumRounding * delta);
    addToSink(row, delta, deltaError);
    // What the error of delta, which all keys share, adds to the query's.
    std::vector<double> together(std::size_t(keySize), 0);
    for (const ScoredKey &key : row.keys)
      addKey(row, key, delta, deltaError, together);
    for (std::int64_t d = 0; d < keySize; ++d)
      errors.query[std::size_t(row.row * keySize + d)].add(
          square(together[std::size_t(d)]));
  }

  BackwardResult take() {
    result.scales = {getScales(errors.query), getScales(errors.key),
                     getScales(errors.value), getScales(errors.sink)};
    return std::move(result);
  }

private:
  void addToSink(const ScoredRow &row, double delta, double deltaError) {
    if (attention.sink.empty())
      return;
    std::int64_t length = attention.query.size(2);
    bool perRow = attention.sink.size() != std::size_t(attention.query.size(1));
    std::size_t at =
        std::size_t(perRow ? row.h * length + row.row % length : row.h);
    double logSumExp = of.logSumExp[std::size_t(row.row)],
           sink = attention.sink[at], weight = std::exp(sink - logSumExp);
    result.sink[at] -= weight * delta;
    double ofWeight = 1 + square(sink) + square(logSumExp);
    errors.sink[at].add(
        square(weight) *
        (deltaError + square(attention.sumRounding * delta) * ofWeight));
  }

  void addKey(const ScoredRow &row, const ScoredKey &key, double delta,
              double deltaError, std::vector<double> &together) {
    Slope slope;
    if (attention.score)
      slope = findSlope(
          [&](double x) {
            return attention.score(key.product + x, row.b, row.h, row.p, key.j)
                .value_or(0);
          },
          1e-4 * std::fmax(1, std::fabs(key.product)));
    const double *q = of.query.data() + row.row * keySize,
                 *k = of.key.data() + key.keyRow * keySize,
                 *v = of.value.data() + key.keyRow * valueSize,
                 *gradient = of.outputGradient.data() + row.row * valueSize;
    double product = 0, squares = 0, weight = key.factor * key.weight;
    for (std::int64_t d = 0; d < valueSize; ++d) {
      product += gradient[d] * v[d];
      squares += square(gradient[d] * v[d]);
      std::size_t at = std::size_t(key.keyRow * valueSize + d);
      result.value[at] += weight * gradient[d];
      errors.value[at].add(square(weight * gradient[d]) * (1 + key.scoreError));
    }
    double ofScore = key.weight * (key.factor * product - delta);
    double own = square(key.weight * key.factor * attention.sumRounding) *
                     squares +
                 square(ofScore) * (1 + key.scoreError),
           shared = key.weight * std::sqrt(deltaError);
    if (problem.visit)
      problem.visit(key.product, row.b, row.h, row.p, key.j,
                    {ofScore, std::sqrt(own), shared});
    double factor = scale * slope.value;
    for (std::int64_t d = 0; d < keySize; ++d) {
      std::size_t ofQuery = std::size_t(row.row * keySize + d),
                  ofKey = std::size_t(key.keyRow * keySize + d);
      result.query[ofQuery] += factor * ofScore * k[d];
      result.key[ofKey] += factor * ofScore * q[d];
      errors.query[ofQuery].add(square(factor * k[d]) * own);
      errors.key[ofKey].add(square(factor * q[d]) * (own + square(shared)));
      together[std::size_t(d)] += factor * shared * k[d];
      if (slope.isKnown || key.weight * scale == 0)
        continue;
      errors.query[ofQuery].forget();
      errors.key[ofKey].forget();
    }
  }

  const BackwardProblem &problem;
  const AttentionProblem &attention;
  const Operands &of;
  std::int64_t keySize, valueSize;
  double scale;
  BackwardResult result;
  struct {
    std::vector<ErrorSum> query, key, value, sink;
  } errors;
};

} // namespace

static Expected<BackwardResult> compute(const BackwardProblem &problem) {
  if (Status status = checkProblem(problem.attention); !status)
    return status.error();
  Expected<Operands> of = load(problem);
  if (!of)
    return of.error();
  Gradients gradients(problem, *of);
  if (Status status =
          visitRows(problem.attention, *of, of->logSumExp, of->output,
                    [&](const ScoredRow &row) -> Status {
                      gradients.add(row);
                      return {};
                    });
      !status)
    return status.error();
  return gradients.take();
}

Expected<BackwardResult>
attn::reference::attentionBackward(const BackwardProblem &problem) {
  return catchOutOfMemory([&] { return compute(problem); });
}
