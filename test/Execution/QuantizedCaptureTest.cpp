//===- QuantizedCaptureTest.cpp - What i8 costs on a model's layer --------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys and values of examples/smollm2, a layer of a language model, go through
// caches of i8. What that changes in the layer's output is measured with the
// float64 oracle, and compiled kernels have to differ from the oracle on the
// same rows by no more than rounding.
//
//===----------------------------------------------------------------------===//

#include "attn/engine.h"
#include "runtime/Npy/Npy.h"
#include "runtime/Reference/Attention.h"
#include "runtime/Reference/Cache.h"
#include "runtime/Reference/Compare.h"
#include "runtime/Reference/Values.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>

using namespace attn;

namespace {

using Index = std::int64_t;

NpyArray load(const std::string &name) {
  Expected<NpyArray> array =
      readNpy(ATTN_EXAMPLES_DIR "/smollm2/capture/" + name + ".npy");
  EXPECT_TRUE(array) << array.error().message;
  return std::move(*array);
}

struct Errors {
  double largest; ///< max|a-b| / max|b|.
  double mean;    ///< Of squares, relative, square root.
};

Errors measure(const std::vector<double> &actual,
               const std::vector<double> &expected) {
  double largest = 0, size = 0, difference = 0, squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double error = std::abs(actual[i] - expected[i]);
    largest = std::max(largest, error);
    size = std::max(size, std::abs(expected[i]));
    difference += error * error;
    squares += expected[i] * expected[i];
  }
  return {largest / size, std::sqrt(difference / squares)};
}

class QuantizedCapture : public testing::Test {
protected:
  static constexpr Index heads = 3, headSize = 64;

  /// The rows as a cache of i8 gives them back.
  std::vector<double> quantize(const NpyArray &rows) {
    Index heads = rows.shape()[1];
    reference::Cache cache;
    cache.type = ElementType::i8;
    cache.shape = {1, heads, length, headSize};
    cache.elements.resize(std::size_t(heads * length * headSize));
    cache.scales.resize(std::size_t(heads * length));
    Status status = reference::append(cache, rows.view(), {0}, {});
    EXPECT_TRUE(status) << status.error().message;
    auto read = reference::read(cache, {length}, length, ElementType::f32);
    EXPECT_TRUE(read) << read.error().message;
    return *read;
  }

  TensorView viewOf(const std::vector<double> &rows) const {
    const Index sizes[] = {1, Index(rows.size()) / (length * headSize), length,
                           headSize};
    return TensorView(rows.data(), sizes);
  }

  std::vector<double> attend(TensorView keys, TensorView values) const {
    return attend(query.view(), std::move(keys), std::move(values));
  }
  std::vector<double> attend(TensorView queries, TensorView keys,
                             TensorView values) const {
    reference::AttentionProblem problem;
    problem.query = std::move(queries);
    problem.key = std::move(keys);
    problem.value = std::move(values);
    problem.mask = [](Index, Index, Index p, Index j) { return j <= p; };
    auto result = reference::attention(problem);
    EXPECT_TRUE(result) << result.error().message;
    return result->output;
  }

  void testKernels(bool quantizeQueries);

  NpyArray query = load("query"), key = load("key"), value = load("value");
  Index length = key.shape()[2];
};

TEST_F(QuantizedCapture, ErrorOfTheOutput) {
  NpyArray saved = load("output");
  std::vector<double> expected = *reference::toDoubles("output", saved.view());
  std::vector<double> keys = quantize(key), values = quantize(value),
                      queries = quantize(query);
  auto reportOutput = [&](const char *name, const std::vector<double> &output) {
    Errors errors = measure(output, expected);
    std::cout << name << ": largest " << errors.largest << ", mean square "
              << errors.mean << "\n";
    return errors;
  };
  auto report = [&](const char *name, const TensorView &k,
                    const TensorView &v) {
    return reportOutput(name, attend(k, v));
  };
  reportOutput("queries of i8",
               attend(viewOf(queries), key.view(), value.view()));
  EXPECT_LT(report("as captured", key.view(), value.view()).largest, 1e-6);
  report("keys of i8", viewOf(keys), value.view());
  report("values of i8", key.view(), viewOf(values));
  Errors both = report("both of i8", viewOf(keys), viewOf(values));
  // What docs/benchmarks-decode.md says: 2.2e-2 and 2.3e-2, mostly the keys'.
  EXPECT_LT(both.largest, 3e-2);
  EXPECT_LT(both.mean, 3e-2);
  EXPECT_GT(both.largest, 1e-4); // It was quantized.
  Errors all = reportOutput(
      "all of i8", attend(viewOf(queries), viewOf(keys), viewOf(values)));
  EXPECT_LT(all.largest, 6e-2);
  EXPECT_LT(all.mean, 6e-2);
}

