//===- DecodingTest.cpp - Rows stored one by one are prefill --------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows that are appended to a cache one by one, and attended to after each,
// give what one causal attention on all of them gives; of a ring, what a
// sliding window gives.
//
//===----------------------------------------------------------------------===//

#include "test/Execution/CacheText.h"
#include "test/Execution/Covering.h"
#include "test/Execution/EverywhereRun.h"
#include "test/Execution/RuleTesting.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace attn;
using namespace attn::test;
using std::string;

namespace {

/// A step of decoding: one row for each sequence, or none.
string writeStep(ElementType type, Index size, CacheKind kind,
                 const string &mask, bool isInt8, Index staticRows) {
  const char *writable = " {bufferization.writable = true}";
  string row = std::to_string(size), rows = tensorType("?x2x1x" + row, type),
         query = tensorType("?x4x1x" + row, type),
         key = tensorType("?x2x?x" + row, type);
  auto cache = [&](const string &name) {
    return CacheText{.name = name,
                     .kind = kind,
                     .stored = isInt8 ? ElementType::i8 : type,
                     .heads = 2,
                     .size = size,
                     .rows = staticRows ? std::to_string(staticRows) : "?"};
  };
  CacheText keys = cache("%keys"), values = cache("%values");
  string results = query + ", " + keys.types() + ", " + values.types();
  auto store = [&](const CacheText &cache, const string &from,
                   const string &result) {
    return cache.append(from + " : " + rows,
                        "lengths(%lengths : tensor<?xi32>) "
                        "counts(%counts : tensor<?xi32>)") +
           cache.readUpdated(result, "lengths(%after : tensor<?xi32>)", key);
  };
  return "func.func @f(%query: " + query + ", %k: " + rows + ", %v: " + rows +
         ", %lengths: tensor<?xi32>, %counts: tensor<?xi32>, "
         "%after: tensor<?xi32>, %n: index, " +
         keys.parameters(writable) + ", " + values.parameters(writable) +
         (keys.isPaged() ? ", %table: tensor<?x?xi32>" : "") + ") -> (" +
         results + ") {\n" + store(keys, "%k", "%key") +
         store(values, "%v", "%value") +
         "%c0 = arith.constant 0 : index\n%batch = tensor.dim %query, %c0 : " +
         query + "\n%o = tensor.empty(%batch) : " + query +
         "\n%0 = attn.attention ins(%query, %key, %value : " + query + ", " +
         key + ", " + key + ") outs(%o : " + query +
         ") offset(%lengths : tensor<?xi32>) " + mask + "\nreturn %0, " +
         keys.updated() + ", " + values.updated() + " : " + results + "\n}\n";
}

struct DecodeCase {
  CacheKind kind;
  ElementType type;
  bool isInt8;
  double tolerance;
  Index steps = 50, size = 8, window = 12, pageSize = 4;
  /// Whether pages and rings have static sizes, so that they are read in place.
  bool isStatic = false;
};

/// Row `row` of every head.
TestTensor takeRow(const TestTensor &tensor, const std::vector<Index> &row) {
  TestTensor result(tensor.type(),
                    {tensor.size(0), tensor.size(1), 1, tensor.size(3)});
  result.fill([&](const Shape &i) {
    return *tensor.get(
        {i[0], i[1], std::max<Index>(row[std::size_t(i[0])], 0), i[3]});
  });
  return result;
}

void testDecode(const DecodeCase &test) {
  const Index batch = 2, steps = test.steps, size = test.size,
              window = test.window, pageSize = test.pageSize;
  // The second sequence begins later.
  const Index lag = 10;
  bool isRing = test.kind == CacheKind::ring,
       isPaged = test.kind == CacheKind::paged;
  string windowMask = ", sliding_window(" + std::to_string(window - 1) + ", 0)";
  string causal = "mask causal" + (isRing ? windowMask : "");
  TestTensor query = normal(test.type, {batch, 4, steps, size}, 1),
             key = normal(test.type, {batch, 2, steps, size}, 2),
             value = normal(test.type, {batch, 2, steps, size}, 3);
  KernelText prefill{.type = test.type,
                     .queryHeads = 4,
                     .keyValueHeads = 2,
                     .keySize = size,
                     .valueSize = size,
                     .clauses = causal};
  Expected<Kernel> whole = getEngine().compile(prefill.write());
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  std::vector<double> expected =
      run(*whole, {query.view(), key.view(), value.view()}).output;

  Index staticRows = !test.isStatic ? 0
                     : isPaged      ? pageSize
                     : isRing       ? window
                                    : 0;
  Expected<Kernel> step = getEngine().compile(
      writeStep(test.type, size, test.kind,
                causal + ", key_padding(%after : tensor<?xi32>)", test.isInt8,
                staticRows));
  ASSERT_TRUE(step.ok()) << step.error().message;
  Shape shape = {batch, 2, isRing ? window : steps, size};
  Index maxPages = (steps + pageSize - 1) / pageSize;
  if (isPaged)
    shape = {batch * maxPages, 2, pageSize, size};
  ElementType stored = test.isInt8 ? ElementType::i8 : test.type;
  TestTensor keys(stored, shape), values(stored, shape),
      keyScales(ElementType::f32, {shape[0], 2, shape[2]}),
      valueScales(ElementType::f32, {shape[0], 2, shape[2]}),
      pages(ElementType::i32, {batch, maxPages});
  // A multiplication by a number that has no common factor shuffles.
  pages.fill([&](const Shape &i) {
    return double((i[0] * maxPages + i[1]) * 7 % (batch * maxPages));
  });

  double largestError = 0, largest = 0;
  for (Index t = 0; t < steps; ++t) {
    std::vector<Index> rows = {t, t - lag};
    std::vector<double> lengths, counts, after;
    for (Index row : rows) {
      lengths.push_back(double(std::max<Index>(row, 0)));
      counts.push_back(row >= 0);
      after.push_back(lengths.back() + counts.back());
    }
    TestTensor q = takeRow(query, rows), k = takeRow(key, rows),
               v = takeRow(value, rows), lengthTensor = i32(lengths),
               countTensor = i32(counts), afterTensor = i32(after);
    std::vector<Argument> arguments = {
        q.view(),           k.view(),           v.view(), lengthTensor.view(),
        countTensor.view(), afterTensor.view(), t + 1,    keys.view()};
    if (test.isInt8)
      arguments.push_back(keyScales.view());
    arguments.push_back(values.view());
    if (test.isInt8)
      arguments.push_back(valueScales.view());
    if (isPaged)
      arguments.push_back(pages.view());
    TestTensor output(test.type, {batch, 4, 1, size});
    std::vector<TensorView> results = {output.mutableView(),
                                       keys.mutableView()};
    if (test.isInt8)
      results.push_back(keyScales.mutableView());
    results.push_back(values.mutableView());
    if (test.isInt8)
      results.push_back(valueScales.mutableView());
    Status status = step->run(arguments, results);
    ASSERT_TRUE(status.ok()) << "step " << t << ": " << status.error().message;
    for (Index b = 0; b < batch; ++b)
      for (Index h = 0; h < 4; ++h)
        for (Index d = 0; d < size; ++d) {
          double actual = *output.get({b, h, 0, d}), oracle = 0;
          Index row = rows[std::size_t(b)];
          if (row >= 0)
            oracle =
                expected[std::size_t(((b * 4 + h) * steps + row) * size + d)];
          largestError = std::max(largestError, std::fabs(actual - oracle));
          largest = std::max(largest, std::fabs(oracle));
        }
  }
  EXPECT_LE(largestError / largest, test.tolerance);
}

TEST(Decoding, is_prefill) {
  struct Elements {
    ElementType type;
    bool isInt8;
    double tolerance;
  };
  const std::vector<Elements> elements = {
      {ElementType::f64, false, 1e-12},
      {ElementType::f32, false, 2e-6},
      {ElementType::f16, false, 2e-3},
      {ElementType::bf16, false, 1.6e-2},
      // A row of standard normal numbers has 127 steps up to about 2.
      {ElementType::f32, true, 2e-2}};
  for (auto [kind, of] :
       coverChoices<CacheKind, Elements>(allCacheKinds, elements)) {
    SCOPED_TRACE(nameOf(kind));
    testDecode({kind, of.type, of.isInt8, of.tolerance});
  }
}

/// In the form for few rows, on blocks of keys that lie in the cache.
TEST(Decoding, of_2000_rows_is_prefill) {
  for (auto [kind, isInt8] :
       coverChoices<CacheKind, bool>(allCacheKinds, {false, true})) {
    SCOPED_TRACE(nameOf(kind));
    DecodeCase test{kind, ElementType::f32, isInt8, isInt8 ? 2e-2 : 2e-6};
    test.steps = 2000;
    test.size = 32;
    test.window = 256;
    test.pageSize = 16;
    test.isStatic = true;
    testDecode(test);
  }
}

/// Whichever form the number of queries asks for.
TEST(Decoding, what_an_updated_argument_held_can_be_a_result) {
  for (Index length : {0, 1, 3, 70}) {
    SCOPED_TRACE(length);
    TestTensor query = normal(ElementType::f32, {1, 2, length, 4}),
               updated = normal(ElementType::f32, {1, 2, length, 4}, 2);
    runEverywhere(R"(!q = tensor<1x2x?x4xf32>
func.func @f(%q: !q, %o: !q {bufferization.writable = true}) -> (!q, !q) {
  %r = attn.attention ins(%q, %q, %q : !q, !q, !q) outs(%o : !q)
  return %r, %o : !q, !q
})",
                  {query, updated}, /*quantizeQueries=*/false, everyPipeline);
  }
}

} // namespace
