//===- CompiledOperationsTest.cpp - Operations in compiled regions --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row that sees one key has its score as its log-sum-exp, exactly. So a
// kernel of one position, in f64, gives out what its score region computes.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "test/Execution/OperationCases.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;

namespace {

class CompiledOperationsTest : public testing::TestWithParam<const char *> {
protected:
  /// A kernel whose score region gives `operation.result` as f64.
  static std::string writeKernel(const OperationCase &operation) {
    std::string parameters, captures;
    char name = 'a';
    for (const TypedNumber &argument : operation.arguments) {
      std::string letter(1, name++);
      parameters += ", %arg_" + letter + ": " + argument.type;
      captures += (captures.empty() ? "captures(%" : ", %") + letter +
                  " = %arg_" + letter + " : " + argument.type;
    }
    if (!captures.empty())
      captures += ")";
    return R"(func.func @f(%query: tensor<1x1x1x1xf64>)" + parameters + R"()
        -> (tensor<1x1x1x1xf64>, tensor<1x1x1xf64>) {
      %empty = tensor.empty() : tensor<1x1x1x1xf64>
      %emptyLSE = tensor.empty() : tensor<1x1x1xf64>
      %0:2 = attn.attention
          ins(%query, %query, %query : tensor<1x1x1x1xf64>,
              tensor<1x1x1x1xf64>, tensor<1x1x1x1xf64>)
          outs(%empty, %emptyLSE : tensor<1x1x1x1xf64>, tensor<1x1x1xf64>)
          score(%in, %batch, %head, %position, %column) )" +
           captures + " {\n" + operation.body + "\n" +
           toF64(operation.result.type) + R"(
      }
      return %0#0, %0#1 : tensor<1x1x1x1xf64>, tensor<1x1x1xf64>
    })";
  }

  static std::string toF64(const std::string &type) {
    if (type == "f64")
      return "attn.yield %r : f64";
    std::string convert = "%out = arith.sitofp %r : " + type + " to f64";
    if (type == "f32" || type == "f16" || type == "bf16")
      convert = "%out = arith.extf %r : " + type + " to f64";
    if (type == "i1")
      convert = "%out = arith.uitofp %r : i1 to f64";
    if (type == "index")
      convert = "%i = arith.index_cast %r : index to i64\n"
                "%out = arith.sitofp %i : i64 to f64";
    return convert + "\nattn.yield %out : f64";
  }

  static double toleranceOf(const TypedNumber &number) {
    if (number.type == "bf16")
      return 4e-3;
    if (number.type == "f16")
      return 5e-4;
    return number.type == "f32" ? 2e-7 : 1e-15;
  }
};

TEST_P(CompiledOperationsTest, GiveTheResultsWrittenDown) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  TestTensor query(ElementType::f64, {1, 1, 1, 1}, {0.0});
  for (const OperationCase &operation : getOperationCases(GetParam())) {
    SCOPED_TRACE(describe(operation));
    Expected<Kernel> kernel = engine->compile(writeKernel(operation));
    if (!kernel) {
      ADD_FAILURE() << kernel.error().message;
      continue;
    }
    std::vector<Argument> arguments = {query.view()};
    for (const TypedNumber &argument : operation.arguments)
      if (argument.isFloat())
        arguments.push_back(*argument.number);
      else
        arguments.push_back(std::int64_t(*argument.number));
    TestTensor output(ElementType::f64, {1, 1, 1, 1}),
        lse(ElementType::f64, {1, 1, 1});
    TensorView results[] = {output.mutableView(), lse.mutableView()};
    Status status = kernel->run(arguments, results);
    EXPECT_EQ(status.ok(), operation.result.number.has_value())
        << (status ? "no error" : status.error().message);
    if (!status || !operation.result.number)
      continue;
    double value = *lse.get({0, 0, 0}), expected = *operation.result.number;
    if (std::isfinite(expected))
      EXPECT_NEAR(value, expected,
                  toleranceOf(operation.result) * std::abs(expected));
    else if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(value)) << value;
    else // Of -inf, an empty row.
      EXPECT_EQ(value, expected);
  }
}

