//===- VariantsTest.cpp - The gallery of variants against the oracle ------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each variant of examples/variants means, said again in plain C++.
//
//===----------------------------------------------------------------------===//

#include "examples/variants/gallery.h"
#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Compare.h"
#include "test/Execution/Random.h"
#include "test/Execution/TestTensor.h"
#include "test/Execution/VariantRun.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

using attn::Attention, attn::ElementType;
using attn::reference::AttentionProblem, attn::reference::Quantity;
using attn::test::Random, attn::test::TestTensor;

namespace {

using Integer = std::int64_t;
using Numbers = std::vector<double>;

constexpr Integer batches = 2, heads = 4, headSize = 16, length = 300;

/// A variant, the arguments that it adds, and its meaning.
struct Case {
  Attention attention;
  std::map<std::string, std::variant<TestTensor, Integer>> arguments = {};
  std::function<bool(Integer b, Integer h, Integer q, Integer k)> mask = {};
  std::function<double(double s, Integer b, Integer h, Integer q, Integer k)>
      score = {};
  /// What else differs, such as offsets.
  std::function<void(AttentionProblem &)> adjust = {};
  Integer numBatches = batches, queryLength = length, keyLength = length;
};

TestTensor normal(ElementType type, const attn::test::Shape &shape,
                  Random &random) {
  TestTensor result(type, shape);
  result.fill([&] { return random.normal(); });
  return result;
}

TestTensor i32(const attn::test::Shape &shape, const Numbers &numbers) {
  return TestTensor(ElementType::i32, shape, numbers);
}

void expectClose(const TestTensor &actual, const Numbers &expected,
                 ElementType type, Quantity quantity) {
  auto comparison =
      attn::reference::compare(actual.elements(), expected,
                               attn::reference::toleranceFor(type, quantity));
  ASSERT_TRUE(comparison.ok());
  EXPECT_TRUE(comparison->passed)
      << "at " << comparison->index << ": " << comparison->actual
      << ", expected " << comparison->expected;
}

/// Runs the variant and holds it to its meaning. Gives the output.
std::optional<TestTensor> check(const Case &variant, std::uint64_t seed = 1) {
  const Attention &attention = variant.attention;
  Random random(seed);
  ElementType type = attention.type;
  Integer keyHeads = attention.keyValueHeads.value_or(heads);
  Integer valueSize = attention.valueHeadSize.value_or(headSize);
  TestTensor query = normal(
      type, {variant.numBatches, heads, variant.queryLength, headSize}, random);
  TestTensor key =
      normal(type, {variant.numBatches, keyHeads, variant.keyLength, headSize},
             random);
  TestTensor value =
      normal(type, {variant.numBatches, keyHeads, variant.keyLength, valueSize},
             random);
  auto createArguments = [&](const attn::Signature &signature) {
    std::vector<attn::Argument> arguments = {query.view(), key.view(),
                                             value.view()};
    for (const attn::Parameter &parameter :
         std::span(signature.arguments).subspan(3)) {
      auto found = variant.arguments.find(parameter.name);
      EXPECT_NE(found, variant.arguments.end()) << parameter.name;
      if (found == variant.arguments.end())
        break;
      if (const auto *tensor = std::get_if<TestTensor>(&found->second))
        arguments.push_back(tensor->view());
      else
        arguments.push_back(std::get<Integer>(found->second));
    }
    return arguments;
  };
  TestTensor output(
      type, {variant.numBatches, heads, variant.queryLength, valueSize});
  TestTensor logSumExp(ElementType::f32,
                       {variant.numBatches, heads, variant.queryLength});
  std::vector<attn::TensorView> results = {output.mutableView()};
  if (attention.logSumExp)
    results.push_back(logSumExp.mutableView());
  if (!attn::test::runVariant(attention, createArguments, results))
    return std::nullopt;

  AttentionProblem problem;
  problem.query = query;
  problem.key = key;
  problem.value = value;
  problem.mask = variant.mask;
  problem.score = variant.score;
  if (variant.adjust)
    variant.adjust(problem);
  auto expected = attn::reference::attention(problem);
  EXPECT_TRUE(expected.ok()) << (expected ? "" : expected.error().message);
  if (!expected)
    return std::nullopt;
  expectClose(output, expected->output, type, Quantity::output);
  if (attention.logSumExp)
    expectClose(logSumExp, expected->logSumExp, type, Quantity::logSumExp);
  return output;
}

Attention base(ElementType type = ElementType::f32) {
  return {.type = type,
          .queryHeads = heads,
          .keyValueHeads = 2,
          .headSize = headSize};
}

bool isCausal(Integer, Integer, Integer q, Integer k) { return k <= q; }

//===----------------------------------------------------------------------===//
// Masks of positions
//===----------------------------------------------------------------------===//

TEST(Variants, Causal) {
  for (ElementType type : {ElementType::f32, ElementType::f64, ElementType::f16,
                           ElementType::bf16})
    check(
        {.attention = attn::gallery::causalMask(base(type)), .mask = isCausal});
}

TEST(Variants, Window) {
  check({.attention = attn::gallery::window(base(), 128),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           return q - 127 <= k && k <= q;
         }});
}

