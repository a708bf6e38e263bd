//===- MathTest.cpp - Functions of math in kernels ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What functions are computed by, against those of C++ in f64: over all numbers
// of f32, on every pipeline, and at a few points in regions of kernels for
// GPUs, which have instructions for few functions.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "test/Execution/Random.h"
#include "test/Execution/TestTensor.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace attn;
using namespace attn::test;

namespace {

/// Errors are relative, near zeros of a function as well. Of what is below the
/// smallest normal number, they are relative to that: it may be 0. The emulator
/// rounds what instructions of GPUs for exponentials and reciprocal roots give
/// correctly, where those have an error of 2^-22 (2.4e-7).
/// Of the relative error of what has at most `mostUlps`.
constexpr double ofMost = 2.4e-7, mostUlps = 2;

struct Function {
  const char *operations; ///< Of %x and %y, with result %r.
  std::function<double(double x, double y)> value;
  double bound = ofMost; ///< Of the relative error; 0: every bit.
  double smallest = 0x1p-126;
  bool hasVectors = true; ///< Else regions with it have none on CPUs.
};

int bitsOf(double x) { return std::bit_cast<int>(float(x)); }

const Function functions[] = {
    {"%r = math.sin %x : f32", [](double x, double) { return std::sin(x); }},
    {"%r = math.cos %x : f32", [](double x, double) { return std::cos(x); }},
    {"%r = math.tan %x : f32", [](double x, double) { return std::tan(x); }},
    {"%r, %other = math.sincos %x : f32",
     [](double x, double) { return std::sin(x); }, ofMost, 0x1p-126, false},
    {"%other, %r = math.sincos %x : f32",
     [](double x, double) { return std::cos(x); }, ofMost, 0x1p-126, false},
    {"%r = math.asin %x : f32", [](double x, double) { return std::asin(x); }},
    {"%r = math.acos %x : f32", [](double x, double) { return std::acos(x); }},
    {"%r = math.atan %x : f32", [](double x, double) { return std::atan(x); }},
    {"%r = math.atan2 %x, %y : f32",
     [](double x, double y) { return std::atan2(x, y); }},
    {"%r = math.sinh %x : f32", [](double x, double) { return std::sinh(x); }},
    {"%r = math.cosh %x : f32", [](double x, double) { return std::cosh(x); }},
    {"%r = math.asinh %x : f32",
     [](double x, double) { return std::asinh(x); }},
    {"%r = math.acosh %x : f32",
     [](double x, double) { return std::acosh(x); }},
    {"%r = math.atanh %x : f32",
     [](double x, double) { return std::atanh(x); }},
    {"%r = math.expm1 %x : f32",
     [](double x, double) { return std::expm1(x); }},
    {"%r = math.exp %x : f32", [](double x, double) { return std::exp(x); }},
    {"%r = math.exp2 %x : f32", [](double x, double) { return std::exp2(x); }},
    {"%r = math.log %x : f32", [](double x, double) { return std::log(x); }},
    {"%r = math.log2 %x : f32", [](double x, double) { return std::log2(x); }},
    {"%r = math.log10 %x : f32",
     [](double x, double) { return std::log10(x); }},
    {"%r = math.log1p %x : f32",
     [](double x, double) { return std::log1p(x); }},
    {"%r = math.tanh %x : f32", [](double x, double) { return std::tanh(x); }},
    {"%r = math.sqrt %x : f32", [](double x, double) { return std::sqrt(x); }},
    {"%r = math.rsqrt %x : f32",
     [](double x, double) { return 1 / std::sqrt(x); }},
    {"%r = math.erf %x : f32", [](double x, double) { return std::erf(x); }},
    {"%r = math.erfc %x : f32", [](double x, double) { return std::erfc(x); }},
    {"%r = math.cbrt %x : f32", [](double x, double) { return std::cbrt(x); }},
    {"%r = math.powf %x, %y : f32",
     [](double x, double y) { return std::pow(x, y); }},
    {"%n = arith.constant -3 : i32\n%r = math.fpowi %x, %n : f32, i32",
     [](double x, double) { return std::pow(x, -3); }},
    // On CPUs each of many products is rounded.
    {"%n = arith.constant 1234567 : i32\n%r = math.fpowi %x, %n : f32, i32",
     [](double x, double) { return std::pow(x, 1234567); }, 4e-3},
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
     [](double x, double) { return std::atan(x); }, 1e-3, 0x1p-14, false},
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
     [](double x, double) { return std::pow(bitsOf(x) % 3, 3); }, 0, 0, false},
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

