//===- AttentionChecks.cpp - Checks of the problems of the oracles --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/AttentionChecks.h"

#include "runtime/Reference/Values.h"

#include <array>
#include <string>

using namespace attn;
using namespace attn::reference;

/// Bound of the magnitude of offsets.
static constexpr std::int64_t maxOffset = std::int64_t(1) << 61;

static Error makeError(std::string message) { return {std::move(message), {}}; }

std::string attn::reference::place(std::int64_t b, std::int64_t h,
                                   std::int64_t p, std::int64_t j) {
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

Status attn::reference::checkProblem(const AttentionProblem &problem) {
  const TensorView &query = problem.query, &key = problem.key,
                   &value = problem.value;
  if (Status status = checkView("query", query); !status)
    return status;
  if (Status status = checkView("key", key); !status)
    return status;
  if (Status status = checkView("value", value); !status)
    return status;

  std::int64_t batch = query.size(0), heads = query.size(1);
  // Packed queries of a batch of keys have one for each sequence.
  bool isKeyBatch = !problem.cuQuery.empty() && problem.cuKey.empty();
  std::int64_t entries =
      isKeyBatch ? std::int64_t(problem.cuQuery.size()) - 1 : batch;
  for (const Status &status :
       {checkSize("batch of key", entries, key.size(0)),
        checkSize("batch of value", entries, value.size(0)),
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
    if (problem.cuQuery.empty())
      return makeError("expected cuQuery beside cuKey");
    if (!problem.counts.empty())
      return makeError("expected counts or cuQuery, not both");
    if (Status status =
            checkCumulative("cuQuery", problem.cuQuery, query.size(2));
        !status)
      return status;
    if (!isKeyBatch) {
      if (Status status =
              checkSize("size of cuKey", std::int64_t(problem.cuQuery.size()),
                        std::int64_t(problem.cuKey.size()));
          !status)
        return status;
      if (Status status = checkCumulative("cuKey", problem.cuKey, key.size(2));
          !status)
        return status;
    }
    sequences = std::int64_t(problem.cuQuery.size()) - 1;
  }

  if (!problem.counts.empty())
    if (Status status = checkSize("size of counts", batch,
                                  std::int64_t(problem.counts.size()));
        !status)
      return status;
  for (std::int64_t count : problem.counts)
    if (count < 0 || count > query.size(2))
      return makeError("counts: expected 0 to " +
                       std::to_string(query.size(2)) + ", got " +
                       std::to_string(count));

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
