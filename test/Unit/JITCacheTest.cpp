//===- JITCacheTest.cpp - Compiling once ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/Random.h"
#include "test/Unit/JITCacheTesting.h"

#include <fstream>
#include <optional>
#include <thread>

using namespace attn;
using namespace attn::test;
namespace fs = std::filesystem;

namespace {

TEST_F(JITCache, Memory) {
  Engine engine = createEngine();
  EXPECT_EQ(compileAndRun(engine), Source::compiler);
  EXPECT_EQ(compileAndRun(engine), Source::memoryCache);
  CompileOptions options;
  options.entry = "matmul";
  EXPECT_EQ(compileAndRun(engine, options), Source::compiler);
  options.fileName = "other.mlir"; // It is in the messages of checks.
  EXPECT_EQ(compileAndRun(engine, options), Source::compiler);
  EXPECT_EQ(compileAndRun(engine, options), Source::memoryCache);
}

TEST_F(JITCache, ErrorsAreNotKept) {
  Engine engine = createEngine();
  for (int i = 0; i < 2; ++i) {
    Expected<Kernel> kernel = engine.compile("func.func @f(");
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().diagnostics.size(), 1u);
  }
}

TEST_F(JITCache, Disk) {
  EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler);
  EXPECT_EQ(files().size(), 1u);
  Engine engine = createEngine(directory);
  EXPECT_EQ(compileAndRun(engine), Source::diskCache);
  EXPECT_EQ(compileAndRun(engine), Source::memoryCache);
}

/// What the compiler says of a kernel does not depend on where it comes from.
TEST_F(JITCache, Remarks) {
  const std::string text = R"(func.func @f(
        %x: tensor<1x2x8x8xf32>, %t: tensor<8xf32>) -> tensor<1x2x8x8xf32> {
      %r = attn.attention ins(%x, %x, %x : tensor<1x2x8x8xf32>,
          tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>)
          outs(%x : tensor<1x2x8x8xf32>)
          mask(%b, %h, %p, %j) captures(%u = %t : tensor<8xf32>) {
            %e = tensor.extract %u[%j] : tensor<8xf32>
            %s = math.sin %e : f32
            %keep = arith.cmpf ogt, %s, %e : f32
            attn.yield %keep : i1
          }
      return %r : tensor<1x2x8x8xf32>
    })";
  auto engine = std::make_optional(createEngine(directory));
  for (Source source :
       {Source::compiler, Source::memoryCache, Source::diskCache}) {
    if (source == Source::diskCache)
      engine = createEngine(directory);
    Expected<Kernel> kernel = engine->compile(text, {.fileName = "f.mlir"});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    EXPECT_EQ(kernel->stats().source, source);
    ASSERT_EQ(kernel->remarks().size(), 1u);
    EXPECT_EQ(formatDiagnostic(kernel->remarks().front()),
              "f.mlir:9:21: remark: hides no block of keys as a whole, because "
              "no bounds are known of a float that it compares");
  }
  Expected<Kernel> other = engine->compile(R"(func.func @f(
        %x: tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32> {
      %r = attn.attention ins(%x, %x, %x : tensor<1x2x8x8xf32>,
          tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>)
          outs(%x : tensor<1x2x8x8xf32>) mask causal
      return %r : tensor<1x2x8x8xf32>
    })");
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_TRUE(other->remarks().empty());
}

TEST_F(JITCache, TwoEnginesShareADirectory) {
  Engine first = createEngine(directory), second = createEngine(directory);
  EXPECT_EQ(compileAndRun(first), Source::compiler);
  EXPECT_EQ(compileAndRun(second), Source::diskCache);
}

/// Threads do not change the code, the processor does.
TEST_F(JITCache, OptionsOfTheEngine) {
  EngineOptions options;
  options.cacheDirectory = directory.string();
  EXPECT_EQ(compileAndRun(*Engine::create(options)), Source::compiler);
  options.threads = 2;
  options.parallelFor = [](int count, const ParallelTask &task) {
    for (int i = 0; i < count; ++i)
      task(i);
  };
  EXPECT_EQ(compileAndRun(*Engine::create(options)), Source::diskCache);

  options.cpu = "x86-64";
  Expected<Engine> engine = Engine::create(options);
  if (!engine)
    GTEST_SKIP() << engine.error().message;
  EXPECT_EQ(compileAndRun(*engine), Source::compiler);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(compileAndRun(*Engine::create(options)), Source::diskCache);
}

