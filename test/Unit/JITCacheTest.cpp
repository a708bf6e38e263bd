//===- JITCacheTest.cpp - Compiling once ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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

} // namespace
