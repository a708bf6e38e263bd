//===- Layer.cpp - The oracle for a layer's other ops ---------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Reference/Layer.h"

#include "runtime/Reference/Philox.h"
#include "runtime/Reference/Values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

using namespace attn;
using namespace attn::reference;

Expected<std::vector<double>>
attn::reference::rope(const RopeProblem &problem) {
  Expected<std::vector<double>> input = toDoubles("input", problem.input);
  if (!input)
    return input.error();
  Expected<std::vector<double>> cosine = toDoubles("cosine", problem.cosine);
  if (!cosine)
    return cosine.error();
  Expected<std::vector<double>> sine = toDoubles("sine", problem.sine);
  if (!sine)
    return sine.error();
  std::vector<double> output = *input; // What is not rotated stays.
  std::int64_t batches = problem.input.size(0), heads = problem.input.size(1),
               length = problem.input.size(2), size = problem.input.size(3),
               pairs = problem.cosine.size(1);
  if (output.empty())
    return output;
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t i = 0; i < length; ++i) {
      std::int64_t p = problem.positions[std::size_t(b * length + i)];
      if (p < 0 || p >= problem.cosine.size(0))
        return Error{"position " + std::to_string(p) + " of row " +
                         std::to_string(i) + " is not in the tables",
                     {}};
      for (std::int64_t h = 0; h < heads; ++h) {
        std::size_t row = std::size_t(((b * heads + h) * length + i) * size);
        for (std::int64_t k = 0; k < pairs; ++k) {
          std::size_t x = row + std::size_t(problem.interleaved ? 2 * k : k);
          std::size_t y = problem.interleaved ? x + 1 : x + std::size_t(pairs);
          double c = (*cosine)[std::size_t(p * pairs + k)],
                 s = (*sine)[std::size_t(p * pairs + k)];
          output[x] = (*input)[x] * c - (*input)[y] * s;
          output[y] = (*input)[y] * c + (*input)[x] * s;
        }
      }
    }
  return output;
}

Expected<MergeResult> attn::reference::merge(const MergeProblem &problem) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  Expected<std::vector<double>> output1 = toDoubles("output1", problem.output1);
  if (!output1)
    return output1.error();
  Expected<std::vector<double>> output2 = toDoubles("output2", problem.output2);
  if (!output2)
    return output2.error();
  Expected<std::vector<double>> lse1 = toDoubles("lse1", problem.logSumExp1);
  if (!lse1)
    return lse1.error();
  Expected<std::vector<double>> lse2 = toDoubles("lse2", problem.logSumExp2);
  if (!lse2)
    return lse2.error();
  MergeResult result;
  result.output.assign(output1->size(), 0);
  result.logSumExp.assign(lse1->size(), -inf);
  std::size_t size = std::size_t(problem.output1.size(3));
  for (std::size_t row = 0; row < lse1->size(); ++row) {
    double l1 = (*lse1)[row], l2 = (*lse2)[row];
    if (l1 == -inf && l2 == -inf)
      continue; // Neither part saw a key.
    double maximum = l1 > l2 || std::isnan(l1) ? l1 : l2;
    // Of equal infinities the difference would be NaN.
    double w1 = l1 == maximum ? 1 : std::exp(l1 - maximum),
           w2 = l2 == maximum ? 1 : std::exp(l2 - maximum);
    result.logSumExp[row] = maximum + std::log(w1 + w2);
    for (std::size_t d = row * size; d < (row + 1) * size; ++d)
      result.output[d] = ((l1 == -inf ? 0 : w1 * (*output1)[d]) +
                          (l2 == -inf ? 0 : w2 * (*output2)[d])) /
                         (w1 + w2);
  }
  return result;
}

