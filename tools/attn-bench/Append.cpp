//===- Append.cpp - Appending to caches ---------------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// New keys and values of every sequence are stored behind those that its cache
// holds, which come from memory. Counters, all medians over the repetitions:
//
// - `gbps`: 10^9 bytes of new keys and values per second, counted where they
//   are read and where they are written.
// - `processors`: how many worked, as in Measurement.h.
// - `compile_ms`: what compiling cost, once.
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/AttentionCase.h"
#include "tools/attn-bench/ColdCaches.h"
#include "tools/attn-bench/Families.h"
#include "tools/attn-bench/Samples.h"
#include "tools/attn-bench/Series.h"

#include <cstring>

using namespace attn;
using namespace attn::bench;

namespace {

/// Of 8 sequences, which store different numbers of tokens already.
struct AppendCase {
  std::string name;
  Index tokens; ///< New ones, of each sequence.

  static constexpr Index batches = 8, heads = 8, capacity = 4096,
                         headSize = 128;

  /// Tokens that a cache holds before a call. Every call finds more, so that
  /// the rows that it writes come from memory too.
  Index stored(Index batch, Index call) const {
    return (37 + 401 * batch + call * tokens) % (capacity - tokens + 1);
  }
  std::vector<Index> rowsSizes() const {
    return {batches, heads, tokens, headSize};
  }
  std::vector<Index> cacheSizes() const {
    return {batches, heads, capacity, headSize};
  }
  /// Read and written.
  double countBytes(ElementType type) const {
    return 4.0 * double(batches * heads * tokens * headSize) *
           double(sizeOf(type));
  }
  /// A module with one function that updates its third and fourth argument.
  std::string text(ElementType type) const;
};

class AppendSeries : public Series {
public:
  /// Compiles, runs once, and holds the whole caches to what they should be.
  static Expected<std::unique_ptr<Series>> create(const AppendCase &append,
                                                  ElementType type,
                                                  unsigned threads,
                                                  const Options &options);

  Expected<double> sample() override;
  void report(benchmark::State &state) const override;

private:
  AppendSeries(AppendCase append, ElementType type, unsigned threads,
               const Kernel &kernel, bool isWarm);
  Expected<double> run(const ColdCaches::Cache &cache, Index calls);
  /// `before` has not been appended to.
  Status check(const Buffer &cache, const Buffer &before,
               const Buffer &rows) const;

  AppendCase append;
  ElementType type;
  unsigned threads;
  Kernel kernel;
  Buffer keyRows, valueRows, lengths;
  ColdCaches caches;
  std::vector<Call> samples;
};

} // namespace

std::string AppendCase::text(ElementType type) const {
  auto tensor = [&](Index length) {
    return "tensor<" + std::to_string(batches) + "x" + std::to_string(heads) +
           "x" + (length == 1 ? "1" : "?") + "x" + std::to_string(headSize) +
           "x" + std::string(nameOf(type)) + ">";
  };
  std::string rows = tensor(tokens), cache = tensor(capacity);
  std::string lengths =
      "%lengths : tensor<" + std::to_string(batches) + "xi32>";
  std::string writable = cache + " {bufferization.writable = true}";
  auto store = [&](const std::string &name, const std::string &from,
                   const std::string &to) {
    return "  " + name + " = attn.cache_append ins(" + from + " : " + rows +
           ")\n      outs(" + to + " : " + cache + ") lengths(" + lengths +
           ")\n";
  };
  return "func.func @append(%key_rows: " + rows + ", %value_rows: " + rows +
         ", %keys: " + writable + ", %values: " + writable + ", " + lengths +
         ") -> (" + cache + ", " + cache + ") {\n" +
         store("%0", "%key_rows", "%keys") +
         store("%1", "%value_rows", "%values") + "  return %0, %1 : " + cache +
         ", " + cache + "\n}\n";
}

