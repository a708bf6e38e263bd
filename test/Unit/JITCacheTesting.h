//===- JITCacheTesting.h - Engines with a cache on disk ---------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_JITCACHETESTING_H
#define ATTN_TEST_UNIT_JITCACHETESTING_H

#include "test/Unit/JITTesting.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace attn::test {

using Source = CompileStats::Source;

inline Engine createEngine(const std::filesystem::path &directory = {}) {
  EngineOptions options;
  options.cacheDirectory = directory.string();
  Expected<Engine> engine = Engine::create(options);
  if (!engine) {
    ADD_FAILURE() << engine.error().message;
    std::abort();
  }
  return *engine;
}

/// Gives `a` and, after it, `number`.
inline std::string appendText(int number) {
  return "func.func @f(%a: tensor<?xi32>) -> tensor<?xi32> {\n"
         "  %c = arith.constant dense<" +
         std::to_string(number) +
         "> : tensor<1xi32>\n"
         "  %d = tensor.concat dim(0) %a, %c : (tensor<?xi32>, tensor<1xi32>) "
         "-> tensor<?xi32>\n  return %d : tensor<?xi32>\n}";
}

/// Runs a kernel of `appendText`.
inline int appended(const Kernel &kernel) {
  Tensor<std::int32_t> a({0}), out({1}, -1);
  EXPECT_TRUE(kernel.run({a.view()}, {out.view()}).ok());
  return out.data[0];
}

/// Compiles a matmul, checks that it works, and returns where it came from.
inline Source compileAndRun(const Engine &engine,
                            const CompileOptions &options = {}) {
  Expected<Kernel> kernel = engine.compile(matmulText("f32"), options);
  EXPECT_TRUE(kernel.ok());
  if (!kernel)
    return Source::compiler;
  EXPECT_EQ(kernel->signature().arguments[1].name, "rhs");
  EXPECT_EQ(kernel->signature().constraints.size(), 1u);
  Tensor<float> lhs({1, 2}, {3, 4}), rhs({2, 1}, {5, 6}), out({1, 1});
  EXPECT_TRUE(kernel->run({lhs.view(), rhs.view()}, {out.view()}).ok());
  EXPECT_EQ(out.data[0], 39.0f);
  return kernel->stats().source;
}

/// A directory of its own for each test.
class JITCache : public testing::Test {
protected:
  void SetUp() override {
    std::string name =
        (std::filesystem::temp_directory_path() / "attn-cache-XXXXXX");
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory = name;
  }
  ~JITCache() override { std::filesystem::remove_all(directory); }

  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> result;
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      result.push_back(entry.path());
    return result;
  }

  std::filesystem::path directory;
};

} // namespace attn::test

#endif // ATTN_TEST_UNIT_JITCACHETESTING_H