TEST_F(JITCache, UnknownProcessor) {
  EngineOptions options;
  options.cpu = "abacus";
  Expected<Engine> engine = Engine::create(options);
  ASSERT_FALSE(engine.ok());
  EXPECT_NE(engine.error().message.find("'abacus'"), std::string::npos)
      << engine.error().message;
}

TEST_F(JITCache, DirectoryIsCreated) {
  directory /= "a/b";
  EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler);
  EXPECT_EQ(files().size(), 1u);
  directory = directory.parent_path().parent_path();
}

TEST_F(JITCache, UnusableDirectory) {
  fs::path file = directory / "file";
  std::ofstream(file) << "in the way";
  EngineOptions options;
  options.cacheDirectory = (file / "cache").string();
  Expected<Engine> engine = Engine::create(options);
  ASSERT_FALSE(engine.ok());
  EXPECT_EQ(engine.error().message, "cannot use cache directory '" +
                                        options.cacheDirectory +
                                        "': Not a directory");
}

TEST_F(JITCache, DirectoryThatVanishes) {
  Engine engine = createEngine(directory);
  fs::remove_all(directory);
  EXPECT_EQ(compileAndRun(engine), Source::compiler);
}

TEST_F(JITCache, DamagedFiles) {
  EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler);
  fs::path file = files().at(0);
  std::string good;
  {
    std::ifstream in(file, std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  auto write = [&](const std::string &contents) {
    std::ofstream(file, std::ios::binary | std::ios::trunc) << contents;
  };
  std::vector<std::string> damaged = {"", "ATTNOBJ1", good.substr(0, 40),
                                      good.substr(0, good.size() - 1),
                                      good + "x"};
  for (std::size_t position : {std::size_t(0), std::size_t(9), std::size_t(41),
                               std::size_t(60), good.size() - 1}) {
    damaged.push_back(good);
    damaged.back()[position] ^= 1;
  }
  for (const std::string &contents : damaged) {
    write(contents);
    EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler)
        << contents.size();
    EXPECT_EQ(compileAndRun(createEngine(directory)), Source::diskCache);
  }
}

TEST_F(JITCache, FileOfAnotherKernel) {
  CompileOptions options;
  EXPECT_EQ(compileAndRun(createEngine(directory)), Source::compiler);
  fs::path file = files().at(0);
  options.fileName = "other.mlir";
  EXPECT_EQ(compileAndRun(createEngine(directory), options), Source::compiler);
  for (const fs::path &other : files())
    if (other != file)
      fs::copy_file(file, other, fs::copy_options::overwrite_existing);
  EXPECT_EQ(compileAndRun(createEngine(directory), options), Source::compiler);
  EXPECT_EQ(compileAndRun(createEngine(directory), options), Source::diskCache);
}