/// What is too large for f32 is infinite.
double roundToF32(double x) {
  return std::abs(x) > std::numeric_limits<float>::max()
             ? std::copysign(HUGE_VAL, x)
             : x;
}

/// The error in units in the last place of f32.
double countUlps(double actual, double expected) {
  int exponent;
  (void)std::frexp(expected, &exponent);
  return std::abs(actual - expected) / std::ldexp(1, exponent - 24);
}

testing::AssertionResult isValue(const Function &function, double x, double y,
                                 double actual, double expected) {
  if (std::isnan(expected) ? std::isnan(actual) : actual == expected)
    return testing::AssertionSuccess();
  double error = std::abs(actual - expected);
  if (function.bound && std::isfinite(expected) &&
      error <= function.bound * std::abs(expected) + function.smallest)
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << function.operations << " of " << x << ", " << y << ": " << actual
         << " for " << expected << ", relative error "
         << error / std::abs(expected);
}

/// Of %x and %y, all functions, or those that have vectors, and the value of
/// that with number `which`.
std::string writeChoice(const std::string &which, bool inVectors = false) {
  std::string text = "%one = arith.constant 1.0 : f32\n"
                     "%bits = arith.bitcast %x : f32 to i32\n",
              last = "%x";
  for (Index i = 0; i < numFunctions; ++i) {
    std::string number = std::to_string(i),
                operations = functions[i].operations;
    if (inVectors && !functions[i].hasVectors)
      continue;
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
            " : index\n%is" + "here" + number + " = arith.cmpi eq, " + which +
            ", %c" + number + " : index\n%chosen" + number +
            " = arith.select %ishere" + number + ", %r" + number + ", " + last +
            " : f32\n";
    last = "%chosen" + number;
  }
  return text + "attn.yield " + last + " : f32\n";
}

/// Row p of batch entry b has function p of point b.
std::string writeKernel() {
  std::string count = std::to_string(numFunctions);
  std::string query = "tensor<?x1x" + count + "x16xf32>",
              lse = "tensor<?x1x" + count + "xf32>";
  return "func.func @f(%q: " + query + ", %k: tensor<?x1x1x16xf32>,\n" +
         "    %xs: tensor<?xf32>, %ys: tensor<?xf32>) -> (" + query + ", " +
         lse +
         ") {\n%c0 = arith.constant 0 : index\n%n = tensor.dim %q, %c0 : " +
         query + "\n%o = tensor.empty(%n) : " + query +
         "\n%l = tensor.empty(%n) : " + lse +
         "\n%0:2 = attn.attention ins(%q, %k, %k : " + query +
         ", tensor<?x1x1x16xf32>, tensor<?x1x1x16xf32>)\nouts(%o, %l : " +
         query + ", " + lse +
         ")\nscore(%s, %b, %h, %p, %j) captures(%tx = %xs : tensor<?xf32>, "
         "%ty = %ys : tensor<?xf32>) {\n"
         "%x = tensor.extract %tx[%b] : tensor<?xf32>\n"
         "%y = tensor.extract %ty[%b] : tensor<?xf32>\n" +
         writeChoice("%p") + "}\nreturn %0#0, %0#1 : " + query + ", " + lse +
         "\n}";
}

} // namespace

TEST(Math, in_regions_of_kernels_for_gpus) {
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
      double expected = roundToF32(functions[p].value(x, y));
      EXPECT_TRUE(isValue(functions[p], x, y, *lse.get({b, 0, p}), expected));
    }
}

//===----------------------------------------------------------------------===//
// All numbers
//===----------------------------------------------------------------------===//

