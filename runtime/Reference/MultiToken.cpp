//===- MultiToken.cpp - The oracle for multi-token attention --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiToken.h"

#include "runtime/Reference/AttentionChecks.h"
#include "runtime/Reference/Dropout.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/Values.h"

#include <cmath>
#include <limits>
#include <string>

using namespace attn;
using namespace attn::reference;
using Index = std::int64_t;

static constexpr double inf = std::numeric_limits<double>::infinity();

namespace {

/// A number for each head, query and key of one batch entry.
struct Cube {
  Index heads, queries, keys;
  std::vector<double> elements;

  Cube(Index heads, Index queries, Index keys)
      : heads(heads), queries(queries), keys(keys),
        elements(std::size_t(heads * queries * keys)) {}
  double &at(Index h, Index i, Index j) {
    return elements[std::size_t((h * queries + i) * keys + j)];
  }
  /// 0 outside.
  double get(Index h, Index i, Index j) {
    return i < 0 || i >= queries || j < 0 || j >= keys ? 0 : at(h, i, j);
  }
};

/// The stages on one side, as numbers.
struct Stages {
  std::vector<double> kernel, mixing; ///< Empty if absent.
  /// Heads of a group, of the kernel and of the mixing.
  Index kernelHeads = 1, mixedHeads = 1;
  Index kernelQueries = 0, kernelKeys = 0;
  /// Rows before its own that a row depends on.
  Index halo = 0;
};

} // namespace

static Error makeError(std::string message) { return {std::move(message), {}}; }

