//===- JITCallCheckTest.cpp - What run() refuses --------------------------===//
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

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

/// Calls `kernel` and expects this error, and that nothing was written.
void expectRefused(const Kernel &kernel, const std::vector<Argument> &arguments,
                   const std::vector<TensorView> &results,
                   const std::string &message) {
  Status status = kernel.run(arguments, results);
  ASSERT_FALSE(status.ok()) << "expected: " << message;
  EXPECT_EQ(status.error().message, message);
}

/// lhs (2, 3) times rhs (3, 4), all fitting.
class MatmulCall : public testing::Test {
protected:
  ~MatmulCall() override {
    for (float value : out.data) // No check came too late.
      EXPECT_EQ(value, 7.0f);
  }
  void expect(const TensorView &lhs, const TensorView &rhs,
              const TensorView &out, const std::string &message) {
    expectRefused(kernel, {lhs, rhs}, {out}, message);
  }

  Kernel kernel = compile(matmulText("f32"));
  Tensor<float> lhs{{2, 3}, 1.0f}, rhs{{3, 4}, 1.0f}, out{{2, 4}, 7.0f};
};

TEST_F(MatmulCall, Counts) {
  expectRefused(kernel, {lhs.view()}, {out.view()},
                "expected 2 arguments, got 1");
  expectRefused(kernel, {lhs.view(), rhs.view(), rhs.view()}, {out.view()},
                "expected 2 arguments, got 3");
  expectRefused(kernel, {lhs.view(), rhs.view()}, {},
                "expected 1 result, got 0");
}

TEST_F(MatmulCall, Kind) {
  expectRefused(kernel, {lhs.view(), 4}, {out.view()},
                "argument 1 'rhs' is a tensor, got a scalar");
}

TEST_F(MatmulCall, ElementType) {
  Tensor<double> doubles({3, 4});
  expect(lhs.view(), doubles.view(), out.view(),
         "argument 1 'rhs': element type is f64, expected f32");
  Tensor<std::int32_t> integers({2, 4});
  expect(lhs.view(), rhs.view(), integers.view(),
         "result 0: element type is i32, expected f32");
}

TEST_F(MatmulCall, Rank) {
  Tensor<float> vector({3});
  expect(vector.view(), rhs.view(), out.view(),
         "argument 0 'lhs': rank is 1, expected 2");
  std::vector<std::int64_t> wide(9, 1), one = {1};
  const char *invalid =
      "argument 0 'lhs': the view has more than 8 dimensions, or not one "
      "stride for each size";
  expect(TensorView(lhs.data.data(), wide), rhs.view(), out.view(), invalid);
  expect(TensorView(lhs.data.data(), lhs.sizes, one), rhs.view(), out.view(),
         invalid);
}

TEST_F(MatmulCall, NegativeSize) {
  std::vector<std::int64_t> sizes = {-2, 3};
  expect(TensorView(lhs.data.data(), sizes), rhs.view(), out.view(),
         "argument 0 'lhs': dimension 0 is -2, expected 0 or more");
}

TEST_F(MatmulCall, SizesThatMustAgree) {
  Tensor<float> wide({5, 4});
  expect(lhs.view(), wide.view(), out.view(),
         "argument 1 'rhs': dimension 0 is 5, expected 3 (a size that operands "
         "of linalg.matmul share, as in dimension 1 of argument 0 'lhs')");
}

TEST_F(MatmulCall, ResultSize) {
  Tensor<float> transposed({4, 2});
  expect(lhs.view(), rhs.view(), transposed.view(),
         "result 0: dimension 0 is 4, expected 2 (dimension 0 of argument 0 "
         "'lhs')");
}

TEST_F(MatmulCall, LastDimensionContiguous) {
  std::vector<std::int64_t> strides = {1, 2};
  expect(TensorView(lhs.data.data(), lhs.sizes, strides), rhs.view(),
         out.view(),
         "argument 0 'lhs': stride of the last dimension is 2, expected 1");
}

