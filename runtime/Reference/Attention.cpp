//===- Attention.cpp - The float64 oracle for attention -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Attention.h"

#include "runtime/Reference/AttentionChecks.h"
#include "runtime/Reference/Dropout.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/Sequences.h"
#include "runtime/Reference/Values.h"

#include <cmath>
#include <limits>
#include <string>

using namespace attn;
using namespace attn::reference;

static constexpr double inf = std::numeric_limits<double>::infinity();

static Error makeError(std::string message) { return {std::move(message), {}}; }

static Expected<AttentionResult> compute(const AttentionProblem &problem) {
  if (Status status = checkProblem(problem); !status)
    return status.error();
  Expected<std::vector<double>> query = toDoubles("query", problem.query);
  if (!query)
    return query.error();
  Expected<std::vector<double>> key = toDoubles("key", problem.key);
  if (!key)
    return key.error();
  Expected<std::vector<double>> value = toDoubles("value", problem.value);
  if (!value)
    return value.error();

  std::int64_t batches = problem.query.size(0), heads = problem.query.size(1),
               queryLength = problem.query.size(2),
               keyHeads = problem.key.size(1), keyLength = problem.key.size(2),
               keySize = problem.query.size(3),
               valueSize = problem.value.size(3);
  double scale = problem.scale.value_or(1 / std::sqrt(double(keySize)));

  AttentionResult result;
  result.output.assign(std::size_t(batches * heads * queryLength * valueSize),
                       0);
  result.logSumExp.assign(std::size_t(batches * heads * queryLength), -inf);

  for (const Sequence &sequence : getSequences(problem)) {
    std::int64_t keys = sequence.keyEnd - sequence.keyBegin;
    std::int64_t b = sequence.regionBatch;
    std::vector<double> scores(static_cast<std::size_t>(keys));
    for (std::int64_t h = 0; h < heads; ++h) {
      std::int64_t keyHead = h / (heads / keyHeads);
      std::int64_t keyRow =
          (sequence.keyBatch * keyHeads + keyHead) * keyLength +
          sequence.keyBegin;
      for (std::int64_t i = sequence.queryBegin; i < sequence.queryEnd; ++i) {
        std::int64_t row = (sequence.queryBatch * heads + h) * queryLength + i;
        std::int64_t p = sequence.offset + (i - sequence.queryBegin);

        // Scores; -inf where masked.
        bool hasSink = !problem.sink.empty();
        bool perRow = problem.sink.size() != std::size_t(heads);
        double sink =
            hasSink ? problem.sink[perRow ? h * queryLength + i : h] : -inf;
        double maximum = sink;
        bool emptyRow = true;
        for (std::int64_t j = 0; j < keys; ++j) {
          scores[j] = -inf;
          if (problem.mask) {
            std::optional<bool> keep = problem.mask(b, h, p, j);
            if (!keep)
              return makeError("undefined mask at " + place(b, h, p, j));
            if (!*keep)
              continue;
          }
          if (problem.isAbsent &&
              problem.isAbsent(sequence.keyBatch, sequence.keyBegin + j))
            return makeError("the mask keeps a row that is absent from the "
                             "cache at " +
                             place(b, h, p, j));
          double dot = 0;
          for (std::int64_t d = 0; d < keySize; ++d)
            dot += (*query)[row * keySize + d] *
                   (*key)[(keyRow + j) * keySize + d];
          double s = scale * dot;
          if (problem.score) {
            std::optional<double> mapped = problem.score(s, b, h, p, j);
            if (!mapped)
              return makeError("undefined score at " + place(b, h, p, j));
            s = *mapped;
          }
          scores[j] = s;
          if (s != -inf)
            emptyRow = false;
          if (std::isnan(s) || s > maximum) // NaN stays: no s exceeds it.
            maximum = s;
        }

        if (emptyRow) {
          if (hasSink)
            result.logSumExp[row] = sink;
          continue; // The output stays 0.
        }

        // A16: inf - inf would be NaN.
        double denominator = !hasSink          ? 0
                             : sink == maximum ? 1
                                               : std::exp(sink - maximum);
        for (double s : scores)
          if (s != -inf)
            denominator += std::exp(s - maximum);
        result.logSumExp[row] =
            maximum == inf ? inf : maximum + std::log(denominator);

        double *output = result.output.data() + row * valueSize;
        for (std::int64_t j = 0; j < keys; ++j) {
          if (scores[j] == -inf)
            continue;
          double probability = std::exp(scores[j] - maximum) / denominator;
          if (problem.dropout)
            probability *= dropoutFactor(*problem.dropout, heads, b, h, p, j);
          for (std::int64_t d = 0; d < valueSize; ++d)
            output[d] += probability * (*value)[(keyRow + j) * valueSize + d];
        }
      }
    }
  }
  return result;
}

Expected<AttentionResult>
attn::reference::attention(const AttentionProblem &problem) {
  return catchOutOfMemory([&] { return compute(problem); });
}
