//===- TuningTest.cpp - Plans that were measured --------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/JITCacheTesting.h"

#include "gmock/gmock.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <random>

using namespace attn;
using namespace attn::test;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

namespace {

/// Attention of 4 heads of 32 elements, with a plan if there is one.
std::string attentionText(const std::string &plan = "") {
  return R"(func.func @f(%q: tensor<1x4x?x32xf32>, %k: tensor<1x4x?x32xf32>)
        -> tensor<1x4x?x32xf32> {
      %c2 = arith.constant 2 : index
      %n = tensor.dim %q, %c2 : tensor<1x4x?x32xf32>
      %init = tensor.empty(%n) : tensor<1x4x?x32xf32>
      %r = attn.attention ins(%q, %k, %k : tensor<1x4x?x32xf32>,
          tensor<1x4x?x32xf32>, tensor<1x4x?x32xf32>)
          outs(%init : tensor<1x4x?x32xf32>))" +
         plan + R"(
      return %r : tensor<1x4x?x32xf32>
    })";
}

/// A call of that.
struct Call {
  Tensor<float> query, key, output;

  explicit Call(std::int64_t queries = 64, std::int64_t keys = 512)
      : query({1, 4, queries, 32}), key({1, 4, keys, 32}),
        output({1, 4, queries, 32}) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (Tensor<float> *input : {&query, &key})
      for (float &element : input->data)
        element = normal(random);
  }

  std::vector<Argument> arguments() { return {query.view(), key.view()}; }
  std::vector<TensorView> results() { return {output.view()}; }
  std::vector<float> run(const Kernel &kernel) {
    EXPECT_TRUE(kernel.run(arguments(), results()).ok());
    return output.data;
  }
};

class TuningTest : public JITCache {
protected:
  Expected<Tuning> tune(const Engine &engine, const std::string &text,
                        const TuningOptions &options) {
    return engine.tune(text, call.arguments(), call.results(), options);
  }
  /// What the directory has got since `files` were all.
  fs::path newFile(const std::vector<fs::path> &before) const {
    for (const fs::path &file : files())
      if (std::ranges::find(before, file) == before.end())
        return file;
    return {};
  }
  Call call;
};

std::string remarksOf(const Kernel &kernel) {
  std::string text;
  for (const Diagnostic &remark : kernel.remarks())
    text += formatDiagnostic(remark) + "\n";
  return text;
}

// Without time, nothing changes.
TEST_F(TuningTest, no_time) {
  Engine engine = createEngine();
  std::vector<float> expected = call.run(*engine.compile(attentionText()));
  Expected<Tuning> tuning = tune(engine, attentionText(), {.seconds = 0});
  ASSERT_TRUE(tuning.ok()) << tuning.error().message;
  EXPECT_EQ(tuning->numTried, 0u);
  EXPECT_EQ(tuning->timesFaster, 1);
  EXPECT_FALSE(tuning->isComplete);
  EXPECT_THAT(tuning->plans, Each(IsEmpty()));
  EXPECT_EQ(call.run(tuning->kernel), expected);
}

// Whatever is found, in whatever time there was: results are right, the text
// has it, and so have later engines.
TEST_F(TuningTest, what_is_found_is_used) {
  for (const char *plan : {"", " {attn.plan = #attn.plan<keys = 8>}"}) {
    std::string text = attentionText(plan);
    std::vector<float> expected = call.run(compile(text));
    std::vector<TuningStep> steps;
    Expected<Tuning> tuning =
        tune(createEngine(directory), text,
             {.seconds = 0.2, .progress = [&](const TuningStep &step) {
                steps.push_back(step);
              }});
    ASSERT_TRUE(tuning.ok()) << tuning.error().message;
    EXPECT_EQ(tuning->plans.size(), 1u);
    EXPECT_EQ(tuning->numTried, steps.size());
    for (const TuningStep &step : steps)
      EXPECT_THAT(step.plan, HasSubstr("#attn.plan<"));
    std::vector<float> tuned = call.run(tuning->kernel);
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(tuned[i], expected[i], 2e-6) << i;
    EXPECT_EQ(call.run(compile(tuning->text)), tuned);
    Expected<Kernel> later = createEngine(directory).compile(text);
    ASSERT_TRUE(later.ok());
    EXPECT_EQ(later->stats().source, Source::diskCache);
    EXPECT_EQ(call.run(*later), tuned);
    EXPECT_THAT(later->remarks(), IsEmpty());
  }
}

TEST_F(TuningTest, several_ops) {
  const std::string text = R"(
    func.func private @map(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>)
        -> tensor<?x64xf32> {
      %c0 = arith.constant 0 : index
      %n = tensor.dim %x, %c0 : tensor<?x64xf32>
      %in = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, %n, 64]
          : tensor<?x64xf32> into tensor<1x?x64xf32>
      %init = tensor.empty(%n) : tensor<1x?x64xf32>
      %r = attn.projection ins(%in, %w : tensor<1x?x64xf32>, tensor<64x64xf32>)
          outs(%init : tensor<1x?x64xf32>)
      %out = tensor.collapse_shape %r [[0, 1], [2]]
          : tensor<1x?x64xf32> into tensor<?x64xf32>
      return %out : tensor<?x64xf32>
    }
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>)
        -> tensor<?x64xf32> {
      %y = call @map(%x, %w) : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
      %z = call @map(%y, %w) : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
      return %z : tensor<?x64xf32>
    })";
  Tensor<float> x({40, 64}, 0.5F), w({64, 64}, 0.25F), out({40, 64});
  Expected<Tuning> tuning = createEngine().tune(
      text, std::vector<Argument>{x.view(), w.view()},
      std::vector<TensorView>{out.view()}, {.seconds = 0.2});
  ASSERT_TRUE(tuning.ok()) << tuning.error().message;
  EXPECT_EQ(tuning->plans.size(), 1u);
  EXPECT_TRUE(tuning->kernel.run({x.view(), w.view()}, {out.view()}).ok());
  EXPECT_THAT(out.data, Each(0.5F * 0.25F * 64 * 0.25F * 64));
}