TEST(Variants, Dilated) {
  check({.attention = attn::gallery::dilated(base(), 128, 4),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           return k <= q && q - k < 128 && (q - k) % 4 == 0;
         }});
}

TEST(Variants, StridedSparse) {
  for (auto type : {ElementType::f32, ElementType::bf16})
    for (Integer n : {32, 90, 128}) // Blocks are trimmed to a key, or two.
      check({.attention = attn::gallery::stridedSparse(base(type), n),
             .mask = [=](Integer, Integer, Integer q, Integer k) {
               return k <= q && (q - k < n || k % n == n - 1);
             }});
}

TEST(Variants, GlobalAndLocal) {
  check({.attention = attn::gallery::globalAndLocal(base(), 32, 4),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           return std::abs(q - k) <= 32 || k < 4 || q < 4;
         }});
}

TEST(Variants, SinkAndWindow) {
  for (auto type : {ElementType::f32, ElementType::bf16})
    check({.attention = attn::gallery::sinkAndWindow(base(type), 64, 4),
           .mask = [](Integer, Integer, Integer q, Integer k) {
             return k <= q && (k < 4 || q - k < 64);
           }});
}

TEST(Variants, BlockDiagonal) {
  check({.attention = attn::gallery::blockDiagonal(base(), 64),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           return q / 64 == k / 64;
         }});
}

TEST(Variants, Chunked) {
  check({.attention = attn::gallery::chunked(base(), 64),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           return k <= q && q / 64 == k / 64;
         }});
}

TEST(Variants, LogSparse) {
  check({.attention = attn::gallery::logSparse(base(), 128),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           Integer distance = q - k;
           return distance >= 0 && distance <= 128 &&
                  (distance & (distance - 1)) == 0;
         }});
}

TEST(Variants, Neighborhood2D) {
  for (auto type : {ElementType::f32, ElementType::bf16})
    check({.attention = attn::gallery::neighborhood2D(base(type), 15, 20, 2),
           .mask = [](Integer, Integer, Integer q, Integer k) {
             Integer row = std::clamp<Integer>(q / 20, 2, 12);
             Integer column = std::clamp<Integer>(q % 20, 2, 17);
             return std::abs(k / 20 - row) <= 2 &&
                    std::abs(k % 20 - column) <= 2;
           }});
}

TEST(Variants, Disc) {
  for (auto type : {ElementType::f32, ElementType::bf16})
    check({.attention = attn::gallery::disc(base(type), 20, 3),
           .mask = [](Integer, Integer, Integer q, Integer k) {
             Integer x = q % 20 - k % 20, y = q / 20 - k / 20;
             return x * x + y * y <= 9;
           }});
}

//===----------------------------------------------------------------------===//
// Masks of data
//===----------------------------------------------------------------------===//

TEST(Variants, PrefixLM) {
  Numbers lengths = {100, 0};
  check({.attention = attn::gallery::prefix(base()),
         .arguments = {{"prefix_lengths", i32({batches}, lengths)}},
         .mask = [&](Integer b, Integer, Integer q, Integer k) {
           return k <= q || double(k) < lengths[std::size_t(b)];
         }});
}

TEST(Variants, Documents) {
  Random random(2);
  Numbers numbers;
  for (Integer b = 0; b < batches; ++b)
    for (Integer i = 0, document = 0; i < length; ++i)
      numbers.push_back(double(document += random.chance(0.02)));
  check({.attention = attn::gallery::documents(base()),
         .arguments = {{"document_numbers", i32({batches, length}, numbers)}},
         .mask = [&](Integer b, Integer, Integer q, Integer k) {
           return k <= q && numbers[std::size_t(b * length + q)] ==
                                numbers[std::size_t(b * length + k)];
         }});
}

