//===- recall.cpp - Trains a layer to look things up ----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// recall MODEL [STEPS]
//
// Trains the model of recall.mlir from random weights, by AdamW (Loshchilov and
// Hutter, arXiv:1711.05101), on sequences that are new in every step. The
// kernels are the model and its gradient; the rest is plain C++. Exits with 0
// if the model answers at least 99 of 100 questions at the end.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "attn/gradient.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <random>
#include <sstream>

using namespace attn;

namespace {

constexpr std::int64_t kBatch = 64, kPairs = 8, kLength = 1 + kPairs,
                       kWidth = 32, kKeys = 16, kValues = 16, kAngles = 8;
constexpr unsigned kSeed = 1;

/// A dense tensor of f32.
struct Tensor {
  Tensor(std::vector<std::int64_t> sizes)
      : sizes(std::move(sizes)),
        elements(std::size_t(std::accumulate(this->sizes.begin(),
                                             this->sizes.end(), std::int64_t(1),
                                             std::multiplies<>()))) {}
  TensorView view() {
    return {elements.data(), ElementType::f32, sizes, /*readOnly=*/false};
  }
  void fillNormal(std::mt19937_64 &random, float deviation) {
    std::normal_distribution<float> normal(0, deviation);
    for (float &element : elements)
      element = normal(random);
  }
  float *row(std::int64_t number) {
    return elements.data() + number * sizes.back();
  }

  std::vector<std::int64_t> sizes;
  std::vector<float> elements;
};

/// Weights with the averages that AdamW keeps of their gradients.
struct Weights : Tensor {
  Weights(std::vector<std::int64_t> sizes, std::mt19937_64 &random)
      : Tensor(sizes), gradient(sizes), mean(elements.size()),
        square(elements.size()) {
    fillNormal(random, 1 / std::sqrt(float(this->sizes[0])));
  }

  void update(int step) {
    constexpr float rate = 3e-3f, decay = 1e-4f, beta1 = 0.9f, beta2 = 0.99f;
    float ofMean = 1 - std::pow(beta1, float(step)),
          ofSquare = 1 - std::pow(beta2, float(step));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      float g = gradient.elements[i];
      mean[i] = beta1 * mean[i] + (1 - beta1) * g;
      square[i] = beta2 * square[i] + (1 - beta2) * g * g;
      float change =
          mean[i] / ofMean / (std::sqrt(square[i] / ofSquare) + 1e-8f);
      elements[i] -= rate * (change + decay * elements[i]);
    }
  }

  Tensor gradient;
  std::vector<float> mean, square;
};

/// Questions with their answers.
struct Batch {
  explicit Batch(std::mt19937_64 &random) {
    for (std::int64_t b = 0; b < kBatch; ++b) {
      std::vector<int> order(kKeys);
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      int pairs = int(2 + random() % (kPairs - 1)),
          asked = int(random() % pairs);
      lengths.push_back(1 + pairs);
      questions.push_back(order[std::size_t(asked)]);
      for (int i = 0; i < kPairs; ++i) {
        keys.push_back(order[std::size_t(i)]);
        values.push_back(int(random() % kValues));
      }
      answers.push_back(values[std::size_t(b * kPairs + asked)]);
    }
  }
  std::vector<std::int32_t> lengths;
  std::vector<int> questions, keys, values, answers;
};

class Model {
public:
  Model(Kernel forward, Kernel backward, std::mt19937_64 &random)
      : forward(forward), backward(backward),
        ofQuestion({kKeys, kWidth}, random), ofKey({kKeys, kWidth}, random),
        ofValue({kValues, kWidth}, random), qkv({kWidth, 128}, random),
        output({64, kWidth}, random), head({kWidth, kValues}, random) {
    for (std::int64_t position = 0; position < kLength; ++position)
      for (std::int64_t i = 0; i < kAngles; ++i) {
        float angle =
            float(position) * std::pow(100.0f, -float(i) / float(kAngles));
        cosine.row(position)[i] = std::cos(angle);
        sine.row(position)[i] = std::sin(angle);
      }
  }

  /// Learns from a batch; the share of its questions that were answered. Steps
  /// begin at 1.
  Expected<double> learn(const Batch &batch, int step) {
    embed(batch);
    std::int64_t sizes[] = {kBatch};
    TensorView lengths(batch.lengths.data(), std::span(sizes));
    // Dropout is of the step; what it drops in both kernels is the same.
    std::vector<Argument> arguments = {
        tokens.view(), qkv.view(), output.view(), head.view(), cosine.view(),
        sine.view(),   lengths,    kSeed,         step};
    TensorView results[] = {logits.view()};
    if (Status status = forward.run(arguments, results); !status)
      return status.error();
    double right = score(batch);
    arguments.emplace_back(ofLogits.view());
    TensorView gradients[] = {ofTokens.view(), qkv.gradient.view(),
                              output.gradient.view(), head.gradient.view()};
    if (Status status = backward.run(arguments, gradients); !status)
      return status.error();
    update(batch, step);
    return right;
  }

private:
  /// Calls `use(token, row)` for every token and each row that it is a sum of.
  template <typename Use> void forEachRow(const Batch &batch, Use use) {
    for (std::int64_t b = 0; b < kBatch; ++b) {
      use(b * kLength, ofQuestion, batch.questions[std::size_t(b)]);
      for (std::int64_t i = 0; i < kPairs; ++i) {
        auto pair = std::size_t(b * kPairs + i);
        use(b * kLength + 1 + i, ofKey, batch.keys[pair]);
        use(b * kLength + 1 + i, ofValue, batch.values[pair]);
      }
    }
  }

