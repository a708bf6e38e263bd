//===- JITRunTest.cpp - Kernels that run ----------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/JITTesting.h"

#include <cmath>
#include <limits>

using namespace attn;
using namespace attn::test;

namespace {

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Small whole numbers, whose sums every float type holds exactly.
template <typename T> void checkMatmul() {
  std::string type(nameOf(elementTypeOf<T>));
  Kernel kernel = compile(matmulText(type));
  constexpr int m = 5, k = 3, n = 17;
  Tensor<T> lhs({m, k}), rhs({k, n}), out({m, n});
  for (int i = 0; i < m * k; ++i)
    lhs.data[i] = T(float(i % 5 - 2));
  for (int i = 0; i < k * n; ++i)
    rhs.data[i] = T(float(i % 7 - 3));
  Status status = kernel.run({lhs.view(), rhs.view()}, {out.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float expected = 0;
      for (int l = 0; l < k; ++l)
        expected += float(lhs.data[i * k + l]) * float(rhs.data[l * n + j]);
      EXPECT_EQ(float(out.data[i * n + j]), expected) << i << ", " << j;
    }
}

TEST(JITRun, MatmulF64) { checkMatmul<double>(); }
TEST(JITRun, MatmulF32) { checkMatmul<float>(); }
TEST(JITRun, MatmulF16) { checkMatmul<f16>(); }
TEST(JITRun, MatmulBF16) { checkMatmul<bf16>(); }

/// Rounds once, also from f64: a float that is not exact gets an odd last bit,
/// so that the second rounding cannot meet a tie that the first one made.
template <typename T> T round(double value) {
  float single = float(value);
  if (double(single) != value && !std::isnan(value)) {
    float inner = std::abs(double(single)) > std::abs(value)
                      ? std::nextafter(single, 0.0f)
                      : single;
    single = std::bit_cast<float>(std::bit_cast<std::uint32_t>(inner) | 1u);
  }
  return T(single);
}

/// Rounding to the 16-bit types, from what the host types do.
template <typename T, typename From> void checkRounding() {
  std::string to(nameOf(elementTypeOf<T>)), from(nameOf(elementTypeOf<From>));
  Kernel kernel = compile("func.func @f(%a: tensor<?x" + from +
                          ">) -> tensor<?x" + to + "> {\n  %b = arith.truncf " +
                          "%a : tensor<?x" + from + "> to tensor<?x" + to +
                          ">\n  return %b : tensor<?x" + to + ">\n}");
  std::vector<From> values = {0.0f,
                              -0.0f,
                              1.0f,
                              1.0f + 0x1p-9f,
                              65504.0f,
                              65520.0f,
                              1e30f,
                              -1e-30f,
                              0x1p-25f,
                              0x1.8p-25f,
                              0x1p-133f,
                              0x1.8p-134f,
                              0x1p-149f,
                              1.0f + 0x1.8p-8f,
                              std::numeric_limits<From>::infinity(),
                              std::numeric_limits<From>::quiet_NaN()};
  // Next to a tie of bf16 and of f16, by less than a float can tell.
  for (double tie : {1.0 + 0x1p-8, 1.0 + 0x1p-11, -3.0 - 0x1p-7})
    for (double offset : {-0x1p-40, 0x1p-40})
      values.push_back(From(tie + offset));
  for (int i = 0; i < 1000; ++i)
    values.push_back(From(std::ldexp(1.0f + float(i) * 0x1p-13f, i % 40 - 30)));
  std::int64_t count = std::int64_t(values.size());
  Tensor<From> in({count}, values);
  Tensor<T> out({count});
  ASSERT_TRUE(kernel.run({in.view()}, {out.view()}).ok());
  for (std::int64_t i = 0; i < count; ++i) {
    T expected = round<T>(values[i]);
    if (std::isnan(float(expected)))
      EXPECT_TRUE(std::isnan(float(out.data[i])));
    else if (std::abs(float(expected)) >= std::numeric_limits<float>::min() ||
             float(out.data[i]) != 0)
      EXPECT_EQ(out.data[i].bits, expected.bits) << values[i];
    else // AVX512-BF16 gives 0 for subnormal numbers.
      EXPECT_EQ(std::signbit(float(out.data[i])), std::signbit(values[i]));
  }
}

TEST(JITRun, RoundingToF16) {
  checkRounding<f16, float>();
  checkRounding<f16, double>();
}
TEST(JITRun, RoundingToBF16) {
  checkRounding<bf16, float>();
  checkRounding<bf16, double>();
}

TEST(JITRun, SmallFloatsAndIntegers) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xbf16>, %b: tensor<?xf16>)
    -> (tensor<?xi32>, tensor<?xbf16>, tensor<?xf16>) {
  %i = arith.fptosi %a : tensor<?xbf16> to tensor<?xi32>
  %j = arith.fptosi %b : tensor<?xf16> to tensor<?xi32>
  %sum = arith.addi %i, %j : tensor<?xi32>
  %x = arith.sitofp %sum : tensor<?xi32> to tensor<?xbf16>
  %y = arith.sitofp %sum : tensor<?xi32> to tensor<?xf16>
  %e = math.exp %x : tensor<?xbf16>
  %s = math.sqrt %y : tensor<?xf16>
  return %sum, %e, %s : tensor<?xi32>, tensor<?xbf16>, tensor<?xf16>
})");
  Tensor<bf16> a({3}, {bf16(1.0f), bf16(2.0f), bf16(-3.0f)});
  Tensor<f16> b({3}, {f16(0.0f), f16(7.0f), f16(7.5f)});
  Tensor<std::int32_t> sum({3});
  Tensor<bf16> e({3});
  Tensor<f16> s({3});
  Status status =
      kernel.run({a.view(), b.view()}, {sum.view(), e.view(), s.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(sum.data, (std::vector<std::int32_t>{1, 9, 4}));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(e.data[i].bits, bf16(std::exp(float(sum.data[i]))).bits);
    EXPECT_EQ(s.data[i].bits, f16(std::sqrt(float(sum.data[i]))).bits);
  }
}

