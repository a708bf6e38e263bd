//===- Attention.cpp - The float64 oracle for attention -------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Attention.h"

#include "runtime/Reference/Philox.h"
#include "runtime/Reference/Values.h"

#include <array>
#include <cmath>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

using namespace attn;
using namespace attn::reference;

/// Bound of the magnitude of offsets.
static constexpr std::int64_t maxOffset = std::int64_t(1) << 61;
static constexpr double inf = std::numeric_limits<double>::infinity();

namespace {
/// One sequence: where its rows lie in the buffers, and what regions see of it.
struct Sequence {
  std::int64_t batch;                ///< Index into dimension 0 of the buffers.
  std::int64_t regionBatch;          ///< What regions and dropout see as b.
  std::int64_t queryBegin, queryEnd; ///< Rows of query.
  std::int64_t keyBegin, keyEnd;     ///< Rows of key and value.
  std::int64_t offset;               ///< Position of row queryBegin.
};
} // namespace

static Error makeError(std::string message) { return {std::move(message), {}}; }

static std::string place(std::int64_t b, std::int64_t h, std::int64_t p,
                         std::int64_t j) {
  return "(b=" + std::to_string(b) + ", h=" + std::to_string(h) +
         ", p=" + std::to_string(p) + ", j=" + std::to_string(j) + ")";
}

static Status checkSize(const std::string &what, std::int64_t expected,
                        std::int64_t got) {
  if (expected == got)
    return {};
  return makeError(what + ": expected " + std::to_string(expected) + ", got " +
                   std::to_string(got));
}

/// Checks that `lengths` cuts [0, size] into pieces.
static Status checkCumulative(const std::string &name,
                              const std::vector<std::int64_t> &lengths,
                              std::int64_t size) {
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 0 || lengths[i] > size)
      return makeError(name + "[" + std::to_string(i) + "]: expected 0 to " +
                       std::to_string(size) + ", got " +
                       std::to_string(lengths[i]));
    if (i && lengths[i] < lengths[i - 1])
      return makeError(
          name + "[" + std::to_string(i) + "]: expected at least " +
          std::to_string(lengths[i - 1]) + ", the entry before it, got " +
          std::to_string(lengths[i]));
  }
  return {};
}

static Status checkView(const std::string &name, const TensorView &view) {
  if (view.rank() != 4)
    return makeError(name + ": expected 4 dimensions, got " +
                     std::to_string(view.rank()));
  if (!isFloat(view.type()))
    return makeError(name + ": expected a float type, got " +
                     std::string(nameOf(view.type())));
  if (Expected<std::int64_t> count = countElements(name, view.sizes()); !count)
    return count.error();
  return {};
}

