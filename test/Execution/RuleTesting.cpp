//===- RuleTesting.cpp - Kernels with plain answers -----------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Execution/RuleTesting.h"

#include "runtime/Interpreter/Interpreter.h"
#include "test/Execution/KernelCache.h"
#include "test/Execution/Random.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

string KernelText::write() const {
  auto tensor = [&](Index heads, Index size) {
    return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(size) +
           "x" + string(nameOf(type)) + ">";
  };
  string query = tensor(queryHeads, keySize),
         key = tensor(keyValueHeads, keySize),
         value = tensor(keyValueHeads, valueSize),
         output = tensor(queryHeads, valueSize),
         lse = "tensor<?x" + std::to_string(queryHeads) + "x?x" +
               (type == ElementType::f64 ? "f64>" : "f32>");
  return "func.func @attention(%query: " + query + ", %key: " + key +
         ", %value: " + value + parameters + ") -> (" + output + ", " + lse +
         ") {\n%c0 = arith.constant 0 : index\n"
         "%c2 = arith.constant 2 : index\n"
         "%batch = tensor.dim %query, %c0 : " +
         query + "\n%length = tensor.dim %query, %c2 : " + query +
         "\n%empty = tensor.empty(%batch, %length) : " + output +
         "\n%emptyLSE = tensor.empty(%batch, %length) : " + lse + "\n" +
         prologue +
         "%0:2 = attn.attention ins(%query, %key, %value : " + query + ", " +
         key + ", " + value + ") outs(%empty, %emptyLSE : " + output + ", " +
         lse + ") " + clauses + "\nreturn %0#0, %0#1 : " + output + ", " + lse +
         "\n}\n";
}

Engine attn::test::getEngine() {
  static Expected<Engine> engine =
      Engine::create({.cacheDirectory = getCacheDirectory()});
  EXPECT_TRUE(engine.ok()) << (engine ? "" : engine.error().message);
  return *engine;
}

Outcome attn::test::run(const Kernel &kernel,
                        const std::vector<Argument> &arguments) {
  Outcome outcome;
  auto shapes = kernel.resultShapes(arguments);
  if (!shapes) {
    outcome.error = shapes.error().message;
    return outcome;
  }
  std::vector<TestTensor> results;
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < shapes->size(); ++i) {
    results.emplace_back(kernel.signature().results[i].type, (*shapes)[i]);
    views.push_back(results.back().mutableView());
  }
  if (Status status = kernel.run(arguments, views); !status)
    outcome.error = status.error().message;
  outcome.output = results[0].elements();
  outcome.logSumExp = results[1].elements();
  for (const TestTensor &result : results) {
    EXPECT_TRUE(result.gapsAreUntouched());
    for (std::byte byte : result.bytes())
      outcome.untouched &= byte == GuardedBuffer::canary;
  }
  return outcome;
}

Outcome attn::test::run(const KernelText &text,
                        const std::vector<Argument> &arguments) {
  string written = text.write();
  Expected<Kernel> kernel =
      getEngine().compile(written, {.pipeline = text.pipeline});
  if (!kernel) {
    ADD_FAILURE() << kernel.error().message << "\n" << written;
    return {kernel.error().message, {}, {}};
  }
  Outcome outcome = run(*kernel, arguments);
  auto expected = interpret(written, "rule.mlir", "attention", arguments);
  EXPECT_EQ(expected.ok(), outcome.error.empty())
      << (expected ? outcome.error : expected.error().message);
  if (!expected || !outcome.error.empty())
    return outcome;
  for (auto [result, actual] :
       {std::pair(&(*expected)[0], &outcome.output),
        std::pair(&(*expected)[1], &outcome.logSumExp)}) {
    auto comparison = reference::compare(
        *actual, result->values,
        reference::toleranceFor(text.type, result->quantity));
    EXPECT_TRUE(comparison.ok() && comparison->passed)
        << "interpreter differs at " << comparison->index << ": "
        << comparison->actual << " for " << comparison->expected;
  }
  return outcome;
}

void attn::test::expectNear(const std::vector<double> &actual,
                            const std::vector<double> &expected,
                            double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << "at " << i << ": " << actual[i];
    else if (std::isinf(expected[i]))
      EXPECT_EQ(actual[i], expected[i]) << "at " << i;
    else
      EXPECT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
}

TestTensor attn::test::f64(const Shape &shape,
                           const std::vector<double> &elements) {
  return TestTensor(ElementType::f64, shape, elements);
}
TestTensor attn::test::f64(const Shape &shape, double element) {
  TestTensor result(ElementType::f64, shape);
  result.fill([&] { return element; });
  return result;
}
TestTensor attn::test::normal(ElementType type, const Shape &shape,
                              std::uint64_t seed) {
  Random random(seed);
  TestTensor result(type, shape);
  result.fill([&] { return random.normal(); });
  return result;
}
std::vector<TestTensor> attn::test::cacheRows(ElementType type,
                                              const Shape &shape,
                                              std::uint64_t seed) {
  if (type != ElementType::i8)
    return {normal(type, shape, seed)};
  TestTensor elements(type, shape),
      scales(ElementType::f32, {shape.begin(), shape.end() - 1});
  Index next = 0;
  elements.fill([&] { return double(next++ * 37 % 255 - 127); });
  scales.fill([&] { return 0.01 + double(next++ % 7) * 0.001; });
  return {elements, scales};
}
TestTensor attn::test::i32(const std::vector<double> &elements) {
  return TestTensor(ElementType::i32, {Index(elements.size())}, elements);
}

TestTensor attn::test::i32Of(const std::vector<Index> &elements) {
  return i32(std::vector<double>(elements.begin(), elements.end()));
}

std::vector<Argument> attn::test::powers(Index queryLength, Index keyLength) {
  TestTensor value(ElementType::f64, {1, 1, keyLength, 1});
  value.fill([](const Shape &index) { return std::ldexp(1, int(index[2])); });
  static std::vector<TestTensor> alive; // Views do not own.
  alive.push_back(f64({1, 1, queryLength, 1}, 0.0));
  alive.push_back(f64({1, 1, keyLength, 1}, 1.0));
  alive.push_back(value);
  return {(alive.end() - 3)->view(), (alive.end() - 2)->view(),
          (alive.end() - 1)->view()};
}

double attn::test::meanOfPowers(Index first, Index last) {
  return (std::ldexp(1, int(last + 1)) - std::ldexp(1, int(first))) /
         double(last - first + 1);
}
