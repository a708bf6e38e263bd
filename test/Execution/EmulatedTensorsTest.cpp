//===- EmulatedTensorsTest.cpp - Tensors beside attention on GPUs ---------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants, and tensors that several operations write, executed on the
// emulator, against the interpreter.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/EverywhereRun.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

string runOnEmulator(const string &text,
                     const std::vector<TestArgument> &arguments) {
  return runEverywhere(text, arguments, false, {"gpu-emulator"}).error;
}

/// Each operand of attention may be one, of every element type.
TEST(EmulatedTensors, constants) {
  TestTensor query = normal(ElementType::f16, {2, 2, 5, 16});
  EXPECT_EQ(runOnEmulator(R"(
!q = tensor<2x2x5x16xf16>
func.func @f(%q: !q) -> !q {
  %v = arith.constant dense<1.5> : !q
  %offset = arith.constant dense<[3, -2]> : tensor<2xi64>
  %sink = arith.constant dense<[0.5, -1.0]> : tensor<2xf32>
  %slopes = arith.constant dense<[0.5, 0.25]> : tensor<2xf16>
  %keep = arith.constant dense<[[true, false, true, true, false],
                                [false, true, true, false, true]]> : tensor<2x5xi1>
  %init = arith.constant dense<0.0> : !q
  %o = attn.attention ins(%q, %q, %v : !q, !q, !q) outs(%init : !q)
      offset(%offset : tensor<2xi64>) sink(%sink : tensor<2xf32>)
      score alibi(%slopes : tensor<2xf16>)
      mask causal, key_padding(%keep : tensor<2x5xi1>)
  return %o : !q
})",
                          {query}),
            "");
}

/// A part of a constant, and one element of another, which the host needs.
TEST(EmulatedTensors, partsOfConstants) {
  string text = R"(
!q = tensor<1x1x4x8xf32>
func.func @f(%q: !q, %i: index) -> !q {
  %all = arith.constant dense<[[[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]],
                                [[9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0]]]]>
      : tensor<1x2x1x8xf32>
  %scales = arith.constant dense<[0.25, 0.5]> : tensor<2xf32>
  %kv = tensor.extract_slice %all[0, %i, 0, 0] [1, 1, 1, 8] [1, 1, 1, 1]
      : tensor<1x2x1x8xf32> to tensor<1x1x1x8xf32>
  %scale = tensor.extract %scales[%i] : tensor<2xf32>
  %init = tensor.empty() : !q
  %l = tensor.empty() : tensor<1x1x4xf32>
  %o:2 = attn.attention
      ins(%q, %kv, %kv : !q, tensor<1x1x1x8xf32>, tensor<1x1x1x8xf32>)
      outs(%init, %l : !q, tensor<1x1x4xf32>) scale(%scale : f32)
  return %o#0 : !q
})";
  // The interpreter has no slices: with one key, the output is that key.
  Engine engine = getEngine();
  CompileOptions options;
  options.pipeline = "gpu-emulator";
  Expected<Kernel> kernel = engine.compile(text, options);
  ASSERT_TRUE(kernel) << kernel.error().message;
  TestTensor query = normal(ElementType::f32, {1, 1, 4, 8}),
             output(ElementType::f32, {1, 1, 4, 8});
  for (Index i : {0, 1}) {
    Status status = kernel->run({query.view(), i}, {output.mutableView()});
    ASSERT_TRUE(status) << status.error().message;
    for (Index d = 0; d < 8; ++d)
      EXPECT_EQ(output.get({0, 0, 3, d}), double(i == 0 ? 1 + d : 9 - d));
  }
}

/// Where sequences begin, and where their pages are.
TEST(EmulatedTensors, constantLengths) {
  TestTensor query = normal(ElementType::f32, {1, 1, 20, 16}),
             token = normal(ElementType::f32, {2, 2, 1, 5}),
             pages = normal(ElementType::f32, {3, 1, 8, 5});
  EXPECT_EQ(runOnEmulator(R"(
!q = tensor<1x1x20x16xf32>
func.func @f(%q: !q) -> !q {
  %c = arith.constant dense<[0, 7, 19]> : tensor<3xi32>
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      sequences(%c, %c : tensor<3xi32>, tensor<3xi32>) mask causal
  return %o : !q
})",
                          {query}),
            "");
  EXPECT_EQ(runOnEmulator(R"(
!q = tensor<2x2x1x5xf32>
!kv = tensor<2x1x16x5xf32>
func.func @f(%q: !q, %pages: tensor<3x1x8x5xf32>) -> !q {
  %table = arith.constant dense<[[2, 0], [1, 0]]> : tensor<2x2xi32>
  %n = arith.constant dense<[11, 3]> : tensor<2xi32>
  %k = attn.cache_read ins(%pages : tensor<3x1x8x5xf32>)
      lengths(%n : tensor<2xi32>) table(%table : tensor<2x2xi32>) -> !kv
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %k, %k : !q, !kv, !kv) outs(%init : !q)
      mask key_padding(%n : tensor<2xi32>)
  return %o : !q
})",
                          {token, pages}),
            "");
}

