//===- MultiTokenCubes.cpp - Steps of multi-token attention ---------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiTokenCubes.h"

#include "runtime/Reference/AttentionChecks.h"
#include "runtime/Reference/Values.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::reference;
using Index = std::int64_t;

static constexpr double inf = std::numeric_limits<double>::infinity();

static Error makeError(std::string message) { return {std::move(message), {}}; }

static Expected<StageNumbers> readStages(const MultiTokenStages &stages,
                                         Index heads) {
  StageNumbers result;
  if (const auto &kernel = stages.kernel) {
    int rank = kernel->rank();
    if (rank != 3 && rank != 4)
      return makeError("kernel: expected 3 or 4 dimensions, got " +
                       std::to_string(rank));
    result.kernelHeads = rank == 4 ? kernel->size(1) : 1;
    result.kernelQueries = kernel->size(rank - 2);
    result.kernelKeys = kernel->size(rank - 1);
    if (kernel->size(0) != heads || result.kernelHeads < 1 ||
        heads % result.kernelHeads != 0 || result.kernelQueries < 1 ||
        result.kernelKeys % 2 != 1)
      return makeError("kernel: expected (Hq, [ch,] cq, ck) with ch that "
                       "divides Hq, cq of at least 1 and an odd ck");
    if (rank == 4 && stages.mixing)
      return makeError("mixing: expected none beside a kernel with heads");
    result.halo = result.kernelQueries - 1;
    Expected<std::vector<double>> elements = toDoubles("kernel", *kernel);
    if (!elements)
      return elements.error();
    result.kernel = std::move(*elements);
  }
  if (const auto &mixing = stages.mixing) {
    if (mixing->rank() != 3 || mixing->size(1) != mixing->size(2) ||
        mixing->size(0) * mixing->size(1) != heads)
      return makeError("mixing: expected (Hq / ch, ch, ch)");
    result.mixedHeads = mixing->size(1);
    Expected<std::vector<double>> elements = toDoubles("mixing", *mixing);
    if (!elements)
      return elements.error();
    result.mixing = std::move(*elements);
  }
  return result;
}

StagedCubes attn::reference::applyStages(const StageNumbers &stages, Cube cube,
                                         const std::vector<bool> &hidden) {
  auto make = [&](auto &&element) {
    Cube next(cube.heads, cube.queries, cube.keys);
    std::size_t number = 0;
    for (Index h = 0; h < cube.heads; ++h)
      for (Index i = 0; i < cube.queries; ++i)
        for (Index j = 0; j < cube.keys; ++j, ++number)
          next.elements[number] = hidden[number] ? 0 : element(h, i, j);
    return next;
  };
  StagedCubes result;
  result.read = cube;
  result.convolved =
      stages.kernel.empty() ? cube : make([&](Index h, Index i, Index j) {
        double sum = 0;
        stages.visitKernel(h, [&](std::size_t n, Index e, Index a, Index c) {
          sum += stages.kernel[n] * cube.get(e, i + a, j + c);
        });
        return sum;
      });
  const Cube &convolved = result.convolved;
  result.result =
      stages.mixing.empty() ? convolved : make([&](Index h, Index i, Index j) {
        double sum = 0;
        for (Index e = 0; e < stages.mixedHeads; ++e)
          sum += stages.mixing[stages.getWeight(h, e)] *
                 convolved.at(h - h % stages.mixedHeads + e, i, j);
        return sum;
      });
  return result;
}

Expected<MultiTokenSteps>
MultiTokenSteps::create(const MultiTokenProblem &problem) {
  const AttentionProblem &attention = problem.attention;
  if (Status status = checkProblem(attention); !status)
    return status.error();
  if (!attention.cuQuery.empty())
    return makeError("expected a batch that is not packed");
  if (!attention.sink.empty() &&
      Index(attention.sink.size()) != attention.query.size(1))
    return makeError("size of sink: expected the " +
                     std::to_string(attention.query.size(1)) +
                     " query heads, got " +
                     std::to_string(attention.sink.size()));
  const TensorView &q = attention.query, &k = attention.key,
                   &v = attention.value;
  MultiTokenSteps steps;
  steps.problem = problem;
  steps.batches = q.size(0);
  steps.heads = q.size(1);
  steps.queries = q.size(2);
  steps.keyHeads = k.size(1);
  steps.keys = k.size(2);
  steps.keySize = q.size(3);
  steps.valueSize = v.size(3);
  steps.rows = problem.outputLength.value_or(steps.queries);
  if (steps.rows < 0 || steps.rows > steps.queries)
    return makeError("output length: expected 0 to " +
                     std::to_string(steps.queries) + ", got " +
                     std::to_string(steps.rows));
  for (auto [stages, numbers] : {std::pair(&problem.before, &steps.before),
                                 std::pair(&problem.after, &steps.after)}) {
    Expected<StageNumbers> read = readStages(*stages, steps.heads);
    if (!read)
      return read.error();
    *numbers = std::move(*read);
  }
  for (auto [name, view, numbers] : {std::tuple("query", &q, &steps.query),
                                     std::tuple("key", &k, &steps.key),
                                     std::tuple("value", &v, &steps.value)}) {
    Expected<std::vector<double>> elements = toDoubles(name, *view);
    if (!elements)
      return elements.error();
    *numbers = std::move(*elements);
  }
  steps.scale = attention.scale.value_or(1 / std::sqrt(double(steps.keySize)));
  return steps;
}

