//===- ScoredRow.cpp - What a row of queries sees -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/ScoredRow.h"

#include "runtime/Reference/AttentionChecks.h"
#include "runtime/Reference/Dropout.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::reference;

static constexpr double inf = std::numeric_limits<double>::infinity();

/// Adds the keys that a row keeps.
static Status addKeys(const AttentionProblem &problem,
                      const MainOperands &operands, const Sequence &sequence,
                      double logSumExp, ScoredRow &row) {
  std::int64_t heads = problem.query.size(1), keyHeads = problem.key.size(1),
               keySize = problem.query.size(3);
  double scale = problem.scale.value_or(1 / std::sqrt(double(keySize)));
  const auto &[b, h, p, ofRow, keys, errors] = row;
  const double *q = operands.query.data() + ofRow * keySize;
  for (std::int64_t j = 0; j < sequence.keyEnd - sequence.keyBegin; ++j) {
    if (problem.mask) {
      std::optional<bool> keep = problem.mask(b, h, p, j);
      if (!keep)
        return Error{"undefined mask at " + place(b, h, p, j), {}};
      if (!*keep)
        continue;
    }
    ScoredKey key{};
    key.j = j;
    key.keyRow = (sequence.keyBatch * keyHeads + h / (heads / keyHeads)) *
                     problem.key.size(2) +
                 sequence.keyBegin + j;
    const double *k = operands.key.data() + key.keyRow * keySize;
    double sum = 0, squares = 0;
    for (std::int64_t d = 0; d < keySize; ++d) {
      sum += q[d] * k[d];
      squares += square(q[d] * k[d]);
    }
    key.product = key.score = scale * sum;
    if (problem.score) {
      std::optional<double> mapped = problem.score(key.product, b, h, p, j);
      if (!mapped)
        return Error{"undefined score at " + place(b, h, p, j), {}};
      key.score = *mapped;
    }
    if (key.score == -inf)
      continue;
    key.weight = std::exp(key.score - logSumExp);
    key.factor = problem.dropout
                     ? dropoutFactor(*problem.dropout, heads, b, h, p, j)
                     : 1;
    key.productError = square(problem.sumRounding * scale) * squares;
    key.scoreError =
        key.productError +
        square(problem.sumRounding) * (square(key.score) + square(logSumExp));
    row.keys.push_back(key);
  }
  return {};
}

Status attn::reference::visitRows(
    const AttentionProblem &problem, const MainOperands &operands,
    const std::vector<double> &logSumExp, const std::vector<double> &output,
    const std::function<Status(const ScoredRow &)> &use) {
  std::int64_t heads = problem.query.size(1),
               queryLength = problem.query.size(2),
               valueSize = problem.value.size(3);
  for (const Sequence &sequence : getSequences(problem))
    for (std::int64_t h = 0; h < heads; ++h)
      for (std::int64_t i = sequence.queryBegin; i < sequence.queryEnd; ++i) {
        ScoredRow row{sequence.regionBatch,
                      h,
                      sequence.offset + (i - sequence.queryBegin),
                      (sequence.queryBatch * heads + h) * queryLength + i,
                      {},
                      {}};
        double sum = logSumExp[std::size_t(row.row)];
        if (sum == -inf)
          continue;
        if (Status status = addKeys(problem, operands, sequence, sum, row);
            !status)
          return status;
        for (std::int64_t d = 0; d < valueSize; ++d) {
          double error = square(output[std::size_t(row.row * valueSize + d)]);
          for (const ScoredKey &key : row.keys)
            error +=
                square(key.factor * key.weight *
                       operands.value[std::size_t(key.keyRow * valueSize + d)]);
          row.outputErrors.push_back(error);
        }
        if (Status status = use(row); !status)
          return status;
      }
  return {};
}