static Status checkProblem(const AttentionProblem &problem) {
  const TensorView &query = problem.query, &key = problem.key,
                   &value = problem.value;
  if (Status status = checkView("query", query); !status)
    return status;
  if (Status status = checkView("key", key); !status)
    return status;
  if (Status status = checkView("value", value); !status)
    return status;

  std::int64_t batch = query.size(0), heads = query.size(1);
  for (const Status &status :
       {checkSize("batch of key", batch, key.size(0)),
        checkSize("batch of value", batch, value.size(0)),
        checkSize("heads of value", key.size(1), value.size(1)),
        checkSize("length of value", key.size(2), value.size(2)),
        checkSize("head size of key", query.size(3), key.size(3))})
    if (!status)
      return status;
  if (key.size(1) == 0 ? heads != 0 : heads % key.size(1) != 0)
    return makeError("heads of query: expected a multiple of the " +
                     std::to_string(key.size(1)) + " heads of key, got " +
                     std::to_string(heads));
  if (Expected<std::int64_t> count = countElements(
          "output", std::array{batch, heads, query.size(2), value.size(3)});
      !count)
    return count.error();
  std::size_t sinks = problem.sink.size();
  if (sinks != 0 && sinks != std::size_t(heads) * std::size_t(query.size(2)))
    if (Status status = checkSize("size of sink", heads, std::int64_t(sinks));
        !status)
      return status;
  if (problem.dropout &&
      !(problem.dropout->rate >= 0 && problem.dropout->rate < 1))
    return makeError("dropout rate: expected a number in [0, 1), got " +
                     std::to_string(problem.dropout->rate));

  bool packed = !problem.cuQuery.empty() || !problem.cuKey.empty();
  std::int64_t sequences = batch;
  if (packed) {
    if (batch != 1)
      return makeError("batch of query: expected 1 in a packed batch, got " +
                       std::to_string(batch));
    if (problem.cuQuery.empty() || problem.cuKey.empty())
      return makeError("expected cuQuery and cuKey, or neither");
    if (Status status =
            checkSize("size of cuKey", std::int64_t(problem.cuQuery.size()),
                      std::int64_t(problem.cuKey.size()));
        !status)
      return status;
    if (Status status =
            checkCumulative("cuQuery", problem.cuQuery, query.size(2));
        !status)
      return status;
    if (Status status = checkCumulative("cuKey", problem.cuKey, key.size(2));
        !status)
      return status;
    sequences = std::int64_t(problem.cuQuery.size()) - 1;
  }

  std::size_t offsets = problem.offsets.size();
  if (offsets > 0 && problem.bottomRight)
    return makeError("expected offsets or bottomRight, not both");
  for (std::int64_t offset : problem.offsets)
    if (offset < -maxOffset || offset > maxOffset)
      return makeError("offset: expected at most 2^61 in magnitude, got " +
                       std::to_string(offset));
  if (offsets > 1 && std::int64_t(offsets) != sequences)
    return makeError("size of offsets: expected 0" +
                     (sequences > 1 ? ", 1 or " + std::to_string(sequences)
                                    : std::string(" or 1")) +
                     ", got " + std::to_string(offsets));
  return {};
}

static std::vector<Sequence> getSequences(const AttentionProblem &problem) {
  std::vector<Sequence> sequences;
  if (problem.cuQuery.empty())
    for (std::int64_t b = 0; b < problem.query.size(0); ++b)
      sequences.push_back(
          {b, b, 0, problem.query.size(2), 0, problem.key.size(2), 0});
  else
    for (std::size_t n = 0; n + 1 < problem.cuQuery.size(); ++n)
      sequences.push_back({0, std::int64_t(n), problem.cuQuery[n],
                           problem.cuQuery[n + 1], problem.cuKey[n],
                           problem.cuKey[n + 1], 0});

  for (std::size_t n = 0; n < sequences.size(); ++n) {
    Sequence &sequence = sequences[n];
    if (problem.bottomRight)
      sequence.offset = (sequence.keyEnd - sequence.keyBegin) -
                        (sequence.queryEnd - sequence.queryBegin);
    else if (!problem.offsets.empty())
      sequence.offset = problem.offsets[problem.offsets.size() > 1 ? n : 0];
  }
  return sequences;
}

/// The factor of dropout on P: 0, or 1 / (1 - rate).
static double dropoutFactor(const AttentionProblem::Dropout &dropout,
                            std::int64_t heads, std::int64_t b, std::int64_t h,
                            std::int64_t p, std::int64_t j) {
  std::uint32_t word = philox4x32(
      {std::uint32_t(j / 4), std::uint32_t(p), std::uint32_t(b * heads + h),
       dropout.callOffset},
      {std::uint32_t(dropout.seed), std::uint32_t(dropout.seed >> 32)})[j % 4];
  return double(word) >= dropout.rate * 0x1p32 ? 1 / (1 - dropout.rate) : 0;
}

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
          (sequence.batch * keyHeads + keyHead) * keyLength + sequence.keyBegin;
      for (std::int64_t i = sequence.queryBegin; i < sequence.queryEnd; ++i) {
        std::int64_t row = (sequence.batch * heads + h) * queryLength + i;
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
              problem.isAbsent(sequence.batch, sequence.keyBegin + j))
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

        double denominator = hasSink ? std::exp(sink - maximum) : 0;
        for (double s : scores)
          if (s != -inf)
            denominator += std::exp(s - maximum);
        result.logSumExp[row] = maximum + std::log(denominator);

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
  try {
    return compute(problem);
  } catch (const std::bad_alloc &) {
    return makeError("out of memory");
  } catch (const std::length_error &) { // More than a vector can count.
    return makeError("out of memory");
  }
}
