//===- JITTesting.h - Kernels for tests -------------------------*- C++ -*-===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_JITTESTING_H
#define ATTN_TEST_UNIT_JITTESTING_H

#include "attn/engine.h"

#include "gtest/gtest.h"

#include <optional>
#include <string>
#include <vector>

namespace attn::test {

/// An engine without a cache on disk, shared by the tests of an executable.
inline const Engine &getEngine() {
  static const Engine engine = [] {
    Expected<Engine> created = Engine::create();
    if (!created) {
      ADD_FAILURE() << created.error().message;
      std::abort();
    }
    return *created;
  }();
  return engine;
}

/// Compiles `text`, which is right.
inline Kernel compile(const std::string &text) {
  Expected<Kernel> kernel = getEngine().compile(text);
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message;
    std::abort();
  }
  return *kernel;
}

/// The error of compiling `text`, which is wrong.
inline Error compileError(const std::string &text,
                          const CompileOptions &options = {}) {
  Expected<Kernel> kernel = getEngine().compile(text, options);
  EXPECT_FALSE(kernel.ok());
  return kernel ? Error() : kernel.error();
}

/// A dense tensor that owns its elements.
template <typename T> struct Tensor {
  std::vector<std::int64_t> sizes;
  std::vector<T> data;

  explicit Tensor(std::vector<std::int64_t> sizes, T value = T())
      : sizes(std::move(sizes)), data(count(this->sizes), value) {}
  Tensor(std::vector<std::int64_t> sizes, std::vector<T> data)
      : sizes(std::move(sizes)), data(std::move(data)) {}

  TensorView view() { return {data.data(), sizes}; }

private:
  static std::size_t count(const std::vector<std::int64_t> &sizes) {
    std::size_t result = 1;
    for (std::int64_t size : sizes)
      result *= std::size_t(size);
    return result;
  }
};

/// C = A B, for element type `type`, accumulated in that type.
inline std::string matmulText(const std::string &type) {
  std::string tensor = "tensor<?x?x" + type + ">";
  return "func.func @matmul(%lhs: " + tensor + ", %rhs: " + tensor + ") -> " +
         tensor + R"( {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : )" +
         type + R"(
  %m = tensor.dim %lhs, %c0 : )" +
         tensor + R"(
  %n = tensor.dim %rhs, %c1 : )" +
         tensor + R"(
  %empty = tensor.empty(%m, %n) : )" +
         tensor + R"(
  %init = linalg.fill ins(%zero : )" +
         type + ") outs(%empty : " + tensor + ") -> " + tensor + R"(
  %result = linalg.matmul ins(%lhs, %rhs : )" +
         tensor + ", " + tensor + ") outs(%init : " + tensor + ") -> " +
         tensor + R"(
  return %result : )" +
         tensor + "\n}\n";
}

} // namespace attn::test

#endif // ATTN_TEST_UNIT_JITTESTING_H