/// Appends all keys and values to empty caches of i8 and attends to them.
void QuantizedCapture::testKernels(bool quantizeQueries) {
  std::vector<double> keys = quantize(key), values = quantize(value),
                      rounded = quantize(query);
  std::vector<double> exact = attend(viewOf(keys), viewOf(values)),
                      quantized =
                          attend(viewOf(rounded), viewOf(keys), viewOf(values));
  Expected<Engine> engine = Engine::create();
  ASSERT_TRUE(engine) << engine.error().message;
  for (Index queries : {length, Index(1)}) {
    std::string queryType =
        "tensor<1x9x" + std::to_string(queries) + "x64xf32>";
    std::string text = "!q = " + queryType + R"(
      !rows = tensor<1x3x?x64xf32>
      !cache = tensor<1x3x?x64xi8>
      !scales = tensor<1x3x?xf32>
      !lengths = tensor<1xi32>
      func.func @f(%query: !q, %key: !rows, %value: !rows,
                   %keys: !cache {bufferization.writable = true},
                   %key_scales: !scales {bufferization.writable = true},
                   %values: !cache {bufferization.writable = true},
                   %value_scales: !scales {bufferization.writable = true},
                   %before: !lengths, %after: !lengths)
          -> (!q, !cache, !scales, !cache, !scales) {
        %c2 = arith.constant 2 : index
        %n = tensor.dim %keys, %c2 : !cache
        %0:2 = attn.cache_append ins(%key : !rows)
            outs(%keys, %key_scales : !cache, !scales)
            lengths(%before : !lengths)
        %1:2 = attn.cache_append ins(%value : !rows)
            outs(%values, %value_scales : !cache, !scales)
            lengths(%before : !lengths)
        %k = attn.cache_read ins(%0#0, %0#1 : !cache, !scales)
            lengths(%after : !lengths) size(%n) -> !rows
        %v = attn.cache_read ins(%1#0, %1#1 : !cache, !scales)
            lengths(%after : !lengths) size(%n) -> !rows
        %init = tensor.empty() : !q
        %output = attn.attention ins(%query, %k, %v : !q, !rows, !rows)
            outs(%init : !q) offset(bottom_right) mask causal
        return %output, %0#0, %0#1, %1#0, %1#1
            : !q, !cache, !scales, !cache, !scales
      })";
    Expected<Kernel> kernel =
        engine->compile(text, {.quantizeQueries = quantizeQueries});
    ASSERT_TRUE(kernel) << kernel.error().message;

    std::vector<std::int8_t> storedKeys(key.bytes().size() / sizeof(float)),
        storedValues(storedKeys.size());
    std::vector<float> keyScales(std::size_t(heads * length)),
        valueScales(keyScales.size()),
        output(std::size_t(9 * queries * headSize));
    const Index cacheSizes[] = {1, heads, length, headSize},
                querySizes[] = {1, 9, queries, headSize},
                queryStrides[] = {0, length * headSize, headSize, 1},
                one[] = {1};
    const std::int32_t before[] = {0}, after[] = {std::int32_t(length)};
    const std::span<const Index> scaleSizes(cacheSizes, 3);
    const float *first = reinterpret_cast<const float *>(query.bytes().data()) +
                         (length - queries) * headSize;
    const TensorView results[] = {TensorView(output.data(), querySizes),
                                  TensorView(storedKeys.data(), cacheSizes),
                                  TensorView(keyScales.data(), scaleSizes),
                                  TensorView(storedValues.data(), cacheSizes),
                                  TensorView(valueScales.data(), scaleSizes)};
    const std::vector<Argument> arguments = {
        TensorView(first, querySizes, queryStrides),
        key.view(),
        value.view(),
        results[1],
        results[2],
        results[3],
        results[4],
        TensorView(before, one),
        TensorView(after, one)};
    Status status = kernel->run(arguments, results);
    ASSERT_TRUE(status) << status.error().message;

    auto select = [&](const std::vector<double> &all) {
      std::vector<double> rows;
      for (Index h = 0; h < 9; ++h)
        for (Index i = length - queries; i < length; ++i)
          for (Index d = 0; d < headSize; ++d)
            rows.push_back(all[std::size_t((h * length + i) * headSize + d)]);
      return rows;
    };
    std::vector<double> actual(output.begin(), output.end());
    double error = measure(actual, select(exact)).largest, tolerance = 2e-6;
    // Where there are dot products of i8, one query of a head is rounded: as
    // the oracle's, but for elements in the middle of two steps, as far as f32
    // can tell.
    if (quantizeQueries && queries == 1 && error > tolerance) {
      error = measure(actual, select(quantized)).largest;
      tolerance = 2e-3;
    }
    EXPECT_LT(error, tolerance) << queries;
  }
}

TEST_F(QuantizedCapture, Kernels) { testKernels(/*quantizeQueries=*/false); }

TEST_F(QuantizedCapture, KernelsWithQuantizedQueries) {
  testKernels(/*quantizeQueries=*/true);
}

} // namespace