namespace {

using Points = std::vector<std::pair<double, double>>;

/// Every exponent, what is near 1 and near quarters of turns, and powers that
/// are no f32 seldom.
Points drawPoints(Random &random) {
  Points drawn;
  auto uniform = [&](double low, double high) {
    return low + (high - low) * double(random.bits() >> 11) * 0x1p-53;
  };
  auto add = [&](double x) {
    double y = uniform(-4, 4);
    if (random.chance(0.3))
      y = std::ldexp(uniform(-1, 1), int(random.between(-149, 128)));
    else if (random.chance(0.5) && std::abs(std::log(std::abs(x))) > 1e-9)
      y = uniform(-87, 87) / std::log(std::abs(x));
    drawn.emplace_back(float(x), float(y));
  };
  for (int exponent = -149; exponent < 128; ++exponent)
    for (double sign : {-1, 1})
      for (int count = 0; count < 3; ++count)
        add(std::ldexp(sign * uniform(1, 2), exponent));
  for (int ulps = -100; ulps < 100; ++ulps)
    for (double sign : {-1, 1})
      add(sign * (1 + std::ldexp(ulps, -23)));
  for (int quarters = -300; quarters < 300; ++quarters)
    add(quarters * std::acos(0));
  add(std::ldexp(16367173, 72)); // The nearest to a quarter.
  for (double limit : {1, 12, 104})
    for (int count = 0; count < 600; ++count)
      add(uniform(-limit, limit));
  for (auto [x, y] : points)
    drawn.emplace_back(float(x), float(y));
  return drawn;
}

/// A result for each function.
std::string writeElementwise() {
  std::string tensor = "tensor<?xf32>", body, names, types;
  for (Index i = 0; i < numFunctions; ++i) {
    std::string name = "%r" + std::to_string(i);
    names += (i ? ", " : "") + name;
    types += (i ? ", " : "") + tensor;
    body += name + R"( = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
                       affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}
      ins(%xs, %ys : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%x: f32, %y: f32, %unused: f32):
      %one = arith.constant 1.0 : f32
      %bits = arith.bitcast %x : f32 to i32
      )" + std::string(functions[i].operations) +
            "\n linalg.yield %r : f32\n} -> tensor<?xf32>\n";
  }
  return "func.func @f(%xs: tensor<?xf32>, %ys: tensor<?xf32>) -> (" + types +
         ") {\n%c0 = arith.constant 0 : index\n%length = tensor.dim %xs, %c0 "
         ": " +
         tensor + "\n%e = tensor.empty(%length) : " + tensor + "\n" + body +
         "return " + names + " : " + types + "\n}";
}

} // namespace

TEST(Math, of_all_numbers) {
  Random random(1);
  auto drawn = drawPoints(random);
  auto count = Index(drawn.size());
  TestTensor xs(ElementType::f32, {count}), ys(ElementType::f32, {count});
  xs.fill([&](const Shape &at) { return drawn[std::size_t(at[0])].first; });
  ys.fill([&](const Shape &at) { return drawn[std::size_t(at[0])].second; });
  for (const char *pipeline : {"reference", "cpu", "gpu-emulator"}) {
    SCOPED_TRACE(pipeline);
    Expected<Kernel> kernel =
        Engine::create()->compile(writeElementwise(), {.pipeline = pipeline});
    ASSERT_TRUE(kernel.ok()) << kernel.error().message;
    std::vector<TestTensor> results;
    std::vector<TensorView> views;
    for (Index i = 0; i < numFunctions; ++i) {
      results.emplace_back(ElementType::f32, Shape{count});
      views.push_back(results.back().mutableView());
    }
    std::vector<Argument> arguments = {xs.view(), ys.view()};
    Status status = kernel->run(arguments, views);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (Index i = 0; i < numFunctions; ++i) {
      double most = 0;
      for (Index at = 0; at < count; ++at) {
        auto [x, y] = drawn[std::size_t(at)];
        double actual = *results[std::size_t(i)].get({at});
        double expected = roundToF32(functions[i].value(x, y));
        EXPECT_TRUE(isValue(functions[i], x, y, actual, expected));
        if (std::isfinite(expected) && std::abs(expected) >= 0x1p-126)
          most = std::max(most, countUlps(actual, expected));
      }
      if (functions[i].bound == ofMost)
        EXPECT_LE(most, mostUlps) << functions[i].operations;
      // docs/accuracy.md has them.
      RecordProperty(std::string(pipeline) + ": " + functions[i].operations,
                     std::to_string(most));
    }
  }
}