/// Positions are of 32 bits: a sequence whose positions may not fit is refused,
/// by its name, before anything is read.
TEST(EmulatedTensors, longSequences) {
  CompileOptions options;
  options.pipeline = "gpu-emulator";
  Expected<Kernel> kernel = getEngine().compile(R"(
!q = tensor<1x1x?x8xf16>
func.func @f(%query: !q, %key: !q, %value: !q) -> !q {
  %c2 = arith.constant 2 : index
  %rows = tensor.dim %query, %c2 : !q
  %init = tensor.empty(%rows) : !q
  %o = attn.attention ins(%query, %key, %value : !q, !q, !q)
      outs(%init : !q) mask causal
  return %o : !q
})",
                                                options);
  ASSERT_TRUE(kernel) << kernel.error().message;
  std::vector<f16> row(8), out(8);
  // The same row, again and again.
  auto rows = [&](std::int64_t count) {
    const std::int64_t sizes[] = {1, 1, count, 8}, strides[] = {0, 0, 0, 1};
    return TensorView(row.data(), sizes, strides);
  };
  const std::int64_t one[] = {1, 1, 1, 8};
  constexpr std::int64_t kMost = (std::int64_t(1) << 29) - 1;
  Status status = kernel->run({rows(1), rows(kMost + 1), rows(kMost + 1)},
                              {TensorView(out.data(), one)});
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find(
                "argument 'key': dimension 2 (key/value length) is more than "
                "536870911"),
            string::npos)
      << status.error().message;
}

/// One tensor.empty for two attentions and what merges them, of any number of
/// queries and of one.
TEST(EmulatedTensors, sharedDestinations) {
  string text = R"(
!q = tensor<?x2x?x16xf16>
!l = tensor<?x2x?xf32>
func.func @f(%q: !q, %k1: !q, %k2: !q) -> (!q, !l) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !q
  %n = tensor.dim %q, %c2 : !q
  %o = tensor.empty(%b, %n) : !q
  %l = tensor.empty(%b, %n) : !l
  %x:2 = attn.attention ins(%q, %k1, %k1 : !q, !q, !q) outs(%o, %l : !q, !l)
  %y:2 = attn.attention ins(%q, %k2, %k2 : !q, !q, !q) outs(%o, %l : !q, !l)
  %m:2 = attn.merge ins(%x#0, %x#1, %y#0, %y#1 : !q, !l, !q, !l)
      outs(%o, %l : !q, !l)
  return %m#0, %m#1 : !q, !l
})";
  for (Index n : {1, 20})
    EXPECT_EQ(
        runOnEmulator(text, {normal(ElementType::f16, {2, 2, n, 16}, 1),
                             normal(ElementType::f16, {2, 2, 3, 16}, 2),
                             normal(ElementType::f16, {2, 2, 30, 16}, 3)}),
        "");
}

/// What an attention writes is what the next one reads, and a result.
TEST(EmulatedTensors, chain) {
  string text = R"(
!q = tensor<?x1x?x16xf32>
func.func @f(%q: !q, %k: !q) -> (!q, !q) {
  %x = attn.attention ins(%q, %k, %k : !q, !q, !q) outs(%q : !q)
  %y = attn.attention ins(%x, %k, %k : !q, !q, !q) outs(%q : !q)
  return %x, %y : !q, !q
})";
  for (Index n : {1, 9})
    EXPECT_EQ(runOnEmulator(text, {normal(ElementType::f32, {2, 1, n, 16}, 1),
                                   normal(ElementType::f32, {2, 1, 7, 16}, 2)}),
              "");
}

/// Elements computed from where they are, several at once, and one alone.
TEST(EmulatedTensors, elements) {
  string text = R"(
!q = tensor<1x2x4x16xf32>
#all = affine_map<(b, h, i, d) -> (b, h, i, d)>
func.func @f(%q: !q, %x: tensor<f32>) -> (!q, !q, tensor<2xf32>, tensor<f32>) {
  %slopes = tensor.generate {
  ^bb0(%h: index):
    %i = arith.index_cast %h : index to i32
    %f = arith.sitofp %i : i32 to f32
    tensor.yield %f : f32
  } : tensor<2xf32>
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%init : !q)
      score alibi(%slopes : tensor<2xf32>)
  %r:2 = linalg.generic {indexing_maps = [#all, #all, #all],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o : !q) outs(%init, %init : !q, !q) {
  ^bb0(%e: f32, %y: f32, %z: f32):
    %s = arith.addf %e, %e : f32
    %n = arith.negf %e : f32
    linalg.yield %s, %n : f32, f32
  } -> (!q, !q)
  %y = arith.addf %x, %x : tensor<f32>
  return %r#0, %r#1, %slopes, %y : !q, !q, tensor<2xf32>, tensor<f32>
})";
  // The interpreter has no such operations.
  Shape shape = {1, 2, 4, 16};
  TestTensor query = normal(ElementType::f32, shape),
             one = normal(ElementType::f32, {});
  std::vector<std::vector<TestTensor>> results;
  for (const char *pipeline : {"reference", "gpu-emulator"}) {
    CompileOptions options;
    options.pipeline = pipeline;
    Expected<Kernel> kernel = getEngine().compile(text, options);
    ASSERT_TRUE(kernel) << kernel.error().message;
    std::vector<TestTensor> own;
    for (const Shape &size : {shape, shape, Shape{2}, Shape{}})
      own.emplace_back(ElementType::f32, size);
    std::vector<TensorView> views;
    for (TestTensor &result : own)
      views.push_back(result.mutableView());
    Status status =
        kernel->run(std::vector<Argument>{query.view(), one.view()}, views);
    ASSERT_TRUE(status) << status.error().message;
    results.push_back(std::move(own));
  }
  for (std::size_t i = 0; i < 4; ++i)
    expectNear(results[1][i].elements(), results[0][i].elements(), 1e-5);
}

} // namespace
