//===- Backward.cpp - The float64 oracle for gradients
//-------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Backward.h"

#include "runtime/Reference/AttentionChecks.h"
#include "runtime/Reference/Dropout.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/Sequences.h"
#include "runtime/Reference/Values.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::reference;

static constexpr double inf = std::numeric_limits<double>::infinity();

namespace {

/// The main operands as doubles, row-major.
struct Operands {
  std::vector<double> query, key, value, output, logSumExp, outputGradient,
      logSumExpGradient;
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

static double dot(const double *x, const double *y, std::int64_t size) {
  double sum = 0;
  for (std::int64_t d = 0; d < size; ++d)
    sum += x[d] * y[d];
  return sum;
}

static void add(double factor, const double *x, double *sums,
                std::int64_t size) {
  for (std::int64_t d = 0; d < size; ++d)
    sums[d] += factor * x[d];
}

static Expected<BackwardResult> compute(const BackwardProblem &problem) {
  const AttentionProblem &attention = problem.attention;
  if (Status status = checkProblem(attention); !status)
    return status.error();
  Expected<Operands> loaded = load(problem);
  if (!loaded)
    return loaded.error();
  const Operands &of = *loaded;
  const TensorView &query = attention.query, &key = attention.key;
  std::int64_t heads = query.size(1), queryLength = query.size(2),
               keyHeads = key.size(1), keyLength = key.size(2),
               keySize = query.size(3), valueSize = attention.value.size(3);
  double scale = attention.scale.value_or(1 / std::sqrt(double(keySize)));

  BackwardResult result;
  result.query.assign(of.query.size(), 0);
  result.key.assign(of.key.size(), 0);
  result.value.assign(of.value.size(), 0);
  result.sink.assign(attention.sink.size(), 0);
  bool perRow = attention.sink.size() != std::size_t(heads);

  for (const Sequence &sequence : getSequences(attention)) {
    std::int64_t b = sequence.regionBatch;
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = sequence.queryBegin; i < sequence.queryEnd; ++i) {
        std::int64_t row = (sequence.queryBatch * heads + h) * queryLength + i;
        std::int64_t p = sequence.offset + (i - sequence.queryBegin);
        double logSumExp = of.logSumExp[std::size_t(row)];
        if (logSumExp == -inf)
          continue;
        const double *rowGradient = of.outputGradient.data() + row * valueSize;
        double delta =
            dot(rowGradient, of.output.data() + row * valueSize, valueSize);
        if (!of.logSumExpGradient.empty())
          delta -= of.logSumExpGradient[std::size_t(row)];
        if (!attention.sink.empty()) {
          std::size_t at = std::size_t(perRow ? h * queryLength + i : h);
          result.sink[at] -= std::exp(attention.sink[at] - logSumExp) * delta;
        }
        for (std::int64_t j = 0; j < sequence.keyEnd - sequence.keyBegin; ++j) {
          if (attention.mask) {
            std::optional<bool> keep = attention.mask(b, h, p, j);
            if (!keep)
              return Error{"undefined mask at " + place(b, h, p, j), {}};
            if (!*keep)
              continue;
          }
          std::int64_t keyRow =
              (sequence.keyBatch * keyHeads + h / (heads / keyHeads)) *
                  keyLength +
              sequence.keyBegin + j;
          const double *q = of.query.data() + row * keySize,
                       *k = of.key.data() + keyRow * keySize,
                       *v = of.value.data() + keyRow * valueSize;
          double t = scale * dot(q, k, keySize), s = t, slope = 1;
          if (attention.score) {
            std::optional<double> mapped = attention.score(t, b, h, p, j);
            if (!mapped)
              return Error{"undefined score at " + place(b, h, p, j), {}};
            s = *mapped;
            if (s == -inf)
              continue;
            slope = differentiate(
                [&](double x) {
                  return attention.score(t + x, b, h, p, j).value_or(0);
                },
                1e-4 * std::fmax(1, std::fabs(t)));
          }
          if (s == -inf)
            continue;
          double weight = std::exp(s - logSumExp);
          double factor = attention.dropout ? dropoutFactor(*attention.dropout,
                                                            heads, b, h, p, j)
                                            : 1;
          double ofScore =
              weight * (factor * dot(rowGradient, v, valueSize) - delta);
          if (problem.visit)
            problem.visit(t, b, h, p, j, ofScore);
          double ofProduct = scale * ofScore * slope;
          add(ofProduct, k, result.query.data() + row * keySize, keySize);
          add(ofProduct, q, result.key.data() + keyRow * keySize, keySize);
          add(factor * weight, rowGradient,
              result.value.data() + keyRow * valueSize, valueSize);
        }
      }
  }
  return result;
}

Expected<BackwardResult>
attn::reference::attentionBackward(const BackwardProblem &problem) {
  return catchOutOfMemory([&] { return compute(problem); });
}
