//===- JITFormsTest.cpp - Tests of forms that are compiled when called ----===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/JITCacheTesting.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

using namespace attn;
using namespace attn::test;

/// Causal attention of any number of queries on as many keys, after `extra`.
static std::string attentionText(const std::string &extra = "") {
  return R"(
    func.func @f(%q: tensor<1x4x?x16xf32>, %k: tensor<1x2x?x16xf32>)
        -> tensor<1x4x?x16xf32> {
      %c2 = arith.constant 2 : index
      %n = tensor.dim %q, %c2 : tensor<1x4x?x16xf32>
      %e = tensor.empty(%n) : tensor<1x4x?x16xf32>
      %o = attn.attention ins(%q, %k, %k : tensor<1x4x?x16xf32>,
          tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
          outs(%e : tensor<1x4x?x16xf32>) mask causal )" +
         extra + R"(
      return %o : tensor<1x4x?x16xf32>
    })";
}

namespace {
/// A call with a number of queries and keys.
struct Step {
  explicit Step(std::int64_t length)
      : query({1, 4, length, 16}), key({1, 2, length, 16}),
        output({1, 4, length, 16}) {
    for (std::size_t i = 0; i < query.data.size(); ++i)
      query.data[i] = std::sin(float(i));
    for (std::size_t i = 0; i < key.data.size(); ++i)
      key.data[i] = std::cos(0.7f * float(i));
  }
  Status run(const Kernel &kernel) {
    return kernel.run({query.view(), key.view()}, {output.view()});
  }

  Tensor<float> query, key, output;
};
} // namespace

static Kernel compileWith(const Engine &engine, const std::string &text,
                          const std::string &pipeline = "cpu") {
  CompileOptions options;
  options.pipeline = pipeline;
  Expected<Kernel> kernel = engine.compile(text, options);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message;
    std::abort();
  }
  return *kernel;
}

TEST_F(JITCache, FormsAreCompiledWhenCalled) {
  Engine engine = createEngine(directory);
  Kernel kernel = compileWith(engine, attentionText());
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(Step(1000).run(kernel).ok());
  EXPECT_TRUE(Step(0).run(kernel).ok());
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(Step(1).run(kernel).ok());
  EXPECT_EQ(files().size(), 2u);
  EXPECT_TRUE(Step(1).run(kernel).ok());
  EXPECT_EQ(files().size(), 2u);
}

/// All numbers of queries up to beyond where forms change.
TEST_F(JITCache, FormsComputeTheSame) {
  Engine engine = createEngine();
  Kernel kernel = compileWith(engine, attentionText());
  Kernel reference = compileWith(engine, attentionText(), "reference");
  for (std::int64_t length = 0; length < 150; ++length) {
    Step step(length), expected(length);
    ASSERT_TRUE(step.run(kernel).ok());
    ASSERT_TRUE(expected.run(reference).ok());
    for (std::size_t i = 0; i < step.output.data.size(); ++i)
      ASSERT_NEAR(step.output.data[i], expected.output.data[i], 1e-5)
          << length << " queries, element " << i;
  }
}

