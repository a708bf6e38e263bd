//===- DecodeCase.cpp - One decode step to measure ------------------------===//
//
// Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/attn-bench/DecodeCase.h"

using namespace attn;
using namespace attn::bench;

bool DecodeCase::sees(Index, Index, Index) const { return true; }

Index DecodeCase::countRows() const {
  auto isSeen = [&](Index batch, Index position) {
    for (Index query = 0; query < queryLength; ++query)
      if (sees(batch, query, position))
        return true;
    return false;
  };
  Index rows = 0;
  for (Index batch = 0; batch < batches; ++batch)
    for (Index j = 0, end = keyLength(batch); j < end; ++j)
      rows += isSeen(batch, j);
  return rows;
}

std::vector<TensorView>
DecodeCase::viewsOf(const ColdCaches::Cache &cache) const {
  std::vector<TensorView> views = {cache.key.view(), cache.value.view()};
  for (const Buffer &scales : cache.scales)
    views.push_back(scales.view());
  return views;
}

double DecodeCase::countFlops() const {
  Index pairs = 0;
  for (Index batch = 0; batch < batches; ++batch)
    for (Index query = 0; query < queryLength; ++query)
      for (Index j = 0, end = keyLength(batch); j < end; ++j)
        pairs += sees(batch, query, j);
  return 2.0 * double(pairs) * double(queryHeads * (keySize() + valueSize()));
}

double DecodeCase::countBytes(ElementType type) const {
  Index elements = hasValuesInKeys() ? keySize() : keySize() + valueSize();
  std::size_t row = std::size_t(elements) * sizeOf(type);
  if (type == ElementType::i8)
    row += 2 * sizeof(float);
  return double(countRows() * keyValueHeads) * double(row);
}

ElementType bench::getActivationType(ElementType cacheType) {
  return sizeOf(cacheType) == 1 ? ElementType::f32 : cacheType;
}

std::string bench::tensorText(const std::string &sizes, ElementType type) {
  return "tensor<" + sizes + "x" + std::string(nameOf(type)) + ">";
}

const std::vector<DecodeBenchmark> &bench::getServingBenchmarks() {
  static const std::vector<DecodeBenchmark> benchmarks = [] {
    std::vector<DecodeBenchmark> all;
    auto compare = [](DecodePointer fixed) {
      return std::vector<DecodeBaseline>{
          {"vs_static", std::move(fixed), /*isOfTimes=*/true}};
    };
    auto name = [](Index queries) { return "few-" + std::to_string(queries); };
    // Of D1, and of its caches of i8.
    for (Index queries : {2, 3, 4, 5, 6, 7, 8, 16, 31, 33}) {
      auto step = [&](bool isDynamic) {
        return makeDraftStep(name(queries), 32, 8, 4096, queries, isDynamic);
      };
      all.push_back({step(true), compare(step(false)), {}});
    }
    // The same in pages, in turns with one cache.
    auto addCached = [&](std::string name, Index queries, PageSize pages) {
      auto step = [&](bool isDynamic, PageSize pages) {
        return makeCachedDraftStep(name, 4096, queries, isDynamic, pages);
      };
      std::vector<DecodeBaseline> baselines = compare(step(false, pages));
      if (pages.positions > 0)
        baselines.push_back({"vs_contiguous", step(true, PageSize()), true});
      DecodePointer decode = step(true, pages);
      all.push_back({pages.positions > 0 ? decode : nullptr, baselines, decode,
                     baselines});
    };
    for (Index queries : {1, 2, 4, 8, 16}) {
      addCached(name(queries), queries, {});
      addCached(name(queries) + "-paged", queries, {16});
    }
    for (Index positions : {32, 64, 128})
      addCached("few-4-paged-" + std::to_string(positions), 4, {positions});
    for (Index queries : {1, 4})
      addCached(name(queries) + "-paged-any", queries,
                {16, /*isStatic=*/false});
    // In one order of sums for any number of queries.
    for (Index queries : {1, 4, 16, 64, 256}) {
      auto step = [&](bool isBatchInvariant) {
        return makeDraftStep("invariant-" + std::to_string(queries), 32, 8,
                             4096, queries, /*isDynamic=*/true,
                             isBatchInvariant);
      };
      all.push_back({step(true),
                     {{"vs_any_order", step(false), /*isOfTimes=*/true}},
                     {}});
    }
    // Of D5.
    DecodePointer one = makeDraftStep("group-32", 32, 1, 4096, 1, true);
    for (Index heads : {33, 64, 96, 128})
      all.push_back({makeDraftStep("group-" + std::to_string(heads), heads, 1,
                                   4096, 1, true),
                     {{"vs_linear", one, /*isOfTimes=*/true}},
                     {}});
    for (bool isPaged : {false, true})
      all.push_back(
          {makeLatentStep(isPaged ? "mla-paged" : "mla", 4096, isPaged),
           {},
           {}});
    std::vector<Index> counts(8, 1);
    counts[0] = 256; // A prompt, or a chunk of one.
    all.push_back({makeRaggedStep("ragged", counts, 2048, false),
                   {{"vs_apart", makeRaggedStep("apart", counts, 2048, true),
                     /*isOfTimes=*/true}},
                   {}});
    return all;
  }();
  return benchmarks;
}

const std::vector<DecodeBenchmark> &bench::getDecodeBenchmarks() {
  // Batches, query heads, key/value heads, keys, queries.
  static const DecodePointer batch = makeDenseStep("D3", 8, 32, 8, 4096);
  static const std::vector<DecodeBenchmark> benchmarks = {
      {makeDenseStep("D1", 1, 32, 8, 4096),
       {},
       makeContiguousStep("D1", 1, 4096)},
      {batch, {}, makeContiguousStep("D3", 8, 4096)},
      {makeDenseStep("D4", 1, 32, 32, 4096), {}, {}},
      {makeDenseStep("D5", 1, 32, 1, 4096), {}, {}},
      {makePagedStep("D6"), {{"vs_D3", batch}}, {}},
      {makeRingStep("D7"), {}, {}},
      {makeDenseStep("D8", 1, 32, 8, 4096, 4), {}, {}},
      {makeDenseStep("D9", 1, 32, 8, 32768),
       {},
       makeContiguousStep("D9", 1, 32768)},
      {makeSharedPrefixStep("M1"),
       {{"vs_unshared", makeUnsharedStep("unshared")}},
       {}},
  };
  return benchmarks;
}