TEST(Variants, PerHeadStride) {
  Numbers strides = {1, 3, 16, 1000};
  check({.attention = attn::gallery::perHeadStride(base()),
         .arguments = {{"strides", i32({heads}, strides)}},
         .mask = [&](Integer, Integer h, Integer q, Integer k) {
           return k <= q && (q - k) % Integer(strides[std::size_t(h)]) == 0;
         }});
}

TEST(Variants, KeyRanges) {
  Random random(3);
  Numbers numbers, starts = {0};
  for (Integer i = 0; i < length; ++i) {
    if (random.chance(0.02))
      starts.push_back(double(i));
    numbers.push_back(double(starts.size() - 1));
  }
  check({.attention = attn::gallery::keyRanges(base()),
         .arguments = {{"document_numbers", i32({length}, numbers)},
                       {"starts", i32({Integer(starts.size())}, starts)}},
         .mask = [&](Integer, Integer, Integer q, Integer k) {
           auto document = std::size_t(numbers[std::size_t(q)]);
           return k <= q && double(k) >= starts[document];
         }});
}

TEST(Variants, CrossAttention) {
  Numbers lengths = {77, 0}; // All of the second is padding.
  check({.attention = attn::gallery::crossAttention(base()),
         .arguments = {{"key_lengths", i32({batches}, lengths)}},
         .mask = [&](Integer b, Integer, Integer,
                     Integer k) { return double(k) < lengths[std::size_t(b)]; },
         .queryLength = 33,
         .keyLength = 101});
}

TEST(Variants, PerHeadWindow) {
  Numbers windows = {1, 16, 100, 1000};
  check({.attention = attn::gallery::perHeadWindow(base()),
         .arguments = {{"windows", i32({heads}, windows)}},
         .mask = [&](Integer, Integer h, Integer q, Integer k) {
           return k <= q && double(q - k) < windows[std::size_t(h)];
         }});
}

TEST(Variants, Tree) {
  constexpr Integer nodes = 21, certain = 100;
  Random random(3);
  TestTensor ancestor(ElementType::i1, {nodes, nodes});
  ancestor.fill([] { return 0; });
  for (Integer node = 0; node < nodes; ++node) {
    if (node > 0) { // What its parent sees.
      Integer parent = random.between(0, node - 1);
      for (Integer k = 0; k < node; ++k)
        ancestor.set({node, k}, *ancestor.get({parent, k}));
    }
    ancestor.set({node, node}, 1);
  }
  check({.attention = attn::gallery::tree(base()),
         .arguments = {{"num_certain", certain}, {"ancestor", ancestor}},
         .mask =
             [&](Integer, Integer, Integer q, Integer k) {
               return k < certain || *ancestor.get({q, k - certain}) != 0;
             },
         .queryLength = nodes,
         .keyLength = certain + nodes});
}

TEST(Variants, RingStep) {
  for (Integer firstKey : {0, 200, 300, 400})
    check({.attention = attn::gallery::ringStep(base()),
           .arguments = {{"first_query", 300}, {"first_key", firstKey}},
           .mask = [&](Integer, Integer, Integer q,
                       Integer k) { return k + firstKey <= q; },
           .adjust = [](AttentionProblem &problem) { problem.offsets = {300}; },
           .queryLength = 100,
           .keyLength = 100});
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

TEST(Variants, LinearBias) {
  Numbers slopes = {0.5, 0.25, 0.0625, 0.00390625};
  check(
      {.attention = attn::gallery::linearBias(base()),
       .arguments = {{"slopes", TestTensor(ElementType::f32, {heads}, slopes)}},
       .mask = isCausal,
       .score = [&](double s, Integer, Integer h, Integer q, Integer k) {
         return s - slopes[std::size_t(h)] * double(std::abs(q - k));
       }});
}

TEST(Variants, LogarithmicBias) {
  Numbers r1 = {0.5, 2, 0.0625, 1}, r2 = {1, 0.25, 4, 1e-6};
  check({.attention = attn::gallery::logarithmicBias(base()),
         .arguments = {{"r1", TestTensor(ElementType::f32, {heads}, r1)},
                       {"r2", TestTensor(ElementType::f32, {heads}, r2)}},
         .mask = isCausal,
         .score = [&](double s, Integer, Integer h, Integer q, Integer k) {
           return s - r1[std::size_t(h)] * std::log1p(r2[std::size_t(h)] *
                                                      double(std::abs(q - k)));
         }});
}

TEST(Variants, RelativeBias) {
  Random random(4);
  TestTensor table = normal(ElementType::f32, {heads, 65}, random);
  check({.attention = attn::gallery::relativeBias(base(), 32),
         .arguments = {{"table", table}},
         .score = [&](double s, Integer, Integer h, Integer q, Integer k) {
           return s + *table.get({h, std::clamp<Integer>(k - q, -32, 32) + 32});
         }});
}

Integer hash(Integer q, Integer k) {
  std::uint64_t hash = std::uint64_t(q * 40503 + k) * 2654435761;
  return Integer((hash ^ std::uint64_t(Integer(hash) >> 29)) * 668265261);
}

TEST(Variants, HashMask) {
  check({.attention = attn::gallery::hashMask(base()),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           return k == q || (k < q && ((hash(q, k) >> 17) & 3) == 0);
         }});
}