TEST_F(MatmulCall, Alignment) {
  std::vector<char> bytes(64);
  auto *odd = reinterpret_cast<float *>(
      (reinterpret_cast<std::uintptr_t>(bytes.data()) & ~std::uintptr_t(3)) +
      2);
  expect(TensorView(odd, lhs.sizes), rhs.view(), out.view(),
         "argument 0 'lhs': the data's address is not a multiple of 4, the "
         "size of f32");
}

TEST_F(MatmulCall, Null) {
  expect(TensorView(static_cast<float *>(nullptr), lhs.sizes), rhs.view(),
         out.view(), "argument 0 'lhs': data is null");
  expect(lhs.view(), rhs.view(),
         TensorView(static_cast<float *>(nullptr), out.sizes),
         "result 0: data is null");
}

TEST_F(MatmulCall, NullOfAnEmptyView) {
  std::vector<std::int64_t> noRows = {0, 3}, noResult = {0, 4};
  TensorView empty(static_cast<const float *>(nullptr), noRows);
  TensorView emptyOut(static_cast<float *>(nullptr), noResult);
  Status status = kernel.run({empty, rhs.view()}, {emptyOut});
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST_F(MatmulCall, ReadOnlyResult) {
  expect(lhs.view(), rhs.view(),
         TensorView(static_cast<const float *>(out.data.data()), out.sizes),
         "result 0: the view is read-only");
}

TEST_F(MatmulCall, MoreMemoryThanThereIs) {
  std::vector<std::int64_t> strides = {huge, 1};
  expect(TensorView(lhs.data.data(), lhs.sizes, strides), rhs.view(),
         out.view(),
         "argument 0 'lhs': the view spans more memory than there is");
  std::vector<std::int64_t> sizes = {huge / 2, 3};
  expect(TensorView(lhs.data.data(), sizes), rhs.view(), out.view(),
         "argument 0 'lhs': the view spans more memory than there is");
  strides = {std::numeric_limits<std::int64_t>::min(), 1};
  expect(TensorView(lhs.data.data(), lhs.sizes, strides), rhs.view(),
         out.view(),
         "argument 0 'lhs': the view spans more memory than there is");
}

TEST_F(MatmulCall, Overlap) {
  std::vector<float> buffer(64, 1.0f);
  TensorView inside(buffer.data() + 5, lhs.sizes);
  expect(inside, rhs.view(), TensorView(buffer.data(), out.sizes),
         "result 0 overlaps argument 0 'lhs'");
  // Backwards from 12: covers 9 to 14.
  std::vector<std::int64_t> backwards = {-3, 1};
  expect(TensorView(buffer.data() + 12, lhs.sizes, backwards), rhs.view(),
         TensorView(buffer.data() + 2, out.sizes),
         "result 0 overlaps argument 0 'lhs'");
  EXPECT_TRUE(kernel
                  .run({TensorView(buffer.data() + 12, lhs.sizes, backwards),
                        rhs.view()},
                       {TensorView(buffer.data() + 1, out.sizes)})
                  .ok());
}

TEST_F(MatmulCall, ResultOverlapsItself) {
  std::vector<float> buffer(64);
  std::vector<std::int64_t> broadcast = {0, 1}, overlapping = {3, 1},
                            touching = {4, 1}, reversed = {-4, 1};
  expect(lhs.view(), rhs.view(),
         TensorView(buffer.data(), out.sizes, broadcast),
         "result 0 overlaps itself: two of its indices share an address");
  expect(lhs.view(), rhs.view(),
         TensorView(buffer.data(), out.sizes, overlapping),
         "result 0 overlaps itself: two of its indices share an address");
  EXPECT_TRUE(kernel
                  .run({lhs.view(), rhs.view()},
                       {TensorView(buffer.data(), out.sizes, touching)})
                  .ok());
  EXPECT_TRUE(kernel
                  .run({lhs.view(), rhs.view()},
                       {TensorView(buffer.data() + 4, out.sizes, reversed)})
                  .ok());
}

TEST(JITCallCheck, ResultsOverlapEachOther) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  return %a, %a : tensor<4xf32>, tensor<4xf32>
})");
  Tensor<float> a({4}), out({7});
  std::vector<std::int64_t> four = {4};
  expectRefused(kernel, {a.view()},
                {TensorView(out.data.data(), four),
                 TensorView(out.data.data() + 3, four)},
                "result 1 overlaps result 0");
}

