//===- CaseRunTest.cpp - How attention on a GPU is judged -----------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-gpu-bench/CaseRun.h"

#include "runtime/Reference/Compare.h"
#include "test/Unit/MockCUDADriver.h"

#include "gmock/gmock.h"

#include <algorithm>
#include <random>
#include <set>

using namespace attn;
using namespace attn::gpubench;
using namespace attn::test;
using testing::HasSubstr;

namespace {

/// On a driver whose launches of the kernel with all tensors compute what the
/// oracle does, times `factor`.
class CaseRunOnMock : public testing::Test {
protected:
  CaseRunOnMock() {
    driver.reset();
    driver.execute = [this](const MockLaunch &launch) { compute(launch); };
  }
  ~CaseRunOnMock() override { EXPECT_EQ(driver.countLive(), 0u); }

  /// The tensors of a launch, in the order in which the kernel takes them: the
  /// output before the query, the key before the value.
  std::vector<std::byte *> findTensors(const MockLaunch &launch,
                                       std::size_t bytes) {
    std::vector<std::byte *> found;
    for (std::uint64_t argument : launch.arguments) {
      auto buffer = driver.buffers.find(argument);
      if (buffer == driver.buffers.end() || buffer->second.size() != bytes)
        continue;
      std::byte *data = buffer->second.data();
      if (std::ranges::find(found, data) == found.end())
        found.push_back(data);
    }
    return found;
  }

  void compute(const MockLaunch &launch) {
    auto view = [&](std::byte *data, const std::vector<Index> &sizes) {
      return TensorView(data, ElementType::f32, sizes, /*readOnly=*/true);
    };
    auto bytesOf = [](const std::vector<Index> &sizes) {
      return std::size_t(sizes[0] * sizes[1] * sizes[2] * sizes[3]) * 4;
    };
    std::vector<std::byte *> ofQuery = findTensors(launch,
                                                   bytesOf(each.querySizes())),
                             ofKey =
                                 findTensors(launch, bytesOf(each.keySizes()));
    if (ofQuery.size() != 2 || ofKey.size() != 2)
      return;
    reference::AttentionProblem problem{
        .query = view(ofQuery[1], each.querySizes()),
        .key = view(ofKey[0], each.keySizes()),
        .value = view(ofKey[1], each.keySizes())};
    each.describe(problem);
    auto result = reference::attention(problem);
    ASSERT_TRUE(result) << result.error().message;
    auto *output = reinterpret_cast<float *>(ofQuery[0]);
    for (std::size_t i = 0; i < result->output.size(); ++i)
      output[i] = float(result->output[i] * factor);
    ++computed;
  }

  Expected<Outcome> run(double seconds = 0) {
    Expected<cuda::Device> device =
        cuda::Device::open({.driver = ATTN_MOCK_DRIVER});
    Expected<Engine> engine = Engine::create({.gpuDriver = ATTN_MOCK_DRIVER});
    EXPECT_TRUE(device && engine);
    return runCase(each, *engine, *device, seconds);
  }

  static GPUCase makeCase(Family family, const std::string &pattern) {
    for (GPUCase found : listCases())
      if (found.pattern.name == pattern) {
        found.family = family;
        found.type = ElementType::f32;
        found.batches = found.keyValueHeads = 1;
        found.queryHeads = 2;
        found.headSize = 64;
        found.queries = 70;
        found.keys = 90;
        found.hasAnyLength = false; // Arguments have another order.
        return found;
      }
    ADD_FAILURE() << "there is no pattern '" << pattern << "'";
    return {};
  }

  MockDriver &driver = MockDriver::get();
  GPUCase each = makeCase(Family::check, "full");
  double factor = 1;
  std::size_t computed = 0;
};

TEST_F(CaseRunOnMock, Right) {
  for (const char *pattern : {"full", "causal", "softcap", "window", "prefix",
                              "dilated", "softcap-window"})
    for (Family family : {Family::check, Family::longer}) {
      if (family == Family::longer && pattern != std::string("causal"))
        continue;
      SCOPED_TRACE(pattern);
      each = makeCase(family, pattern);
      Expected<Outcome> outcome = run();
      ASSERT_TRUE(outcome) << outcome.error().message;
      EXPECT_EQ(outcome->rows, family == Family::check ? 2 * 70 : 24);
      EXPECT_LE(outcome->error, outcome->bound);
      EXPECT_LE(outcome->bound, 1e-5);
      EXPECT_EQ(outcome->milliseconds, 0);
    }
  EXPECT_EQ(computed, 8u);
}

TEST_F(CaseRunOnMock, Wrong) {
  factor = 1 + 1e-4; // Far below what f16 would allow.
  Expected<Outcome> outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message,
              HasSubstr("output: wrong result, relative error 9.9"));
  each.family = Family::longer;
  outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message,
              HasSubstr("batch 0, head 0, row 0: wrong result"));
  driver.execute = nullptr;
  outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message,
            "wrong result: some elements are no numbers");
}

