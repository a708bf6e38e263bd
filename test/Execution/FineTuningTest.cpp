//===- FineTuningTest.cpp - Layers of a model are trained -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// examples/train's FineTuning, on a small model of random weights, is held to
// the model's formulas written out in float64: its loss, its gradients by
// differences of losses, and AdamW.
//
//===----------------------------------------------------------------------===//

#include "examples/train/FineTuning.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <string>

using namespace finetune;
using namespace attn;

static constexpr std::int64_t kBatch = 2, kLength = 6;

static smollm2::ModelShape shapeOfTest() {
  smollm2::ModelShape shape;
  shape.layers = 2;
  shape.width = 16;
  shape.hidden = 24;
  shape.heads = 4;
  shape.keyHeads = 2;
  shape.headSize = shape.rotarySize = 8;
  shape.vocabulary = 20;
  shape.context = 16;
  shape.epsilon = 1e-5;
  shape.rotaryBase = 100;
  shape.isTied = true;
  return shape;
}

using Numbers = std::vector<double>;

namespace {
/// The model in float64, one sequence after the other.
class Model {
public:
  explicit Model(FineTuning &training) : shape(shapeOfTest()) {
    auto copy = [](auto span) { return Numbers(span.begin(), span.end()); };
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      layers.emplace_back();
      for (std::string_view name : training.weightNames())
        layers.back()[std::string(name)] = copy(training.weight(layer, name));
    }
    embeddings = copy(training.embeddings());
    outputNorm = copy(training.outputNorm());
  }

  double loss(std::span<const std::int32_t> tokens) const {
    double sum = 0;
    for (std::int64_t b = 0; b < kBatch; ++b)
      sum += lossOf(tokens.subspan(std::size_t(b * (kLength + 1)),
                                   std::size_t(kLength + 1)));
    return sum / double(kBatch * kLength);
  }

