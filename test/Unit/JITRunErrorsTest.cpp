//===- JITRunErrorsTest.cpp - Kernels that fail while they run ------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Unit/JITTesting.h"

#include <atomic>
#include <limits>
#include <malloc.h>
#include <stdexcept>
#include <thread>

using namespace attn;
using namespace attn::test;

namespace {

void expectFailure(const Kernel &kernel, const std::vector<Argument> &arguments,
                   const std::vector<TensorView> &results,
                   const std::string &part) {
  Status status = kernel.run(arguments, results);
  ASSERT_FALSE(status.ok()) << "expected: " << part;
  EXPECT_NE(status.error().message.find(part), std::string::npos)
      << status.error().message;
}

const char *const gatherText = R"(
func.func @gather(%table: tensor<?xf32>, %index: tensor<?xindex>)
    -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %index, %c0 : tensor<?xindex>
  %result = tensor.generate %size {
  ^bb0(%i: index):
    %at = tensor.extract %index[%i] : tensor<?xindex>
    %value = tensor.extract %table[%at] : tensor<?xf32>
    tensor.yield %value : f32
  } : tensor<?xf32>
  return %result : tensor<?xf32>
})";

TEST(JITRun, IndexOutsideATensor) {
  Kernel kernel = compile(gatherText);
  Tensor<float> table({4}, {10, 11, 12, 13}), out({3});
  Tensor<std::int64_t> index({3}, {3, 0, 2});
  ASSERT_TRUE(kernel.run({table.view(), index.view()}, {out.view()}).ok());
  EXPECT_EQ(out.data, (std::vector<float>{13, 10, 12}));
  for (std::int64_t bad : {std::int64_t(4), std::int64_t(-1),
                           std::numeric_limits<std::int64_t>::min()}) {
    index.data[1] = bad;
    expectFailure(kernel, {table.view(), index.view()}, {out.view()},
                  "<string>:9:14: 'tensor.extract' op out-of-bounds access");
  }
}

TEST(JITRun, Assertion) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xf32>, %ok: i1) -> tensor<?xf32> {
  cf.assert %ok, "that is not \22ok\22"
  return %a : tensor<?xf32>
})");
  Tensor<float> a({1}, 5.0f), out({1});
  EXPECT_TRUE(kernel.run({a.view(), true}, {out.view()}).ok());
  expectFailure(kernel, {a.view(), false}, {out.view()},
                "<string>:3:3: that is not \"ok\"");
  // The failure leaves nothing behind.
  EXPECT_TRUE(kernel.run({a.view(), true}, {out.view()}).ok());
}

TEST(JITRun, Divisions) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xi32>, %b: tensor<?xi32>)
    -> (tensor<?xi32>, tensor<?xi32>) {
  %q = arith.divsi %a, %b : tensor<?xi32>
  %r = arith.remui %a, %b : tensor<?xi32>
  return %q, %r : tensor<?xi32>, tensor<?xi32>
})");
  constexpr std::int32_t smallest = std::numeric_limits<std::int32_t>::min();
  Tensor<std::int32_t> a({2}, {7, smallest}), b({2}, {-2, 1}), q({2}), r({2});
  ASSERT_TRUE(kernel.run({a.view(), b.view()}, {q.view(), r.view()}).ok());
  EXPECT_EQ(q.data, (std::vector<std::int32_t>{-3, smallest}));
  b.data[1] = 0;
  expectFailure(kernel, {a.view(), b.view()}, {q.view(), r.view()},
                "<string>:4:8: 'arith.divsi' op division by zero");
  b.data[1] = -1;
  expectFailure(kernel, {a.view(), b.view()}, {q.view(), r.view()},
                "'arith.divsi' op quotient does not fit its type");
}

TEST(JITRun, SizesThatDoNotFitTogether) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xf32>, %b: tensor<?xf32>, %both: i1) -> tensor<?xf32> {
  %result = scf.if %both -> tensor<?xf32> {
    %sum = arith.addf %a, %b : tensor<?xf32>
    scf.yield %sum : tensor<?xf32>
  } else {
    scf.yield %a : tensor<?xf32>
  }
  return %result : tensor<?xf32>
})");
  Tensor<float> a({3}), b({4}), out({3});
  EXPECT_TRUE(kernel.run({a.view(), b.view(), false}, {out.view()}).ok());
  expectFailure(kernel, {a.view(), b.view(), true}, {out.view()},
                "<string>:4:12: 'linalg.generic' op dimension #0");
}