/// Of few queries that a kernel may have many of, as longer ones have.
TEST_F(CaseRunOnMock, ChecksKernelsOfManyQueries) {
  driver.execute = nullptr;
  for (const GPUCase &found : listCases())
    if (found.name() == "check/D64-S201-f16-full")
      each = found;
  ASSERT_EQ(each.type, ElementType::f16);
  EXPECT_FALSE(run()); // Nothing is computed.
  // Two warpgroups that multiply, and one that copies.
  EXPECT_TRUE(
      std::ranges::any_of(driver.launches, [](const MockLaunch &launch) {
        return launch.block[0] == 3 * 128;
      }));
}

TEST_F(CaseRunOnMock, Time) {
  each.family = Family::prefill;
  Expected<Outcome> outcome = run();
  ASSERT_TRUE(outcome) << outcome.error().message;
  // The driver says that everything takes 1.5 ms: a call, and then as many as
  // are not too short, three.
  EXPECT_EQ(outcome->milliseconds, 0.5);
  // To check, to find out how long it takes, and five samples.
  EXPECT_EQ(computed, 1u + 1 + 5 * 3);
}

TEST_F(CaseRunOnMock, TimeOfLaunches) {
  each.family = Family::prefill;
  // The GPU has caught up with the CPU whenever it is asked.
  driver.execute = [this](const MockLaunch &launch) {
    compute(launch);
    driver.pending.clear();
  };
  Expected<Outcome> outcome = run();
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message,
            "cannot measure: the GPU is done with filling memory before the "
            "CPU has launched 1 calls");
}

/// What is compiled from a text is what `describe` says, at the borders of all
/// patterns.
TEST(GPUCases, TextsAreWhatIsDescribed) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine) << engine.error().message;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::set<std::string> patterns;
  for (GPUCase each : listCases()) {
    if (!patterns.insert(each.pattern.name).second)
      continue;
    SCOPED_TRACE(each.pattern.name);
    each.type = ElementType::f32;
    each.batches = each.keyValueHeads = 1;
    each.queryHeads = 2;
    each.queries = each.keys = 1100;
    each.headSize = 8;
    auto makeTensor = [&](const std::vector<Index> &sizes) {
      std::vector<float> numbers(
          std::size_t(sizes[0] * sizes[1] * sizes[2] * sizes[3]));
      std::ranges::generate(numbers, [&] { return normal(random); });
      return numbers;
    };
    std::vector<float> query = makeTensor(each.querySizes()),
                       key = makeTensor(each.keySizes()),
                       value = makeTensor(each.keySizes()),
                       output(query.size());
    auto view = [](std::vector<float> &numbers, const std::vector<Index> &sizes,
                   bool readOnly = true) {
      return TensorView(numbers.data(), ElementType::f32, sizes, readOnly);
    };
    reference::AttentionProblem problem{.query = view(query, each.querySizes()),
                                        .key = view(key, each.keySizes()),
                                        .value = view(value, each.keySizes())};
    each.describe(problem);
    auto expected = reference::attention(problem);
    ASSERT_TRUE(expected) << expected.error().message;
    Expected<Kernel> kernel = engine->compile(each.text(), {.pipeline = "cpu"});
    ASSERT_TRUE(kernel) << kernel.error().message;
    Status status = kernel->run({problem.query, problem.key, problem.value},
                                {view(output, each.querySizes(), false)});
    ASSERT_TRUE(status) << status.error().message;
    std::vector<double> actual(output.begin(), output.end());
    Expected<reference::Comparison> comparison = reference::compare(
        actual, expected->output,
        reference::toleranceFor(ElementType::f32, reference::Quantity::output));
    ASSERT_TRUE(comparison) << comparison.error().message;
    EXPECT_TRUE(comparison->passed)
        << "error " << comparison->error << " at " << comparison->index;
  }
  EXPECT_EQ(patterns.size(), 7u);
}

TEST(GPUCases, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const GPUCase &each : listCases())
    EXPECT_TRUE(names.insert(each.name()).second) << each.name();
  EXPECT_EQ(names.size(), listCases().size());
}

TEST(GPUCases, CountWhatIsSeen) {
  for (const GPUCase &each : listCases())
    if (each.pattern.sees)
      for (Index p : {0, 1, 2, 3, 4, 49, 50, 51, 1022, 1023, 1024, 1500}) {
        Index count = 0;
        for (Index j = 0; j < 2000; ++j)
          count += each.pattern.sees(p, j);
        EXPECT_EQ(each.pattern.countSeen(p), count) << each.name() << ", " << p;
      }
}

TEST(GPUCases, Work) {
  GPUCase each = listCases().front();
  each.family = Family::prefill;
  each.batches = 2;
  each.queryHeads = 6;
  each.keyValueHeads = 3;
  each.queries = 5;
  each.keys = 7;
  each.headSize = 16;
  EXPECT_DOUBLE_EQ(each.work(), 2 * 6 * (5 * 7) * 16 * 4e-9);
  each.pattern.countSeen = [](Index p) { return p + 4; }; // 4, 5, 6, 7 and 7.
  EXPECT_DOUBLE_EQ(each.work(), 2 * 6 * 29 * 16 * 4e-9);
  each.family = Family::decode;
  each.type = ElementType::f16;
  EXPECT_DOUBLE_EQ(each.work(), 2 * (2 * 3 * 7 * 16) * 2e-6);
}

} // namespace