  std::vector<std::map<std::string, Numbers>> layers;

private:
  /// x (rows, inputs) * weight (inputs, outputs).
  static Numbers multiply(const Numbers &x, const Numbers &weight,
                          std::int64_t inputs) {
    std::size_t k = std::size_t(inputs), n = weight.size() / k,
                rows = x.size() / k;
    Numbers y(rows * n);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t l = 0; l < k; ++l)
        for (std::size_t j = 0; j < n; ++j)
          y[i * n + j] += x[i * k + l] * weight[l * n + j];
    return y;
  }

  Numbers norm(Numbers x, const Numbers &weight) const {
    std::size_t width = weight.size();
    for (std::size_t row = 0; row < x.size(); row += width) {
      double squares = 0;
      for (std::size_t i = 0; i < width; ++i)
        squares += x[row + i] * x[row + i];
      double root = std::sqrt(squares / double(width) + shape.epsilon);
      for (std::size_t i = 0; i < width; ++i)
        x[row + i] *= weight[i] / root;
    }
    return x;
  }

  /// Turns neighbours in the heads of x (tokens, heads, head size).
  void rotate(Numbers &x) const {
    std::size_t size = std::size_t(shape.headSize),
                width = x.size() / std::size_t(kLength);
    for (std::size_t i = 0; i < x.size(); i += 2) {
      double pair = double(i % size / 2),
             angle = double(i / width) *
                     std::pow(shape.rotaryBase, -2 * pair / double(size)),
             even = x[i], odd = x[i + 1];
      x[i] = even * std::cos(angle) - odd * std::sin(angle);
      x[i + 1] = odd * std::cos(angle) + even * std::sin(angle);
    }
  }

  Numbers attend(const Numbers &query, const Numbers &key,
                 const Numbers &value) const {
    std::size_t size = std::size_t(shape.headSize),
                heads = std::size_t(shape.heads),
                keyHeads = std::size_t(shape.keyHeads);
    Numbers output(query.size());
    for (std::size_t h = 0; h < heads; ++h)
      for (std::size_t i = 0; i < std::size_t(kLength); ++i) {
        auto at = [&](std::size_t token, std::size_t all, std::size_t head) {
          return (token * all + head) * size;
        };
        std::size_t to = at(i, heads, h), shared = h * keyHeads / heads;
        Numbers weights;
        double sum = 0;
        for (std::size_t j = 0; j <= i; ++j) {
          double score = 0;
          for (std::size_t d = 0; d < size; ++d)
            score += query[to + d] * key[at(j, keyHeads, shared) + d];
          weights.push_back(std::exp(score / std::sqrt(double(size))));
          sum += weights.back();
        }
        for (std::size_t j = 0; j <= i; ++j)
          for (std::size_t d = 0; d < size; ++d)
            output[to + d] +=
                weights[j] / sum * value[at(j, keyHeads, shared) + d];
      }
    return output;
  }

  double lossOf(std::span<const std::int32_t> tokens) const {
    std::size_t width = std::size_t(shape.width);
    Numbers x;
    for (std::int32_t token : tokens.first(std::size_t(kLength)))
      x.insert(x.end(), embeddings.begin() + token * shape.width,
               embeddings.begin() + (token + 1) * shape.width);
    auto addTo = [&](const Numbers &y) {
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] += y[i];
    };
    for (const auto &layer : layers) {
      auto project = [&](const Numbers &from, const char *name) {
        return multiply(from, layer.at(name),
                        std::int64_t(from.size()) / kLength);
      };
      Numbers normed = norm(x, layer.at("attn_norm")),
              query = project(normed, "attn_q"),
              key = project(normed, "attn_k");
      rotate(query);
      rotate(key);
      addTo(project(attend(query, key, project(normed, "attn_v")),
                    "attn_output"));
      normed = norm(x, layer.at("ffn_norm"));
      Numbers gate = project(normed, "ffn_gate"),
              up = project(normed, "ffn_up");
      for (std::size_t i = 0; i < gate.size(); ++i)
        gate[i] *= up[i] / (1 + std::exp(-gate[i]));
      addTo(project(gate, "ffn_down"));
    }
    x = norm(x, outputNorm);
    double loss = 0;
    for (std::size_t i = 0; i < std::size_t(kLength); ++i) {
      auto logit = [&](std::size_t token) {
        double sum = 0;
        for (std::size_t d = 0; d < width; ++d)
          sum += x[i * width + d] * embeddings[token * width + d];
        return sum;
      };
      double sum = 0;
      for (std::size_t j = 0; j < std::size_t(shape.vocabulary); ++j)
        sum += std::exp(logit(j));
      loss += std::log(sum) - logit(std::size_t(tokens[i + 1]));
    }
    return loss;
  }

  smollm2::ModelShape shape;
  Numbers embeddings, outputNorm;
};

class FineTuningTest : public testing::Test {
protected:
  // Compiled once for all tests.
  static void SetUpTestSuite() {
    Expected<Engine> engine = Engine::create({.threads = 1});
    ASSERT_TRUE(engine);
    Expected<FineTuning> compiled =
        FineTuning::create(*engine, shapeOfTest(), kBatch, kLength);
    ASSERT_TRUE(compiled) << formatError(compiled.error());
    created.emplace(std::move(*compiled));
  }
  static void TearDownTestSuite() { created.reset(); }

  void SetUp() override {
    ASSERT_TRUE(created);
    training = created;
    auto fill = [&](std::span<float> weights, float mean, float deviation) {
      std::normal_distribution<float> normal(mean, deviation);
      std::ranges::generate(weights, [&] { return normal(random); });
    };
    for (std::int64_t layer = 0; layer < training->numLayers(); ++layer)
      for (std::string_view name : training->weightNames())
        fill(training->weight(layer, name), name.ends_with("_norm") ? 1 : 0,
             0.25f);
    fill(training->embeddings(), 0, 1);
    fill(training->outputNorm(), 1, 0.25f);
    for (std::int64_t i = 0; i < kBatch * (kLength + 1); ++i)
      tokens.push_back(std::int32_t(random() % 20));
  }