static Expected<Stages> readStages(const MultiTokenStages &stages,
                                   Index heads) {
  Stages result;
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

/// What the stages make of a cube, 0 where hidden.
static Cube apply(const Stages &stages, Cube cube,
                  const std::vector<bool> &hidden) {
  auto stage = [&](auto &&element) {
    Cube next(cube.heads, cube.queries, cube.keys);
    std::size_t number = 0;
    for (Index h = 0; h < cube.heads; ++h)
      for (Index i = 0; i < cube.queries; ++i)
        for (Index j = 0; j < cube.keys; ++j, ++number)
          next.elements[number] = hidden[number] ? 0 : element(h, i, j);
    cube = std::move(next);
  };
  Index cq = stages.kernelQueries, ck = stages.kernelKeys,
        read = stages.kernelHeads, mixed = stages.mixedHeads;
  if (!stages.kernel.empty())
    stage([&](Index h, Index i, Index j) {
      const double *weight =
          stages.kernel.data() + std::size_t(h * read * cq * ck);
      double sum = 0;
      for (Index e = 0; e < read; ++e)
        for (Index a = 0; a < cq; ++a)
          for (Index c = 0; c < ck; ++c)
            sum += *weight++ * cube.get(h - h % read + e, i - (cq - 1) + a,
                                        j - (ck - 1) / 2 + c);
      return sum;
    });
  if (!stages.mixing.empty())
    stage([&](Index h, Index i, Index j) {
      double sum = 0;
      for (Index e = 0; e < mixed; ++e)
        sum += stages.mixing[std::size_t((h / mixed * mixed + e) * mixed +
                                         h % mixed)] *
               cube.at(h - h % mixed + e, i, j);
      return sum;
    });
  return cube;
}

static Expected<AttentionResult> compute(const MultiTokenProblem &problem) {
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
  Index batches = q.size(0), heads = q.size(1), queries = q.size(2),
        keyHeads = k.size(1), keys = k.size(2), keySize = q.size(3),
        valueSize = v.size(3);
  Index rows = problem.outputLength.value_or(queries);
  if (rows < 0 || rows > queries)
    return makeError("output length: expected 0 to " + std::to_string(queries) +
                     ", got " + std::to_string(rows));
  Expected<Stages> before = readStages(problem.before, heads);
  if (!before)
    return before.error();
  Expected<Stages> after = readStages(problem.after, heads);
  if (!after)
    return after.error();
  Expected<std::vector<double>> query = toDoubles("query", q);
  if (!query)
    return query.error();
  Expected<std::vector<double>> key = toDoubles("key", k);
  if (!key)
    return key.error();
  Expected<std::vector<double>> value = toDoubles("value", v);
  if (!value)
    return value.error();
  double scale = attention.scale.value_or(1 / std::sqrt(double(keySize)));

  AttentionResult result;
  result.output.assign(std::size_t(batches * heads * rows * valueSize), 0);
  result.logSumExp.assign(std::size_t(batches * heads * rows), -inf);
  if (rows == 0)
    return result;
  for (Index b = 0; b < batches; ++b) {
    Index offset = attention.bottomRight ? keys - queries : 0;
    if (!attention.offsets.empty())
      offset =
          attention.offsets[attention.offsets.size() > 1 ? std::size_t(b) : 0];
    // Scores, 0 where hidden.
    Cube cube(heads, queries, keys);
    std::vector<bool> hidden;
    hidden.reserve(cube.elements.size());
    for (Index h = 0; h < heads; ++h)
      for (Index i = 0; i < queries; ++i)
        for (Index j = 0; j < keys; ++j) {
          Index p = offset + i;
          bool keep = true;
          // Rows that no row of the output depends on are not asked.
          if (i < queries - rows - before->halo - after->halo)
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
            Index queryRow = (b * heads + h) * queries + i;
            Index keyRow = (b * keyHeads + h / (heads / keyHeads)) * keys + j;
            for (Index d = 0; d < keySize; ++d)
              dot += (*query)[std::size_t(queryRow * keySize + d)] *
                     (*key)[std::size_t(keyRow * keySize + d)];
            s = scale * dot;
            if (attention.score) {
              std::optional<double> mapped = attention.score(s, b, h, p, j);
              if (!mapped)
                return makeError("undefined score at " + place(b, h, p, j));
              s = *mapped;
            }
          }
          hidden.push_back(s == -inf);
          cube.at(h, i, j) = s == -inf ? 0 : s;
        }
    cube = apply(*before, std::move(cube), hidden);

    // Probabilities.
    for (Index h = 0; h < heads; ++h)
      for (Index i = 0; i < queries; ++i) {
        double sink =
            attention.sink.empty() ? -inf : attention.sink[std::size_t(h)];
        double maximum = sink;
        bool isEmpty = true;
        double *row = cube.elements.data() + (h * queries + i) * keys;
        for (Index j = 0; j < keys; ++j) {
          if (hidden[std::size_t((h * queries + i) * keys + j)])
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
          row[j] =
              row[j] == -inf ? 0 : std::exp(row[j] - maximum) / denominator;
        if (Index r = i - (queries - rows); r >= 0)
          result.logSumExp[std::size_t((b * heads + h) * rows + r)] = lse;
      }
    cube = apply(*after, std::move(cube), hidden);

    for (Index h = 0; h < heads; ++h)
      for (Index r = 0; r < rows; ++r)
        for (Index j = 0; j < keys; ++j) {
          Index i = r + queries - rows;
          if (hidden[std::size_t((h * queries + i) * keys + j)])
            continue;
          double probability = cube.at(h, i, j);
          if (attention.dropout)
            probability *=
                dropoutFactor(*attention.dropout, heads, b, h, offset + i, j);
          Index valueRow = (b * keyHeads + h / (heads / keyHeads)) * keys + j;
          Index outputRow = (b * heads + h) * rows + r;
          for (Index d = 0; d < valueSize; ++d)
            result.output[std::size_t(outputRow * valueSize + d)] +=
                probability * (*value)[std::size_t(valueRow * valueSize + d)];
        }
  }
  return result;
}

Expected<AttentionResult>
attn::reference::multiTokenAttention(const MultiTokenProblem &problem) {
  return catchOutOfMemory([&] { return compute(problem); });
}