TEST_F(JITCache, ThreadsThatWantTheSame) {
  Engine engine = createEngine(directory);
  std::vector<Source> sources(8);
  std::vector<std::thread> threads;
  for (Source &source : sources)
    threads.emplace_back([&] { source = compileAndRun(engine); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(std::count(sources.begin(), sources.end(), Source::compiler), 1);
  EXPECT_EQ(std::count(sources.begin(), sources.end(), Source::memoryCache), 7);
}

TEST_F(JITCache, ThreadsThatWantTheSameError) {
  Engine engine = createEngine();
  std::vector<std::string> messages(8);
  std::vector<std::thread> threads;
  for (std::string &message : messages)
    threads.emplace_back([&] {
      Expected<Kernel> kernel = engine.compile("func.func @f(");
      message = kernel ? "" : kernel.error().message;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &message : messages)
    EXPECT_EQ(message, messages[0]);
  EXPECT_NE(messages[0], "");
}

/// Gives `a` and, after it, `number`.
std::string appendText(int number) {
  return "func.func @f(%a: tensor<?xi32>) -> tensor<?xi32> {\n"
         "  %c = arith.constant dense<" +
         std::to_string(number) +
         "> : tensor<1xi32>\n"
         "  %d = tensor.concat dim(0) %a, %c : (tensor<?xi32>, tensor<1xi32>) "
         "-> tensor<?xi32>\n  return %d : tensor<?xi32>\n}";
}

/// Runs a kernel of `appendText`.
int appended(const Kernel &kernel) {
  Tensor<std::int32_t> a({0}), out({1}, -1);
  EXPECT_TRUE(kernel.run({a.view()}, {out.view()}).ok());
  return out.data[0];
}

TEST_F(JITCache, ThreadsThatWantDifferentThings) {
  Engine engine = createEngine(directory);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Expected<Kernel> kernel = engine.compile(appendText(t));
      if (kernel && appended(*kernel) == t)
        ++right;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 8);
}

/// What an engine remembers of kernels that nobody holds.
constexpr int numRecent = 128;

/// Where `engine` has the kernel from.
Source sourceOf(const Engine &engine, int number) {
  Expected<Kernel> kernel = engine.compile(appendText(number));
  EXPECT_TRUE(kernel.ok());
  EXPECT_EQ(kernel ? appended(*kernel) : -1, number);
  return kernel ? kernel->stats().source : Source::compiler;
}

TEST_F(JITCache, RemembersWhatIsHeldAndTheLastOnes) {
  Engine engine = createEngine(directory);
  Expected<Kernel> held = engine.compile(appendText(0));
  ASSERT_TRUE(held.ok());
  for (int i = 1; i <= numRecent; ++i)
    EXPECT_EQ(sourceOf(engine, i), Source::compiler);
  EXPECT_EQ(sourceOf(engine, 1), Source::memoryCache); // And is the last now.
  EXPECT_EQ(sourceOf(engine, 0), Source::memoryCache); // 2 is forgotten.
  EXPECT_EQ(sourceOf(engine, 1), Source::memoryCache);
  EXPECT_EQ(sourceOf(engine, 3), Source::memoryCache);
  EXPECT_EQ(sourceOf(engine, 2), Source::diskCache);
  EXPECT_EQ(appended(*held), 0);
}

std::size_t countMappings() {
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::size_t count = 0;
  while (std::getline(maps, line))
    ++count;
  return count;
}

/// Of this process, in pages.
std::size_t countResidentPages() {
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

TEST_F(JITCache, DroppedKernelsReturnTheirMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
  constexpr int numTexts = numRecent + 2; // In turn: none is remembered.
  Engine engine = createEngine(directory);
  for (int i = 0; i < 2 * numTexts; ++i)
    EXPECT_EQ(sourceOf(engine, i % numTexts),
              i < numTexts ? Source::compiler : Source::diskCache);
  std::size_t mappings = countMappings(), pages = countResidentPages();
  ASSERT_GT(mappings, 2u * numRecent);
  ASSERT_GT(pages, 0u);
  const int numCompiles = test::numCases(20000);
  for (int i = 0; i < numCompiles; ++i)
    ASSERT_EQ(sourceOf(engine, i % numTexts), Source::diskCache);
  // Were they kept, it would be two mappings and some pages for each.
  EXPECT_LT(countMappings(), mappings + 100);
  EXPECT_LT(countResidentPages(), pages + numCompiles / 2);
}

TEST_F(JITCache, KernelsThatLive) {
  constexpr int numTexts = 4, numEngines = 500;
  std::vector<Kernel> kernels;
  for (int i = 0; i < numEngines; ++i) {
    Engine engine = createEngine(directory);
    for (int j = 0; j < numTexts; ++j) {
      Expected<Kernel> kernel = engine.compile(appendText(j));
      ASSERT_TRUE(kernel.ok());
      kernels.push_back(*kernel);
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i)
    ASSERT_EQ(appended(kernels[i]), int(i % numTexts));
  std::size_t mappings = countMappings();
  std::size_t expected = 2 * kernels.size();
  kernels.clear();
  EXPECT_LT(countMappings() + expected / 2, mappings);
}

} // namespace
