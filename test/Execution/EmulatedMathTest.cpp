//===- EmulatedMathTest.cpp - Functions of math in kernels for GPUs -------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GPUs have instructions for few functions; what the others are computed by, on
// the emulator, against those of C++ in f64. A row that sees one key has its
// score as its log-sum-exp, exactly: each row gives out one function.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::test;

namespace {

struct Function {
  const char *operations; ///< Of %x and %y, with result %r.
  double (*value)(double x, double y);
  double tolerance = 5e-7; ///< Of max(1, |value|).
};

int bitsOf(double x) { return std::bit_cast<int>(float(x)); }

const Function functions[] = {
    {"%r = math.sin %x : f32", [](double x, double) { return std::sin(x); }},
    {"%r = math.cos %x : f32", [](double x, double) { return std::cos(x); }},
    {"%r = math.tan %x : f32", [](double x, double) { return std::tan(x); }},
    {"%r, %other = math.sincos %x : f32",
     [](double x, double) { return std::sin(x); }},
    {"%other, %r = math.sincos %x : f32",
     [](double x, double) { return std::cos(x); }},
    {"%r = math.asin %x : f32", [](double x, double) { return std::asin(x); }},
    {"%r = math.acos %x : f32", [](double x, double) { return std::acos(x); }},
    {"%r = math.atan %x : f32", [](double x, double) { return std::atan(x); }},
    {"%r = math.atan2 %x, %y : f32",
     [](double x, double y) { return std::atan2(x, y); }},
    // The error of an exponent is multiplied by it.
    {"%r = math.sinh %x : f32", [](double x, double) { return std::sinh(x); },
     5e-6},
    {"%r = math.cosh %x : f32", [](double x, double) { return std::cosh(x); },
     5e-6},
    {"%r = math.asinh %x : f32",
     [](double x, double) { return std::asinh(x); }},
    {"%r = math.acosh %x : f32",
     [](double x, double) { return std::acosh(x); }},
    {"%r = math.atanh %x : f32",
     [](double x, double) { return std::atanh(x); }},
    {"%r = math.expm1 %x : f32", [](double x, double) { return std::expm1(x); },
     5e-6},
    // The instruction takes subnormal numbers for 0.
    {"%r = math.log10 %x : f32",
     [](double x, double) {
       return std::abs(x) < 0x1p-126 ? std::log10(0.0) : std::log10(x);
     }},
    {"%r = math.erf %x : f32", [](double x, double) { return std::erf(x); }},
    {"%r = math.erfc %x : f32", [](double x, double) { return std::erfc(x); }},
    {"%r = math.cbrt %x : f32", [](double x, double) { return std::cbrt(x); }},
    {"%r = math.powf %x, %y : f32",
     [](double x, double y) { return std::pow(x, y); }},
    {"%n = arith.constant -3 : i32\n%r = math.fpowi %x, %n : f32, i32",
     [](double x, double) { return std::pow(x, -3); }},
    {"%r = arith.remf %x, %y : f32",
     [](double x, double y) { return std::fmod(x, y); }, 0},
    {"%r = math.round %x : f32", [](double x, double) { return std::round(x); },
     0},
    {"%low = arith.constant -1.5 : f32\n"
     "%r = math.clampf %x to [%low, %one] : f32",
     [](double x, double) {
       return std::isnan(x) ? x : std::min(std::max(x, -1.5), 1.0);
     },
     0},
    {"%narrow = arith.truncf %x : f32 to f16\n%f = math.atan %narrow : f16\n"
     "%r = arith.extf %f : f16 to f32",
     [](double x, double) { return std::atan(x); }, 1e-3},
    {"%is = math.isnan %x : f32\n%r = arith.uitofp %is : i1 to f32",
     [](double x, double) { return double(std::isnan(x)); }, 0},
    {"%is = math.isinf %x : f32\n%r = arith.uitofp %is : i1 to f32",
     [](double x, double) { return double(std::isinf(x)); }, 0},
    {"%is = math.isfinite %x : f32\n%r = arith.uitofp %is : i1 to f32",
     [](double x, double) { return double(std::isfinite(x)); }, 0},
    {"%is = math.isnormal %x : f32\n%r = arith.uitofp %is : i1 to f32",
     [](double x, double) { return double(std::isnormal(float(x))); }, 0},
    {"%n = math.ctlz %bits : i32\n%r = arith.sitofp %n : i32 to f32",
     [](double x, double) {
       return double(std::countl_zero(unsigned(bitsOf(x))));
     },
     0},
    {"%n = math.cttz %bits : i32\n%r = arith.sitofp %n : i32 to f32",
     [](double x, double) {
       return double(std::countr_zero(unsigned(bitsOf(x))));
     },
     0},
    {"%n = math.ctpop %bits : i32\n%r = arith.sitofp %n : i32 to f32",
     [](double x, double) {
       return double(std::popcount(unsigned(bitsOf(x))));
     },
     0},
    {"%three = arith.constant 3 : i32\n%rest = arith.remsi %bits, %three : "
     "i32\n"
     "%n = math.ipowi %rest, %three : i32\n%r = arith.sitofp %n : i32 to f32",
     [](double x, double) { return std::pow(bitsOf(x) % 3, 3); }, 0},
};

constexpr double inf = HUGE_VAL;

/// Values of x and y.
const double points[][2] = {
    {0, 0},        {-0.0, -1},      {0.5, 2},          {-0.5, 3},
    {1, inf},      {-1, -inf},      {0.3, 0.7},        {-0.99, -0.2},
    {0.9999, 4},   {1.5, -2.5},     {-1.5, 2.5},       {2.5, 1.25},
    {-2.5, -3},    {3.14159, 0.1},  {-3.7, 7},         {5, 5},
    {8, 1.0 / 3},  {-8, 1.0 / 3},   {10, 30},          {-20, 6.5},
    {100, -0.5},   {1000.25, 0.75}, {-12345.6, 3},     {1.0001, 60000},
    {0.999, 9000}, {1e6, 1e-3},     {-3e10, 2},        {1e22, 0.7},
    {3e38, 7e-38}, {1e-3, 1e-3},    {-1e-20, 1e-10},   {1e-41, 0.5},
    {7, 1e-41},    {inf, 2},        {-inf, 3},         {inf, inf},
    {2, NAN},      {NAN, 1},        {0.49999997, 0.5}, {-4.5, inf}};
constexpr Index numPoints = std::size(points);
constexpr Index numFunctions = std::size(functions);

/// Row p of batch entry b has function p of point b.
std::string writeKernel() {
  std::string count = std::to_string(numFunctions);
  std::string query = "tensor<?x1x" + count + "x16xf32>",
              lse = "tensor<?x1x" + count + "xf32>";
  std::string text =
      "func.func @f(%q: " + query + ", %k: tensor<?x1x1x16xf32>,\n" +
      "    %xs: tensor<?xf32>, %ys: tensor<?xf32>) -> (" + query + ", " + lse +
      ") {\n%c0 = arith.constant 0 : index\n%n = tensor.dim %q, %c0 : " +
      query + "\n%o = tensor.empty(%n) : " + query +
      "\n%l = tensor.empty(%n) : " + lse +
      "\n%0:2 = attn.attention ins(%q, %k, %k : " + query +
      ", tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>)\nouts(%o, %l : " + query +
      ", " + lse +
      ")\nscore(%s, %b, %h, %p, %j) captures(%tx = %xs : tensor<?xf32>, "
      "%ty = %ys : tensor<?xf32>) {\n%one = arith.constant 1.0 : f32\n"
      "%x = tensor.extract %tx[%b] : tensor<?xf32>\n"
      "%y = tensor.extract %ty[%b] : tensor<?xf32>\n"
      "%bits = arith.bitcast %x : f32 to i32\n";
  std::string last = "%s";
  for (Index i = 0; i < numFunctions; ++i) {
    std::string number = std::to_string(i),
                operations = functions[i].operations;
    // Names are numbered, but for what all have in common.
    for (std::size_t at = 0; (at = operations.find('%', at)) != operations.npos;
         ++at) {
      std::size_t end =
          operations.find_first_not_of("abcdefghijklmnopqrstuvwxyz", at + 1);
      std::string name = operations.substr(at + 1, end - at - 1);
      if (name != "x" && name != "y" && name != "one" && name != "bits")
        operations.insert(std::min(end, operations.size()), number);
    }
    text += operations + "\n%c" + number + " = arith.constant " + number +
            " : index\n%is" + "here" + number + " = arith.cmpi eq, %p, %c" +
            number + " : index\n%chosen" + number + " = arith.select %ishere" +
            number + ", %r" + number + ", " + last + " : f32\n";
    last = "%chosen" + number;
  }
  return text + "attn.yield " + last +
         " : f32\n}\nreturn %0#0, %0#1 : " + query + ", " + lse + "\n}";
}

} // namespace