AppendSeries::AppendSeries(AppendCase appendCase, ElementType type,
                           unsigned threads, const Kernel &kernel, bool isWarm)
    : append(std::move(appendCase)), type(type), threads(threads),
      kernel(kernel), keyRows(type, append.rowsSizes()),
      valueRows(type, append.rowsSizes()),
      lengths(ElementType::i32, {AppendCase::batches}),
      caches(type, append.cacheSizes(), isWarm) {
  std::mt19937_64 random(2);
  keyRows.fillNormal(random);
  valueRows.fillNormal(random);
}

Expected<std::unique_ptr<Series>> AppendSeries::create(const AppendCase &append,
                                                       ElementType type,
                                                       unsigned threads,
                                                       const Options &options) {
  Expected<Kernel> kernel =
      compileText(append.name, append.text(type), threads, options);
  if (!kernel)
    return kernel.error();
  std::unique_ptr<AppendSeries> series(
      new AppendSeries(append, type, threads, *kernel, options.warm));
  const ColdCaches::Cache &cache = series->caches.next();
  if (Expected<double> seconds = series->run(cache, 0); !seconds)
    return seconds.error();
  const ColdCaches::Cache &before = series->caches.next();
  for (const Status &status :
       {series->check(cache.key, before.key, series->keyRows),
        series->check(cache.value, before.value, series->valueRows)})
    if (!status)
      return status.error();
  return std::unique_ptr<Series>(std::move(series));
}

Expected<double> AppendSeries::run(const ColdCaches::Cache &cache,
                                   Index calls) {
  lengths.fill(
      [&](Index batch) { return double(append.stored(batch, calls)); });
  const Argument arguments[] = {keyRows.view(), valueRows.view(),
                                cache.key.view(), cache.value.view(),
                                lengths.view()};
  const TensorView results[] = {cache.key.view(), cache.value.view()};
  return timeKernel(kernel, arguments, results);
}

Status AppendSeries::check(const Buffer &cache, const Buffer &before,
                           const Buffer &rows) const {
  std::size_t bytes = std::size_t(AppendCase::headSize) * sizeOf(type);
  for (Index sequence = 0; sequence < AppendCase::batches * AppendCase::heads;
       ++sequence) {
    Index first = append.stored(sequence / AppendCase::heads, 0);
    for (Index i = 0; i < AppendCase::capacity; ++i) {
      std::size_t at = std::size_t(sequence * AppendCase::capacity + i) * bytes;
      bool isNew = i >= first && i < first + append.tokens;
      const std::byte *expected =
          isNew ? rows.data() +
                      std::size_t(sequence * append.tokens + i - first) * bytes
                : before.data() + at;
      if (std::memcmp(cache.data() + at, expected, bytes) != 0)
        return Error{"wrong result at row " + std::to_string(i) + " of head " +
                         std::to_string(sequence % AppendCase::heads) +
                         ", batch " +
                         std::to_string(sequence / AppendCase::heads),
                     {}};
    }
  }
  return {};
}

Expected<double> AppendSeries::sample() {
  const ColdCaches::Cache &cache = caches.next();
  Index calls = Index(samples.size()) + 1;
  Expected<Call> call = timeCall(threads, [&] { return run(cache, calls); });
  if (!call)
    return call.error();
  samples.push_back(*call);
  return call->seconds;
}

void AppendSeries::report(benchmark::State &state) const {
  std::vector<double> speeds, processors;
  for (const Call &sample : samples)
    processors.push_back(sample.processors);
  for (const Call &sample : keepQuiet(samples))
    speeds.push_back(append.countBytes(type) / sample.seconds * 1e-9);
  state.counters["gbps"] = median(speeds);
  state.counters["processors"] = median(processors);
  state.counters["compile_ms"] = kernel.stats().totalMs;
}

void bench::registerAppend(const Options &options) {
  for (const AppendCase &append : {AppendCase{"A1", 1}, AppendCase{"A2", 512}})
    for (ElementType type :
         {ElementType::f32, ElementType::bf16, ElementType::f16})
      for (unsigned threads : {1u, 2u})
        registerSeries("decode/" + append.name, type, threads, [=] {
          return AppendSeries::create(append, type, threads, options);
        });
}