TEST(Variants, Axial2D) {
  check({.attention = attn::gallery::axial2D(base(), 20),
         .mask = [](Integer, Integer, Integer q, Integer k) {
           return q / 20 == k / 20 || q % 20 == k % 20;
         }});
}

TEST(Variants, ScaledDistance) {
  Numbers widths = {1, 7, 50, 1000};
  check({.attention = attn::gallery::scaledDistance(base()),
         .arguments = {{"widths", i32({heads}, widths)}},
         .mask = [&](Integer, Integer h, Integer q, Integer k) {
           return k <= q && (q - k) / Integer(widths[std::size_t(h)]) < 3;
         }});
}

TEST(Variants, SelectedBlocks) {
  Random random(5);
  TestTensor chosen(ElementType::i1, {heads, 10, 10});
  chosen.fill([&](const attn::test::Shape &at) {
    return double(at[1] == at[2] || random.chance(0.2));
  });
  check({.attention = attn::gallery::selectedBlocks(base(), 32),
         .arguments = {{"chosen", chosen}},
         .mask = [&](Integer, Integer h, Integer q, Integer k) {
           return k <= q && *chosen.get({h, q / 32, k / 32}) != 0;
         }});
}

TEST(Variants, LogBuckets) {
  Random random(6);
  TestTensor table = normal(ElementType::f32, {32, heads}, random);
  for (auto type : {ElementType::f32, ElementType::bf16})
    check({.attention = attn::gallery::logBuckets(base(type)),
           .arguments = {{"table", table}},
           .mask = isCausal,
           .score = [&](double s, Integer, Integer h, Integer q, Integer k) {
             Integer bucket = std::max<Integer>(q - k, 0);
             if (bucket >= 16)
               bucket = std::min<Integer>(
                   31, 16 + Integer(16 * std::log(double(bucket) / 16) /
                                    std::log(8)));
             return s + *table.get({bucket, h});
           }});
}

TEST(Variants, SegmentBias) {
  Random random(7);
  TestTensor segments(ElementType::i32, {length}),
      table = normal(ElementType::f32, {heads, 4, 4}, random);
  segments.fill([&] { return double(random.between(0, 3)); });
  check({.attention = attn::gallery::segmentBias(base()),
         .arguments = {{"segments", segments}, {"table", table}},
         .score = [&](double s, Integer, Integer h, Integer q, Integer k) {
           return s + *table.get({h, Integer(*segments.get({q})),
                                  Integer(*segments.get({k}))});
         }});
}

TEST(Variants, ForgettingGate) {
  Random random(8);
  TestTensor sums(ElementType::f32, {heads, length});
  double sum = 0;
  sums.fill([&](const attn::test::Shape &at) {
    sum = at[1] == 0 ? 0 : sum - 0.1 * random.chance(0.5);
    return sum;
  });
  check({.attention = attn::gallery::forgettingGate(base()),
         .arguments = {{"log_forget_sums", sums}},
         .mask = isCausal,
         .score = [&](double s, Integer, Integer h, Integer q, Integer k) {
           return s + *sums.get({h, q}) - *sums.get({h, k});
         }});
}

TEST(Variants, PrunedForgettingGate) {
  Random random(9);
  TestTensor sums(ElementType::f32, {heads, length});
  double sum = 0;
  sums.fill([&](const attn::test::Shape &at) {
    sum = at[1] == 0 ? 0 : sum - 0.125 * random.chance(0.5);
    return sum;
  });
  auto lost = [&](Integer h, Integer q, Integer k) {
    return *sums.get({h, q}) - *sums.get({h, k});
  };
  check({.attention = attn::gallery::prunedForgettingGate(base(), -1.5F),
         .arguments = {{"log_forget_sums", sums}},
         .mask = [&](Integer, Integer h, Integer q,
                     Integer k) { return k <= q && lost(h, q, k) >= -1.5; },
         .score = [&](double s, Integer, Integer h, Integer q,
                      Integer k) { return s + lost(h, q, k); }});
}