TEST(EmulatedMath, functions) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  CompileOptions options;
  options.pipeline = "gpu-emulator";
  Expected<Kernel> kernel = engine->compile(writeKernel(), options);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message << writeKernel();
  TestTensor query(ElementType::f32, {numPoints, 1, numFunctions, 16}),
      key(ElementType::f32, {numPoints, 1, 1, 16}),
      xs(ElementType::f32, {numPoints}), ys(ElementType::f32, {numPoints});
  xs.fill([](const Shape &at) { return points[at[0]][0]; });
  ys.fill([](const Shape &at) { return points[at[0]][1]; });
  TestTensor output(ElementType::f32, {numPoints, 1, numFunctions, 16}),
      lse(ElementType::f32, {numPoints, 1, numFunctions});
  std::vector<Argument> arguments = {query.view(), key.view(), xs.view(),
                                     ys.view()};
  TensorView results[] = {output.mutableView(), lse.mutableView()};
  Status status = kernel->run(arguments, results);
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (Index b = 0; b < numPoints; ++b)
    for (Index p = 0; p < numFunctions; ++p) {
      double x = *xs.get({b}), y = *ys.get({b});
      // As f32 has it. A row of infinite weight is NaN.
      double expected = functions[p].value(x, y);
      if (std::abs(expected) > 3.4e38)
        expected = expected > 0 ? std::nan("") : -inf;
      double actual = *lse.get({b, 0, p});
      SCOPED_TRACE(std::string(functions[p].operations) + " of " +
                   std::to_string(x) + ", " + std::to_string(y));
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(actual)) << actual;
      else if (std::isinf(expected))
        EXPECT_EQ(actual, expected);
      else
        EXPECT_NEAR(actual, expected,
                    functions[p].tolerance * std::max(1.0, std::abs(expected)));
    }
}