  void embed(const Batch &batch) {
    std::fill(tokens.elements.begin(), tokens.elements.end(), 0.0f);
    forEachRow(batch, [&](std::int64_t token, Weights &of, int number) {
      for (std::int64_t i = 0; i < kWidth; ++i)
        tokens.row(token)[i] += of.row(number)[i];
    });
  }

  /// Sets the gradient of the mean cross entropy, which is of the questions'
  /// tokens alone; the share of the right answers.
  double score(const Batch &batch) {
    std::fill(ofLogits.elements.begin(), ofLogits.elements.end(), 0.0f);
    int right = 0;
    for (std::int64_t b = 0; b < kBatch; ++b) {
      float *row = logits.row(b * kLength),
            *gradient = ofLogits.row(b * kLength);
      int answer = batch.answers[std::size_t(b)];
      float *largest = std::max_element(row, row + kValues);
      right += largest - row == answer;
      float sum = 0;
      for (std::int64_t i = 0; i < kValues; ++i)
        sum += std::exp(row[i] - *largest);
      for (std::int64_t i = 0; i < kValues; ++i)
        gradient[i] =
            (std::exp(row[i] - *largest) / sum - float(i == answer)) / kBatch;
    }
    return double(right) / kBatch;
  }

  void update(const Batch &batch, int step) {
    for (Weights *rows : {&ofQuestion, &ofKey, &ofValue})
      std::fill(rows->gradient.elements.begin(), rows->gradient.elements.end(),
                0.0f);
    forEachRow(batch, [&](std::int64_t token, Weights &of, int number) {
      for (std::int64_t i = 0; i < kWidth; ++i)
        of.gradient.row(number)[i] += ofTokens.row(token)[i];
    });
    for (Weights *weights :
         {&ofQuestion, &ofKey, &ofValue, &qkv, &output, &head})
      weights->update(step);
  }

  Kernel forward, backward;
  Weights ofQuestion, ofKey, ofValue, qkv, output, head;
  Tensor cosine{{kLength, kAngles}}, sine{{kLength, kAngles}},
      tokens{{kBatch, kLength, kWidth}}, ofTokens{{kBatch, kLength, kWidth}},
      logits{{kBatch, kLength, kValues}}, ofLogits{{kBatch, kLength, kValues}};
};

} // namespace

/// Trains; the share of right answers in the last 20 steps.
static Expected<double> train(const std::string &text, int steps) {
  Expected<Engine> engine = Engine::create();
  if (!engine)
    return engine.error();
  Expected<std::string> gradient =
      differentiate(text, {.of = {"x", "qkv", "output", "head"}});
  if (!gradient)
    return gradient.error();
  Expected<Kernel> forward = engine->compile(text);
  if (!forward)
    return forward.error();
  Expected<Kernel> backward = engine->compile(*gradient);
  if (!backward)
    return backward.error();
  std::mt19937_64 random(kSeed);
  Model model(*forward, *backward, random);
  double recent = 0;
  for (int step = 1; step <= steps; ++step) {
    Expected<double> right = model.learn(Batch(random), step);
    if (!right)
      return right.error();
    recent += *right / 20;
    if (step % 20 != 0)
      continue;
    if (step % 100 == 0)
      std::printf("step %4d: %3.0f %% of the answers are right\n", step,
                  100 * recent);
    if (step < steps)
      recent = 0;
  }
  return recent;
}

int main(int argc, char **argv) {
  int steps = argc > 2 ? std::atoi(argv[2]) : 400;
  if (argc < 2 || argc > 3 || steps < 20 || steps % 20 != 0) {
    std::fprintf(stderr, "usage: %s MODEL [STEPS, a multiple of 20]\n",
                 argv[0]);
    return 2;
  }
  std::ifstream file(argv[1]);
  if (!file) {
    std::fprintf(stderr, "%s: cannot open\n", argv[1]);
    return 1;
  }
  std::stringstream text;
  text << file.rdbuf();
  Expected<double> right = train(text.str(), steps);
  if (!right) {
    std::fprintf(stderr, "%s\n", formatError(right.error()).c_str());
    return 1;
  }
  return *right >= 0.99 ? 0 : 1;
}