/// Causal attention whose pairs of heads are mixed.
static std::string multiTokenText() {
  std::string text = attentionText("mix_before(%w : tensor<2x2x2xf32>)");
  auto replace = [&](std::string_view from, std::string_view to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("attn.attention", "attn.multi_token_attention");
  replace("mask causal mix_before(%w : tensor<2x2x2xf32>)",
          "mix_before(%w : tensor<2x2x2xf32>) mask causal");
  replace("%c2 =", "%w = arith.constant dense<0.5> : tensor<2x2x2xf32>\n%c2 =");
  return text;
}

TEST_F(JITCache, FormsOfMultiTokenAttention) {
  Engine engine = createEngine(directory);
  Kernel kernel = compileWith(engine, multiTokenText());
  Kernel reference = compileWith(createEngine(), multiTokenText(), "reference");
  EXPECT_EQ(files().size(), 1u);
  std::size_t compiled = 1;
  // Of none, of one row, of up to 6 and 24, and of more.
  for (auto [length, isNew] :
       std::initializer_list<std::pair<std::int64_t, bool>>{{0, false},
                                                            {1, true},
                                                            {1, false},
                                                            {2, true},
                                                            {6, false},
                                                            {7, true},
                                                            {24, false},
                                                            {25, false},
                                                            {90, false}}) {
    Step step(length), expected(length);
    ASSERT_TRUE(step.run(kernel).ok());
    compiled += isNew;
    EXPECT_EQ(files().size(), compiled) << length << " rows";
    ASSERT_TRUE(expected.run(reference).ok());
    for (std::size_t i = 0; i < step.output.data.size(); ++i)
      ASSERT_NEAR(step.output.data[i], expected.output.data[i], 1e-5)
          << length << " rows, element " << i;
  }
}

/// Attention has its forms apart, whatever multi-token attention beside it has.
TEST_F(JITCache, FormsBesideMultiTokenAttention) {
  Kernel kernel = compileWith(createEngine(directory), R"(
    !rows = tensor<1x2x?x16xf32>
    func.func @f(%q: !rows, %p: !rows, %k: !rows) -> (!rows, !rows) {
      %w = arith.constant dense<0.5> : tensor<1x2x2xf32>
      %c2 = arith.constant 2 : index
      %n = tensor.dim %q, %c2 : !rows
      %m = tensor.dim %p, %c2 : !rows
      %e = tensor.empty(%n) : !rows
      %f = tensor.empty(%m) : !rows
      %a = attn.attention ins(%q, %k, %k : !rows, !rows, !rows)
          outs(%e : !rows)
      %b = attn.multi_token_attention ins(%p, %k, %k : !rows, !rows, !rows)
          outs(%f : !rows) mix_before(%w : tensor<1x2x2xf32>)
      return %a, %b : !rows, !rows
    })");
  EXPECT_EQ(files().size(), 1u);
  Tensor<float> one({1, 2, 1, 16}), many({1, 2, 70, 16}), first(one),
      second(many);
  ASSERT_TRUE(kernel
                  .run({one.view(), many.view(), many.view()},
                       {first.view(), second.view()})
                  .ok());
  EXPECT_EQ(files().size(), 2u);
  ASSERT_TRUE(kernel
                  .run({many.view(), one.view(), many.view()},
                       {second.view(), first.view()})
                  .ok());
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(JITCache, FormsComeFromTheDisk) {
  Step first(1), second(1);
  ASSERT_TRUE(
      first.run(compileWith(createEngine(directory), attentionText())).ok());
  auto before = files();
  // That what is there is damaged costs compiling it.
  for (bool isDamaged : {false, true}) {
    if (isDamaged)
      for (const auto &file : before)
        std::ofstream(file, std::ios::app) << "more";
    Engine engine = createEngine(directory);
    Kernel kernel = compileWith(engine, attentionText());
    EXPECT_EQ(kernel.stats().source,
              isDamaged ? Source::compiler : Source::diskCache);
    ASSERT_TRUE(second.run(kernel).ok());
    EXPECT_EQ(first.output.data, second.output.data);
    EXPECT_EQ(files().size(), before.size());
  }
}

TEST_F(JITCache, FormsOutliveTheEngine) {
  auto engine = std::make_optional(createEngine(directory));
  Kernel kernel = compileWith(*engine, attentionText());
  engine.reset();
  EXPECT_TRUE(Step(1).run(kernel).ok());
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(JITCache, FormsOnSeveralThreads) {
  Engine engine = createEngine();
  Kernel kernel = compileWith(engine, attentionText());
  std::vector<Step> steps(8, Step(1));
  std::vector<std::thread> threads;
  for (Step &step : steps)
    threads.emplace_back([&] { EXPECT_TRUE(step.run(kernel).ok()); });
  for (std::thread &thread : threads)
    thread.join();
  for (Step &step : steps)
    EXPECT_EQ(step.output.data, steps.front().output.data);
}

TEST_F(JITCache, PreparedForms) {
  Engine engine = createEngine(directory);
  Kernel kernel = compileWith(engine, attentionText());
  Kernel copy = kernel;
  ASSERT_TRUE(kernel.prepare().ok());
  std::size_t all = files().size();
  EXPECT_GT(all, 1u);
  for (std::int64_t length : {1, 2, 5, 20, 100, 1000})
    EXPECT_TRUE(Step(length).run(copy).ok());
  EXPECT_EQ(files().size(), all);
  EXPECT_TRUE(kernel.prepare().ok());
  // Of one form, there is nothing to prepare.
  EXPECT_TRUE(compileWith(engine, matmulText("f32")).prepare().ok());
}

/// What a call needs, and no more.
TEST_F(JITCache, PreparedCalls) {
  Kernel kernel = compileWith(createEngine(directory), attentionText());
  Step one(1), many(1000);
  std::vector<Argument> ofMany = {many.query.view(), many.key.view()},
                        ofOne = {one.query.view(), one.key.view()};
  auto compiles = [&](std::span<const Argument> arguments) {
    Expected<bool> compiled = kernel.prepare(arguments);
    EXPECT_TRUE(compiled.ok());
    return compiled && *compiled;
  };
  EXPECT_FALSE(compiles(ofMany));
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(compiles(ofOne));
  EXPECT_EQ(files().size(), 2u);
  EXPECT_FALSE(compiles(ofOne));
  EXPECT_TRUE(one.run(kernel).ok());
  EXPECT_EQ(files().size(), 2u);
  // That it is wrong says the call.
  EXPECT_FALSE(compiles({}));
}

/// A text may say that few queries need no form, which is right for any number,
/// but not what a call would have to keep.
TEST_F(JITCache, TextsThatSayForms) {
  Engine engine = createEngine(directory);
  Kernel ofMany = compileWith(
      engine, attentionText("{attn.queries = array<i64: 9223372036854775807, "
                            "9223372036854775807>}"));
  ASSERT_TRUE(ofMany.prepare().ok());
  EXPECT_EQ(files().size(), 1u);
  Kernel promised =
      compileWith(engine, attentionText("{attn.queries = array<i64: 1, 1>}"));
  Kernel reference = compileWith(engine, attentionText(), "reference");
  for (std::int64_t length : {0, 1, 5, 100}) {
    Step step(length), other(length), expected(length);
    ASSERT_TRUE(step.run(ofMany).ok());
    ASSERT_TRUE(other.run(promised).ok());
    ASSERT_TRUE(expected.run(reference).ok());
    for (std::size_t i = 0; i < step.output.data.size(); ++i) {
      ASSERT_NEAR(step.output.data[i], expected.output.data[i], 1e-5);
      ASSERT_NEAR(other.output.data[i], expected.output.data[i], 1e-5);
    }
  }
}

/// Forms that say the same say it once.
TEST_F(JITCache, RemarksOfForms) {
  Kernel kernel = compileWith(
      createEngine(), attentionText("score(%s, %b, %h, %p, %j) {\n"
                                    "  %x = arith.extf %s : f32 to f64\n"
                                    "  %y = math.tan %x : f64\n"
                                    "  %t = arith.truncf %y : f64 to f32\n"
                                    "  attn.yield %t : f32\n"
                                    "}"));
  std::vector<Diagnostic> ofMany = kernel.remarks();
  ASSERT_FALSE(ofMany.empty());
  ASSERT_TRUE(kernel.prepare().ok());
  for (const Diagnostic &remark : ofMany)
    EXPECT_EQ(std::ranges::count(kernel.remarks(), remark), 1)
        << remark.message;
}

/// Calls that are wrong compile nothing, and say what calls with many say.
TEST_F(JITCache, WrongCallsOfForms) {
  Engine engine = createEngine(directory);
  Kernel kernel = compileWith(engine, attentionText());
  Step few(1), many(1000);
  Tensor<float> flat({1, 4, 16});
  auto messageOf = [&](Status status) {
    EXPECT_FALSE(status.ok());
    return status ? std::string() : status.error().message;
  };
  EXPECT_EQ(messageOf(kernel.run({}, {few.output.view()})),
            messageOf(kernel.run({}, {many.output.view()})));
  EXPECT_NE(
      messageOf(kernel.run({flat.view(), few.key.view()}, {few.output.view()}))
          .find("rank"),
      std::string::npos);
  EXPECT_EQ(messageOf(kernel.run({std::int64_t(1), few.key.view()},
                                 {few.output.view()})),
            messageOf(kernel.run({std::int64_t(1), many.key.view()},
                                 {many.output.view()})));
  EXPECT_EQ(files().size(), 1u);
}

/// What two numbers choose has all forms at once.
TEST_F(JITCache, SeveralNumbersOfQueries) {
  const std::string text = R"(
    func.func @f(%a: tensor<1x2x?x16xf32>, %b: tensor<1x2x?x16xf32>)
        -> (tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>) {
      %0 = attn.attention ins(%a, %b, %b : tensor<1x2x?x16xf32>,
          tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
          outs(%a : tensor<1x2x?x16xf32>)
      %1 = attn.attention ins(%b, %a, %a : tensor<1x2x?x16xf32>,
          tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>)
          outs(%b : tensor<1x2x?x16xf32>)
      return %0, %1 : tensor<1x2x?x16xf32>, tensor<1x2x?x16xf32>
    })";
  Kernel kernel = compileWith(createEngine(directory), text);
  Tensor<float> a({1, 2, 1, 16}, 1.0f), b({1, 2, 90, 16}, 1.0f);
  Tensor<float> x({1, 2, 1, 16}), y({1, 2, 90, 16});
  ASSERT_TRUE(kernel.run({a.view(), b.view()}, {x.view(), y.view()}).ok());
  EXPECT_EQ(x.data, a.data);
  EXPECT_EQ(y.data, b.data);
  EXPECT_EQ(files().size(), 1u);
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

/// Causal attention of sequences, whose queries and keys are packed, or of
/// which each has a number of queries.
static std::string sequencesText(bool isPacked) {
  std::string batch = isPacked ? "1" : "?";
  std::string query = "tensor<" + batch + "x4x?x16xf32>",
              key = "tensor<" + batch + "x2x?x16xf32>";
  return "func.func @f(%n: tensor<?xi32>, %q: " + query + ", %k: " + key +
         ") -> " + query +
         " {\n"
         "  %c0 = arith.constant 0 : index\n"
         "  %c2 = arith.constant 2 : index\n"
         "  %b = tensor.dim %q, %c0 : " +
         query + "\n  %s = tensor.dim %q, %c2 : " + query +
         "\n  %e = tensor.empty(" + (isPacked ? "" : "%b, ") +
         "%s) : " + query +
         "\n  %o = attn.attention ins(%q, %k, %k : " + query + ", " + key +
         ", " + key + ") outs(%e : " + query + ") " +
         (isPacked ? "sequences(%n, %n : tensor<?xi32>, tensor<?xi32>)"
                   : "counts(%n : tensor<?xi32>)") +
         " mask causal\n  return %o : " + query + "\n}";
}

namespace {
/// A call with sequences of these numbers of queries.
struct Batch {
  Batch(const std::vector<std::int32_t> &lengths, bool isPacked)
      : numbers({std::int64_t(lengths.size() + isPacked)}), query({}), key({}),
        output({}) {
    std::int32_t sum = 0, most = 0;
    auto *next = numbers.data.data();
    if (isPacked)
      *next++ = 0;
    for (std::int32_t length : lengths) {
      sum += length;
      most = std::max(most, length);
      *next++ = isPacked ? sum : length;
    }
    std::int64_t batch = isPacked ? 1 : std::int64_t(lengths.size()),
                 rows = isPacked ? sum : most;
    query = Tensor<float>({batch, 4, rows, 16});
    key = Tensor<float>({batch, 2, rows, 16});
    output = Tensor<float>({batch, 4, rows, 16});
    for (std::size_t i = 0; i < query.data.size(); ++i)
      query.data[i] = std::sin(float(i));
    for (std::size_t i = 0; i < key.data.size(); ++i)
      key.data[i] = std::cos(0.7f * float(i));
  }
  std::vector<Argument> arguments() {
    return {numbers.view(), query.view(), key.view()};
  }
  Status run(const Kernel &kernel) {
    return kernel.run(arguments(), {{output.view()}});
  }

  Tensor<std::int32_t> numbers;
  Tensor<float> query, key, output;
};
} // namespace

/// Of many queries, of few, and of both.
TEST_F(JITCache, FormsOfSequences) {
  const std::vector<std::vector<std::int32_t>> batches = {
      {300, 200}, {1, 1, 1}, {1, 0, 300}, {}, {0, 0}, {5, 1, 40}, {130}};
  for (bool isPacked : {true, false}) {
    Engine engine = createEngine();
    Kernel kernel = compileWith(engine, sequencesText(isPacked));
    Kernel reference =
        compileWith(engine, sequencesText(isPacked), "reference");
    for (const std::vector<std::int32_t> &lengths : batches) {
      Batch batch(lengths, isPacked), expected(lengths, isPacked);
      Status status = batch.run(kernel);
      ASSERT_TRUE(status.ok()) << status.error().message;
      ASSERT_TRUE(expected.run(reference).ok());
      for (std::size_t i = 0; i < batch.output.data.size(); ++i)
        ASSERT_NEAR(batch.output.data[i], expected.output.data[i], 1e-5)
            << (isPacked ? "packed" : "counted") << ", " << lengths.size()
            << " sequences, element " << i;
    }
  }
}

/// The code for sequences of many queries is right for all, and there first;
/// that for few, and for both, comes with the first call that needs it.
TEST_F(JITCache, FormsOfSequencesAreCompiledWhenCalled) {
  for (bool isPacked : {true, false}) {
    std::size_t before = files().size();
    Kernel kernel =
        compileWith(createEngine(directory), sequencesText(isPacked));
    auto compiled = [&](const std::vector<std::int32_t> &lengths) {
      Batch batch(lengths, isPacked);
      EXPECT_TRUE(batch.run(kernel).ok());
      return files().size() - before;
    };
    EXPECT_EQ(compiled({300, 200}), 1u);
    EXPECT_EQ(compiled({}), 1u);
    EXPECT_EQ(compiled({1, 0, 1}), 2u);
    EXPECT_EQ(compiled({1, 300}), 3u);
    EXPECT_EQ(compiled({1, 200, 0, 1, 1}), 3u);
    EXPECT_EQ(compiled({1}), 2u + 1u);
    // The next engine finds them.
    Kernel again =
        compileWith(createEngine(directory), sequencesText(isPacked));
    EXPECT_EQ(again.stats().source, Source::diskCache);
    Batch batch({1, 300}, isPacked);
    EXPECT_TRUE(batch.run(again).ok());
    EXPECT_EQ(files().size() - before, 3u);
  }
}

/// What is wrong says the call, and no form is compiled for it.
TEST_F(JITCache, FormsOfWrongSequences) {
  Kernel kernel = compileWith(createEngine(directory), sequencesText(true));
  Batch batch({1, 1}, /*isPacked=*/true);
  std::vector<Argument> arguments = batch.arguments();
  arguments[0] = TensorView(static_cast<const std::int32_t *>(nullptr),
                            batch.numbers.view().sizes());
  Expected<bool> prepared = kernel.prepare(arguments);
  ASSERT_TRUE(prepared.ok());
  EXPECT_FALSE(*prepared);
  EXPECT_FALSE(kernel.run(arguments, {{batch.output.view()}}).ok());
  EXPECT_EQ(files().size(), 1u);
  // Descending ones: an error of the kernel, whichever form that is.
  batch.numbers.data[1] = 5;
  EXPECT_FALSE(batch.run(kernel).ok());
}