Expected<std::vector<std::vector<double>>>
attn::reference::project(const ProjectionProblem &problem) {
  Expected<std::vector<double>> input = toDoubles("input", problem.input);
  if (!input)
    return input.error();
  Expected<std::vector<double>> weight = toDoubles("weight", problem.weight);
  if (!weight)
    return weight.error();
  std::vector<double> columns[2]; // Scales and bias.
  for (int i : {0, 1})
    if (const auto &view = i == 0 ? problem.scales : problem.bias) {
      Expected<std::vector<double>> values =
          toDoubles(i == 0 ? "scales" : "bias", *view);
      if (!values)
        return values.error();
      columns[i] = *values;
    }
  // Rows of K features, (B, S, K), from any form.
  bool fromHeads = problem.input.rank() == 4;
  std::int64_t batches = problem.input.size(0),
               heads = fromHeads ? problem.input.size(1) : 1,
               length = problem.input.size(fromHeads ? 2 : 1),
               size = problem.input.size(fromHeads ? 3 : 2),
               rows = heads * size;
  auto inputAt = [&](std::int64_t b, std::int64_t s, std::int64_t k) {
    std::int64_t h = k / size, d = k % size;
    return (*input)[std::size_t(((b * heads + h) * length + s) * size + d)];
  };
  const TensorView &w = problem.weight;
  auto weightAt = [&](std::int64_t k, std::int64_t n) {
    std::int64_t at = k * w.size(1) + n;
    if (w.rank() == 3)
      at = (n / w.size(2) * rows + k) * w.size(2) + n % w.size(2);
    if (w.rank() == 4)
      at = ((n / w.size(2) * (rows / 2) + k / 2) * w.size(2) + n % w.size(2)) *
               2 +
           k % 2;
    return (*weight)[std::size_t(at)];
  };
  std::int64_t numColumns = 0;
  for (const std::vector<std::int64_t> &shape : problem.outputs)
    numColumns += shape.back() * (shape.size() == 4 ? shape[1] : 1);
  // As (K, N), so that a feature's products with all columns are one loop.
  std::vector<double> matrix(std::size_t(rows * numColumns));
  for (std::int64_t k = 0; k < rows; ++k)
    for (std::int64_t n = 0; n < numColumns; ++n)
      matrix[std::size_t(k * numColumns + n)] = weightAt(k, n);
  // As (B, S, N).
  std::vector<double> sums(std::size_t(batches * length * numColumns));
  double *row = sums.data();
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t s = 0; s < length; ++s, row += numColumns) {
      for (std::int64_t k = 0; k < rows; ++k) {
        double element = inputAt(b, s, k);
        const double *factors = matrix.data() + k * numColumns;
        for (std::int64_t n = 0; n < numColumns; ++n)
          row[n] += element * factors[n];
      }
      for (std::int64_t n = 0; n < numColumns; ++n) {
        if (problem.scales)
          row[n] *= columns[0][std::size_t(n)];
        if (problem.bias)
          row[n] += columns[1][std::size_t(n)];
      }
    }
  std::vector<std::vector<double>> results;
  std::int64_t first = 0;
  for (const std::vector<std::int64_t> &shape : problem.outputs) {
    bool intoHeads = shape.size() == 4;
    std::int64_t headSize = shape.back(), numHeads = intoHeads ? shape[1] : 1;
    std::vector<double> result(
        std::size_t(batches * length * numHeads * headSize));
    auto to = result.begin();
    for (std::int64_t b = 0; b < batches; ++b)
      for (std::int64_t h = 0; h < numHeads; ++h)
        for (std::int64_t s = 0; s < length; ++s, to += headSize)
          std::copy_n(sums.begin() + (b * length + s) * numColumns + first +
                          h * headSize,
                      headSize, to);
    first += numHeads * headSize;
    results.push_back(std::move(result));
  }
  return results;
}

Expected<std::vector<double>>
attn::reference::headNorm(const HeadNormProblem &problem) {
  Expected<std::vector<double>> input = toDoubles("input", problem.input);
  if (!input)
    return input.error();
  std::vector<double> weight;
  if (problem.weight) {
    Expected<std::vector<double>> elements =
        toDoubles("weight", *problem.weight);
    if (!elements)
      return elements.error();
    weight = std::move(*elements);
  }
  double scale = 1;
  if (problem.layer) {
    double lambda = 0.8 - 0.6 * std::exp(-0.3 * double(*problem.layer));
    scale = 1 - lambda;
  }
  std::vector<double> output(input->size());
  if (output.empty())
    return output;
  std::size_t heads = std::size_t(problem.input.size(1)),
              length = std::size_t(problem.input.size(2)),
              size = std::size_t(problem.input.size(3));
  for (std::size_t row = 0; row < output.size() / size; ++row) {
    std::size_t h = row / length % heads;
    double squares = 0;
    for (std::size_t d = 0; d < size; ++d)
      squares += (*input)[row * size + d] * (*input)[row * size + d];
    double root = std::sqrt(squares / double(size) + problem.epsilon);
    for (std::size_t d = 0; d < size; ++d) {
      double w = weight.empty()         ? 1
                 : weight.size() > size ? weight[h * size + d]
                                        : weight[d];
      output[row * size + d] = scale * w * (*input)[row * size + d] / root;
    }
  }
  return output;
}

Expected<std::vector<double>>
attn::reference::dropout(const OutputDropoutProblem &problem) {
  Expected<std::vector<double>> input = toDoubles("input", problem.input);
  if (!input)
    return input.error();
  std::vector<double> output(input->size());
  std::uint64_t seed = problem.seed ^ 0x9E3779B97F4A7C15;
  std::int64_t length = problem.input.size(1), width = problem.input.size(2);
  for (std::size_t at = 0; at < output.size(); ++at) {
    std::int64_t c = std::int64_t(at) % width,
                 i = std::int64_t(at) / width % length,
                 b = std::int64_t(at) / width / length;
    auto words = philox4x32({std::uint32_t(c / 4), std::uint32_t(i),
                             std::uint32_t(b), problem.call},
                            {std::uint32_t(seed), std::uint32_t(seed >> 32)});
    if (double(words[std::size_t(c % 4)]) >= problem.rate * 4294967296.0)
      output[at] = (*input)[at] / (1 - problem.rate);
  }
  return output;
}