// A kernel holds no ub.poison, and a region no constants of tensors, so
// "poison" and "load" are not for it.
INSTANTIATE_TEST_SUITE_P(Families, CompiledOperationsTest,
                         testing::Values("integer", "division", "shift",
                                         "conversion", "float", "math",
                                         "logic"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

/// Functions of vectors, whatever their elements.
TEST(CompiledFunctions, of_vectors) {
  auto text = [](const char *body) {
    return std::string(R"(
      #map = affine_map<(i) -> (i)>
      func.func @f(%x: tensor<64xf32>) -> tensor<64xf32> {
        %e = tensor.empty() : tensor<64xf32>
        %0 = linalg.generic {indexing_maps = [#map, #map],
                             iterator_types = ["parallel"]}
            ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
        ^bb0(%a: f32, %unused: f32):
          %one = arith.constant 1.0 : f32
          %r = )") +
           body + R"( : f32
          linalg.yield %r : f32
        } -> tensor<64xf32>
        return %0 : tensor<64xf32>
      })";
  };
  struct Function {
    const char *body;
    double (*compute)(double);
    double error, errorOfArgument; ///< Relative, and that times the argument.
    double small;                  ///< Numbers that may be rounded to 0.
  };
  auto exponential = [](double x) { return std::exp(x); };
  constexpr double least = std::numeric_limits<float>::min();
  const Function functions[] = {
      {"math.exp %a fastmath<afn>", exponential, 4e-7, 1.2e-7, least},
      {"arith.divf %one, %a fastmath<arcp>", [](double x) { return 1 / x; },
       4e-7, 0, 4e-45}};
  constexpr double inf = std::numeric_limits<double>::infinity(),
                   quietNaN = std::numeric_limits<double>::quiet_NaN();
  for (const Function &function : functions) {
    SCOPED_TRACE(function.body);
    auto kernel = Engine::create()->compile(text(function.body));
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    TestTensor x(ElementType::f32, {64}), y(ElementType::f32, {64});
    const double special[] = {
        0.0,  -0.0,  inf,  -inf, quietNaN, 0x1p-149, -0x1p-130, 0x1p-126,
        3e38, -3e38, 88.7, 89.0, -87.0,    -104.0,   1.0,       -3.0};
    x.fill([&](const Shape &i) {
      auto n = std::size_t(i[0]);
      return n < std::size(special)
                 ? special[n]
                 : std::ldexp(1.0 + double(n) / 99, int(n) - 40) *
                       (n % 2 ? 1 : -1);
    });
    ASSERT_TRUE(kernel->run({x.view()}, {y.mutableView()}));
    for (Index i = 0; i < 64; ++i) {
      double argument = *x.get({i}), expected = function.compute(argument),
             actual = *y.get({i});
      SCOPED_TRACE(argument);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(actual)) << actual;
        continue;
      }
      if (std::abs(expected) > double(std::numeric_limits<float>::max())) {
        EXPECT_EQ(actual, std::copysign(inf, expected));
        continue;
      }
      double error = function.error + function.errorOfArgument *
                                          std::min(std::abs(argument), 104.0);
      EXPECT_NEAR(actual, expected,
                  function.small + error * std::abs(expected));
    }
  }
}

TEST(CompiledFunctions, softmax_beside_attention) {
  constexpr const char *text = R"(
    func.func @f(%q: tensor<1x1x?x16xf32>, %x: tensor<?x5xf32>)
        -> (tensor<1x1x?x16xf32>, tensor<?x5xf32>) {
      %0 = attn.attention
          ins(%q, %q, %q : tensor<1x1x?x16xf32>, tensor<1x1x?x16xf32>,
              tensor<1x1x?x16xf32>)
          outs(%q : tensor<1x1x?x16xf32>)
      %1 = linalg.softmax dimension(1) ins(%x : tensor<?x5xf32>)
          outs(%x : tensor<?x5xf32>) -> tensor<?x5xf32>
      return %0, %1 : tensor<1x1x?x16xf32>, tensor<?x5xf32>
    })";
  for (const char *pipeline : {"cpu", "reference"}) {
    SCOPED_TRACE(pipeline);
    CompileOptions options;
    options.pipeline = pipeline;
    auto kernel = Engine::create()->compile(text, options);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    TestTensor q(ElementType::f32, {1, 1, 3, 16}),
        o(ElementType::f32, {1, 1, 3, 16}), x(ElementType::f32, {4, 5}),
        y(ElementType::f32, {4, 5});
    q.fill([](const Shape &) { return 1.0; });
    x.fill([](const Shape &i) { return double(i[0] * i[1] - 2 * i[0]); });
    ASSERT_TRUE(
        kernel->run({q.view(), x.view()}, {o.mutableView(), y.mutableView()}));
    for (Index row = 0; row < 4; ++row) {
      double sum = 0;
      for (Index i = 0; i < 5; ++i)
        sum += std::exp(*x.get({row, i}));
      for (Index i = 0; i < 5; ++i)
        EXPECT_NEAR(*y.get({row, i}), std::exp(*x.get({row, i})) / sum, 1e-6);
    }
  }
}

} // namespace
