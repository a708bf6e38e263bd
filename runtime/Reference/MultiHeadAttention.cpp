//===- MultiHeadAttention.cpp - The oracle for a layer --------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/MultiHeadAttention.h"

#include "runtime/Reference/Layer.h"
#include "runtime/Reference/Memory.h"
#include "runtime/Reference/Values.h"

#include <cmath>

using namespace attn;
using namespace attn::reference;

namespace {

/// Rows of heads that were computed, (B, H, S, D).
struct Rows {
  std::vector<std::int64_t> shape;
  std::vector<double> elements;

  TensorView view() const { return {elements.data(), std::span(shape)}; }
};

/// Computes one layer; the first error stays.
class Layer {
public:
  explicit Layer(const MultiHeadAttentionProblem &problem)
      : problem(problem), type(problem.input.type()), caches(problem.caches) {}

  Expected<MultiHeadAttentionResult> compute() {
    Rows query, key, value;
    std::int64_t heads = problem.queryHeads, keyHeads = problem.keyValueHeads;
    if (problem.qkv.weight) {
      std::vector<Rows> rows = project(problem.input, problem.qkv,
                                       {{heads, problem.keySize},
                                        {keyHeads, problem.keySize},
                                        {keyHeads, problem.valueSize}});
      query = rows[0], key = rows[1], value = rows[2];
    } else {
      query =
          project(problem.input, problem.query, {{heads, problem.keySize}})[0];
      if (!problem.memory.empty()) {
        key = copy(problem.memory[0]);
        value = copy(problem.memory[1]);
      } else {
        const TensorView &source =
            problem.source ? *problem.source : problem.input;
        key = project(source, problem.key, {{keyHeads, problem.keySize}})[0];
        value =
            project(source, problem.value, {{keyHeads, problem.valueSize}})[0];
      }
    }
    if (!problem.norms.empty()) {
      normalise(query, problem.norms[0], std::nullopt);
      if (problem.memory.empty())
        normalise(key, problem.norms[1], std::nullopt);
    }
    rotate(query);
    if (problem.memory.empty())
      rotate(key);
    if (!caches.empty()) {
      cache(key, 0);
      cache(value, 1);
    }
    Rows output = attend(query, key, value);
    if (problem.outputNorm)
      normalise(output, *problem.outputNorm, problem.layer);
    applyGate(output);
    MultiHeadAttentionResult result;
    result.output = finish(output);
    result.caches = std::move(caches);
    if (error)
      return *error;
    return result;
  }

private:
  /// The value, or an empty one after an error.
  template <typename T> T take(Expected<T> value) {
    if (value)
      return std::move(*value);
    if (!error)
      error = value.error();
    return {};
  }

  std::vector<double> rounded(std::vector<double> elements) {
    for (double &element : elements)
      element = roundTo(type, element);
    return elements;
  }

  Rows copy(const TensorView &view) {
    return {{view.sizes().begin(), view.sizes().end()},
            take(toDoubles("memory", view))};
  }

  struct Heads {
    std::int64_t count, size;
  };
  std::vector<Rows> project(const TensorView &input,
                            const MultiHeadAttentionProblem::Map &map,
                            const std::vector<Heads> &heads) {
    ProjectionProblem projection{input, *map.weight, map.scales, map.bias, {}};
    for (Heads of : heads)
      projection.outputs.push_back(
          {input.size(0), of.count, input.size(1), of.size});
    auto elements = take(reference::project(projection));
    elements.resize(heads.size());
    std::vector<Rows> rows;
    for (std::size_t i = 0; i < heads.size(); ++i)
      rows.push_back({projection.outputs[i], rounded(elements[i])});
    return rows;
  }

  void normalise(Rows &rows, const TensorView &weight,
                 std::optional<std::int64_t> layer) {
    if (error)
      return;
    rows.elements = rounded(take(headNorm({.input = rows.view(),
                                           .weight = weight,
                                           .epsilon = problem.epsilon,
                                           .layer = layer})));
  }

  std::int64_t offsetOf(std::int64_t b) {
    const std::vector<std::int64_t> &offsets =
        caches.empty() ? problem.attention.offsets : problem.lengths;
    if (offsets.empty())
      return 0;
    return offsets[offsets.size() == 1 ? 0 : std::size_t(b)];
  }