  double computeGradients() {
    Expected<double> loss = training->computeGradients(tokens);
    EXPECT_TRUE(loss) << formatError(loss.error());
    return loss ? *loss : NAN;
  }

  static std::optional<FineTuning> created;
  std::mt19937_64 random{1};
  std::optional<FineTuning> training;
  std::vector<std::int32_t> tokens;
};
std::optional<FineTuning> FineTuningTest::created;
} // namespace

TEST_F(FineTuningTest, GradientsAreThoseOfDifferences) {
  double loss = computeGradients();
  Model model(*training);
  EXPECT_NEAR(loss, model.loss(tokens), 1e-5 * loss);
  // Along a direction in the space of each weight.
  for (std::int64_t layer = 0; layer < training->numLayers(); ++layer)
    for (std::string_view name : training->weightNames()) {
      std::span<const float> gradient = training->gradientOf(layer, name);
      Numbers &weight = model.layers[std::size_t(layer)].at(std::string(name));
      const Numbers before = weight;
      std::normal_distribution<double> normal;
      Numbers direction(weight.size());
      std::ranges::generate(direction, [&] { return normal(random); });
      double slope = 0, squares = 0;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        slope += double(gradient[i]) * direction[i];
        squares += double(gradient[i]) * double(gradient[i]);
      }
      auto lossAt = [&](double distance) {
        for (std::size_t i = 0; i < weight.size(); ++i)
          weight[i] = before[i] + distance * direction[i];
        return model.loss(tokens);
      };
      constexpr double step = 1e-4;
      double expected = (lossAt(step) - lossAt(-step)) / (2 * step);
      weight = before;
      EXPECT_GT(squares, 0) << name;
      EXPECT_NEAR(slope, expected, 1e-5 * std::sqrt(squares))
          << name << " of layer " << layer;
    }
}

TEST_F(FineTuningTest, UpdatesAreThoseOfAdamW) {
  constexpr double rate = 1e-2;
  std::span<const float> weight = training->weight(1, "ffn_down"),
                         gradient = training->gradientOf(1, "ffn_down");
  Numbers expected(weight.begin(), weight.end()), means(weight.size()),
      squares(weight.size());
  double first = 0, last = 0;
  for (int step = 1; step <= 20; ++step) {
    last = computeGradients();
    first = step == 1 ? last : first;
    Status status = training->update(rate);
    ASSERT_TRUE(status) << formatError(status.error());
    for (std::size_t i = 0; i < expected.size() && step <= 3; ++i) {
      double g = gradient[i];
      means[i] = 0.9 * means[i] + 0.1 * g;
      squares[i] = 0.999 * squares[i] + 0.001 * g * g;
      double mean = means[i] / (1 - std::pow(0.9, step)),
             square = squares[i] / (1 - std::pow(0.999, step));
      expected[i] -=
          rate * (mean / (std::sqrt(square) + 1e-8) + 0.01 * expected[i]);
      ASSERT_NEAR(weight[i], expected[i], 1e-5) << step << ", " << i;
    }
  }
  EXPECT_LT(last, 0.5 * first);
}

TEST_F(FineTuningTest, RefusesOtherTokens) {
  std::vector<std::int32_t> fewer(tokens.begin(), tokens.end() - 1);
  EXPECT_EQ(formatError(training->computeGradients(fewer).error()),
            "expected 14 tokens, got 13");
  tokens.back() = 20;
  EXPECT_EQ(formatError(training->computeGradients(tokens).error()),
            "expected tokens from 0 to 19, got 20");
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine);
  Expected<FineTuning> longer =
      FineTuning::create(*engine, shapeOfTest(), 1, 17);
  ASSERT_FALSE(longer);
  EXPECT_EQ(formatError(longer.error()),
            "expected 1 to 16 tokens of at least 1 text, got 17 of 1");
}
