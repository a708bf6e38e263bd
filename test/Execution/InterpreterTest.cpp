//===- InterpreterTest.cpp - Functions in float64 -------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "runtime/Interpreter/Interpreter.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;

namespace {

Expected<std::vector<ReferenceResult>>
run(std::string_view text, const std::vector<Argument> &arguments = {}) {
  return interpret(text, "test.mlir", "f", arguments);
}

std::string failure(std::string_view text,
                    const std::vector<Argument> &arguments = {}) {
  auto result = run(text, arguments);
  return result ? "no error" : result.error().message;
}

TEST(Interpreter, GivesTypesAndShapes) {
  TestTensor x(ElementType::f16, {1, 2, 3, 1}, {0, 0, 0, 0, 0, 0});
  auto results = run(R"(
    func.func @f(%x: tensor<1x2x?x1xf16>)
        -> (tensor<1x2x?x1xf16>, tensor<1x2x?xf32>) {
      %c2 = arith.constant 2 : index
      %n = tensor.dim %x, %c2 : tensor<1x2x?x1xf16>
      %o = tensor.empty(%n) : tensor<1x2x?x1xf16>
      %l = tensor.empty(%n) : tensor<1x2x?xf32>
      %0:2 = attn.attention ins(%x, %x, %x : tensor<1x2x?x1xf16>,
          tensor<1x2x?x1xf16>, tensor<1x2x?x1xf16>)
        outs(%o, %l : tensor<1x2x?x1xf16>, tensor<1x2x?xf32>)
      return %0#0, %0#1 : tensor<1x2x?x1xf16>, tensor<1x2x?xf32>
    })",
                     {x.view()});
  ASSERT_TRUE(results.ok()) << results.error().message;
  const ReferenceResult &output = (*results)[0], &lse = (*results)[1];
  EXPECT_EQ(output.type, ElementType::f16);
  EXPECT_EQ(output.quantity, reference::Quantity::output);
  EXPECT_EQ(output.shape, (Shape{1, 2, 3, 1}));
  EXPECT_EQ(lse.type, ElementType::f32);
  EXPECT_EQ(lse.quantity, reference::Quantity::logSumExp);
  EXPECT_EQ(lse.values, std::vector<double>(6, std::log(3)));
}

TEST(Interpreter, GivesUpAfterTooManyIterations) {
  constexpr std::string_view text = R"(
    func.func @f(%n: i32) -> tensor<1xi32> {
      %zero = arith.constant 0 : i32
      %one = arith.constant 1 : i32
      %sum = scf.for %i = %zero to %n step %one iter_args(%s = %zero) -> i32
          : i32 {
        %next = arith.addi %s, %one : i32
        scf.yield %next : i32
      }
      %result = tensor.from_elements %sum : tensor<1xi32>
      return %result : tensor<1xi32>
    })";
  const std::vector<Argument> few = {std::int64_t(10)},
                              many = {std::int64_t(11)};
  auto ten = interpret(text, "test.mlir", "f", few, 10);
  ASSERT_TRUE(ten.ok()) << ten.error().message;
  EXPECT_EQ((*ten)[0].values, std::vector<double>{10});
  auto eleven = interpret(text, "test.mlir", "f", many, 10);
  ASSERT_FALSE(eleven.ok());
  EXPECT_NE(eleven.error().message.find("loops have had 10 iterations"),
            std::string::npos)
      << eleven.error().message;
}

TEST(Interpreter, FollowsOneAttentionWithAnother) {
  // The first output is 2 everywhere; as a query with key 1 it gives LSE 2.
  auto results = run(R"(
    func.func @f() -> tensor<1x1x1xf64> {
      %one = arith.constant dense<1.0> : tensor<1x1x1x1xf64>
      %two = arith.constant dense<[[[[2.0]]]]> : tensor<1x1x1x1xf64>
      %o = tensor.empty() : tensor<1x1x1x1xf64>
      %l = tensor.empty() : tensor<1x1x1xf64>
      %0 = attn.attention ins(%one, %one, %two : tensor<1x1x1x1xf64>,
          tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>)
        outs(%o : tensor<1x1x1x1xf64>)
      %1:2 = attn.attention ins(%0, %one, %two : tensor<1x1x1x1xf64>,
          tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>)
        outs(%o, %l : tensor<1x1x1x1xf64>, tensor<1x1x1xf64>)
      return %1#1 : tensor<1x1x1xf64>
    })");
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].values, std::vector<double>{2});
}