  void rotate(Rows &rows) {
    if (problem.rope.empty() || error)
      return;
    RopeProblem rope{.input = rows.view(),
                     .cosine = problem.rope[0],
                     .sine = problem.rope[1],
                     .interleaved = problem.interleaved,
                     .positions = problem.positions};
    for (std::int64_t b = 0; b < rows.shape[0] && problem.positions.empty();
         ++b)
      for (std::int64_t i = 0; i < rows.shape[2]; ++i)
        rope.positions.push_back(
            std::int64_t(std::uint64_t(offsetOf(b)) + std::uint64_t(i)));
    rows.elements = rounded(take(reference::rope(rope)));
  }

  std::int64_t lengthAfter(std::size_t b) {
    return problem.lengths[b] +
           (problem.counts.empty() ? problem.input.size(1) : problem.counts[b]);
  }

  void cache(Rows &rows, std::size_t number) {
    if (error)
      return;
    if (Status status = append(caches[number], rows.view(), problem.lengths,
                               problem.counts);
        !status) {
      error = status.error();
      return;
    }
    std::vector<std::int64_t> lengths;
    for (std::size_t b = 0; b < problem.lengths.size(); ++b)
      lengths.push_back(lengthAfter(b));
    rows.shape[2] = problem.size;
    rows.elements = take(read(caches[number], lengths, problem.size, type));
  }

  Rows attend(const Rows &query, const Rows &key, const Rows &value) {
    Rows output{
        {query.shape[0], query.shape[1], query.shape[2], problem.valueSize},
        {}};
    if (error)
      return output;
    AttentionProblem attention = problem.attention;
    attention.query = query.view();
    attention.key = key.view();
    attention.value = value.view();
    if (!caches.empty()) {
      attention.offsets = problem.lengths;
      attention.counts = problem.counts;
      bool isRing = caches[0].kind == Cache::Kind::ring;
      attention.isAbsent = [&, isRing](std::int64_t b, std::int64_t j) {
        auto isStoredIn = [&](const Cache &cache) {
          return isStored(j, lengthAfter(std::size_t(b)),
                          isRing ? cache.shape[2] : -1);
        };
        return !isStoredIn(caches[0]) || !isStoredIn(caches[1]);
      };
      attention.mask = [this](std::int64_t b, std::int64_t h, std::int64_t p,
                              std::int64_t j) -> std::optional<bool> {
        std::optional<bool> keep = true;
        if (problem.attention.mask)
          keep = problem.attention.mask(b, h, p, j);
        if (keep && j >= lengthAfter(std::size_t(b)))
          keep = false;
        return keep;
      };
    }
    output.elements = rounded(take(reference::attention(attention)).output);
    return output;
  }

  void applyGate(Rows &rows) {
    if (!problem.gate.weight || error)
      return;
    Rows gate = project(problem.input, problem.gate,
                        {{problem.queryHeads, problem.gateSize}})[0];
    std::size_t size = std::size_t(problem.valueSize);
    for (std::size_t at = 0; at < rows.elements.size(); ++at) {
      double logit =
          problem.gateSize == 1 ? gate.elements[at / size] : gate.elements[at];
      rows.elements[at] =
          roundTo(type, rows.elements[at] / (1 + std::exp(-logit)));
    }
  }

  std::vector<double> finish(const Rows &rows) {
    if (error)
      return {};
    std::vector<std::int64_t> shape = {
        problem.input.size(0), problem.input.size(1), problem.outputWidth};
    auto outputs = take(reference::project({rows.view(),
                                            *problem.output.weight,
                                            problem.output.scales,
                                            problem.output.bias,
                                            {shape}}));
    if (error || problem.outputRate == 0)
      return error ? std::vector<double>() : outputs[0];
    Rows output{shape, rounded(outputs[0])};
    return take(dropout({.input = output.view(),
                         .rate = problem.outputRate,
                         .seed = problem.seed,
                         .call = problem.call}));
  }

  const MultiHeadAttentionProblem &problem;
  ElementType type;
  std::vector<Cache> caches;
  std::optional<Error> error;
};

} // namespace

Expected<MultiHeadAttentionResult>
attn::reference::multiHeadAttention(const MultiHeadAttentionProblem &problem) {
  return catchOutOfMemory([&] { return Layer(problem).compute(); });
}