TEST(JITCallCheck, StaticSize) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?x8xf32>) -> tensor<?x8xf32> {
  return %a : tensor<?x8xf32>
})");
  Tensor<float> a({2, 7}), out({2, 8});
  expectRefused(kernel, {a.view()}, {out.view()},
                "argument 0 'a': dimension 1 is 7, expected 8");
}

TEST(JITCallCheck, ResultSizeThatDoesNotFit) {
  Kernel kernel = compile(R"(
func.func @f(%n: index) -> tensor<?xi8> {
  %zero = arith.constant 0 : i8
  %length = affine.apply affine_map<()[n] -> (4 * n)>()[%n]
  %zeros = tensor.splat %zero[%length] : tensor<?xi8>
  return %zeros : tensor<?xi8>
})");
  Tensor<std::int8_t> out({4});
  expectRefused(kernel, {huge}, {out.view()},
                "4 * argument 0 'n' does not fit 64 bits");
  expectRefused(kernel, {-1}, {out.view()},
                "result 0 would have size -4 in dimension 0, which is 4 * "
                "argument 0 'n'");
  EXPECT_TRUE(kernel.run({1}, {out.view()}).ok());
}

TEST(JITCallCheck, Scalars) {
  Kernel kernel = compile(R"(
func.func @f(%flag: i1, %byte: i8, %int: i32, %float: f32)
    -> tensor<4xf64> {
  %0 = arith.uitofp %flag : i1 to f64
  %1 = arith.sitofp %byte : i8 to f64
  %2 = arith.sitofp %int : i32 to f64
  %3 = arith.extf %float : f32 to f64
  %values = tensor.from_elements %0, %1, %2, %3 : tensor<4xf64>
  return %values : tensor<4xf64>
})");
  Tensor<double> out({4});
  auto expect = [&](const std::vector<Argument> &arguments,
                    const std::string &message) {
    expectRefused(kernel, arguments, {out.view()}, message);
  };
  expect({out.view(), 0, 0, 0}, "argument 0 'flag' is a scalar (i1), got a "
                                "tensor");
  expect({2, 0, 0, 0}, "argument 0 'flag': 2 does not fit i1 (0 to 1)");
  expect({true, 128, 0, 0},
         "argument 1 'byte': 128 does not fit i8 (-128 to 127)");
  expect({true, 0, std::int64_t(1) << 40, 0},
         "argument 2 'int': 1099511627776 does not fit i32 (-2147483648 to "
         "2147483647)");
  expect({true, 0, 3.5, 0}, "argument 2 'int' is an integer (i32), got the "
                            "floating-point number 3.500000");
  ASSERT_TRUE(kernel.run({true, -128, 2147483647, 3}, {out.view()}).ok());
  EXPECT_EQ(out.data, (std::vector<double>{1, -128, 2147483647, 3}));
  ASSERT_TRUE(
      kernel.run({false, 127, -2147483647 - 1, 0.5}, {out.view()}).ok());
  EXPECT_EQ(out.data, (std::vector<double>{0, 127, -2147483648., 0.5}));
}

TEST(JITCallCheck, SixtyFourBitScalars) {
  Kernel kernel = compile(R"(
func.func @f(%n: i64) -> tensor<1xi64> {
  %values = tensor.from_elements %n : tensor<1xi64>
  return %values : tensor<1xi64>
})");
  Tensor<std::int64_t> out({1});
  for (std::int64_t value : {huge, -huge - 1, std::int64_t(0)}) {
    ASSERT_TRUE(kernel.run({value}, {out.view()}).ok());
    EXPECT_EQ(out.data[0], value);
  }
}

} // namespace