TEST(Variants, ScalableSoftmax) {
  Numbers scales = {0.5, 1, 0.25, 0.125};
  check(
      {.attention = attn::gallery::scalableSoftmax(base()),
       .arguments = {{"scales", TestTensor(ElementType::f32, {heads}, scales)}},
       .mask = isCausal,
       .score = [&](double s, Integer, Integer h, Integer q, Integer) {
         return s * scales[std::size_t(h)] * std::log(double(q + 1));
       }});
}

TEST(Variants, PowerDecay) {
  Numbers decays = {0.96875, 0.984375, 0.9921875, 1};
  check(
      {.attention = attn::gallery::powerDecay(base()),
       .arguments = {{"decays", TestTensor(ElementType::f32, {heads}, decays)}},
       .mask = isCausal,
       .score = [&](double s, Integer, Integer h, Integer q, Integer k) {
         return s * std::pow(decays[std::size_t(h)], double(std::abs(q - k)));
       }});
}

TEST(Variants, CappedScores) {
  // Of a small cap, all blocks have scores that are not small; of 20, some.
  for (auto type : {ElementType::f32, ElementType::bf16})
    for (float cap : {1.f, 20.f, 50.f})
      check({.attention = attn::gallery::cappedScores(base(type), cap),
             .mask = isCausal,
             .score = [=](double s, Integer, Integer, Integer, Integer) {
               return cap * std::tanh(s / cap);
             }});
}

TEST(Variants, DistanceDecay) {
  check({.attention = attn::gallery::distanceDecay(base()),
         .mask = isCausal,
         .score = [](double s, Integer, Integer, Integer q, Integer k) {
           return s * std::exp(-double(std::abs(q - k)) / 100);
         }});
}

TEST(Variants, HeadTemperature) {
  Numbers temperatures = {0.5, 1, 2, 4};
  check({.attention = attn::gallery::headTemperature(base()),
         .arguments = {{"temperatures",
                        TestTensor(ElementType::f32, {heads}, temperatures)}},
         .score = [&](double s, Integer, Integer h, Integer, Integer) {
           return s / temperatures[std::size_t(h)];
         }});
}

//===----------------------------------------------------------------------===//
// Heads, batches and sinks
//===----------------------------------------------------------------------===//

TEST(Variants, MultiQueryDecode) {
  for (Integer queries : {1, 3})
    check({.attention = attn::gallery::multiQueryDecode(base()),
           .mask = isCausal,
           .adjust =
               [](AttentionProblem &problem) { problem.bottomRight = true; },
           .queryLength = queries});
}

TEST(Variants, LearnedSink) {
  Numbers logits = {-1, 0, 1, 5};
  check({.attention = attn::gallery::learnedSink(base()),
         .arguments = {{"sink_logits",
                        TestTensor(ElementType::f32, {heads}, logits)}},
         .mask = [](Integer, Integer, Integer q,
                    Integer k) { return q - 127 <= k && k <= q; },
         .adjust = [&](AttentionProblem &problem) { problem.sink = logits; }});
}

TEST(Variants, Packed) {
  Numbers starts = {0, 5, 5, 111, 300};
  check({.attention = attn::gallery::packed(base()),
         .arguments = {{"starts", i32({5}, starts)}},
         .mask = isCausal,
         .adjust =
             [&](AttentionProblem &problem) {
               problem.cuQuery.assign(starts.begin(), starts.end());
               problem.cuKey = problem.cuQuery;
             },
         .numBatches = 1});
}

TEST(Variants, Differential) {
  std::optional<TestTensor> outputs[2];
  for (std::uint64_t half : {0, 1})
    outputs[half] = check({.attention = attn::gallery::differentialHalf(base()),
                           .mask = isCausal},
                          half + 1);
  if (!outputs[0] || !outputs[1])
    return; // Another rank compares, or this has failed.
  Numbers first = outputs[0]->elements(), second = outputs[1]->elements();
  std::vector<float> output(first.begin(), first.end());
  attn::gallery::combineDifferential(
      output, std::vector<float>(second.begin(), second.end()), 0.25F);
  for (std::size_t i = 0; i < output.size(); ++i)
    ASSERT_NEAR(output[i], first[i] - 0.25 * second[i], 1e-5);
}

} // namespace