TEST(JITRun, ShapesThatDoNotFitTogether) {
  Kernel kernel = compile(R"(
func.func @f(%a: tensor<?xf32>, %b: tensor<?x?xf32>, %n: index)
    -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %expanded = tensor.expand_shape %a [[0, 1]] output_shape [%n, 4]
      : tensor<?xf32> into tensor<?x4xf32>
  %wide = tensor.cast %expanded : tensor<?x4xf32> to tensor<?x?xf32>
  %joined = tensor.concat dim(0) %wide, %b
      : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %joined : tensor<?x?xf32>
})");
  Tensor<float> a({8}, 1.0f), b({1, 4}, 2.0f), out({3, 4});
  Status status = kernel.run({a.view(), b.view(), 2}, {out.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(out.data, (std::vector<float>{1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2}));
  Tensor<float> tall({4, 4}), wide({1, 5});
  expectFailure(kernel, {a.view(), b.view(), 3}, {tall.view()},
                "dimension 0 of the source is not the product");
  // 4 * (2^62 + 2) wraps to 8.
  std::int64_t wrapping = (std::int64_t(1) << 62) + 2;
  std::vector<std::int64_t> absurd = {wrapping + 1, 4}, strides = {0, 1};
  expectFailure(kernel, {a.view(), wide.view(), 2}, {out.view()},
                "dimension 1 of input 1 differs from that of input 0");
}

const char *const scratchText = R"(
func.func @scratch(%n: index, %m: index, %fail: i1) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty(%n, %m) : tensor<?x?xf32>
  %ones = linalg.fill ins(%one : f32) outs(%empty : tensor<?x?xf32>)
      -> tensor<?x?xf32>
  %true = arith.constant true
  %ok = arith.xori %fail, %true : i1
  cf.assert %ok, "asked to fail"
  %zero = arith.constant 0.0 : f32
  %sum_empty = tensor.empty() : tensor<f32>
  %sum_init = linalg.fill ins(%zero : f32) outs(%sum_empty : tensor<f32>)
      -> tensor<f32>
  %sum = linalg.reduce ins(%ones : tensor<?x?xf32>)
      outs(%sum_init : tensor<f32>) dimensions = [0, 1]
      (%in: f32, %acc: f32) {
        %next = arith.addf %in, %acc : f32
        linalg.yield %next : f32
      }
  return %sum : tensor<f32>
})";

TEST(JITRun, OutOfMemory) {
  Kernel kernel = compile(scratchText);
  Tensor<float> out({});
  ASSERT_TRUE(kernel.run({3, 4, false}, {out.view()}).ok());
  EXPECT_EQ(out.data[0], 12.0f);
  constexpr std::int64_t big = std::int64_t(1) << 31;
  // Fits 64 bits; bytes that wrap to 0; a negative size is a huge one.
  expectFailure(kernel, {big, big / 2, false}, {out.view()},
                "out of memory: kernel asked for 9223372036854775808 bytes");
  expectFailure(kernel, {big, 2 * big, false}, {out.view()},
                "out of memory: kernel asked for 18446744073709551615 bytes");
  expectFailure(kernel, {-1, 1, false}, {out.view()},
                "out of memory: kernel asked for 18446744073709551615 bytes");
  // More than any machine has, which is for the system's allocator to say.
  expectFailure(kernel, {big, std::int64_t(1) << 24, false}, {out.view()},
                "out of memory: kernel asked for 144115188075855872 bytes");
}

TEST(JITRun, FailedCallLeaksNothing) {
  Kernel kernel = compile(scratchText); // Its buffer lives while it fails.
  Tensor<float> out({});
  auto fail = [&] {
    expectFailure(kernel, {std::int64_t(256), std::int64_t(1024), true},
                  {out.view()}, "asked to fail");
  };
  fail();
  auto allocated = [] {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  std::size_t before = allocated();
  for (int i = 0; i < 50; ++i)
    fail();
  EXPECT_LT(allocated(), before + 0x100000);
}

/// Is an error, not the end of the process, and the engine goes on.
TEST(JITRun, PoolThatThrows) {
  bool fails = true;
  Expected<Engine> engine = Engine::create(
      {.threads = 4, .parallelFor = [&](int count, const ParallelTask &task) {
         for (int i = 0; i < count; ++i) {
           if (fails && i == 2)
             throw std::runtime_error("no more threads");
           task(i);
         }
       }});
  ASSERT_TRUE(engine.ok());
  Expected<Kernel> kernel = engine->compile(R"(
func.func @attend(%query: tensor<2x8x64x16xf32>, %key: tensor<2x8x64x16xf32>,
                  %value: tensor<2x8x64x16xf32>) -> tensor<2x8x64x16xf32> {
  %init = tensor.empty() : tensor<2x8x64x16xf32>
  %output = attn.attention
      ins(%query, %key, %value : tensor<2x8x64x16xf32>, tensor<2x8x64x16xf32>,
          tensor<2x8x64x16xf32>)
      outs(%init : tensor<2x8x64x16xf32>)
  return %output : tensor<2x8x64x16xf32>
})");
  ASSERT_TRUE(kernel.ok());
  Tensor<float> in({2, 8, 64, 16}, 1.0f), out({2, 8, 64, 16});
  expectFailure(*kernel, {in.view(), in.view(), in.view()}, {out.view()},
                "parallelFor: expected no exception, got 'no more threads'");
  fails = false;
  ASSERT_TRUE(
      kernel->run({in.view(), in.view(), in.view()}, {out.view()}).ok());
  for (float element : out.data)
    EXPECT_NEAR(element, 1.0f, 1e-6f);
}

TEST(JITRun, ManyThreadsOneKernel) {
  Kernel kernel = compile(gatherText);
  std::atomic<int> succeeded = 0, failed = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Tensor<float> table({4}, {0, 1, 2, 3}), out({1});
      for (int i = 0; i < 200; ++i) {
        std::int64_t at = (i + t) % 6; // 4 and 5 fail.
        Tensor<std::int64_t> index({1}, at);
        Status status = kernel.run({table.view(), index.view()}, {out.view()});
        if (status.ok() && at < 4 && out.data[0] == float(at))
          ++succeeded;
        if (!status.ok() && at >= 4)
          ++failed;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(succeeded + failed, 8 * 200);
  EXPECT_GT(failed, 0);
}

} // namespace