TEST(JITRun, Booleans) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xi1>, %b: tensor<?xi1>) -> tensor<?xi1> {
  %c = arith.xori %a, %b : tensor<?xi1>
  return %c : tensor<?xi1>
})");
  constexpr int count = 67; // More than any vector, and a tail.
  auto a = std::make_unique<bool[]>(count), b = std::make_unique<bool[]>(count),
       out = std::make_unique<bool[]>(count);
  for (int i = 0; i < count; ++i) {
    a[i] = i % 3 == 0;
    b[i] = i % 2 == 0;
  }
  std::vector<std::int64_t> sizes = {count};
  ASSERT_TRUE(kernel
                  .run({TensorView(a.get(), sizes), TensorView(b.get(), sizes)},
                       {TensorView(out.get(), sizes)})
                  .ok());
  for (int i = 0; i < count; ++i)
    EXPECT_EQ(out[i], a[i] != b[i]) << i;
}

TEST(JITRun, MathFunctions) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %b = math.erf %a : tensor<?xf32>
  %c = math.tanh %a : tensor<?xf32>
  %d = math.log1p %a : tensor<?xf32>
  return %b, %c, %d : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
})");
  Tensor<float> a({4}, {0.0f, 1e-8f, 0.5f, 3.0f}), b({4}), c({4}), d({4});
  Status status = kernel.run({a.view()}, {b.view(), c.view(), d.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  for (int i = 0; i < 4; ++i) {
    EXPECT_FLOAT_EQ(b.data[i], std::erf(a.data[i]));
    EXPECT_FLOAT_EQ(c.data[i], std::tanh(a.data[i]));
    EXPECT_FLOAT_EQ(d.data[i], std::log1p(a.data[i]));
  }
}

TEST(JITRun, StridedViews) {
  Kernel kernel = compile(matmulText("f32"));
  // Rows of the left side backwards, one row of the right side for all, and the
  // result inside a wider buffer.
  std::vector<float> lhs = {1, 2, 3, 4}, rhs = {10, 20, 30}, out(16, -1.0f);
  std::vector<std::int64_t> lhsSizes = {2, 2}, lhsStrides = {-2, 1},
                            rhsSizes = {2, 3}, rhsStrides = {0, 1},
                            outSizes = {2, 3}, outStrides = {8, 1};
  Status status =
      kernel.run({TensorView(lhs.data() + 2, lhsSizes, lhsStrides),
                  TensorView(rhs.data(), rhsSizes, rhsStrides)},
                 {TensorView(out.data() + 1, outSizes, outStrides)});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(out, (std::vector<float>{-1, 70, 140, 210, -1, -1, -1, -1, //
                                     -1, 30, 60, 90, -1, -1, -1, -1}));
}

TEST(JITRun, SizeOneWithAnyStride) {
  Kernel kernel = compile(matmulText("f32"));
  std::vector<float> lhs = {1, 0, 2, 0}, rhs = {3};
  std::vector<std::int64_t> column = {2, 1}, strides = {2, 99}, one = {1, 1};
  Tensor<float> out({2, 1});
  ASSERT_TRUE(kernel
                  .run({TensorView(lhs.data(), column, strides),
                        TensorView(rhs.data(), one, strides)},
                       {out.view()})
                  .ok());
  EXPECT_EQ(out.data, (std::vector<float>{3, 6}));
}

TEST(JITRun, EmptySizes) {
  Kernel kernel = compile(matmulText("f32"));
  Tensor<float> lhs({2, 0}), rhs({0, 3}), out({2, 3}, 7.0f);
  ASSERT_TRUE(kernel.run({lhs.view(), rhs.view()}, {out.view()}).ok());
  EXPECT_EQ(out.data, std::vector<float>(6, 0.0f));
}

TEST(JITRun, RankZeroAndCopies) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<f32>, %b: tensor<?x?xf32>)
    -> (tensor<f32>, tensor<?x?xf32>, tensor<?x?xf32>) {
  return %a, %b, %b : tensor<f32>, tensor<?x?xf32>, tensor<?x?xf32>
})");
  Tensor<float> a({}, 3.0f), aOut({}), b({2, 2}, {1, 2, 3, 4}), b1({2, 2}),
      b2({2, 2});
  ASSERT_TRUE(
      kernel.run({a.view(), b.view()}, {aOut.view(), b1.view(), b2.view()})
          .ok());
  EXPECT_EQ(aOut.data[0], 3.0f);
  EXPECT_EQ(b1.data, b.data);
  EXPECT_EQ(b2.data, b.data);
}

