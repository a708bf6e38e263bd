//===- Tangent.cpp - The float64 oracle for tangents ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Tangent.h"

#include "runtime/Reference/Backward.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/ScoredRow.h"
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

  double getSpeed(std::size_t i) const { return speed.empty() ? 0 : speed[i]; }
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

namespace {

/// One attention along its tangents.
class Tangents {
public:
  static Expected<Tangents> create(const TangentProblem &problem) {
    const AttentionProblem &start = problem.attention;
    Expected<Moving> query = load("query", start.query, problem.query),
                     key = load("key", start.key, problem.key),
                     value = load("value", start.value, problem.value);
    for (const Expected<Moving> *loaded : {&query, &key, &value})
      if (!*loaded)
        return loaded->error();
    return Tangents(problem, std::move(*query), std::move(*key),
                    std::move(*value));
  }

  Expected<TangentResult> compute() {
    Expected<AttentionResult> now = computeAt(0);
    if (!now)
      return now.error();
    TangentResult result;
    result.output.resize(now->output.size());
    result.logSumExp.resize(now->logSumExp.size());
    if (Status status = setScales(*now, result.scales); !status)
      return status.error();
    // Smaller steps where larger ones reach over a kink.
    std::vector<bool> outputs(now->output.size(), false),
        sums(now->logSumExp.size(), false);
    for (double step = 3e-4;; step /= 10) {
      bool isLast = step < 1e-6;
      std::vector<AttentionResult> at;
      for (double time : {step, -step, 2 * step, -2 * step}) {
        Expected<AttentionResult> then = computeAt(time);
        if (!then)
          return then.error();
        at.push_back(std::move(*then));
      }
      bool isSmooth = setQuotients(&AttentionResult::output, *now, at, step,
                                   isLast, outputs, result);
      isSmooth &= setQuotients(&AttentionResult::logSumExp, *now, at, step,
                               isLast, sums, result);
      if (isSmooth || isLast)
        return result;
    }
  }

private:
  using Numbers = std::vector<double> AttentionResult::*;

  Tangents(const TangentProblem &problem, Moving query, Moving key,
           Moving value)
      : problem(problem), query(std::move(query)), key(std::move(key)),
        value(std::move(value)) {}

  Expected<AttentionResult> computeAt(double time) const {
    AttentionProblem moved = problem.attention;
    std::array<std::vector<double>, 3> at;
    moved.query = query.move(time, at[0]);
    moved.key = key.move(time, at[1]);
    moved.value = value.move(time, at[2]);
    for (std::size_t i = 0; i < problem.sink.size(); ++i)
      moved.sink[i] += time * problem.sink[i];
    if (problem.moveScore)
      moved.score = problem.moveScore(time);
    return attention(moved);
  }

  /// Sets those that are not `done`. False if some are not known.
  bool setQuotients(Numbers numbers, const AttentionResult &now,
                    const std::vector<AttentionResult> &at, double step,
                    bool isLast, std::vector<bool> &done,
                    TangentResult &result) const {
    bool isSmooth = true;
    for (std::size_t i = 0; i < done.size(); ++i) {
      double start = (now.*numbers)[i];
      if (done[i] || start == -inf)
        continue;
      Quotient quotient{start,
                        (at[0].*numbers)[i],
                        (at[1].*numbers)[i],
                        (at[2].*numbers)[i],
                        (at[3].*numbers)[i],
                        step};
      (result.*numbers)[i] = quotient.get();
      // Exponentials of scores that move at a speed `d` differ by 2e-7 at most
      // if `step * d` is at most 0.006, where quotients are off by 4e-11.
      done[i] = !std::isfinite(start) || quotient.isSmooth(1e-7);
      isSmooth &= done[i];
      if (isLast && !done[i])
        (result.scales.*numbers)[i] = -1;
    }
    return isSmooth;
  }