TEST(Interpreter, ComputesWithScalarsAndTensors) {
  TestTensor x(ElementType::i32, {3}, {5, 6, 7});
  auto results = run(R"(
    func.func @f(%x: tensor<?xi32>, %n: index) -> tensor<?xf32> {
      %e = tensor.extract %x[%n] : tensor<?xi32>
      %c2 = arith.constant 2 : i32
      %sum = arith.addi %e, %c2 : i32
      %value = arith.sitofp %sum : i32 to f32
      %static = tensor.cast %x : tensor<?xi32> to tensor<3xi32>
      %c0 = arith.constant 0 : index
      %size = tensor.dim %static, %c0 : tensor<3xi32>
      %empty = tensor.empty(%size) : tensor<?xf32>
      %filled = linalg.fill ins(%value : f32) outs(%empty : tensor<?xf32>)
          -> tensor<?xf32>
      return %filled : tensor<?xf32>
    })",
                     {x.view(), 1});
  ASSERT_TRUE(results.ok()) << results.error().message;
  EXPECT_EQ((*results)[0].values, std::vector<double>({8, 8, 8}));
}

TEST(Interpreter, SaysWhatItCannotEvaluate) {
  auto result = run(R"(
    func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {
      %y = scf.forall (%i) in (1) shared_outs(%o = %x) -> tensor<1xf32> {
        scf.forall.in_parallel {}
      }
      return %y : tensor<1xf32>
    })",
                    {TestTensor(ElementType::f32, {1}, {1.0}).view()});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("test.mlir:3:"), std::string::npos);
  EXPECT_NE(result.error().message.find("cannot evaluate 'scf.forall'"),
            std::string::npos);
  EXPECT_EQ(result.error().diagnostics.at(0).line, 3u);
}

TEST(Interpreter, SaysWhichStepIsNotPositive) {
  const char *loop = R"(
    func.func @f(%step: index) -> tensor<1xindex> {
      %c0 = arith.constant 0 : index
      %c9 = arith.constant 9 : index
      %sum = scf.for %i = %c0 to %c9 step %step iter_args(%s = %c0) -> index {
        %next = arith.addi %s, %i : index
        scf.yield %next : index
      }
      %result = tensor.from_elements %sum : tensor<1xindex>
      return %result : tensor<1xindex>
    })";
  EXPECT_EQ((*run(loop, {4}))[0].values, std::vector<double>{12});
  EXPECT_NE(failure(loop, {0}).find(
                "test.mlir:5:14: 'scf.for' has a step of 0, expected "
                "at least 1"),
            std::string::npos)
      << failure(loop, {0});
}

TEST(Interpreter, SaysWhatHasNoResult) {
  const char *divide = R"(
    func.func @f(%a: i32, %b: i32) -> tensor<i32> {
      %0 = arith.divsi %a, %b : i32
      %1 = tensor.empty() : tensor<i32>
      %2 = linalg.fill ins(%0 : i32) outs(%1 : tensor<i32>) -> tensor<i32>
      return %2 : tensor<i32>
    })";
  EXPECT_EQ((*run(divide, {7, 2}))[0].values, std::vector<double>{3});
  EXPECT_NE(failure(divide, {7, 0}).find("'arith.divsi' has no result"),
            std::string::npos);
}

TEST(Interpreter, KnowsWhatWasNeverWritten) {
  EXPECT_NE(failure(R"(
    func.func @f() -> tensor<2xf32> {
      %0 = tensor.empty() : tensor<2xf32>
      return %0 : tensor<2xf32>
    })")
                .find("never written"),
            std::string::npos);
  EXPECT_NE(failure(R"(
    func.func @f() -> tensor<1x1x1x1xf32> {
      %0 = tensor.empty() : tensor<1x1x1x1xf32>
      %1 = attn.attention ins(%0, %0, %0 : tensor<1x1x1x1xf32>,
          tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
        outs(%0 : tensor<1x1x1x1xf32>)
      return %1 : tensor<1x1x1x1xf32>
    })")
                .find("'query' was never written"),
            std::string::npos);
}

TEST(Interpreter, FindsNoEndToARecursion) {
  EXPECT_NE(failure(R"(
    func.func @f() -> tensor<1xf32> {
      %0 = func.call @f() : () -> tensor<1xf32>
      return %0 : tensor<1xf32>
    })")
                .find("function 'f' calls itself"),
            std::string::npos);
}

TEST(Interpreter, ChecksSizesThatOneLoopRunsOver) {
  TestTensor x(ElementType::f32, {2}, {1, 2}), y(ElementType::f32, {3}, {1});
  EXPECT_NE(failure(R"(
    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %0 = linalg.exp ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>)
          -> tensor<?xf32>
      return %0 : tensor<?xf32>
    })",
                    {x.view(), y.view()})
                .find("operand 1: dimension 0 is 3, expected 2"),
            std::string::npos);
  EXPECT_NE(failure(R"(
    func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
      %0 = arith.addf %x, %y : tensor<?xf32>
      return %0 : tensor<?xf32>
    })",
                    {x.view(), y.view()})
                .find("operands of different sizes"),
            std::string::npos);
}