TEST(JITRun, ControlFlow) {
  Kernel kernel = compile(R"(
func.func @power(%a: tensor<?xf32>, %n: index, %negate: i1) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %size = tensor.dim %a, %c0 : tensor<?xf32>
  %ones = tensor.splat %one[%size] : tensor<?xf32>
  %p = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %ones)
      -> tensor<?xf32> {
    %next = arith.mulf %acc, %a : tensor<?xf32>
    scf.yield %next : tensor<?xf32>
  }
  %result = scf.if %negate -> tensor<?xf32> {
    %m = arith.negf %p : tensor<?xf32>
    scf.yield %m : tensor<?xf32>
  } else {
    scf.yield %p : tensor<?xf32>
  }
  return %result : tensor<?xf32>
})");
  Tensor<float> a({3}, {1, 2, -3}), out({3});
  ASSERT_TRUE(kernel.run({a.view(), 3, true}, {out.view()}).ok());
  EXPECT_EQ(out.data, (std::vector<float>{-1, -8, 27}));
  ASSERT_TRUE(kernel.run({a.view(), 0, false}, {out.view()}).ok());
  EXPECT_EQ(out.data, (std::vector<float>{1, 1, 1}));
}

TEST(JITRun, ManyArguments) {
  std::string text = "func.func @f(";
  for (int i = 0; i < 40; ++i)
    text += (i ? ", %a" : "%a") + std::to_string(i) + ": tensor<1x1x1x1xf32>";
  text += ") -> tensor<1x1x1x1xf32> {\n  return %a39 : tensor<1x1x1x1xf32>\n}";
  Kernel kernel = compile(text);
  std::vector<Tensor<float>> tensors;
  for (int i = 0; i < 40; ++i)
    tensors.emplace_back(std::vector<std::int64_t>{1, 1, 1, 1}, float(i));
  std::vector<Argument> arguments;
  for (Tensor<float> &tensor : tensors)
    arguments.push_back(tensor.view());
  Tensor<float> out({1, 1, 1, 1});
  ASSERT_TRUE(kernel.run(arguments, std::vector<TensorView>{out.view()}).ok());
  EXPECT_EQ(out.data[0], 39.0f);
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

TEST(JITRun, KernelOutlivesItsEngine) {
  std::optional<Kernel> kernel;
  {
    Expected<Engine> engine = Engine::create();
    ASSERT_TRUE(engine.ok());
    Expected<Kernel> compiled = engine->compile(matmulText("f32"));
    ASSERT_TRUE(compiled.ok());
    kernel = *compiled;
  }
  Tensor<float> lhs({1, 1}, 3.0f), rhs({1, 1}, 4.0f), out({1, 1});
  ASSERT_TRUE(kernel->run({lhs.view(), rhs.view()}, {out.view()}).ok());
  EXPECT_EQ(out.data[0], 12.0f);
}

TEST(JITRun, MovingLeavesThemUsable) {
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine.ok());
  // NOLINTBEGIN(bugprone-use-after-move,performance-move-const-arg)
  Engine other = std::move(*engine);
  Expected<Kernel> compiled = engine->compile(matmulText("f32"));
  ASSERT_TRUE(compiled.ok());
  Kernel kernel = std::move(*compiled);
  Tensor<float> lhs({1, 1}, 3.0f), rhs({1, 1}, 4.0f), out({1, 1});
  EXPECT_TRUE(compiled->run({lhs.view(), rhs.view()}, {out.view()}).ok());
  // NOLINTEND(bugprone-use-after-move,performance-move-const-arg)
  EXPECT_EQ(out.data[0], 12.0f);
}

} // namespace