TEST_F(TuningTest, errors) {
  Engine engine = createEngine();
  std::string text = attentionText();
  for (double seconds :
       {-1.0, std::nan(""), 1e9, std::numeric_limits<double>::infinity()}) {
    Expected<Tuning> tuning = tune(engine, text, {.seconds = seconds});
    ASSERT_FALSE(tuning.ok());
    EXPECT_THAT(tuning.error().message, HasSubstr("seconds: expected 0 to"));
  }
  EngineOptions options;
  options.tuning = {.seconds = -1};
  Expected<Engine> refused = Engine::create(options);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("tuning.seconds: expected 0 to"));
  Expected<Tuning> tuning =
      engine.tune(text, call.arguments(), call.results(), {.seconds = 0},
                  {.pipeline = "reference"});
  ASSERT_FALSE(tuning.ok());
  EXPECT_THAT(tuning.error().message,
              HasSubstr("pipeline: expected 'cpu' to tune, got 'reference'"));
  tuning = engine.tune(text, {}, call.results(), {.seconds = 1});
  ASSERT_FALSE(tuning.ok());
  EXPECT_THAT(tuning.error().message, HasSubstr("argument"));
  tuning = tune(engine, "func.func @f(", {.seconds = 1});
  ASSERT_FALSE(tuning.ok());
  EXPECT_FALSE(tuning.error().diagnostics.empty());
}

TEST_F(TuningTest, stored_plans_that_are_no_use) {
  std::string text = attentionText();
  Engine engine = createEngine(directory);
  EXPECT_TRUE(engine.compile(text).ok());
  std::vector<fs::path> before = files();
  ASSERT_TRUE(tune(engine, text, {.seconds = 0}).ok());
  fs::path file = newFile(before);
  ASSERT_TRUE(fs::exists(file));

  // Of another processor.
  Expected<Engine> other =
      Engine::create({.cacheDirectory = directory.string(), .cpu = "x86-64"});
  if (other) {
    Expected<Kernel> kernel = other->compile(text);
    ASSERT_TRUE(kernel.ok());
    EXPECT_THAT(remarksOf(*kernel), HasSubstr("are of another processor"));
  }
  // Which keeps both.
  if (other) {
    EXPECT_TRUE(tune(*other, text, {.seconds = 0}).ok());
    EXPECT_EQ(remarksOf(*createEngine(directory).compile(text)), "");
    EXPECT_EQ(remarksOf(*other->compile(text)), "");
  }

  auto size = fs::file_size(file);
  for (auto cut : {size - 1, size / 2, decltype(size)(0)}) {
    fs::resize_file(file, cut);
    Expected<Kernel> kernel = createEngine(directory).compile(text);
    ASSERT_TRUE(kernel.ok());
    EXPECT_THAT(remarksOf(*kernel), HasSubstr("is damaged"));
  }
  // Tuned again, it is good again.
  EXPECT_TRUE(tune(createEngine(directory), text, {.seconds = 0}).ok());
  EXPECT_EQ(remarksOf(*createEngine(directory).compile(text)), "");

  // Where no file can be, it is said once, and the process has them.
  fs::remove(file);
  fs::create_directory(file);
  Engine again = createEngine(directory);
  Expected<Tuning> tuning = tune(again, text, {.seconds = 0});
  ASSERT_TRUE(tuning.ok());
  EXPECT_THAT(remarksOf(tuning->kernel), HasSubstr("for this process alone"));
  EXPECT_EQ(remarksOf(*again.compile(text)), "");
}

// An engine that tunes what it compiles.
TEST_F(TuningTest, on_standard_sizes) {
  std::size_t numSteps = 0;
  EngineOptions options;
  options.threads = 1;
  options.tuning = {.seconds = 0.2,
                    .progress = [&](const TuningStep &) { ++numSteps; }};
  Expected<Engine> engine = Engine::create(options);
  ASSERT_TRUE(engine.ok());
  Expected<Kernel> kernel = engine->compile(attentionText());
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  EXPECT_EQ(remarksOf(*kernel), "");
  std::vector<float> tuned = call.run(*kernel),
                     expected = call.run(compile(attentionText()));
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(tuned[i], expected[i], 2e-6) << i;
  // Once.
  numSteps = 0;
  kernel = engine->compile(attentionText());
  EXPECT_EQ(numSteps, 0u);
  EXPECT_EQ(kernel->stats().source, Source::memoryCache);
  EXPECT_EQ(call.run(*kernel), tuned);

  // Lengths are not made up.
  const std::string padded = R"(func.func @f(%q: tensor<1x4x8x32xf32>,
        %n: tensor<1xi32>) -> tensor<1x4x8x32xf32> {
      %r = attn.attention ins(%q, %q, %q : tensor<1x4x8x32xf32>,
          tensor<1x4x8x32xf32>, tensor<1x4x8x32xf32>)
          outs(%q : tensor<1x4x8x32xf32>) mask key_padding(%n : tensor<1xi32>)
      return %r : tensor<1x4x8x32xf32>
    })";
  for (int i = 0; i < 2; ++i) {
    kernel = engine->compile(padded);
    ASSERT_TRUE(kernel.ok());
    EXPECT_THAT(remarksOf(*kernel),
                HasSubstr("is not tuned: its argument 'n' has integers that "
                          "only a call knows"));
  }
  EXPECT_FALSE(engine->compile("func.func @f(").ok());
}

} // namespace
