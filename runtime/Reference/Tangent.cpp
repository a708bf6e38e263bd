//===- Tangent.cpp - The float64 oracle for tangents ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Tangent.h"

#include "runtime/Reference/Memory.h"
#include "runtime/Reference/Values.h"

#include <array>
#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::reference;

static constexpr double inf = std::numeric_limits<double>::infinity();

namespace {

/// One of the main operands, and how fast it moves, as doubles.
struct Moving {
  std::vector<double> start, speed;
  TensorView like;

  /// Where it is at a time, in `at`.
  TensorView move(double time, std::vector<double> &at) const {
    at = start;
    for (std::size_t i = 0; i < speed.size(); ++i)
      at[i] += time * speed[i];
    return TensorView(at.data(), like.sizes());
  }
};

} // namespace

static Expected<Moving> load(const std::string &name, const TensorView &view,
                             const std::optional<TensorView> &tangent) {
  Moving moving{{}, {}, view};
  Expected<std::vector<double>> start = toDoubles(name, view);
  if (!start)
    return start.error();
  moving.start = std::move(*start);
  if (!tangent)
    return moving;
  Expected<std::vector<double>> speed =
      toDoubles("tangent of " + name, *tangent);
  if (!speed)
    return speed.error();
  if (speed->size() != moving.start.size())
    return Error{"tangent of " + name + ": expected as many numbers as '" +
                     name + "' has, " + std::to_string(moving.start.size()) +
                     ", got " + std::to_string(speed->size()),
                 {}};
  moving.speed = std::move(*speed);
  return moving;
}

static Expected<AttentionResult> compute(const TangentProblem &problem) {
  const AttentionProblem &start = problem.attention;
  Expected<Moving> query = load("query", start.query, problem.query),
                   key = load("key", start.key, problem.key),
                   value = load("value", start.value, problem.value);
  for (const Expected<Moving> *loaded : {&query, &key, &value})
    if (!*loaded)
      return loaded->error();
  auto computeAt = [&](double time) {
    AttentionProblem moved = start;
    std::array<std::vector<double>, 3> at;
    moved.query = query->move(time, at[0]);
    moved.key = key->move(time, at[1]);
    moved.value = value->move(time, at[2]);
    for (std::size_t i = 0; i < problem.sink.size(); ++i)
      moved.sink[i] += time * problem.sink[i];
    if (problem.moveScore)
      moved.score = problem.moveScore(time);
    return attention(moved);
  };
  // The quotient of five points, which is exact for polynomials of degree 4.
  double step = problem.step;
  std::array<std::pair<double, double>, 4> points = {
      {{step, 8}, {-step, -8}, {2 * step, -1}, {-2 * step, 1}}};
  Expected<AttentionResult> now = computeAt(0);
  if (!now)
    return now.error();
  AttentionResult result;
  result.output.assign(now->output.size(), 0);
  result.logSumExp.assign(now->logSumExp.size(), 0);
  for (auto [time, factor] : points) {
    Expected<AttentionResult> then = computeAt(time);
    if (!then)
      return then.error();
    for (std::size_t i = 0; i < result.output.size(); ++i)
      result.output[i] += factor * then->output[i] / (12 * step);
    for (std::size_t i = 0; i < result.logSumExp.size(); ++i)
      if (now->logSumExp[i] != -inf)
        result.logSumExp[i] += factor * then->logSumExp[i] / (12 * step);
  }
  return result;
}

Expected<AttentionResult>
attn::reference::attentionTangent(const TangentProblem &problem) {
  return catchOutOfMemory([&] { return compute(problem); });
}