  Status setScales(const AttentionResult &now, AttentionResult &scales) const {
    MainOperands operands{query.start, key.start, value.start};
    scales.output.assign(now.output.size(), 0);
    scales.logSumExp.assign(now.logSumExp.size(), 0);
    double step = 3e-4;
    auto before = problem.moveScore ? problem.moveScore(-step)
                                    : problem.attention.score,
         after = problem.moveScore ? problem.moveScore(step)
                                   : problem.attention.score;
    auto getScore = [](const auto &score, double product, const ScoredRow &row,
                       const ScoredKey &key) {
      return score
                 ? score(product, row.b, row.h, row.p, key.j).value_or(product)
                 : product;
    };
    return visitRows(problem.attention, operands, now.logSumExp, now.output,
                     [&](const ScoredRow &row) -> Status {
                       std::vector<KeyTangent> tangents;
                       for (const ScoredKey &key : row.keys) {
                         ProductTangent product = getProduct(row, key);
                         double moved = step * product.tangent;
                         KeyTangent of;
                         of.score =
                             (getScore(after, key.product + moved, row, key) -
                              getScore(before, key.product - moved, row, key)) /
                             (2 * step);
                         double slope =
                             (getScore(problem.attention.score,
                                       key.product + step, row, key) -
                              getScore(problem.attention.score,
                                       key.product - step, row, key)) /
                             (2 * step);
                         of.error = square(slope) * product.error;
                         tangents.push_back(of);
                       }
                       setScales(row, tangents, now, scales);
                       return {};
                     });
  }

  /// How fast something moves, and the square of how far rounding moves that.
  struct ProductTangent {
    double tangent = 0, error = 0;
  };
  struct KeyTangent {
    double score = 0, error = 0;
  };

  ProductTangent getProduct(const ScoredRow &row, const ScoredKey &key) const {
    const AttentionProblem &attention = problem.attention;
    std::int64_t size = attention.query.size(3);
    double scale = attention.scale.value_or(1 / std::sqrt(double(size)));
    ProductTangent product;
    for (std::int64_t d = 0; d < size; ++d) {
      std::size_t ofQuery = std::size_t(row.row * size + d),
                  ofKey = std::size_t(key.keyRow * size + d);
      for (double term : {query.getSpeed(ofQuery) * this->key.start[ofKey],
                          query.start[ofQuery] * this->key.getSpeed(ofKey)}) {
        product.tangent += scale * term;
        product.error += square(attention.sumRounding * scale * term);
      }
    }
    return product;
  }

  void setScales(const ScoredRow &row, const std::vector<KeyTangent> &tangents,
                 const AttentionResult &now, AttentionResult &scales) const {
    double rounding = square(problem.attention.sumRounding);
    // Of the log-sum-exp, which all of the row share.
    double mean = 0;
    ErrorSum ofMean;
    for (std::size_t n = 0; n < tangents.size(); ++n) {
      const ScoredKey &key = row.keys[n];
      mean += key.weight * tangents[n].score;
      ofMean.add(square(key.weight) *
                 (square(tangents[n].score) * (rounding + key.scoreError) +
                  tangents[n].error));
    }
    scales.logSumExp[std::size_t(row.row)] = ofMean.getScale();
    std::int64_t size = problem.attention.value.size(3);
    for (std::int64_t d = 0; d < size; ++d) {
      std::size_t at = std::size_t(row.row * size + d);
      ErrorSum error;
      error.add(square(mean) * row.outputErrors[std::size_t(d)]);
      error.add(square(now.output[at] * ofMean.getScale()));
      for (std::size_t n = 0; n < tangents.size(); ++n) {
        const ScoredKey &key = row.keys[n];
        std::size_t ofValue = std::size_t(key.keyRow * size + d);
        double element = value.start[ofValue], speed = value.getSpeed(ofValue);
        error.add(square(key.factor * key.weight) *
                  ((square(tangents[n].score * element) + square(speed)) *
                       (1 + key.scoreError) +
                   square(element) * tangents[n].error));
      }
      scales.output[at] = error.getScale();
    }
  }

  const TangentProblem &problem;
  Moving query, key, value;
};

} // namespace

Expected<TangentResult>
attn::reference::attentionTangent(const TangentProblem &problem) {
  return catchOutOfMemory([&]() -> Expected<TangentResult> {
    Expected<Tangents> tangents = Tangents::create(problem);
    if (!tangents)
      return tangents.error();
    return tangents->compute();
  });
}