//===----------------------------------------------------------------------===//
// Regions of kernels for CPUs
//===----------------------------------------------------------------------===//

namespace {

/// The function of a score that is each point's x, in the order of the points.
/// Vectors hold neighbours: where x is small in all of them, less is computed.
void checkScores(const Engine &engine, const char *pipeline,
                 const Function &function, const std::string &clause,
                 const Points &drawn) {
  auto count = Index(drawn.size());
  std::string rows = "tensor<1x1x?x16xf32>", sums = "tensor<1x1x?xf32>";
  std::string text =
      "func.func @f(%q: " + rows + ", %k: " + rows + ") -> (" + rows + ", " +
      sums +
      ") {\n%c2 = arith.constant 2 : index\n%n = tensor.dim %q, %c2 : " + rows +
      "\n%o = tensor.empty(%n) : " + rows +
      "\n%l = tensor.empty(%n) : " + sums +
      "\n%0:2 = attn.attention ins(%q, %k, %k : " + rows + ", " + rows + ", " +
      rows + ")\nouts(%o, %l : " + rows + ", " + sums + ") scale(1.0)\nscore " +
      clause + "\nreturn %0#0, %0#1 : " + rows + ", " + sums + "\n}";
  SCOPED_TRACE(std::string(pipeline) + "\n" + text);
  Expected<Kernel> kernel = engine.compile(text, {.pipeline = pipeline});
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  TestTensor query(ElementType::f32, {1, 1, count, 16}),
      key(ElementType::f32, {1, 1, 1, 16}),
      output(ElementType::f32, {1, 1, count, 16}),
      lse(ElementType::f32, {1, 1, count});
  query.fill([&](const Shape &at) {
    return at[3] ? 0 : drawn[std::size_t(at[2])].first;
  });
  key.fill([](const Shape &at) { return at[3] ? 0 : 1; });
  Status status = kernel->run({query.view(), key.view()},
                              {output.mutableView(), lse.mutableView()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (Index i = 0; i < count; ++i) {
    double x = drawn[std::size_t(i)].first;
    double expected = roundToF32(function.value(x, 0));
    // A row of infinite weight is NaN.
    if (std::isfinite(expected))
      EXPECT_TRUE(isValue(function, x, 0, *lse.get({0, 0, i}), expected));
  }
}

void checkAllScores(const Engine &engine, const char *pipeline,
                    const Points &drawn) {
  const Function ofScores[] = {
      {"math.exp %s : f32", [](double x, double) { return std::exp(x); }},
      {"math.exp2 %s : f32", [](double x, double) { return std::exp2(x); },
       4e-7, 0x1p-125},
      {"math.tanh %s : f32", [](double x, double) { return std::tanh(x); },
       5e-7}};
  for (const Function &function : ofScores)
    checkScores(
        engine, pipeline, function,
        "(%s, %b, %h, %p, %j) {\n%r = " + std::string(function.operations) +
            "\nattn.yield %r : f32\n}",
        drawn);
  for (auto [clause, cap] : {std::pair("softcap(1.0e-6)", 1e-6),
                             {"softcap(30.0)", 30.0},
                             {"softcap(1.0e6)", 1e6},
                             {"softcap(1.0e20)", 1e20}}) {
    // The quotient by the cap may be subnormal.
    Function function{
        clause,
        [cap = cap](double x, double) { return cap * std::tanh(x / cap); },
        5e-7, 0x1p-126 * std::max(1.0, cap)};
    checkScores(engine, pipeline, function, clause, drawn);
  }
}

} // namespace

/// Vectors of scores, of which head h has function h.
TEST(Math, in_vectors_of_scores) {
  Random random(3);
  Points drawn;
  for (auto [x, y] : drawPoints(random))
    if (std::isfinite(x) && !(x == 0 && std::signbit(x))) // A sum is never -0.
      drawn.emplace_back(x, y);
  auto count = Index(drawn.size());
  std::string heads = std::to_string(numFunctions);
  std::string rows = "tensor<1x" + heads + "x?x16xf32>",
              sums = "tensor<1x" + heads + "x?xf32>",
              key = "tensor<1x1x1x16xf32>";
  std::string text =
      "func.func @f(%q: " + rows + ", %k: " + key +
      ", %ys: tensor<?xf32>) -> (" + rows + ", " + sums +
      ") {\n%c2 = arith.constant 2 : index\n%n = tensor.dim %q, %c2 : " + rows +
      "\n%o = tensor.empty(%n) : " + rows +
      "\n%l = tensor.empty(%n) : " + sums +
      "\n%0:2 = attn.attention ins(%q, %k, %k : " + rows + ", " + key + ", " +
      key + ")\nouts(%o, %l : " + rows + ", " + sums +
      ") scale(1.0)\nscore(%x, %b, %h, %p, %j) captures(%ty = %ys : "
      "tensor<?xf32>) {\n%y = tensor.extract %ty[%p] : tensor<?xf32>\n" +
      writeChoice("%h", /*inVectors=*/true) + "}\nreturn %0#0, %0#1 : " + rows +
      ", " + sums + "\n}";
  TestTensor query(ElementType::f32, {1, numFunctions, count, 16}),
      first(ElementType::f32, {1, 1, 1, 16}), ys(ElementType::f32, {count});
  query.fill([&](const Shape &at) {
    return at[3] ? 0 : drawn[std::size_t(at[2])].first;
  });
  first.fill([](const Shape &at) { return at[3] ? 0 : 1; });
  ys.fill([&](const Shape &at) { return drawn[std::size_t(at[0])].second; });
  for (const char *cpu : {"", "x86-64-v3"}) {
    SCOPED_TRACE(cpu);
    Expected<Engine> engine = Engine::create({.cpu = cpu});
    if (!engine) { // Not every machine has the latter.
      EXPECT_NE(cpu, std::string());
      continue;
    }
    Expected<Kernel> kernel = engine->compile(text);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message << "\n" << text;
    TestTensor output(ElementType::f32, {1, numFunctions, count, 16}),
        lse(ElementType::f32, {1, numFunctions, count});
    Status status = kernel->run({query.view(), first.view(), ys.view()},
                                {output.mutableView(), lse.mutableView()});
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (Index i = 0; i < numFunctions; ++i)
      for (Index at = 0; at < count && functions[i].hasVectors; ++at) {
        auto [x, y] = drawn[std::size_t(at)];
        double expected = roundToF32(functions[i].value(x, y));
        // Exponentials of scores have no subnormal numbers.
        Function function = functions[i];
        function.smallest *= 2;
        // A row of infinite weight is NaN.
        if (std::isfinite(expected))
          EXPECT_TRUE(isValue(function, x, y, *lse.get({0, i, at}), expected));
      }
  }
}

TEST(Math, in_regions_of_kernels) {
  Random random(2);
  Points drawn;
  for (auto [x, y] : drawPoints(random))
    if (std::isfinite(x) && random.chance(0.4))
      drawn.emplace_back(x, y);
  std::shuffle(drawn.begin(), drawn.end(), std::mt19937_64(random.bits()));
  checkAllScores(*Engine::create(), "gpu-emulator",
                 Points(drawn.begin(), drawn.begin() + 128));
  // In any order, and in that of magnitudes.
  Points sorted = drawn;
  std::sort(sorted.begin(), sorted.end(), [](auto lhs, auto rhs) {
    return std::abs(lhs.first) < std::abs(rhs.first);
  });
  drawn.insert(drawn.end(), sorted.begin(), sorted.end());
  // With the vectors of this machine, and with those of most.
  for (const char *cpu : {"", "x86-64-v3"})
    // Not every machine has the latter.
    if (Expected<Engine> engine = Engine::create({.cpu = cpu}))
      checkAllScores(*engine, "cpu", drawn);
    else
      EXPECT_NE(cpu, std::string());
}