/// Scores, 0 where hidden.
Expected<Cube> MultiTokenSteps::computeScores(Index b,
                                              MultiTokenCubes &cubes) const {
  const AttentionProblem &attention = problem.attention;
  Cube cube(heads, queries, keys);
  cubes.products = cube;
  cubes.hidden.reserve(cube.elements.size());
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < queries; ++i)
      for (Index j = 0; j < keys; ++j) {
        Index p = cubes.offset + i;
        bool keep = true;
        // Rows that no row of the output depends on are not asked.
        if (i < queries - rows - before.halo - after.halo)
          keep = false;
        if (keep && attention.mask) {
          std::optional<bool> kept = attention.mask(b, h, p, j);
          if (!kept)
            return makeError("undefined mask at " + place(b, h, p, j));
          keep = *kept;
        }
        double s = -inf;
        if (keep) {
          if (attention.isAbsent && attention.isAbsent(b, j))
            return makeError("the mask keeps a row that is absent from the "
                             "cache at " +
                             place(b, h, p, j));
          double dot = 0;
          Index queryRow = (b * heads + h) * queries + i,
                keyRow = getKeyRow(b, h, j);
          for (Index d = 0; d < keySize; ++d)
            dot += query[std::size_t(queryRow * keySize + d)] *
                   key[std::size_t(keyRow * keySize + d)];
          s = scale * dot;
          cubes.products.at(h, i, j) = s;
          if (attention.score) {
            std::optional<double> mapped = attention.score(s, b, h, p, j);
            if (!mapped)
              return makeError("undefined score at " + place(b, h, p, j));
            s = *mapped;
          }
        }
        cubes.hidden.push_back(s == -inf);
        cube.at(h, i, j) = s == -inf ? 0 : s;
      }
  return cube;
}

/// Probabilities.
Cube MultiTokenSteps::computeSoftmax(Cube cube, MultiTokenCubes &cubes) const {
  const std::vector<double> &sinks = problem.attention.sink;
  for (Index h = 0; h < heads; ++h)
    for (Index i = 0; i < queries; ++i) {
      double sink = sinks.empty() ? -inf : sinks[std::size_t(h)];
      double maximum = sink;
      bool isEmpty = true;
      double *row = cube.elements.data() + (h * queries + i) * keys;
      for (Index j = 0; j < keys; ++j) {
        if (cubes.hidden[std::size_t((h * queries + i) * keys + j)])
          row[j] = -inf;
        isEmpty &= row[j] == -inf;
        if (std::isnan(row[j]) || row[j] > maximum) // NaN stays.
          maximum = row[j];
      }
      double denominator = 0, lse = sink;
      if (!isEmpty) {
        // A16: inf - inf would be NaN.
        denominator = sink == maximum ? 1 : std::exp(sink - maximum);
        for (Index j = 0; j < keys; ++j)
          if (row[j] != -inf)
            denominator += std::exp(row[j] - maximum);
        lse = maximum == inf ? inf : maximum + std::log(denominator);
      }
      for (Index j = 0; j < keys; ++j)
        row[j] = row[j] == -inf ? 0 : std::exp(row[j] - maximum) / denominator;
      cubes.logSumExp.push_back(lse);
    }
  return cube;
}

Expected<MultiTokenCubes> MultiTokenSteps::compute(Index b) const {
  const AttentionProblem &attention = problem.attention;
  MultiTokenCubes cubes;
  cubes.offset = attention.bottomRight ? keys - queries : 0;
  if (!attention.offsets.empty())
    cubes.offset =
        attention.offsets[attention.offsets.size() > 1 ? std::size_t(b) : 0];
  Expected<Cube> scores = computeScores(b, cubes);
  if (!scores)
    return scores.error();
  cubes.before = applyStages(before, std::move(*scores), cubes.hidden);
  cubes.after = applyStages(after, computeSoftmax(cubes.before.result, cubes),
                            cubes.hidden);
  return cubes;
}