TEST(Interpreter, ChecksItsArguments) {
  const char *text = R"(
    func.func @f(%x: tensor<?x2xf32>, %n: i8, %c: i1) -> tensor<?x2xf32> {
      return %x : tensor<?x2xf32>
    })";
  TestTensor good(ElementType::f32, {1, 2}, {1, 2}),
      wrongType(ElementType::f64, {1, 2}, {1, 2}),
      wrongRank(ElementType::f32, {2}, {1, 2}),
      wrongSize(ElementType::f32, {1, 3}, {1, 2, 3});
  EXPECT_TRUE(run(text, {good.view(), -128, true}).ok());
  EXPECT_EQ(failure(text, {good.view()}), "expected 3 arguments, got 1");
  EXPECT_NE(failure(text, {1, 1, 1}).find("expected a tensor"),
            std::string::npos);
  EXPECT_NE(failure(text, {good.view(), good.view(), 1}).find("a scalar"),
            std::string::npos);
  EXPECT_NE(failure(text, {good.view(), 1.5, 1}).find("an integer"),
            std::string::npos);
  EXPECT_NE(failure(text, {good.view(), 128, 1}).find("does not fit 8"),
            std::string::npos);
  EXPECT_NE(failure(text, {good.view(), 1, -1}).find("does not fit 1"),
            std::string::npos);
  for (const TestTensor &wrong : {wrongType, wrongRank, wrongSize})
    EXPECT_NE(failure(text, {wrong.view(), 1, 1}).find("argument 0"),
              std::string::npos);
  std::vector<Index> sizes = {1, 2};
  TensorView null(static_cast<const float *>(nullptr), sizes);
  EXPECT_NE(failure(text, {null, 1, 1}).find("null"), std::string::npos);
}

/// AddressSanitizer ends the program where `new` would throw.
#if defined(__has_feature) && __has_feature(address_sanitizer)
constexpr bool allocationsAbort = true;
#else
constexpr bool allocationsAbort = false;
#endif

TEST(Interpreter, RefusesWhatMemoryCannotHold) {
  std::string_view read = R"(
    func.func @f(%c: tensor<1x1x2x1xf32>, %l: tensor<1xi32>, %n: index)
        -> tensor<1x1x?x1xf32> {
      %0 = attn.cache_read ins(%c : tensor<1x1x2x1xf32>)
          lengths(%l : tensor<1xi32>) ring size(%n) -> tensor<1x1x?x1xf32>
      return %0 : tensor<1x1x?x1xf32>
    })";
  std::string_view layer = R"(
    func.func @f(%c: tensor<1x1x2x1xf32>, %l: tensor<1xi32>, %n: index)
        -> tensor<1x1x1xf32> {
      %x = arith.constant dense<1.0> : tensor<1x1x1xf32>
      %w = arith.constant dense<1.0> : tensor<1x3xf32>
      %o = arith.constant dense<1.0> : tensor<1x1xf32>
      %0:3 = attn.multi_head_attention heads(1, 1) sizes(1, 1)
          ins(%x : tensor<1x1x1xf32>) outs(%x, %c, %c : tensor<1x1x1xf32>,
              tensor<1x1x2x1xf32>, tensor<1x1x2x1xf32>)
          qkv(%w : tensor<1x3xf32>) output(%o : tensor<1x1xf32>)
          lengths(%l : tensor<1xi32>) ring size(%n) mask causal
      return %0#0 : tensor<1x1x1xf32>
    })";
  TestTensor cache(ElementType::f32, {1, 1, 2, 1}, {1, 2}),
      lengths(ElementType::i32, {1}, {1});
  for (std::string_view text : {read, layer}) {
    EXPECT_TRUE(run(text, {cache.view(), lengths.view(), 2}).ok());
    if (allocationsAbort)
      continue;
    // More than addresses can count, and more than there is.
    for (Index size : {Index(1) << 59, Index(1) << 50})
      EXPECT_NE(failure(text, {cache.view(), lengths.view(), size})
                    .find("out of memory"),
                std::string::npos);
  }
}

TEST(Interpreter, RefusesTextThatIsNoKernel) {
  EXPECT_NE(failure("func.func @f(").find("test.mlir:1:"), std::string::npos);
  EXPECT_NE(failure("func.func @g() { return }").find("no function 'f'"),
            std::string::npos);
  EXPECT_NE(failure("func.func private @f()").find("no function 'f'"),
            std::string::npos);
}

} // namespace
